from __future__ import annotations

from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import outliers

Table = Callable[[str], str]


def test_outliers_by_iqr_by_hand(table: Table) -> None:
    # 1 2 3 4 100: quartiles 2 and 4, limits 2 - 3 and 4 + 3; the empty second cell shifts the rows
    found = outliers.find_outliers(table("v,w\n1,0\n,0\n2,0\n3,0\n4,0\n100,0\n"), "v")
    assert (found["lower_limit"], found["upper_limit"], found["outliers"]) == (-1, 7, 1)
    assert found["values"] == [{"row": 6, "value": 100}]
    assert (found["count"], found["missing"]) == (5, 1)
    assert outliers.find_outliers(table("v,w\n1,0\n2,0\n3,0\n4,0\n7,0\n"), "v")["outliers"] == 0  # on the limit


def test_outliers_by_z_score_by_hand(table: Table) -> None:
    # nine 0 and one 10: mean 1, population std 3 (z of the 10 is exactly 3), sample std sqrt(10)
    path = table("v,w\n" + "0,1\n" * 9 + "10,1\n")
    assert outliers.find_outliers(path, "v", "zscore")["outliers"] == 0
    assert outliers.find_outliers(path, "v", "zscore", threshold=2.9)["values"] == [{"row": 10, "value": 10}]
    assert outliers.find_outliers(path, "v", "zscore", threshold=2.9, ddof=1)["outliers"] == 0


def test_a_constant_column_has_no_outliers_and_wrong_settings_are_errors(table: Table) -> None:
    path = table("v,w\n0.1,1\n0.1,1\n0.1,1\n")
    assert outliers.find_outliers(path, "v", "zscore")["outliers"] == 0
    for arguments in (("v", "mad"), ("v", "iqr", -1.0), ("v", "zscore", 3.0, 2), ("u",)):
        with pytest.raises(ToolError):
            outliers.find_outliers(path, *arguments)
