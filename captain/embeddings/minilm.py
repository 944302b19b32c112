"""all-MiniLM-L6-v2 without torch: the official weights, a forward pass in NumPy.

A BERT encoder of six layers; the mean over the tokens, scaled to length 1, is the text's vector (384 numbers). It
agrees with sentence-transformers to 1e-6 and starts in a tenth of a second.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captain.embeddings.embedding import Embedding, folder_print

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # the package ships no types
    from tokenizers import Tokenizer

    from captain.embeddings.embedding import Matrix

_WEIGHTS = "all-minilm-l6-v2"
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12
_LONGEST = 256
"""Tokens that the model was made for; what comes after is cut off."""
_BLOCK = 512
"""Tokens that go through the layers at once, whose hidden states fit into a core's cache."""


class MiniLMEmbedding(Embedding):
    """The default: good at topics and roles in English, small and offline."""

    provider = "minilm"
    _tokenizer: Tokenizer | None = None
    _arrays: dict[str, Matrix]

    def fingerprint(self) -> str:
        """Provider, weights, length and cut."""
        config = self.config
        return f"minilm|{folder_print(self._folder)}|dimensions={config.dimensions}|tokens={self._limit}"

    @property
    def _limit(self) -> int:
        return min(self.config.max_tokens, _LONGEST)

    @cached_property
    def _folder(self) -> Path:
        from captain.models.weights import ensure

        return Path(ensure(_WEIGHTS, self.weights))

    @cached_property
    def _threads(self) -> ThreadpoolController:
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController()

    def _load(self) -> Tokenizer:
        import numpy as np
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = self._folder
        arrays = load_file(str(folder / "model.safetensors"))
        self._arrays = {}
        for name, array in arrays.items():
            if array.dtype.kind == "f":
                flip = array.ndim == 2 and "embeddings" not in name
                self._arrays[name] = np.ascontiguousarray(array.T if flip else array, np.float32)
        for layer in range(_LAYERS):
            prefix = f"encoder.layer.{layer}.attention.self."
            for kind, axis in (("weight", 1), ("bias", 0)):
                parts = [self._arrays.pop(f"{prefix}{part}.{kind}") for part in ("query", "key", "value")]
                self._arrays[f"{prefix}qkv.{kind}"] = np.concatenate(parts, axis=axis)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.enable_truncation(self._limit)
        tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
        return tokenizer

    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        import numpy as np

        if self._tokenizer is None:
            self._tokenizer = self._load()
        encodings = self._tokenizer.encode_batch(list(texts))
        tokens = np.array([encoding.ids for encoding in encodings])
        mask = np.array([encoding.attention_mask for encoding in encodings], np.float32)
        # Beside other busy processes (a local language model, say) the threads of BLAS wait for each other: measured
        # 325 ms instead of 10 for one query. One thread is as fast on short texts and never collapses; many texts are
        # shared out to threads of our own, in blocks that stay in a core's cache.
        step = max(1, _BLOCK // tokens.shape[1])
        blocks = [slice(start, start + step) for start in range(0, len(tokens), step)]
        with self._threads.limit(limits=1, user_api="blas"):
            if len(blocks) == 1:
                return self._pooled(tokens, mask)
            with ThreadPoolExecutor(min(len(blocks), _cores())) as pool:
                return np.concatenate(list(pool.map(lambda block: self._pooled(tokens[block], mask[block]), blocks)))

    def _pooled(self, tokens: Any, mask: Matrix) -> Matrix:
        """Token ids and mask (texts, tokens) -> means over the tokens (texts, 384)."""
        import numpy as np

        longest = int(mask.sum(axis=1).max())  # within the block
        tokens, mask = tokens[:, :longest], mask[:, :longest]
        hidden = self._forward(tokens, mask)
        if not mask.all():
            hidden *= mask[:, :, None]
        mean: Matrix = hidden.sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        return mean

    def _forward(self, tokens: Any, mask: Matrix) -> Matrix:
        """Token ids and mask (texts, tokens) -> hidden states (texts, tokens, 384)."""
        arrays, count = self._arrays, tokens.shape[1]
        hidden = arrays["embeddings.word_embeddings.weight"][tokens]
        hidden += arrays["embeddings.position_embeddings.weight"][:count]
        hidden += arrays["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        hidden_from = None if mask.all() else (mask[:, None, None, :] - 1) * 1e9
        for layer in range(_LAYERS):
            prefix = f"encoder.layer.{layer}."
            attended = self._linear(self._attend(hidden, hidden_from, prefix), f"{prefix}attention.output.dense")
            attended += hidden
            hidden = self._norm(attended, f"{prefix}attention.output.LayerNorm")
            inner = self._linear(_gelu(self._linear(hidden, f"{prefix}intermediate.dense")), f"{prefix}output.dense")
            inner += hidden
            hidden = self._norm(inner, f"{prefix}output.LayerNorm")
        return hidden

    def _attend(self, hidden: Matrix, hidden_from: Matrix | None, prefix: str) -> Matrix:
        import numpy as np

        texts, count, width = hidden.shape
        joint = self._linear(hidden, f"{prefix}attention.self.qkv")
        parts = joint.reshape(texts, count, 3, _HEADS, width // _HEADS).transpose(2, 0, 3, 1, 4)
        scores = (parts[0] * np.float32((width // _HEADS) ** -0.5)) @ parts[1].swapaxes(-1, -2)
        if hidden_from is not None:
            scores += hidden_from
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed = scores @ parts[2]
        mixed /= np.einsum("thij->thi", scores)[..., None]
        merged: Matrix = mixed.transpose(0, 2, 1, 3).reshape(texts, count, width)
        return merged

    def _linear(self, value: Matrix, name: str) -> Matrix:
        """One matrix product over all tokens at once: far faster than one per text."""
        flat = value.reshape(-1, value.shape[-1]) @ self._arrays[f"{name}.weight"]
        flat += self._arrays[f"{name}.bias"]
        return flat.reshape(*value.shape[:-1], -1)

    def _norm(self, value: Matrix, name: str) -> Matrix:
        """Normalised over the last axis; the argument is used up."""
        import numpy as np

        value -= value.mean(axis=-1, keepdims=True)
        variance = np.einsum("tij,tij->ti", value, value)[..., None] / value.shape[-1]
        value /= np.sqrt(variance + np.float32(_EPSILON))
        value *= self._arrays[f"{name}.weight"]
        value += self._arrays[f"{name}.bias"]
        return value


def _gelu(value: Matrix) -> Matrix:
    """The exact form, with the error function after Abramowitz and Stegun, 7.1.26 (off by 1.5e-7 at most).

    The tanh form is off by more than the agreement asked for; SciPy's function takes four times as long.
    With `|x|` alone: gelu(x) = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2.
    """
    import numpy as np

    size = np.abs(value)
    ratio = size * np.float32(0.3275911 * 0.7071067811865476)
    ratio += np.float32(1)
    np.reciprocal(ratio, out=ratio)
    tail: Matrix = ratio * np.float32(0.5 * 1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(0.5 * coefficient)
        tail *= ratio
    tail *= size
    np.square(size, out=size)
    size *= np.float32(-0.5)
    tail *= np.exp(size, out=size)
    result: Matrix = np.maximum(value, 0, out=value)
    result -= tail
    return result


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
