"""Figures over right and wrong answers, with their uncertainty."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def wilson_interval(right: int, n: int, *, z: float = Z95) -> tuple[float, float]:
    """Give the Wilson score interval of a rate.

    With p = right / n: centre = (p + z²/2n) / (1 + z²/n), half = z/(1 + z²/n) · sqrt(p(1 - p)/n + z²/4n²); the
    interval is centre ± half. It stays within [0, 1] and holds its level for small n and rates near 0 or 1.

    Returns:
        Lower and upper end; (0, 1) when n is 0.
    """
    if not 0 <= right <= n:
        raise ValueError(f"right must lie in 0..n, given {right} of {n}")
    if n == 0:
        return 0.0, 1.0
    rate = right / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return (0.0 if right == 0 else centre - half), (1.0 if right == n else centre + half)


def bootstrap_interval(
    groups: Sequence[Sequence[float]], *, seed: int, samples: int = 10_000, level: float = 0.95
) -> tuple[float, float]:
    """Give the percentile bootstrap interval of a mean over groups.

    Each group holds the values of one task (one for each repeat). Tasks, not values, are drawn with replacement, as
    repeats of a task are not independent: the statistic is the mean over drawn tasks of the mean of their values. The
    interval runs from the (1 - level)/2 to the (1 + level)/2 quantile of the statistic over `samples` draws.

    For a paired difference the values are `captain - assistant` with right = 1 and wrong = 0, so in [-1, 1].

    Returns:
        Lower and upper end; (0, 0) without groups.
    """
    if not groups:
        return 0.0, 0.0
    means = [sum(group) / len(group) for group in groups]
    generator = random.Random(seed)
    size = len(means)
    drawn = sorted(math.fsum(generator.choices(means, k=size)) / size for _ in range(samples))
    tail = (1 - level) / 2
    return _quantile(drawn, tail), _quantile(drawn, 1 - tail)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Give the exact two-sided p-value of McNemar's test.

    Of n = only_first + only_second tasks that just one of the two got right, either is as likely as the other under
    the null hypothesis: p = min(1, 2 · Σ_{i ≤ min} C(n, i) / 2ⁿ). 1 when they never differ.
    """
    n = only_first + only_second
    tail = sum(math.comb(n, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**n))


def median(values: Sequence[float]) -> float | None:
    """Give the middle value (the mean of the middle two), or None without values."""
    return None if not values else _quantile(sorted(values), 0.5)


def _quantile(ordered: Sequence[float], q: float) -> float:
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
