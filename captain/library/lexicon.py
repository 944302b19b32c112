"""Words in common: BM25 over the entries, and how a text falls into words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captain.embeddings.embedding import Vector

_K1, _B = 0.5, 0.3
"""BM25 for short entries: a word that stands there once says nearly all, and length says little."""
_PREFIX = 5


class Lexicon:
    """BM25 over the entries' words, scaled to the share of the query that an entry covers; it never changes."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._places: dict[str, int] = {}
        documents = [[self._places.setdefault(word, len(self._places)) for word in tokens(text)] for text in texts]
        self._count = len(documents)
        self._index: Any = None
        if self._places:
            import bm25s

            # Numbers instead of words: one object per word and not one per occurrence.
            self._index = bm25s.BM25(k1=_K1, b=_B, method="lucene")
            self._index.index((documents, dict(self._places)), show_progress=False)

    def scores(self, query: str) -> Vector:
        """One number per entry, from 0 to 1."""
        import numpy as np

        wanted = sorted(set(tokens(query)))
        known = [self._places[word] for word in wanted if word in self._places]
        if not known:
            return np.zeros(self._count, np.float32)
        whole = sum(self._rarity(word) for word in wanted) / (1 + _K1)
        scores: Vector = np.asarray(self._index.get_scores(known), np.float32)
        scores /= np.float32(whole)
        return np.minimum(scores, 1, out=scores)

    def _rarity(self, word: str) -> float:
        place, holding = self._places.get(word), 0
        if place is not None:
            ends = self._index.scores["indptr"]
            holding = int(ends[place + 1] - ends[place])
        return math.log(1 + (self._count - holding + 0.5) / (holding + 0.5))


def tokens(text: str) -> list[str]:
    """Words without regard to capitals, in any language and without a list of stop words.

    A long word also gives its first letters, which inflected and derived forms share; scripts without spaces give pairs
    of characters.
    """
    found: list[str] = []
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("_", " ")):
        if word.isascii() or not _unspaced(word):
            found.append(word[: _PREFIX + 1] + "*" if len(word) > _PREFIX + 1 else word)
        else:
            found += [word[start : start + 2] for start in range(max(1, len(word) - 1))]
    return found


def _unspaced(word: str) -> bool:
    """Whether a word is written in a script that puts no spaces between words (Chinese, Japanese, Thai …)."""
    return any("\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\u9fff" for letter in word)
