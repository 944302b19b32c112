"""Qwen3-Embedding, on a tiny model with random weights: the things that are easily got wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captain.config import EmbeddingConfig
from captain.embeddings import Embedding, build_embedding
from captain.errors import ConfigError

TEXTS = ["short", "a much longer text about whole numbers", "mid length", "x"]


def build(folder: Path, provider: str = "qwen3", **settings: Any) -> Embedding:
    return build_embedding(EmbeddingConfig(provider=provider, model=str(folder), **settings))  # type: ignore[arg-type]


def reference(folder: Path, text: str, limit: int = 512) -> np.ndarray[Any, Any]:
    """The state of the end token, one text at a time, with no padding at all."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"][: limit - 1]
    tokens.append(tokenizer.convert_tokens_to_ids("<|endoftext|>"))
    with torch.inference_mode():
        vector = model(torch.tensor([tokens])).last_hidden_state[0, -1].numpy()
    return np.asarray(vector / np.linalg.norm(vector))


def test_batches_equal_single_texts(tiny_qwen3: Path) -> None:
    matrix = build(tiny_qwen3).encode(TEXTS)
    for text, row in zip(TEXTS, matrix, strict=True):
        assert np.allclose(row, reference(tiny_qwen3, text), atol=1e-4)


def test_a_cut_text_keeps_its_end_token(tiny_qwen3: Path) -> None:
    text = "abcdefghijklmnop" * 4
    (row,) = build(tiny_qwen3, max_tokens=10).encode([text])
    assert np.allclose(row, reference(tiny_qwen3, text, limit=10), atol=1e-4)
    assert np.allclose(row, reference(tiny_qwen3, text[:9]), atol=1e-4)


def test_only_queries_carry_the_instruction(tiny_qwen3: Path) -> None:
    embedding = build(tiny_qwen3, instruction="Find the expert")
    (query,) = embedding.embed_query(["primes"])
    (document,) = embedding(["primes"])
    assert np.allclose(query, reference(tiny_qwen3, "Instruct: Find the expert\nQuery:primes"), atol=1e-4)
    assert np.allclose(document, reference(tiny_qwen3, "primes"), atol=1e-4)
    plain = build(tiny_qwen3, instruction="")
    assert np.allclose(plain.embed_query(["primes"])[0], document, atol=1e-4)


def test_shortened_vectors_have_length_one_again(tiny_qwen3: Path) -> None:
    whole, short = build(tiny_qwen3).encode(["primes"])[0], build(tiny_qwen3, dimensions=16).encode(["primes"])[0]
    assert short.shape == (16,)
    assert np.allclose(short, whole[:16] / np.linalg.norm(whole[:16]), atol=1e-6)


def test_fingerprint_follows_everything_that_decides_the_vectors(tiny_qwen3: Path) -> None:
    variants: list[dict[str, Any]] = [{}, {"dimensions": 16}, {"instruction": "Find"}, {"max_tokens": 10}]
    prints = {build(tiny_qwen3, **settings).fingerprint() for settings in variants}
    assert len(prints) == len(variants)
    assert build(tiny_qwen3).fingerprint() in prints


def test_sentence_transformers_agrees(tiny_qwen3: Path, tmp_path: Path) -> None:
    """The same model through the other provider; it appends no end token, so the text carries it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    body = Transformer(str(tiny_qwen3))
    model = SentenceTransformer(modules=[body, Pooling(64, pooling_mode="lasttoken"), Normalize()], device="cpu")
    model.save(str(tmp_path / "model"))
    theirs = build(tmp_path / "model", "sentence_transformers", dimensions=16).encode(
        [f"{text}<|endoftext|>" for text in TEXTS]
    )
    assert np.allclose(theirs, build(tiny_qwen3, dimensions=16).encode(TEXTS), atol=1e-4)


@pytest.mark.parametrize("provider", ["qwen3", "sentence_transformers"])
def test_a_model_that_cannot_be_loaded_is_named(provider: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="empty_model' cannot be loaded"):
        (tmp_path / "empty_model").mkdir()
        build(tmp_path / "empty_model", provider).encode(["a"])
