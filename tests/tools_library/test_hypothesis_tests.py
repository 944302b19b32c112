from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import pytest

from captain.errors import ToolError
from tools_library import hypothesis_tests

Table = Callable[[str], str]


def column(*values: object, name: str = "v") -> str:
    return "\n".join([f"{name},other", *(f"{value},1" for value in values)])


def test_shapiro_wilk_on_the_textbook_sample(table: Table) -> None:
    # Shapiro and Wilk (1965): weights of eleven men, W = 0.79, rejected at the 1 % level
    path = table(column(148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236, ""))
    found = hypothesis_tests.normality_test(path, "v")
    assert found["statistic"] == pytest.approx(0.79, abs=0.005)
    assert found["p_value"] < 0.01
    assert (found["normal"], found["missing"]) == (False, 1)
    assert hypothesis_tests.normality_test(path, "v", alpha=0.001)["normal"] is True
    for wrong in (0, 1, 5):
        with pytest.raises(ToolError, match="alpha"):
            hypothesis_tests.normality_test(path, "v", alpha=wrong)


def test_normality_needs_three_numbers_that_vary(table: Table) -> None:
    with pytest.raises(ToolError, match="at least 3"):
        hypothesis_tests.normality_test(table(column(1, 2, "")), "v")
    with pytest.raises(ToolError, match="constant"):
        hypothesis_tests.normality_test(table(column(2, 2, 2)), "v")


@pytest.mark.filterwarnings("ignore:scipy.stats.shapiro")
def test_many_numbers_get_a_note(table: Table) -> None:
    assert "5000" in hypothesis_tests.normality_test(table(column(*range(5001))), "v")["note"]


def test_t_tests_on_students_sleep_data(table: Table) -> None:
    # Student (1908), extra sleep of ten patients under two drugs; the values are in every textbook
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    wide = table("\n".join(["x,y", *(f"{a},{b}" for a, b in zip(first, second, strict=True))]))
    paired = hypothesis_tests.t_test(wide, "x", "paired", "y")
    assert (paired["t"], paired["degrees_of_freedom"]) == (pytest.approx(-4.0621, abs=1e-4), 9)
    assert paired["p_value"] == pytest.approx(0.002833, abs=1e-6)
    welch = hypothesis_tests.t_test(wide, "x", "columns", "y")
    assert (welch["t"], welch["degrees_of_freedom"]) == (
        pytest.approx(-1.8608, abs=1e-4),
        pytest.approx(17.776, abs=1e-3),
    )
    assert welch["p_value"] == pytest.approx(0.07939, abs=1e-5)
    long = table("\n".join(["extra,drug", *(f"{v},1" for v in first), *(f"{v},2" for v in second), ",1", "3,"]))
    student = hypothesis_tests.t_test(long, "extra", "groups", "drug", equal_variances=True)
    assert (student["test"], student["degrees_of_freedom"]) == ("Student's t-test", 18)
    assert student["p_value"] == pytest.approx(0.07919, abs=1e-5)
    assert student["samples"]["1"] == {"mean": 0.75, "count": 10}


def test_one_sample_t_test_by_hand(table: Table) -> None:
    path = table(column(1, 2, 3, 4, 5))
    assert hypothesis_tests.t_test(path, "v", "mean", "2")["t"] == pytest.approx(math.sqrt(2))  # 1 / sqrt(2.5 / 5)
    with pytest.raises(ToolError, match="must be a number"):
        hypothesis_tests.t_test(path, "v", "mean", "two")


def test_t_tests_that_cannot_be_done(table: Table) -> None:
    path = table("v,g,h,k\n1,a,1,x\n2,b,1,x\n3,c,1,y\n4,a,1,y\n5,b,1,y\n")
    for kind, against, problem in [
        ("groups", "g", "3 groups"),
        ("groups", "h", "1 groups"),
        ("sum", "g", "kind must be"),
        ("columns", "g", "at least 2"),
        ("paired", "v", "given twice"),
    ]:
        with pytest.raises(ToolError, match=problem):
            hypothesis_tests.t_test(path, "v", kind, against)
    assert hypothesis_tests.t_test(path, "v", "groups", "k")["samples"]["y"]["mean"] == 4


def test_other_tests_of_normality(table: Table) -> None:
    skewed = table(column(*(2 ** (n / 3) for n in range(40)), "", "x"))
    for method in ("dagostino", "kolmogorov", "anderson", "jarque_bera"):
        found = hypothesis_tests.normality_test(skewed, "v", method=method)
        assert (found["normal"], found["count"], found["missing"], found["ignored_text"]) == (False, 40, 1, 1)
    # quantiles of the normal distribution itself
    even = table(column(*(NormalDist().inv_cdf((n + 0.5) / 50) for n in range(50))))
    for method in ("shapiro", "dagostino", "kolmogorov", "anderson", "jarque_bera"):
        assert hypothesis_tests.normality_test(even, "v", method=method)["normal"] is True
    # Jarque-Bera of 1 to 5: skewness 0, kurtosis 1.7, so 5 / 6 * 1.3^2 / 4
    found = hypothesis_tests.normality_test(table(column(1, 2, 3, 4, 5)), "v", method="jarque_bera")
    assert found["statistic"] == pytest.approx(5 / 6 * 1.69 / 4)
    with pytest.raises(ToolError, match="at least 20"):
        hypothesis_tests.normality_test(table(column(1, 2, 3)), "v", method="dagostino")


