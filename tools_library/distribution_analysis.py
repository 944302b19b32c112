"""How the numbers of a column are distributed."""

from __future__ import annotations

from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import numbers, one_of, read_table, rounded, varied

FIELD = "tables"

MAX_BINS = 100
_QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_CANDIDATES = {
    "normal": ("norm", {}),
    "lognormal": ("lognorm", {"floc": 0}),
    "exponential": ("expon", {"floc": 0}),
    "gamma": ("gamma", {"floc": 0}),
    "weibull": ("weibull_min", {"floc": 0}),
    "uniform": ("uniform", {}),
    "logistic": ("logistic", {}),
    "laplace": ("laplace", {}),
}
_POSITIVE = ("lognormal", "gamma", "weibull")


@tool
def describe_distribution(path: str, column: str, bins: int = 10) -> dict[str, Any]:
    """Distribution analysis of a numeric column: histogram (counts in bins), quantiles and percentiles, skewness (left,
    right or symmetric) and kurtosis (heavy or light tails).

    Missing, infinite and text cells are left out and counted.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column.
        bins: How many equally wide bins the histogram has, from 1 to 100.

    Returns:
        count, missing, ignored_text, quantiles (share -> value, interpolated linearly), skewness and excess_kurtosis
        (moments divided by n, as the default of scipy), skewness_sample and excess_kurtosis_sample (bias-corrected, as
        pandas), shape (in words), histogram (from, to and count of each bin).

    Raises:
        ToolError: No such file or column, fewer than 3 numbers, a constant column, or bins out of range.
    """
    import numpy
    from scipy import stats

    if not 1 <= bins <= MAX_BINS:
        raise ToolError(f"bins must be from 1 to {MAX_BINS}, not {bins}")
    found = numbers(read_table(path), column, at_least=3)
    values = found.values
    varied(values, column)
    skewness, kurtosis = float(stats.skew(values)), float(stats.kurtosis(values))
    counts, edges = numpy.histogram(values, bins=bins)
    return {
        **found.counts(),
        "quantiles": {f"{share:g}": rounded(values.quantile(share)) for share in _QUANTILES},
        "skewness": rounded(skewness),
        "excess_kurtosis": rounded(kurtosis),
        "skewness_sample": rounded(values.skew()),
        "excess_kurtosis_sample": rounded(values.kurt()) if len(values) > 3 else None,
        "shape": _shape(skewness, kurtosis),
        "histogram": [
            {"from": rounded(low), "to": rounded(high), "count": int(count)}
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ],
    }


@tool
def fit_distribution(path: str, column: str, distributions: list[str] = []) -> dict[str, Any]:
    """Fit probability distributions to a column by maximum likelihood and say which one fits best: normal, lognormal,
    exponential, gamma, Weibull, uniform, logistic or Laplace.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The numeric column.
        distributions: Of "normal", "lognormal", "exponential", "gamma", "weibull", "uniform", "logistic", "laplace";
            empty for all that can hold the numbers.

    Returns:
        best (lowest AIC), fits (the best first: distribution, parameters, log_likelihood, aic, ks_statistic; the
        Kolmogorov-Smirnov statistic is the largest distance of the two distribution functions), count, missing,
        ignored_text.

    Raises:
        ToolError: No such file, column or distribution, fewer than 5 numbers, a constant column, or numbers that none
            of the distributions can hold.
    """
    wanted = [one_of(name, tuple(_CANDIDATES), "distributions") for name in distributions] or list(_CANDIDATES)
    found = numbers(read_table(path), column, at_least=5)
    varied(found.values, column)
    lowest = float(found.values.min())
    possible = [
        name
        for name in dict.fromkeys(wanted)
        if not (name in _POSITIVE and lowest <= 0) and not (name == "exponential" and lowest < 0)
    ]
    if not possible:
        raise ToolError(f"{', '.join(wanted)} need positive numbers, but the smallest of {column!r} is {lowest:g}")
    fits = sorted((_fit(name, found.values.to_numpy()) for name in possible), key=lambda fit: fit["aic"])
    return {"best": fits[0]["distribution"], "fits": fits, **found.counts()}


def _shape(skewness: float, kurtosis: float) -> str:
    side = "about symmetric" if abs(skewness) < 0.5 else "right-skewed" if skewness > 0 else "left-skewed"
    tails = "tails like the normal distribution" if abs(kurtosis) < 0.5 else "heavy tails" if kurtosis > 0 else ""
    return f"{side}, {tails or 'light tails'}"


def _fit(name: str, values: Any) -> dict[str, Any]:
    import numpy
    from scipy import stats

    scipy_name, fixed = _CANDIDATES[name]
    distribution: Any = getattr(stats, scipy_name)
    parameters = distribution.fit(values, **fixed)
    names = [*(distribution.shapes or "").split(", "), "loc", "scale"] if distribution.shapes else ["loc", "scale"]
    likelihood = float(numpy.sum(distribution.logpdf(values, *parameters)))
    return {
        "distribution": name,
        "parameters": {each: rounded(value) for each, value in zip(names, parameters, strict=True)},
        "log_likelihood": rounded(likelihood),
        "aic": rounded(2 * (len(parameters) - len(fixed)) - 2 * likelihood),
        "ks_statistic": rounded(stats.kstest(values, scipy_name, args=parameters).statistic),
    }
