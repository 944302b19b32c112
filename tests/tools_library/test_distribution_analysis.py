from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import pytest

from captain.errors import ToolError
from tools_library import distribution_analysis as distributions

Table = Callable[[str], str]


def column(*values: object) -> str:
    return "\n".join(["v,other", *(f"{value},1" for value in values)])


def test_a_distribution_by_hand(table: Table) -> None:
    # 2 4 4 4 5 5 7 9: cubed deviations add up to 42, fourth powers to 356, the population deviation is 2
    found = distributions.describe_distribution(table(column(2, 4, 4, 4, 5, 5, 7, 9, "", "nan", "x")), "v", bins=7)
    assert (found["count"], found["missing"], found["ignored_text"]) == (8, 2, 1)
    assert found["skewness"] == pytest.approx(42 / 64)
    assert found["excess_kurtosis"] == pytest.approx(356 / 128 - 3)
    assert found["skewness_sample"] == pytest.approx(42 / 64 * math.sqrt(56) / 6)
    assert (found["quantiles"]["0.5"], found["quantiles"]["0.75"]) == (4.5, 5.5)
    assert [part["count"] for part in found["histogram"]] == [1, 0, 3, 2, 0, 1, 1]
    assert found["histogram"][0] == {"from": 2, "to": 3, "count": 1}
    assert found["shape"] == "right-skewed, tails like the normal distribution"


def test_distributions_that_do_not_exist(table: Table) -> None:
    for values, problem in [((1, 2), "at least 3"), ((3, 3, 3), "constant")]:
        with pytest.raises(ToolError, match=problem):
            distributions.describe_distribution(table(column(*values)), "v")
    with pytest.raises(ToolError, match="bins"):
        distributions.describe_distribution(table(column(1, 2, 3)), "v", bins=0)


def test_the_true_distribution_fits_best(table: Table) -> None:
    shares = [(n + 0.5) / 200 for n in range(200)]
    exponential = [-math.log(1 - share) * 4 for share in shares]
    found = distributions.fit_distribution(table(column(*exponential)), "v", ["normal", "exponential", "uniform"])
    assert found["best"] == "exponential"
    assert found["fits"][0]["parameters"] == {"loc": 0, "scale": pytest.approx(sum(exponential) / 200)}  # the mean
    normal = [NormalDist(10, 2).inv_cdf(share) for share in shares]
    found = distributions.fit_distribution(table(column(*normal)), "v")
    assert {fit["distribution"] for fit in found["fits"]} > {"normal", "gamma", "laplace"}
    normal_fit = next(fit for fit in found["fits"] if fit["distribution"] == "normal")
    spread = math.sqrt(sum((value - 10) ** 2 for value in normal) / 200)
    assert normal_fit["parameters"] == {"loc": pytest.approx(10), "scale": pytest.approx(spread)}
    # log-likelihood of a fitted normal distribution: -n / 2 * (log(2 pi s^2) + 1)
    likelihood = -100 * (math.log(2 * math.pi * spread**2) + 1)
    assert normal_fit["aic"] == pytest.approx(4 - 2 * likelihood)
    assert normal_fit["ks_statistic"] < 0.01


def test_distributions_of_positive_numbers_only(table: Table) -> None:
    path = table(column(-1, 0, 1, 2, 3, 4))
    found = distributions.fit_distribution(path, "v")
    assert {fit["distribution"] for fit in found["fits"]} == {"normal", "uniform", "logistic", "laplace"}
    uniform = next(fit for fit in found["fits"] if fit["distribution"] == "uniform")
    assert uniform["parameters"] == {"loc": -1, "scale": 5}
    with pytest.raises(ToolError, match="need positive numbers"):
        distributions.fit_distribution(path, "v", ["gamma", "exponential"])
    with pytest.raises(ToolError, match="distributions must be one of"):
        distributions.fit_distribution(path, "v", ["cauchy"])
