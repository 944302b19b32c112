"""A Qwen3 of two layers with random weights, saved as a model folder."""

from __future__ import annotations

import string
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    folder = tmp_path_factory.mktemp("tiny_qwen3")
    vocabulary = ["<unk>", "<|endoftext|>", *string.printable]
    tokenizer = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(vocabulary)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    fast.padding_side = "left"
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        initializer_range=0.5,
    )
    Qwen3Model(config).save_pretrained(folder)
    return folder
