"""Probability distributions and conditional probabilities."""

from __future__ import annotations

import math
from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.samples import finite
from tools_library.tables import one_of, rounded

# name: scipy's name, the parameters in the order they are given, and how scipy takes them
_DISTRIBUTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "normal": ("norm", ("mean", "standard deviation")),
    "t": ("t", ("degrees of freedom",)),
    "chi2": ("chi2", ("degrees of freedom",)),
    "f": ("f", ("numerator degrees of freedom", "denominator degrees of freedom")),
    "exponential": ("expon", ("rate",)),
    "uniform": ("uniform", ("lower end", "upper end")),
    "gamma": ("gamma", ("shape", "rate")),
    "beta": ("beta", ("alpha", "beta")),
    "lognormal": ("lognorm", ("mean of the logarithm", "deviation of the logarithm")),
    "weibull": ("weibull_min", ("shape", "scale")),
    "binomial": ("binom", ("trials", "probability of success")),
    "poisson": ("poisson", ("mean",)),
    "geometric": ("geom", ("probability of success",)),
    "negative_binomial": ("nbinom", ("successes", "probability of success")),
    "hypergeometric": ("hypergeom", ("population", "successes in it", "draws")),
}
_DISCRETE = ("binomial", "poisson", "geometric", "negative_binomial", "hypergeometric")


@tool
def distribution_probability(distribution: str, parameters: list[float], x: float, upto: str = "") -> dict[str, Any]:
    """Probability of a value or a range under a distribution: normal, Student t, chi-square, F, binomial, Poisson,
    exponential, geometric, hypergeometric and others; density (pdf, pmf), cdf, tail.

    Args:
        distribution: "normal", "t", "chi2", "f", "exponential", "uniform", "gamma", "beta", "lognormal", "weibull",
            "binomial", "poisson", "geometric" (trials up to the first success), "negative_binomial" (failures before
            the last success) or "hypergeometric".
        parameters: In this order: normal mean, standard deviation; t, chi2 degrees of freedom; f two of them;
            exponential rate; uniform ends; gamma shape, rate; beta alpha, beta; lognormal mean and deviation of the
            logarithm; weibull shape, scale; binomial trials, probability; poisson mean; geometric probability;
            negative_binomial successes, probability; hypergeometric population, successes in it, draws.
        x: The value.
        upto: Optional second value for the probability of the range from x to it, both included.

    Returns:
        density (pdf, or for whole numbers the probability of x itself), at_most (P(X <= x), cdf), above (P(X > x)),
        between (with upto), mean, std.

    Raises:
        ToolError: An unknown distribution, a wrong number of parameters, or one out of range.
    """
    frozen, discrete = _frozen(distribution, parameters), distribution.strip().lower() in _DISCRETE
    if not math.isfinite(x):
        raise ToolError(f"x must be a finite number, not {x}")
    result = {
        "density": rounded(frozen.pmf(x) if discrete else frozen.pdf(x)),
        "at_most": rounded(frozen.cdf(x)),
        "above": rounded(frozen.sf(x)),
    }
    if upto.strip():
        high = finite(upto, "upto")
        if high < x:
            raise ToolError(f"upto must not be below x: {high:g} < {x:g}")
        below = frozen.cdf(math.ceil(x) - 1) if discrete else frozen.cdf(x)
        result["between"] = rounded(frozen.cdf(high) - below)
    return {**result, "mean": rounded(frozen.mean()), "std": rounded(frozen.std())}


@tool
def distribution_quantile(distribution: str, parameters: list[float], probability: float) -> dict[str, float | None]:
    """Quantile, percentile or critical value of a distribution (inverse cdf, z, t, chi-square or F table): the value
    below which a given probability lies, also for two-sided tests.

    Args:
        distribution: As for distribution_probability: "normal", "t", "chi2", "f", "binomial", "poisson" and so on.
        parameters: In the same order, for example [0, 1] for the standard normal distribution, [10] for t.
        probability: Between 0 and 1, for example 0.95.

    Returns:
        quantile (P(X <= quantile) = probability; for whole numbers the least with at least it), upper (the value above
        which the probability lies), two_sided_low and two_sided_high (the probability lies between them).

    Raises:
        ToolError: An unknown distribution, a wrong number of parameters, or one out of range.
    """
    if not 0 < probability < 1:
        raise ToolError(f"probability must be between 0 and 1, not {probability}")
    frozen = _frozen(distribution, parameters)
    return {
        "quantile": rounded(frozen.ppf(probability)),
        "upper": rounded(frozen.isf(probability)),
        "two_sided_low": rounded(frozen.ppf((1 - probability) / 2)),
        "two_sided_high": rounded(frozen.isf((1 - probability) / 2)),
    }


