"""Values are worked out by hand or known from textbooks."""

from __future__ import annotations

import math

import pytest

from captain.errors import ToolError
from tools_library import estimation


def test_numbers_are_described() -> None:
    found = estimation.describe_numbers([2, 4, 4, 4, 5, 5, 7, 9])
    assert (found["count"], found["sum"], found["mean"], found["median"], found["modes"]) == (8, 40, 5, 4.5, [4])
    assert (found["variance_population"], found["std_population"]) == (4, 2)
    assert found["variance_sample"] == pytest.approx(32 / 7)
    assert found["standard_error"] == pytest.approx(math.sqrt(32 / 7 / 8))
    assert (found["quartile1"], found["quartile3"], found["iqr"], found["range"]) == (4, 5.5, 1.5, 7)
    assert found["skewness_population"] == pytest.approx(42 / 64)
    means = estimation.describe_numbers([1, 2, 4])
    assert (means["geometric_mean"], means["harmonic_mean"]) == (pytest.approx(2), pytest.approx(12 / 7))
    assert means["modes"] == []


def test_undefined_values_are_null() -> None:
    one = estimation.describe_numbers([3])
    assert (one["std_sample"], one["std_population"], one["skewness_population"], one["modes"]) == (None, 0, None, [3])
    assert estimation.describe_numbers([-1, 1])["geometric_mean"] is None
    for numbers in ([], [math.nan], [1, math.inf]):
        with pytest.raises(ToolError, match="1 to 10000 finite numbers"):
            estimation.describe_numbers(numbers)


def test_intervals_of_a_mean() -> None:
    found = estimation.confidence_interval("mean", 25, mean=100, std=15)  # t with 24 degrees of freedom is 2.064
    assert (found["lower"], found["upper"]) == (pytest.approx(93.808, abs=1e-3), pytest.approx(106.192, abs=1e-3))
    known = estimation.confidence_interval("mean_known_std", 25, mean=100, std=15, confidence=0.99)
    assert known["margin"] == pytest.approx(2.5758 * 3, abs=1e-3)


def test_intervals_of_a_proportion() -> None:
    found = estimation.confidence_interval("proportion", 100, successes=40)
    assert found["margin"] == pytest.approx(1.959964 * math.sqrt(0.24 / 100))
    centre, z = 0.4, 1.959964  # Wilson's formula
    middle = (centre + z * z / 200) / (1 + z * z / 100)
    reach = z / (1 + z * z / 100) * math.sqrt(0.24 / 100 + z * z / 40000)
    assert (found["lower"], found["upper"]) == (pytest.approx(middle - reach), pytest.approx(middle + reach))
    none = estimation.confidence_interval("proportion", 10, successes=0)
    assert none["exact_upper"] == pytest.approx(1 - 0.025**0.1)


def test_sample_sizes_of_textbooks() -> None:
    assert estimation.required_sample_size("proportion", margin=0.03)["n"] == 1068  # the usual poll
    assert estimation.required_sample_size("mean", margin=2, std=10)["n"] == 97
    assert estimation.required_sample_size("two_means", margin=5, std=10)["n"] == 63  # Cohen's d of 0.5
    assert estimation.required_sample_size("two_proportions", proportion1=0.1, proportion2=0.15)["n"] == 683


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: estimation.confidence_interval("median", 5), "kind must be"),
        (lambda: estimation.confidence_interval("mean", 1), "at least 2"),
        (lambda: estimation.confidence_interval("mean", 5, std=-1), "not negative"),
        (lambda: estimation.confidence_interval("mean", 5, confidence=95), "between 0 and 1"),
        (lambda: estimation.confidence_interval("proportion", 5, successes=6), "6 of 5"),
        (lambda: estimation.required_sample_size("mean", margin=1), "std above 0"),
        (lambda: estimation.required_sample_size("proportion"), "margin above 0"),
        (lambda: estimation.required_sample_size("two_proportions"), "no difference"),
        (lambda: estimation.required_sample_size("proportion", margin=1, power=1), "between 0 and 1"),
    ],
)
def test_estimates_that_do_not_exist(call: object, problem: str) -> None:
    assert callable(call)
    with pytest.raises(ToolError, match=problem):
        call()
