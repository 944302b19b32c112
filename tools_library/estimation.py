"""Statistics of plain numbers: description, confidence intervals, sample sizes."""

from __future__ import annotations

import math
from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import one_of, rounded

MAX_NUMBERS = 10_000


@tool
def describe_numbers(numbers: list[float]) -> dict[str, Any]:
    """Descriptive statistics of a list of numbers: mean, median, mode, variance, standard deviation, range, quartiles,
    interquartile range, geometric and harmonic mean, skewness.

    Args:
        numbers: The numbers, for example [2, 4, 4, 5].

    Returns:
        count, sum, mean, median, modes (empty when all occur equally often), minimum, maximum, range, variance_sample,
        variance_population, std_sample, std_population, standard_error, quartile1, quartile3 (interpolated linearly),
        iqr, geometric_mean, harmonic_mean (null unless all are positive), skewness_population.

    Raises:
        ToolError: No numbers, too many, or one that is not finite.
    """
    import statistics

    values = sorted(map(float, numbers))
    if not 1 <= len(values) <= MAX_NUMBERS or not all(map(math.isfinite, values)):
        raise ToolError(f"numbers must hold 1 to {MAX_NUMBERS} finite numbers; it holds {len(values)}")
    mean, population = statistics.fmean(values), statistics.pvariance(values)
    sample = statistics.variance(values) if len(values) > 1 else math.nan
    modes = statistics.multimode(values)
    cubes = statistics.fmean([(value - mean) ** 3 for value in values])
    first, third = (_quantile(values, share) for share in (0.25, 0.75))
    positive = values[0] > 0
    described: dict[str, float] = {
        "sum": math.fsum(values),
        "mean": mean,
        "median": statistics.median(values),
        "minimum": values[0],
        "maximum": values[-1],
        "range": values[-1] - values[0],
        "variance_sample": sample,
        "variance_population": population,
        "std_sample": math.sqrt(sample),
        "std_population": math.sqrt(population),
        "standard_error": math.sqrt(sample / len(values)),
        "quartile1": first,
        "quartile3": third,
        "iqr": third - first,
        "geometric_mean": statistics.geometric_mean(values) if positive else math.nan,
        "harmonic_mean": statistics.harmonic_mean(values) if positive else math.nan,
        "skewness_population": cubes / population**1.5 if population > 0 else math.nan,
    }
    spread = len(modes) < len(set(values)) or len(modes) == 1
    return {
        "count": len(values),
        "modes": [rounded(mode) for mode in modes] if spread else [],
        **{name: rounded(value) for name, value in described.items()},
    }


@tool
def confidence_interval(
    kind: str, n: int, mean: float = 0.0, std: float = 0.0, successes: int = 0, confidence: float = 0.95
) -> dict[str, float | str | None]:
    """Confidence interval and margin of error of a mean (t or z interval) or of a proportion (Wilson, Wald and exact
    Clopper-Pearson) from summary numbers.

    Args:
        kind: "mean" (std is that of the sample: t), "mean_known_std" (std is that of the population: z) or
            "proportion".
        n: Size of the sample.
        mean: Mean of the sample, for the first two kinds.
        std: Standard deviation, for the first two kinds.
        successes: How many of n, for "proportion".
        confidence: The level, between 0 and 1.

    Returns:
        lower, upper, margin, critical_value (t or z); for a proportion estimate, lower and upper (Wilson),
        wald_lower, wald_upper, margin (Wald), exact_lower, exact_upper.

    Raises:
        ToolError: An unknown kind, a sample that is too small, a negative deviation, or a level out of range.
    """
    from scipy import stats

    kind = one_of(kind, ("mean", "mean_known_std", "proportion"), "kind")
    if not 0 < confidence < 1:
        raise ToolError(f"confidence must be between 0 and 1, not {confidence}")
    if kind == "proportion":
        return _proportion(successes, n, confidence)
    if n < (2 if kind == "mean" else 1) or not 0 <= std < math.inf or not math.isfinite(mean):
        raise ToolError(f"n must be at least {2 if kind == 'mean' else 1}, mean a number and std not negative")
    tail = (1 - confidence) / 2
    critical = float(stats.t.isf(tail, n - 1) if kind == "mean" else stats.norm.isf(tail))
    margin = critical * std / math.sqrt(n)
    return {
        "lower": rounded(mean - margin),
        "upper": rounded(mean + margin),
        "margin": rounded(margin),
        "critical_value": rounded(critical),
    }


