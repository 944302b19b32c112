"""Hybrid ranking: nearness in meaning (dense) together with shared words (lexical)."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix, Vector

Item = TypeVar("Item")

LEXICAL_SHARE = 0.3
"""How much shared words count beside nearness in meaning. Of 0, .1, .2, .3, .5 and .8 it served role queries best."""
_K1, _B = 0.5, 0.3
"""BM25 for short entries: a word that stands there once says nearly all, and length says little."""
_PREFIX = 5


@dataclass(frozen=True)
class Hit(Generic[Item]):
    """An entry that a search found.

    Attributes:
        item: The entry.
        score: What hits are sorted and cut by: dense similarity plus a share of the lexical one.
        dense: Cosine of query and entry, from -1 to 1.
        lexical: Share of the query's words, weighted by their rarity, that stand in the entry, from 0 to 1.
    """

    item: Item
    score: float
    dense: float
    lexical: float


class Ranking(Generic[Item]):
    """Entries with their vectors and words, ready to be searched; it never changes."""

    def __init__(self, items: Sequence[Item], vectors: Matrix, words: Sequence[str]) -> None:
        self.items = tuple(items)
        self.vectors = vectors
        self._lexicon = _Lexicon([tokens(text) for text in words])

    def search(self, text: str, vector: Vector, *, top_k: int, threshold: float) -> list[Hit[Item]]:
        """The best entries, best first; equal scores keep the order of the entries.

        Args:
            text: The query.
            vector: Its embedding.
            top_k: How many at most.
            threshold: Score below which an entry is left out: dense similarity, lifted by the words that it shares.
        """
        if not self.items or top_k < 1:
            return []
        dense = [float(value) for value in self.vectors @ vector]
        lexical = self._lexicon.scores(tokens(text))
        hits = [
            Hit(item, near + LEXICAL_SHARE * shared, near, shared)
            for item, near, shared in zip(self.items, dense, lexical, strict=True)
        ]
        return sorted((hit for hit in hits if hit.score >= threshold), key=lambda hit: -hit.score)[:top_k]

    def nearest(self, vector: Vector, count: int) -> list[Item]:
        """The entries nearest in meaning, nearest first."""
        if not self.items:
            return []
        return [self.items[int(row)] for row in (-(self.vectors @ vector)).argsort(kind="stable")[:count]]


class _Lexicon:
    """BM25 over the entries' words, scaled to the share of the query that an entry covers."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._count = len(documents)
        self._holding = Counter(word for document in documents for word in set(document))
        self._index: Any = None
        if self._holding:
            import bm25s

            self._index = bm25s.BM25(k1=_K1, b=_B, method="lucene")
            self._index.index([list(document) for document in documents], show_progress=False)

    def scores(self, query: Sequence[str]) -> list[float]:
        """One number per entry, from 0 to 1."""
        wanted = sorted(set(query))
        known = [word for word in wanted if word in self._holding]
        if self._index is None or not known:
            return [0.0] * self._count
        whole = sum(self._rarity(word) for word in wanted) / (1 + _K1)
        return [min(1.0, float(score) / whole) for score in self._index.get_scores(known)]

    def _rarity(self, word: str) -> float:
        holding = self._holding[word]
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
