"""Words and pieces of words hashed into a vector: no model, no download, the same everywhere."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from captain.embeddings.embedding import Embedding

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

_LENGTH = 512


class HashEmbedding(Embedding):
    """Texts that share words or pieces of words are near. For tests and machines without weights."""

    provider = "hash"

    def fingerprint(self) -> str:
        """Provider, version of the features and length."""
        return f"hash|words+trigrams-1|dimensions={self._length}"

    @property
    def _length(self) -> int:
        return self.config.dimensions or _LENGTH

    def _encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        import numpy as np

        matrix = np.zeros((len(texts), self._length), np.float32)
        for row, text in zip(matrix, texts, strict=True):
            for feature, weight in _features(text):
                hashed = zlib.crc32(feature.encode())
                row[(hashed >> 1) % self._length] += weight if hashed & 1 else -weight
        return np.sign(matrix) * np.sqrt(np.abs(matrix))


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Features with weights; short words say little in most languages and count less."""
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()):
        weight = min(1.0, len(word) / 6) ** 2 if word.isascii() else 1.0
        yield word, weight
        marked = f"^{word}$"
        for start in range(len(marked) - 2):
            yield marked[start : start + 3], 0.3 * weight
