from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import regression

Table = Callable[[str], str]


def test_regression_by_hand(table: Table) -> None:
    path = table("x,y,z\n1,2,2\n2,4,4\n3,5,6\n4,4,8\n5,5,10\n6,,12")
    # slope 6 / 10, intercept 4 - 0.6 * 3, residual 2.4 of 6; error of the slope sqrt(0.8 / 10)
    found = regression.linear_regression(path, "y", ["x"])
    slope, intercept = found["coefficients"]["x"], found["coefficients"]["intercept"]
    assert (slope["value"], intercept["value"]) == (pytest.approx(0.6), pytest.approx(2.2))
    assert slope["standard_error"] == pytest.approx(math.sqrt(0.08))
    assert (found["r_squared"], found["adjusted_r_squared"]) == (pytest.approx(0.6), pytest.approx(1 - 0.4 * 4 / 3))
    assert (found["rows_used"], found["rows_left_out"]) == (5, 1)
    assert found["rmse"] == pytest.approx(math.sqrt(2.4 / 5))
    with pytest.raises(ToolError, match="determine each other"):
        regression.linear_regression(path, "y", ["x", "z"])
    with pytest.raises(ToolError, match="at least one column"):
        regression.linear_regression(path, "y", [])


def test_regression_on_features_of_very_different_size(table: Table) -> None:
    rows = [(1e9 * a, 1e-6 * b, 3 + 2 * a - 5 * b) for a, b in [(1, 2), (2, 1), (3, 5), (4, 3), (5, 8), (6, 1)]]
    found = regression.linear_regression(
        table("\n".join(["a,b,y", *(f"{a},{b},{y}" for a, b, y in rows)])), "y", ["a", "b"]
    )
    assert found["coefficients"]["a"]["value"] == pytest.approx(2e-9)
    assert found["coefficients"]["b"]["value"] == pytest.approx(-5e6)