@tool
def required_sample_size(
    goal: str,
    margin: float = 0.0,
    std: float = 0.0,
    proportion1: float = 0.5,
    proportion2: float = 0.5,
    confidence: float = 0.95,
    power: float = 0.8,
) -> dict[str, float | None]:
    """Sample size for a survey or an experiment (power analysis, A/B test): how many observations give a margin of
    error, or find a difference of means or proportions with a given power.

    Args:
        goal: "mean" or "proportion" (an interval with this margin), "two_means" or "two_proportions" (a two-sided test
            of two equal groups that finds the difference).
        margin: For "mean" and "proportion" the half width of the interval, for "two_means" the difference to find.
        std: Standard deviation, for "mean" and "two_means".
        proportion1: The proportion expected, from 0 to 1; 0.5 is the careful choice.
        proportion2: The other proportion, for "two_proportions".
        confidence: 1 minus the significance level.
        power: Chance to find the difference, for the last two goals.

    Returns:
        n (observations, for the last two goals in each group), exact (before rounding up).

    Raises:
        ToolError: An unknown goal, a number out of range, or no difference to find.
    """
    from statistics import NormalDist

    goal = one_of(goal, ("mean", "proportion", "two_means", "two_proportions"), "goal")
    if not (0 < confidence < 1 and 0 < power < 1 and 0 <= proportion1 <= 1 and 0 <= proportion2 <= 1):
        raise ToolError("confidence, power and the proportions must be between 0 and 1")
    if goal != "two_proportions" and margin <= 0 or goal in ("mean", "two_means") and std <= 0:
        raise ToolError(f"{goal!r} needs a margin above 0" + (" and an std above 0" if "mean" in goal else ""))
    if goal == "two_proportions" and proportion1 == proportion2:
        raise ToolError("proportion1 and proportion2 are equal: there is no difference to find")
    level, strength = NormalDist().inv_cdf((1 + confidence) / 2), NormalDist().inv_cdf(power)
    variances = [p * (1 - p) for p in (proportion1, proportion2)]
    exact = {
        "mean": lambda: (level * std / margin) ** 2,
        "proportion": lambda: level**2 * variances[0] / margin**2,
        "two_means": lambda: 2 * ((level + strength) * std / margin) ** 2,
        "two_proportions": lambda: (level + strength) ** 2 * sum(variances) / (proportion1 - proportion2) ** 2,
    }[goal]()
    return {"n": max(1, math.ceil(exact - 1e-9)), "exact": rounded(exact)}


def _proportion(successes: int, n: int, confidence: float) -> dict[str, float | str | None]:
    from scipy import stats

    if n < 1 or not 0 <= successes <= n:
        raise ToolError(f"successes must be from 0 to n and n at least 1, not {successes} of {n}")
    share, z = successes / n, float(stats.norm.isf((1 - confidence) / 2))
    test = stats.binomtest(successes, n)
    wilson, exact = (test.proportion_ci(confidence, method) for method in ("wilson", "exact"))
    margin = z * math.sqrt(share * (1 - share) / n)
    return {
        "estimate": rounded(share),
        "lower": rounded(wilson.low),
        "upper": rounded(wilson.high),
        "wald_lower": rounded(share - margin),
        "wald_upper": rounded(share + margin),
        "margin": rounded(margin),
        "exact_lower": rounded(exact.low),
        "exact_upper": rounded(exact.high),
        "critical_value": rounded(z),
    }


def _quantile(values: list[float], share: float) -> float:
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)
