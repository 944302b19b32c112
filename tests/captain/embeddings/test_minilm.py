"""all-MiniLM-L6-v2 in NumPy against sentence-transformers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from captain.config import EmbeddingConfig, WeightsConfig
from captain.embeddings import build_embedding

TEXTS = [
    "Find the primes below 2000 and sum them.",
    "",
    "Ein Satz mit Umlauten: Größe, Straße, naïve café.",
    "日本語のテキスト 🙂",
    "word " * 600,
    "CSV analyst: computes the mean fare per passenger class",
    *(f"expert number {number} who writes reports" + " and more" * number for number in range(40)),
]


@pytest.mark.model
def test_vectors_agree_with_sentence_transformers(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    from captain.models.weights import ensure

    weights = Path(ensure("all-minilm-l6-v2", WeightsConfig()))
    config = BertConfig(
        vocab_size=30522,
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=6,
        num_attention_heads=12,
        layer_norm_eps=1e-12,
    )
    from safetensors.torch import load_file

    model = BertModel(config)
    model.load_state_dict(load_file(str(weights / "model.safetensors")), strict=False)
    model.save_pretrained(tmp_path / "bert")
    BertTokenizerFast(tokenizer_file=str(weights / "tokenizer.json")).save_pretrained(tmp_path / "bert")
    body = Transformer(str(tmp_path / "bert"), max_seq_length=256)
    theirs = SentenceTransformer(modules=[body, Pooling(384, pooling_mode="mean"), Normalize()], device="cpu")
    ours = build_embedding(EmbeddingConfig(provider="minilm")).encode(TEXTS)
    assert ours.shape == (len(TEXTS), 384)
    assert np.abs(ours - theirs.encode(TEXTS)).max() < 1e-5


@pytest.mark.model
def test_texts_of_one_meaning_are_near_and_torch_stays_out() -> None:
    program = """
import sys
from captain.config import EmbeddingConfig
from captain.embeddings import build_embedding
embedding = build_embedding(EmbeddingConfig(provider="minilm"))
cat, kitten, tax = embedding.encode(["The cat sleeps.", "A kitten is napping.", "Income tax is due in May."])
print(cat @ kitten > cat @ tax + 0.3, "torch" in sys.modules, "chromadb" in sys.modules)
print(embedding.fingerprint())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    verdict, fingerprint = done.stdout.splitlines()
    assert verdict == "True False False"
    assert fingerprint.startswith("minilm|")