def test_rank_tests_by_hand(table: Table) -> None:
    # every number of the first group is below every one of the second: 2 of the 20 orders are as extreme
    path = table("v,g\n1,a\n2,a\n3,a\n4,b\n5,b\n6,b\n,a\n9,\n")
    found = hypothesis_tests.rank_test(path, "v", "groups", "g")
    assert (found["statistic"], found["p_value"]) == (0, pytest.approx(0.1))
    assert found["samples"]["b"] == {"median": 5, "count": 3}
    # five differences, all of one sign: 2 of 32 sign patterns
    pairs = table("x,y\n1,2\n2,4\n3,6\n4,8\n5,10\n")
    found = hypothesis_tests.rank_test(pairs, "x", "paired", "y")
    assert (found["test"], found["p_value"]) == ("Wilcoxon signed-rank test", pytest.approx(2 / 32))
    with pytest.raises(ToolError, match="equal in every row"):
        hypothesis_tests.rank_test(table("x,y\n1,1\n2,2\n"), "x", "paired", "y")
    with pytest.raises(ToolError, match="kind must be"):
        hypothesis_tests.rank_test(pairs, "x", "mean", "3")


def test_analysis_of_variance_by_hand(table: Table) -> None:
    # means 2, 3, 7 around 4: between 3 * (4 + 1 + 9) / 2 = 21, within 6 / 6 = 1
    path = table("v,g\n1,a\n2,a\n3,a\n2,b\n3,b\n4,b\n6,c\n7,c\n8,c\n,c\ninf,a\n")
    found = hypothesis_tests.compare_groups(path, "v", "g")
    assert found["statistic"] == pytest.approx(21)
    # with 2 numerator degrees of freedom the tail of F is (1 + 2 F / 6)^-3
    assert found["p_value"] == pytest.approx((1 + 2 * 21 / 6) ** -3)
    assert found["groups"]["c"] == {"mean": 7, "std": 1, "count": 3}
    # ranks 1, 2.5, 4.5 | 2.5, 4.5, 6 | 7, 8, 9: sums 8, 13, 24; ties 2 of 2
    raw = 12 / 90 * (64 + 169 + 576) / 3 - 30
    kruskal = hypothesis_tests.compare_groups(path, "v", "g", "kruskal")
    assert kruskal["statistic"] == pytest.approx(raw / (1 - 12 / 720))
    assert hypothesis_tests.compare_groups(path, "v", "g", "levene")["statistic"] == 0
    assert hypothesis_tests.compare_groups(path, "v", "g", "bartlett")["p_value"] == pytest.approx(1)


def test_groups_that_cannot_be_compared(table: Table) -> None:
    path = table("v,g,h,k\n1,a,1,1\n1,a,1,2\n1,b,1,3\n1,b,1,4\n")
    for by, problem in [("g", "every group is constant"), ("h", "1 groups"), ("k", "fewer than 2"), ("x", "no column")]:
        with pytest.raises(ToolError, match=problem):
            hypothesis_tests.compare_groups(path, "v", by)


def test_chi_square_by_hand(table: Table) -> None:
    # 10 20 / 30 40: 100 * (400 - 600)^2 / (30 * 70 * 40 * 60)
    cells = [("a", "x", 10), ("a", "y", 20), ("b", "x", 30), ("b", "y", 40)]
    rows = [f"{g},{h}" for g, h, times in cells for _ in range(times)]
    path = table("\n".join(["g,h", *rows, "a,", ",y"]))
    found = hypothesis_tests.chi_square_test(path, "g", "h")
    expected = 100 * 200**2 / (30 * 70 * 40 * 60)
    assert found["chi_square"] == pytest.approx(expected)
    assert found["p_value"] == pytest.approx(math.erfc(math.sqrt(expected / 2)))
    assert (found["degrees_of_freedom"], found["rows_used"], found["rows_left_out"]) == (1, 100, 2)
    assert found["table"] == {"a": {"x": 10, "y": 20}, "b": {"x": 30, "y": 40}}
    assert found["cramers_v"] == pytest.approx(math.sqrt(expected / 100))
    assert found["smallest_expected"] == pytest.approx(30 * 40 / 100)
    corrected = hypothesis_tests.chi_square_test(path, "g", "h", yates=True)
    assert corrected["chi_square"] == pytest.approx(100 * (200 - 50) ** 2 / (30 * 70 * 40 * 60))
    with pytest.raises(ToolError, match="given twice"):
        hypothesis_tests.chi_square_test(path, "g", "g")
    with pytest.raises(ToolError, match="1 different values"):
        hypothesis_tests.chi_square_test(table("g,h\na,x\nb,x\n"), "g", "h")
