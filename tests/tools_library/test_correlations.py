from __future__ import annotations

from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import correlations

Table = Callable[[str], str]


def test_correlations_by_hand(table: Table) -> None:
    path = table("a,b,c\n1,2,5\n2,1,5\n3,4,5\n4,3,5\n5,5,5\n6,,5\n,7,5")
    # Pearson: 8 / 10; no ties, so Spearman is 1 - 6 * 4 / (5 * 24); Kendall has 8 concordant, 2 discordant pairs
    for method, coefficient in (("pearson", 0.8), ("Spearman", 0.8), ("kendall", 0.6)):
        found = correlations.correlation(path, "a", "b", method)
        assert found["coefficient"] == pytest.approx(coefficient)
        assert (found["rows_used"], found["rows_left_out"]) == (5, 2)
    # t = 0.8 * sqrt(3 / 0.36) = 2.3094 with 3 degrees of freedom
    assert correlations.correlation(path, "a", "b")["p_value"] == pytest.approx(0.1041, abs=1e-4)
    # of the 120 orders of five, 1 + 4 + 9 have at most two inversions, and as many at least eight
    assert correlations.correlation(path, "a", "b", "kendall")["p_value"] == pytest.approx(28 / 120)


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
        correlations.correlation(table("a,b,c\n1,2,5\n2,1,5\n3,4,5"), *arguments)


def test_a_matrix_by_hand(table: Table) -> None:
    path = table("a,b,c,name,k\n1,2,5,x,1\n2,1,4,y,1\n3,4,3,x,1\n4,3,2,y,1\n5,5,1,z,1\n6,,0,z,1\n")
    text = correlations.correlation_matrix(path)
    assert text.splitlines()[:4] == [",a,b,c,k", "a,1,0.8,-1,", "b,0.8,1,-0.8,", "c,-1,-0.8,1,"]
    assert "a and c: -1 (p = 0, 6 rows)" in text and "a and b: 0.8 (p = 0.1041, 5 rows)" in text
    assert text.index("a and c") < text.index("a and b")
    assert "a and b: 0.6" in correlations.correlation_matrix(path, ["a", "b"], "kendall")


def test_a_matrix_needs_two_numeric_columns(table: Table) -> None:
    path = table("a,b\n1,x\n2,y\n3,z\n")
    for columns, problem in [([], "two numeric"), (["a", "a"], "two numeric"), (["a", "b"], "0 numbers")]:
        with pytest.raises(ToolError, match=problem):
            correlations.correlation_matrix(path, columns)
