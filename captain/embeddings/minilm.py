"""all-MiniLM-L6-v2 without torch: the official weights, a forward pass in NumPy.

A BERT encoder of six layers; the mean over the tokens, scaled to length 1, is the text's vector (384 numbers). It
agrees with sentence-transformers to 1e-6 and starts in a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        # 325 ms instead of 10 for one query. One thread is as fast on short texts and never collapses.
        with self._threads.limit(limits=1, user_api="blas"):
            hidden = self._forward(tokens, mask)
        summed: Matrix = (hidden * mask[:, :, None]).sum(axis=1)
        mean: Matrix = summed / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        return mean

    def _forward(self, tokens: Any, mask: Matrix) -> Matrix:
        """Token ids and mask (texts, tokens) -> hidden states (texts, tokens, 384)."""
        arrays, count = self._arrays, tokens.shape[1]
        hidden = arrays["embeddings.word_embeddings.weight"][tokens]
        hidden = hidden + arrays["embeddings.position_embeddings.weight"][:count]
        hidden = self._norm(hidden + arrays["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        hidden_from = (mask[:, None, None, :] - 1) * 1e9
        for layer in range(_LAYERS):
            prefix = f"encoder.layer.{layer}."
            attended = self._linear(self._attend(hidden, hidden_from, prefix), f"{prefix}attention.output.dense")
            hidden = self._norm(hidden + attended, f"{prefix}attention.output.LayerNorm")
            inner = _gelu(self._linear(hidden, f"{prefix}intermediate.dense"))
            hidden = self._norm(hidden + self._linear(inner, f"{prefix}output.dense"), f"{prefix}output.LayerNorm")
        return hidden

    def _attend(self, hidden: Matrix, hidden_from: Matrix, prefix: str) -> Matrix:
        import numpy as np

        texts, count, width = hidden.shape
        joint = self._linear(hidden, f"{prefix}attention.self.qkv")
        parts = joint.reshape(texts, count, 3, _HEADS, width // _HEADS).transpose(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].swapaxes(-1, -2) * np.float32((width // _HEADS) ** -0.5) + hidden_from
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Matrix = (scores @ parts[2]).transpose(0, 2, 1, 3).reshape(texts, count, width)
        return mixed

    def _linear(self, value: Matrix, name: str) -> Matrix:
        """One matrix product over all tokens at once: far faster than one per text."""
        flat = value.reshape(-1, value.shape[-1]) @ self._arrays[f"{name}.weight"]
        flat += self._arrays[f"{name}.bias"]
        return flat.reshape(*value.shape[:-1], -1)

    def _norm(self, value: Matrix, name: str) -> Matrix:
        import numpy as np

        centred = value - value.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        centred /= np.sqrt(variance + _EPSILON)
        scaled: Matrix = centred * self._arrays[f"{name}.weight"] + self._arrays[f"{name}.bias"]
        return scaled


def _gelu(value: Matrix) -> Matrix:
    """The exact form, with the error function after Abramowitz and Stegun, 7.1.26 (off by 1.5e-7 at most).

    The tanh form is off by more than the agreement asked for; SciPy's function takes four times as long.
    """
    import numpy as np

    scaled = np.abs(value)
    scaled *= np.float32(0.7071067811865476)
    ratio = scaled * np.float32(0.3275911)
    ratio += 1
    np.reciprocal(ratio, out=ratio)
    result: Matrix = ratio * np.float32(1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        result += np.float32(coefficient)
        result *= ratio
    scaled *= scaled
    result *= np.exp(np.negative(scaled, out=scaled), out=scaled)
    np.subtract(1, result, out=result)
    np.copysign(result, value, out=result)
    result += 1
    result *= value
    result *= np.float32(0.5)
    return result
