"""When two descriptions say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from captain.library.lexicon import tokens

if TYPE_CHECKING:
    from captain.embeddings.embedding import Matrix

SAME_WORDS = 0.8
"""Share of common words from which on two descriptions are taken to be one, whatever the embedding says."""


def shared_words(left: str, right: str) -> float:
    """The words that two texts have in common as a share of all their words, from 0 to 1."""
    first, second = set(tokens(left)), set(tokens(right))
    return len(first & second) / len(first | second) if first | second else 0.0


def like_in_words(texts: Sequence[str]) -> list[tuple[int, int, float]]:
    """Pairs of texts that consist of nearly the same words: (earlier, later, share)."""
    words = [set(tokens(text)) for text in texts]
    pairs = []
    for later in range(len(words)):
        for earlier in range(later):
            common = len(words[earlier] & words[later])
            whole = len(words[earlier]) + len(words[later]) - common
            if whole and common / whole >= SAME_WORDS:
                pairs.append((earlier, later, common / whole))
    return pairs


def like_in_meaning(vectors: Matrix, threshold: float) -> list[tuple[int, int, float]]:
    """Pairs of rows of length 1 that point nearly the same way: (earlier, later, cosine)."""
    pairs = []
    for later in range(1, len(vectors)):
        cosines = vectors[:later] @ vectors[later]
        pairs += [(int(row), later, float(cosines[row])) for row in (cosines > threshold).nonzero()[0]]
    return pairs
