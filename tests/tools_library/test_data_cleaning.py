from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import data_cleaning

Table = Callable[[str], str]

GAPS = "age,city,x\n10,Rome,1\n,Paris,2\n30,,3\n20,Rome,\n,Rome,7\n"


def written(workspace: Path, name: str = "new.csv") -> list[str]:
    return (workspace / name).read_text().splitlines()


def test_missing_values_are_reported(table: Table) -> None:
    found = data_cleaning.missing_values(table(GAPS + "10,Rome,1\n"))
    assert found == {
        "rows": 6,
        "columns": 3,
        "missing_cells": 4,
        "complete_rows": 2,
        "duplicate_rows": 1,
        "by_column": {
            "age": {"missing": 2, "percent": pytest.approx(100 / 3)},
            "city": {"missing": 1, "percent": pytest.approx(100 / 6)},
            "x": {"missing": 1, "percent": pytest.approx(100 / 6)},
        },
    }
    assert data_cleaning.missing_values(table("a,b\n"))["missing_cells"] == 0


@pytest.mark.parametrize(
    ("method", "columns", "rows"),
    [
        ("mean", [], ["10.0,Rome,1.0", "20.0,Paris,2.0", "30.0,,3.0", "20.0,Rome,3.25", "20.0,Rome,7.0"]),
        ("median", ["x"], ["10.0,Rome,1.0", ",Paris,2.0", "30.0,,3.0", "20.0,Rome,2.5", ",Rome,7.0"]),
        ("mode", ["city"], ["10.0,Rome,1.0", ",Paris,2.0", "30.0,Rome,3.0", "20.0,Rome,", ",Rome,7.0"]),
        ("forward", ["age"], ["10.0,Rome,1.0", "10.0,Paris,2.0", "30.0,,3.0", "20.0,Rome,", "20.0,Rome,7.0"]),
        ("backward", ["age"], ["10.0,Rome,1.0", "30.0,Paris,2.0", "30.0,,3.0", "20.0,Rome,", ",Rome,7.0"]),
        ("interpolate", [], ["10.0,Rome,1.0", "20.0,Paris,2.0", "30.0,,3.0", "20.0,Rome,5.0", ",Rome,7.0"]),
        ("drop", [], ["10.0,Rome,1.0"]),
        ("drop", ["age"], ["10.0,Rome,1.0", "30.0,,3.0", "20.0,Rome,"]),
    ],
)
def test_gaps_are_filled(table: Table, workspace: Path, method: str, columns: list[str], rows: list[str]) -> None:
    found = data_cleaning.fill_missing_values(table(GAPS), "new.csv", method, columns)
    assert written(workspace) == ["age,city,x", *rows]
    assert found["still_missing"] == sum(cell == "" for row in rows for cell in row.split(","))
    assert found["rows_dropped"] == 5 - len(rows)


def test_what_was_filled_is_told(table: Table, workspace: Path) -> None:
    found = data_cleaning.fill_missing_values(table(GAPS), "new.csv")
    assert found["filled"] == {"age": {"with": 20, "cells": 2}, "x": {"with": 3.25, "cells": 1}}
    found = data_cleaning.fill_missing_values("data.csv", "new.csv", "constant", ["city"], "unknown")
    assert found["filled"] == {"city": {"with": "unknown", "cells": 1}}
    assert written(workspace)[3] == "30.0,unknown,3.0"
    data_cleaning.fill_missing_values("data.csv", "new.csv", "constant", ["age"], "0")
    assert written(workspace)[2] == "0.0,Paris,2.0"


def test_gaps_that_cannot_be_filled(table: Table) -> None:
    path = table(GAPS + "x,Rome,1\n")
    for arguments, problem in [
        (("mean", ["age"]), "1 cells with text"),
        (("mean", ["city"]), "0 numbers"),
        (("constant", ["x"], "many"), "must be a number"),
        (("knn",), "method must be one of"),
        (("mode", ["y"]), "no column"),
    ]:
        with pytest.raises(ToolError, match=problem):
            data_cleaning.fill_missing_values(path, "new.csv", *arguments)


def test_outliers_are_removed_or_clipped(table: Table, workspace: Path) -> None:
    # 1 2 3 4 100: quartiles 2 and 4, limits -1 and 7
    path = table("v,w\n1,a\n2,b\n3,c\n4,d\n100,e\n,f\n")
    found = data_cleaning.remove_outliers(path, "new.csv", ["v"])
    assert (found["outliers"], found["rows_removed"], found["limits"]) == ({"v": 1}, 1, {"v": [-1, 7]})
    assert written(workspace)[-2:] == ["4.0,d", ",f"]
    found = data_cleaning.remove_outliers(path, "new.csv", ["V"], clip=True)
    assert (found["rows_removed"], written(workspace)[-2:]) == (0, ["7.0,e", ",f"])
    assert data_cleaning.remove_outliers(path, "new.csv", ["v"], "zscore")["rows_removed"] == 0
    for columns, problem in [([], "at least one"), (["w"], "0 numbers")]:
        with pytest.raises(ToolError, match=problem):
            data_cleaning.remove_outliers(path, "new.csv", columns)


def test_rows_and_columns_are_selected(table: Table, workspace: Path) -> None:
    path = table(GAPS)
    data_cleaning.save_selection(path, "new.csv", ["city == Rome"], ["city"], drop_duplicates=True)
    assert written(workspace) == ["city", "Rome"]
    data_cleaning.save_selection(path, "new.csv", ["x is not missing", "age > 10"], ["x", "AGE"])
    assert written(workspace) == ["x,age", "3.0,30.0"]
