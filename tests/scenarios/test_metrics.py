from __future__ import annotations

import pytest

from scenarios.metrics import bootstrap_interval, mcnemar_p, median, wilson_interval


def test_wilson_against_published_values() -> None:
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(29, 29) == pytest.approx((0.8830, 1.0), abs=5e-5)


def test_wilson_edges() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson_interval(3, 2)


def test_mcnemar_by_hand() -> None:
    assert mcnemar_p(0, 0) == 1
    assert mcnemar_p(5, 0) == pytest.approx(2 / 32)
    assert mcnemar_p(1, 6) == pytest.approx(2 * 8 / 128)
    assert mcnemar_p(3, 3) == 1


def test_bootstrap_is_seeded_and_brackets_the_mean() -> None:
    groups = [[1.0]] * 6 + [[0.0]] * 4
    low, high = bootstrap_interval(groups, seed=1, samples=2000)
    assert (low, high) == bootstrap_interval(groups, seed=1, samples=2000)
    assert 0.2 <= low <= 0.4 and 0.8 <= high <= 1.0


def test_bootstrap_draws_tasks_not_repeats() -> None:
    few = bootstrap_interval([[1.0] * 50, [0.0] * 50], seed=1, samples=500)
    assert few == (0.0, 1.0)
    assert bootstrap_interval([], seed=1) == (0.0, 0.0)


def test_median() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    assert median([]) is None
