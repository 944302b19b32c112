"""A need of several sentences is looked for sentence by sentence too: a long text is near to nothing in particular."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from captain.library.hits import Hit

Item = TypeVar("Item")

_END = re.compile(r"(?<=[.?!;:。？！])\s+|\n+")
_FEWEST_WORDS = 4
_MOST_PARTS = 8


def parts_of(text: str) -> list[str]:
    """The text itself, then its sentences where there are several; very short ones are left out."""
    sentences = [part.strip() for part in _END.split(text) if len(part.split()) >= _FEWEST_WORDS]
    return [text, *(part for part in sentences[:_MOST_PARTS] if part != text.strip())]


def merged(
    found: Iterable[Sequence[Hit[Item]]], *, group: Callable[[Item], str], spread: float, top_k: int
) -> list[Hit[Item]]:
    """The best hits of several searches, best first, each entry once with its best score.

    Args:
        found: The hits of each search.
        group: Gives the group of an entry.
        spread: What an entry's score loses for each better one of its group.
        top_k: How many at most.
    """
    best: list[Hit[Item]] = []
    for hits in found:
        for hit in hits:
            known = next((place for place, other in enumerate(best) if other.item is hit.item), None)
            if known is None:
                best.append(hit)
            elif hit.score > best[known].score:
                best[known] = hit
    taken: Counter[str] = Counter()
    chosen: list[Hit[Item]] = []
    while best and len(chosen) < top_k:
        hit = max(best, key=lambda one: one.score - spread * taken[group(one.item)])
        best.remove(hit)
        chosen.append(hit)
        taken[group(hit.item)] += 1
    return chosen
