"""What a search takes into account, and what it found, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")

LEXICAL_SHARE = 0.3
"""How much shared words count beside nearness in meaning. Of 0, .1, .2, .3, .5 and .8 it served role queries best."""
DOMAIN_WORDS = 1.7
"""How much more words count that are shared with a whole domain than words that are shared with one entry."""


@dataclass(frozen=True)
class Standing:
    """What the record of use makes of an entry: two factors, each 1 for an entry without a record."""

    success: float = 1.0
    cost: float = 1.0


@dataclass(frozen=True)
class Rules:
    """How entries are scored and chosen.

    Attributes:
        threshold: Score below which an entry is left out, before the record of use is looked at.
        dense_share: Weight of nearness in meaning; 0 compares words alone.
        lexical_share: Weight of shared words; 0 compares meanings alone.
        domain_share: How much of a score is that of the entry's domain, from 0 to below 1: of its best entries, and of
            all its words together.
        domain_words: Weight of the words that are shared with a whole domain, as a multiple of `lexical_share`.
        spread: What an entry loses for each better one of its domain when the list is made.
        diversity: Entries that nearly say what a better one says stand behind the others.
    """

    threshold: float
    dense_share: float = 1.0
    lexical_share: float = LEXICAL_SHARE
    domain_share: float = 0.0
    domain_words: float = DOMAIN_WORDS
    spread: float = 0.0
    diversity: bool = True


@dataclass(frozen=True)
class Hit(Generic[Item]):
    """An entry that a search found.

    `score` is `similarity` x `success` x `cost`.

    Attributes:
        item: The entry.
        score: What hits are sorted by.
        dense: Cosine of query and entry, from -1 to 1.
        lexical: Share of the query's words, weighted by their rarity, that stand in the entry, from 0 to 1.
        similarity: Dense and lexical together, smoothed by the domain; what the threshold looks at.
        domain: Similarity of the entry's domain; nothing when the domain does not count.
        success: Factor of past success; 1 without a record.
        cost: Factor of past cost; 1 without a record.
        near: Key of a better hit that nearly says the same, which is why this one stands further down.
    """

    item: Item
    score: float
    dense: float
    lexical: float
    similarity: float = 0.0
    domain: float | None = None
    success: float = 1.0
    cost: float = 1.0
    near: str | None = None

    def explain(self) -> str:
        """Where the score comes from, in one line."""
        parts = [f"meaning {self.dense:.3f}", f"words {self.lexical:.3f}"]
        if self.domain is not None:
            parts.append(f"domain {self.domain:.3f}")
        line = f"{self.score:.3f} = similarity {self.similarity:.3f} ({', '.join(parts)})"
        line += f" x success {self.success:.2f} x cost {self.cost:.2f}"
        return line if self.near is None else f"{line}; nearly the same as {self.near}, so behind the others"
