"""Values are from printed tables, from formulas or counted by hand."""

from __future__ import annotations

import math

import pytest

from captain.errors import ToolError
from tools_library import probability


@pytest.mark.parametrize(
    ("distribution", "parameters", "x", "at_most"),
    [
        ("normal", [0, 1], 1.96, 0.9750),
        ("normal", [100, 15], 130, 0.97725),
        ("t", [10], 2.228, 0.975),
        ("chi2", [1], 3.841, 0.95),
        ("f", [2, 10], 4.103, 0.95),
        ("exponential", [2], 1, 1 - math.exp(-2)),
        ("uniform", [0, 4], 1, 0.25),
        ("gamma", [1, 2], 1, 1 - math.exp(-2)),
        ("beta", [1, 1], 0.3, 0.3),
        ("lognormal", [0, 1], 1, 0.5),
        ("weibull", [1, 2], 2, 1 - math.exp(-1)),
        ("binomial", [10, 1 / 2], 3, 176 / 1024),
        ("poisson", [2], 1, 3 * math.exp(-2)),
        ("geometric", [0.5], 2, 0.75),
        ("negative_binomial", [1, 0.5], 1, 0.75),
        ("hypergeometric", [52, 4, 5], 0, math.comb(48, 5) / math.comb(52, 5)),  # no ace
    ],
)
def test_distributions(distribution: str, parameters: list[float], x: float, at_most: float) -> None:
    found = probability.distribution_probability(distribution, parameters, x)
    assert found["at_most"] == pytest.approx(at_most, abs=5e-5)
    assert found["above"] == pytest.approx(1 - at_most, abs=5e-5)


def test_density_range_and_moments() -> None:
    found = probability.distribution_probability("Binomial", [10, 0.5], 3, upto="5")
    assert found["density"] == pytest.approx(120 / 1024)
    assert found["between"] == pytest.approx((120 + 210 + 252) / 1024)  # 3 itself counts
    assert (found["mean"], found["std"]) == (5, pytest.approx(math.sqrt(2.5)))
    normal = probability.distribution_probability("normal", [0, 1], -1, "1")
    assert normal["between"] == pytest.approx(0.682689, abs=1e-6)
    assert normal["density"] == pytest.approx(math.exp(-0.5) / math.sqrt(2 * math.pi))
    assert probability.distribution_probability("t", [1], 0)["mean"] is None  # Cauchy has none


def test_critical_values_of_tables() -> None:
    assert probability.distribution_quantile("normal", [0, 1], 0.95)["quantile"] == pytest.approx(1.645, abs=5e-4)
    found = probability.distribution_quantile("t", [10], 0.95)
    assert (found["quantile"], found["two_sided_high"]) == (
        pytest.approx(1.812, abs=5e-4),
        pytest.approx(2.228, abs=5e-4),
    )
    assert found["two_sided_low"] == pytest.approx(-2.228, abs=5e-4)
    assert probability.distribution_quantile("chi2", [5], 0.05)["upper"] == pytest.approx(11.070, abs=5e-4)
    assert probability.distribution_quantile("binomial", [10, 0.5], 0.5)["quantile"] == 5


@pytest.mark.parametrize(
    ("distribution", "parameters", "problem"),
    [
        ("normal", [0], "takes 2 parameters"),
        ("normal", [0, -1], "no normal distribution"),
        ("normal", [0, 0], "no normal distribution"),
        ("exponential", [0], "no exponential distribution"),
        ("binomial", [10, 1.5], "no binomial distribution"),
        ("binomial", [10.5, 0.5], "no binomial distribution"),
        ("uniform", [3, 1], "no uniform distribution"),
        ("poisson", [float("nan")], "no poisson distribution"),
        ("zipf", [2], "distribution must be one of"),
    ],
)
def test_distributions_that_do_not_exist(distribution: str, parameters: list[float], problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        probability.distribution_probability(distribution, parameters, 1)
    with pytest.raises(ToolError, match=problem):
        probability.distribution_quantile(distribution, parameters, 0.5)


def test_ranges_and_probabilities_out_of_order() -> None:
    with pytest.raises(ToolError, match="must not be below"):
        probability.distribution_probability("normal", [0, 1], 2, "1")
    for share in (0, 1, 2):
        with pytest.raises(ToolError, match="between 0 and 1"):
            probability.distribution_quantile("normal", [0, 1], share)


def test_bayes() -> None:
    # of 10000 people 100 are ill and 90 of them test positive, as do 495 of the others
    found = probability.bayes_rule([0.01], [0.9, 0.05], ["ill", "well"])
    assert found["evidence"] == pytest.approx(585 / 10000)
    assert found["posteriors"] == {"ill": pytest.approx(90 / 585), "well": pytest.approx(495 / 585)}
    doors = probability.bayes_rule([1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, 1])  # Monty Hall
    assert doors["posteriors"] == {"1": pytest.approx(1 / 3), "2": 0, "3": pytest.approx(2 / 3)}
    for priors, likelihoods, problem in [
        ([0.5, 0.4], [1, 1], "add up to 0.9"),
        ([0.5, 0.5], [1], "as many"),
        ([0.5, 0.5], [0, 0], "impossible"),
        ([2], [1, 1], "must be probabilities"),
    ]:
        with pytest.raises(ToolError, match=problem):
            probability.bayes_rule(priors, likelihoods)
