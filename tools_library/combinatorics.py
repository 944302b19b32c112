"""Counting: selections, arrangements, partitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import one_of

MAX_COUNT = 2000
MAX_LISTED = 50


@tool
def count_selections(n: int, k: int) -> dict[str, int]:
    """Count the ways to choose k of n different things: combinations (n choose k, binomial coefficient) and
    permutations or variations (order matters), without and with repetition.

    Args:
        n: How many different things there are, from 0 to 2000.
        k: How many are chosen, from 0 to 2000.

    Returns:
        combinations (no order, no repetition), permutations (order, no repetition), combinations_with_repetition
        (multisets, stars and bars), permutations_with_repetition (n^k).

    Raises:
        ToolError: A number is out of range.
    """
    if not (0 <= n <= MAX_COUNT and 0 <= k <= MAX_COUNT):
        raise ToolError(f"n and k must be from 0 to {MAX_COUNT}, not {n} and {k}")
    return {
        "combinations": math.comb(n, k),
        "permutations": math.perm(n, k),
        "combinations_with_repetition": math.comb(n + k - 1, k) if n else int(k == 0),
        "permutations_with_repetition": n**k,
    }


@tool
def count_arrangements(items: str, length: int = 0) -> dict[str, object]:
    """Count the distinct permutations (arrangements, anagrams) of the letters of a word or of a sequence in which items
    may repeat (multiset), also of a part of them, in a row or around a circle.

    Args:
        items: A word such as "MISSISSIPPI", or items separated by commas such as "red, red, blue" or "1, 1, 2".
        length: How many items each arrangement holds; 0 for all.

    Returns:
        items (item -> how often), arrangements (distinct ones in a row), circular (around a circle, turned ones are the
        same; for all items when one of them occurs once), listed (all arrangements in sorted order, when at most 50).

    Raises:
        ToolError: No items, more than 500, or a length out of range.
    """
    parts = [part.strip() for part in items.split(",")] if "," in items else list("".join(items.split()))
    parts = [part for part in parts if part]
    if not 1 <= len(parts) <= 500 or not 0 <= length <= len(parts):
        raise ToolError(f"give 1 to 500 items and a length from 0 to their number, not {len(parts)} and {length}")
    counts, size = Counter(parts), length or len(parts)
    total = _arrangements(counts, size)
    result: dict[str, object] = {"items": dict(counts), "arrangements": total}
    if size == len(parts) and 1 in counts.values():
        result["circular"] = total // size  # no turn of the circle leaves it as it is
    if total <= MAX_LISTED:
        separator = ", " if "," in items else ""
        result["listed"] = [separator.join(each) for each in _listed(counts, size)]
    return result


@tool
def count_partitions(n: int, kind: str = "integer", parts: int = 0) -> int:
    """Count partitions: of a whole number into summands (integer partitions, distinct parts, compositions) or of a set
    into groups (Bell and Stirling numbers); also derangements and Catalan numbers.

    Args:
        n: The number, or the size of the set, from 0 to 500.
        kind: "integer" (4 = 3 + 1 = 2 + 2 ..., order does not matter), "distinct" (all summands different),
            "compositions" (order matters), "set" (groups of a set of n things), "derangements" (permutations without a
            fixed point) or "catalan".
        parts: Into how many summands or groups; 0 for any number. Not for "derangements" and "catalan".

    Returns:
        The count.

    Raises:
        ToolError: A number is out of range, the kind is unknown, or parts are given where they mean nothing.
    """
    kind = one_of(kind, ("integer", "distinct", "compositions", "set", "derangements", "catalan"), "kind")
    if not 0 <= n <= 500 or parts < 0:
        raise ToolError(f"n must be from 0 to 500 and parts not negative, not {n} and {parts}")
    if kind in ("derangements", "catalan") and parts:
        raise ToolError(f"parts must be 0 for {kind!r}")
    if kind == "catalan":
        return math.comb(2 * n, n) // (n + 1)
    if kind == "derangements":
        return sum((-1) ** k * math.perm(n, n - k) for k in range(n + 1))
    if kind == "compositions":
        any_number = 2 ** (n - 1) if n else 1
        return any_number if not parts else math.comb(n - 1, parts - 1) if n else 0
    counts = _stirling(n) if kind == "set" else _summands(n, distinct=kind == "distinct")
    if not parts:
        return sum(counts)
    return counts[parts] if parts <= n else 0


def _arrangements(counts: Counter[str], size: int) -> int:
    """By exponential generating functions: arrangements of a part of the items of each kind, kind by kind."""
    ways = [1] + [0] * size
    for count in counts.values():
        ways = [
            sum(math.comb(length, used) * ways[length - used] for used in range(min(count, length) + 1))
            for length in range(size + 1)
        ]
    return ways[size]


def _listed(counts: Counter[str], size: int) -> Iterator[list[str]]:
    if not size:
        yield []
        return
    for item in sorted(item for item, count in counts.items() if count):
        for rest in _listed(counts - Counter([item]), size - 1):
            yield [item, *rest]


def _stirling(n: int) -> list[int]:
    """Partitions of a set of n things into 0, 1, ... n groups."""
    row = [1]
    for size in range(1, n + 1):
        row = [0] + [row[k - 1] + (k * row[k] if k < size else 0) for k in range(1, size + 1)]
    return row


def _summands(n: int, *, distinct: bool) -> list[int]:
    """Partitions of n into 0, 1, ... n summands."""
    ways = [[0] * (n + 1) for _ in range(n + 1)]  # ways[total][parts]
    ways[0][0] = 1
    for summand in range(1, n + 1):
        totals = range(n, summand - 1, -1) if distinct else range(summand, n + 1)
        for total in totals:
            for parts in range(1, total + 1):
                ways[total][parts] += ways[total - summand][parts - 1]
    return ways[n]