@tool
def bayes_rule(priors: list[float], likelihoods: list[float], names: list[str] = []) -> dict[str, Any]:
    """Bayes' theorem: posterior probabilities of hypotheses from priors and likelihoods, such as the chance of a
    disease after a positive test (prevalence, sensitivity, false positives); total probability.

    Args:
        priors: Probability of each hypothesis before, adding up to 1, for example [0.01, 0.99]. A single one p
            stands for p and 1 - p.
        likelihoods: Probability of what was observed under each hypothesis, for example [0.9, 0.05].
        names: Names of the hypotheses; empty for 1, 2, 3 ...

    Returns:
        evidence (total probability of what was observed), posteriors (hypothesis -> probability after).

    Raises:
        ToolError: A number is no probability, the priors do not add up to 1, or the lists differ in length.
    """
    before, given = list(priors), list(likelihoods)
    if stray := [value for value in (*before, *given) if not 0 <= value <= 1]:
        raise ToolError(f"priors and likelihoods must be probabilities from 0 to 1, not {stray[0]:g}")
    if len(before) == 1 and len(given) == 2:
        before.append(1 - before[0])
    labels = names or [str(number) for number in range(1, len(before) + 1)]
    if not len(before) == len(given) == len(labels) or len(set(labels)) < len(labels):
        raise ToolError(
            f"there are {len(before)} priors, {len(given)} likelihoods and {len(labels)} names; as many needed"
        )
    if abs(sum(before) - 1) > 1e-6:
        raise ToolError(f"the priors add up to {sum(before):g}, not to 1")
    evidence = sum(p * q for p, q in zip(before, given, strict=True))
    if evidence == 0:
        raise ToolError("what was observed is impossible under every hypothesis")
    shares = [rounded(p * q / evidence) for p, q in zip(before, given, strict=True)]
    return {"evidence": rounded(evidence), "posteriors": dict(zip(labels, shares, strict=True))}


def _frozen(distribution: str, parameters: list[float]) -> Any:
    """The distribution with its parameters.

    Raises:
        ToolError: It is unknown, or a parameter is missing or out of range.
    """
    import numpy
    from scipy import stats

    name = one_of(distribution, tuple(_DISTRIBUTIONS), "distribution")
    scipy_name, wanted = _DISTRIBUTIONS[name]
    if len(parameters) != len(wanted):
        raise ToolError(f"{name!r} takes {len(wanted)} parameters ({', '.join(wanted)}), not {len(parameters)}")
    values = [float(parameter) for parameter in parameters]
    shaped: Any = getattr(stats, scipy_name)
    match name:
        case "exponential" if values[0] > 0:
            frozen = shaped(scale=1 / values[0])
        case "gamma" if values[1] > 0:
            frozen = shaped(values[0], scale=1 / values[1])
        case "uniform":
            frozen = shaped(values[0], values[1] - values[0])
        case "lognormal":
            frozen = shaped(values[1], scale=math.exp(min(values[0], 700)))
        case "weibull":
            frozen = shaped(values[0], scale=values[1])
        case "exponential" | "gamma":
            frozen = None
        case _:
            frozen = shaped(*values)
    with numpy.errstate(all="ignore"):
        known = frozen is not None and math.isfinite(float(frozen.ppf(0.5)))
    if not known:
        given = ", ".join(f"{what} {value:g}" for what, value in zip(wanted, values, strict=True))
        raise ToolError(f"there is no {name} distribution with {given}")
    return frozen
