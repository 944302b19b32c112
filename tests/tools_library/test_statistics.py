"""Values are worked out by hand or known from textbooks."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import statistics

Table = Callable[[str], str]


def column(*values: object, name: str = "v") -> str:
    return "\n".join([f"{name},other", *(f"{value},1" for value in values)])


def test_describe_column_by_hand(table: Table) -> None:
    # 2 4 4 4 5 5 7 9: mean 5, squared deviations add up to 32, cubed ones to 42, fourth powers to 356
    found = statistics.describe_column(table(column(2, 4, 4, 4, 5, 5, 7, 9)), "v")
    assert (found["count"], found["mean"], found["median"], found["sum"]) == (8, 5, 4.5, 40)
    assert found["std_population"] == 2
    assert found["std_sample"] == pytest.approx(math.sqrt(32 / 7))
    assert (found["minimum"], found["quartile1"], found["quartile3"], found["maximum"]) == (2, 4, 5.5, 9)
    assert found["skewness_population"] == pytest.approx(42 / 8 / 8)
    assert found["excess_kurtosis_population"] == pytest.approx(356 / 8 / 16 - 3)
    assert found["skewness_sample"] == pytest.approx(42 / 64 * math.sqrt(8 * 7) / 6)


def test_missing_text_and_infinite_cells_are_left_out_and_counted(table: Table) -> None:
    found = statistics.describe_column(table(column(1, "", 2, "NaN", 3, "inf", "abc")), "v")
    assert (found["count"], found["missing"], found["ignored_text"], found["mean"]) == (3, 3, 1, 2)
    assert found["skewness_sample"] == 0


def test_thousands_separators_are_numbers(table: Table) -> None:
    assert statistics.describe_column(table('v,w\n"1,000",1\n"2,000,000.5",1\n500,1'), "v")["sum"] == 2001500.5


def test_one_number_and_a_constant_column_have_undefined_moments(table: Table) -> None:
    assert statistics.describe_column(table(column(3)), "v")["std_sample"] is None
    constant = statistics.describe_column(table(column(3, 3, 3, 3, 3)), "v")
    assert (constant["std_sample"], constant["skewness_sample"], constant["excess_kurtosis_population"]) == (
        0,
        None,
        None,
    )


def test_a_text_column_is_described_by_its_values(table: Table) -> None:
    found = statistics.describe_column(table(column("a", "b", "a", "")), "v")
    assert found == {"type": "text", "count": 3, "missing": 1, "distinct": 2, "most_common": {"a": 2, "b": 1}}


def test_an_empty_column_and_a_wrong_name_are_errors(table: Table) -> None:
    path = table("age,height\n,1\n,2")
    with pytest.raises(ToolError, match="'age' is empty"):
        statistics.describe_column(path, "age")
    with pytest.raises(ToolError, match="did you mean 'height'"):
        statistics.describe_column(path, "hieght")
    assert statistics.describe_column(path, " HEIGHT ")["sum"] == 3


def test_correlations_by_hand(table: Table) -> None:
    path = table("a,b,c\n1,2,5\n2,1,5\n3,4,5\n4,3,5\n5,5,5\n6,,5\n,7,5")
    # Pearson: 8 / 10; no ties, so Spearman is 1 - 6 * 4 / (5 * 24); Kendall has 8 concordant, 2 discordant pairs
    for method, coefficient in (("pearson", 0.8), ("Spearman", 0.8), ("kendall", 0.6)):
        found = statistics.correlation(path, "a", "b", method)
        assert found["coefficient"] == pytest.approx(coefficient)
        assert (found["rows_used"], found["rows_left_out"]) == (5, 2)
    # t = 0.8 * sqrt(3 / 0.36) = 2.3094 with 3 degrees of freedom
    assert statistics.correlation(path, "a", "b")["p_value"] == pytest.approx(0.1041, abs=1e-4)
    # of the 120 orders of five, 1 + 4 + 9 have at most two inversions, and as many at least eight
    assert statistics.correlation(path, "a", "b", "kendall")["p_value"] == pytest.approx(28 / 120)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("a", "c"), "'c' is constant"),
        (("a", "a"), "given twice"),
        (("a", "b", "cosine"), "'pearson', 'spearman', 'kendall'"),
        (("a", "d"), "no column 'd'"),
    ],
)
def test_correlations_that_do_not_exist(table: Table, arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        statistics.correlation(table("a,b,c\n1,2,5\n2,1,5\n3,4,5"), *arguments)


def test_shapiro_wilk_on_the_textbook_sample(table: Table) -> None:
    # Shapiro and Wilk (1965): weights of eleven men, W = 0.79, rejected at the 1 % level
    path = table(column(148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236, ""))
    found = statistics.normality_test(path, "v")
    assert found["statistic"] == pytest.approx(0.79, abs=0.005)
    assert found["p_value"] < 0.01
    assert (found["normal"], found["missing"]) == (False, 1)
    assert statistics.normality_test(path, "v", alpha=0.001)["normal"] is True
    for wrong in (0, 1, 5):
        with pytest.raises(ToolError, match="alpha"):
            statistics.normality_test(path, "v", alpha=wrong)


def test_normality_needs_three_numbers_that_vary(table: Table) -> None:
    with pytest.raises(ToolError, match="at least 3"):
        statistics.normality_test(table(column(1, 2, "")), "v")
    with pytest.raises(ToolError, match="constant"):
        statistics.normality_test(table(column(2, 2, 2)), "v")


@pytest.mark.filterwarnings("ignore:scipy.stats.shapiro")
def test_many_numbers_get_a_note(table: Table) -> None:
    assert "5000" in statistics.normality_test(table(column(*range(5001))), "v")["note"]


def test_t_tests_on_students_sleep_data(table: Table) -> None:
    # Student (1908), extra sleep of ten patients under two drugs; the values are in every textbook
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    wide = table("\n".join(["x,y", *(f"{a},{b}" for a, b in zip(first, second, strict=True))]))
    paired = statistics.t_test(wide, "x", "paired", "y")
    assert (paired["t"], paired["degrees_of_freedom"]) == (pytest.approx(-4.0621, abs=1e-4), 9)
    assert paired["p_value"] == pytest.approx(0.002833, abs=1e-6)
    welch = statistics.t_test(wide, "x", "columns", "y")
    assert (welch["t"], welch["degrees_of_freedom"]) == (
        pytest.approx(-1.8608, abs=1e-4),
        pytest.approx(17.776, abs=1e-3),
    )
    assert welch["p_value"] == pytest.approx(0.07939, abs=1e-5)
    long = table("\n".join(["extra,drug", *(f"{v},1" for v in first), *(f"{v},2" for v in second), ",1", "3,"]))
    student = statistics.t_test(long, "extra", "groups", "drug", equal_variances=True)
    assert (student["test"], student["degrees_of_freedom"]) == ("Student's t-test", 18)
    assert student["p_value"] == pytest.approx(0.07919, abs=1e-5)
    assert student["samples"]["1"] == {"mean": 0.75, "count": 10}


def test_one_sample_t_test_by_hand(table: Table) -> None:
    path = table(column(1, 2, 3, 4, 5))
    assert statistics.t_test(path, "v", "mean", "2")["t"] == pytest.approx(math.sqrt(2))  # 1 / sqrt(2.5 / 5)
    with pytest.raises(ToolError, match="must be a number"):
        statistics.t_test(path, "v", "mean", "two")


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
            statistics.t_test(path, "v", kind, against)
    assert statistics.t_test(path, "v", "groups", "k")["samples"]["y"]["mean"] == 4


def test_regression_by_hand(table: Table) -> None:
    path = table("x,y,z\n1,2,2\n2,4,4\n3,5,6\n4,4,8\n5,5,10\n6,,12")
    # slope 6 / 10, intercept 4 - 0.6 * 3, residual 2.4 of 6; error of the slope sqrt(0.8 / 10)
    found = statistics.linear_regression(path, "y", ["x"])
    slope, intercept = found["coefficients"]["x"], found["coefficients"]["intercept"]
    assert (slope["value"], intercept["value"]) == (pytest.approx(0.6), pytest.approx(2.2))
    assert slope["standard_error"] == pytest.approx(math.sqrt(0.08))
    assert (found["r_squared"], found["adjusted_r_squared"]) == (pytest.approx(0.6), pytest.approx(1 - 0.4 * 4 / 3))
    assert (found["rows_used"], found["rows_left_out"]) == (5, 1)
    with pytest.raises(ToolError, match="determine each other"):
        statistics.linear_regression(path, "y", ["x", "z"])
    with pytest.raises(ToolError, match="at least one column"):
        statistics.linear_regression(path, "y", [])


def test_regression_on_features_of_very_different_size(table: Table) -> None:
    rows = [(1e9 * a, 1e-6 * b, 3 + 2 * a - 5 * b) for a, b in [(1, 2), (2, 1), (3, 5), (4, 3), (5, 8), (6, 1)]]
    found = statistics.linear_regression(
        table("\n".join(["a,b,y", *(f"{a},{b},{y}" for a, b, y in rows)])), "y", ["a", "b"]
    )
    assert found["coefficients"]["a"]["value"] == pytest.approx(2e-9)
    assert found["coefficients"]["b"]["value"] == pytest.approx(-5e6)
