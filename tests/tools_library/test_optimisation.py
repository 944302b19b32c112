from __future__ import annotations

import math

import pytest

from captain.errors import ToolError
from tools_library import optimisation


def test_a_linear_program_by_hand() -> None:
    # the corners of the region are (0, 0), (3, 0), (3, 1) and (0, 2)
    constraints = ["x + y <= 4", "x + 3y <= 6", "x ≤ 3"]
    assert optimisation.linear_program("3x + 2y", constraints).splitlines() == [
        "maximum: 11",
        "x = 3",
        "y = 1",
        "x + y <= 4: binding",
        "x + 3y <= 6: binding",
        "x ≤ 3: binding",
    ]
    assert optimisation.linear_program("x + y + 10", ["x + 2y >= 4", "x - y = 1"], "minimise").splitlines()[:3] == [
        "minimum: 13",
        "x = 2",
        "y = 1",
    ]


def test_whole_and_negative_variables() -> None:
    relaxed = optimisation.linear_program("x + y", ["2x + 2y <= 5"])
    assert relaxed.startswith("maximum: 2.5")
    assert optimisation.linear_program("x + y", ["2x + 2y <= 5"], integers="all").startswith("maximum: 2\n")
    # a knapsack of 10 with weights 5, 4, 6, 3 and values 10, 40, 30, 50
    knapsack = optimisation.linear_program(
        "10a + 40b + 30c + 50d", ["5a + 4b + 6c + 3d <= 10", "a<=1", "b<=1", "c<=1", "d<=1"], integers="a, b, c, d"
    )
    assert knapsack.splitlines()[:5] == ["maximum: 90", "a = 0", "b = 1", "c = 0", "d = 1"]
    assert optimisation.linear_program("x", ["-2 <= x <= 5"], "minimize", free="x").startswith("minimum: -2\n")


def test_programs_without_an_optimum() -> None:
    assert optimisation.linear_program("x", ["x >= 1"]) == "no optimum (unbounded: no limit)"
    assert optimisation.linear_program("x", ["x >= 1", "x <= 0"]).startswith("no optimum (infeasible")
    for arguments, problem in [
        (("x*y", ["x <= 1"]), "not linear"),
        (("x", ["x + y"]), "no <=, >= or ="),
        (("x", ["x <= 1"], "maximize", "z"), "z is no variable"),
        (("x", [], "best"), "goal must be"),
        (("3", []), "1 to 200 variables"),
    ]:
        with pytest.raises(ToolError, match=problem):
            optimisation.linear_program(*arguments)


def values_of(text: str) -> list[float]:
    return [float(line.partition("≈")[2].split()[0]) for line in text.splitlines()]


def test_minima_of_known_functions() -> None:
    rosenbrock = optimisation.find_minimum("(1 - x)^2 + 100(y - x^2)^2", ["x: -2 to 2", "y: -1 to 3"])
    assert values_of(rosenbrock) == [pytest.approx(0, abs=1e-8), pytest.approx(1, abs=1e-4), pytest.approx(1, abs=1e-4)]
    top = optimisation.find_minimum("x*exp(-x)", ["x: 0..10"], "maximize")
    assert values_of(top) == [pytest.approx(1 / math.e), pytest.approx(1, abs=1e-5)]
    assert values_of(optimisation.find_minimum("abs(x) + abs(y + 1)", ["x: -3, 4", "y in [-5, 5]"])) == [
        pytest.approx(value, abs=1e-6) for value in (0, 0, -1)
    ]
    assert "at the edge" in optimisation.find_minimum("log(x)", ["x: 1 to 2"])


def test_minima_that_do_not_exist() -> None:
    for expression, bounds, problem in [
        ("x + y", ["x: 0 to 1"], "no bounds for y"),
        ("sqrt(x)", ["x: -5 to -1"], "no finite real value"),
        ("x", ["x: 1 to 0"], "the smaller one first"),
        ("x", ["x > 3"], "cannot read the bounds"),
        ("x", [], "1 to 10 variables"),
    ]:
        with pytest.raises(ToolError, match=problem):
            optimisation.find_minimum(expression, bounds)


def test_assignments() -> None:
    # of the six assignments 1 + 2 + 2 is the cheapest
    found = optimisation.assign_tasks("4 1 3; 2 0 5; 3 2 2")
    assert found["total"] == 5
    assert found["assignment"][1] == {"worker": 2, "task": 1, "cost": 2}
    assert optimisation.assign_tasks("[[4, 1, 3], [2, 0, 5]]", "maximise")["total"] == 9
    for costs, problem in [("a b", "must be numbers"), ("1 2; 3", "as many"), ("1 inf", "finite")]:
        with pytest.raises(ToolError, match=problem):
            optimisation.assign_tasks(costs)


def test_shortest_paths() -> None:
    edges = ["A B 4", "A C 1", "C, B, 2", "B -> D 5"]
    assert optimisation.shortest_path(edges, "A", "D") == {"length": 8, "path": ["A", "C", "B", "D"]}
    assert optimisation.shortest_path(edges, "D", "A")["length"] == 8
    assert optimisation.shortest_path(edges, "D", "A", directed=True) == {"reachable": False}
    assert optimisation.shortest_path(edges, "A", "A") == {"length": 0, "path": ["A"]}
    for wrong, problem in [(["A B"], "cannot read"), (["A B -1"], "not negative"), (["A X 1"], "'B' is in no edge")]:
        with pytest.raises(ToolError, match=problem):
            optimisation.shortest_path(wrong, "A", "B")
