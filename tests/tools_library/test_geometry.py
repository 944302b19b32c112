from __future__ import annotations

import math

import pytest

from captain.errors import ToolError
from tools_library import geometry


def test_circles() -> None:
    found = geometry.circle_measures(10, "diameter", angle_degrees=90)
    assert (found["radius"], found["area_over_pi"]) == (5, 25)
    assert found["area"] == pytest.approx(25 * math.pi)
    assert found["circumference"] == pytest.approx(10 * math.pi)
    assert found["sphere_volume"] == pytest.approx(500 / 3 * math.pi)
    assert (found["arc_length"], found["chord"]) == (pytest.approx(2.5 * math.pi), pytest.approx(5 * math.sqrt(2)))
    assert found["sector_area"] == pytest.approx(25 * math.pi / 4)
    assert geometry.circle_measures(4 * math.pi, "area")["radius"] == pytest.approx(2)
    assert geometry.circle_measures(4 * math.pi, "circumference")["radius"] == pytest.approx(2)
    for arguments in ((0,), (-1,), (1, "width"), (1, "radius", 361), (math.inf,)):
        with pytest.raises(ToolError):
            geometry.circle_measures(*arguments)


def test_triangles() -> None:
    (right,) = geometry.solve_triangle(a=3, b=4, c=5)
    assert (right["angle_c"], right["area"], right["inradius"], right["circumradius"]) == (90, 6, 1, 2.5)
    assert geometry.solve_triangle(c=5, angle_c=90, a=3) == [right]
    (equal,) = geometry.solve_triangle(a=2, angle_a=60, angle_b=60)
    assert (equal["c"], equal["area"]) == (pytest.approx(2), pytest.approx(math.sqrt(3)))
    (between,) = geometry.solve_triangle(a=1, b=1, angle_c=120)
    assert between["c"] == pytest.approx(math.sqrt(3))
    two = geometry.solve_triangle(a=7, b=10, angle_a=30)
    assert sum(each["angle_b"] or 0 for each in two) == pytest.approx(180)  # sin B = 5/7 either way
    assert len(geometry.solve_triangle(a=5, b=10, angle_a=30)) == 1  # the right angle between the two cases


@pytest.mark.parametrize(
    ("measures", "problem"),
    [
        ({"a": 1, "b": 1, "c": 3}, "no triangle"),
        ({"a": 1, "b": 10, "angle_a": 30}, "no triangle"),
        ({"a": 1, "angle_a": 100, "angle_b": 90}, "no triangle"),
        ({"angle_a": 60, "angle_b": 60, "angle_c": 60}, "at least one side"),
        ({"a": 1, "b": 2}, "not 2 measures"),
        ({"a": -1, "b": 2, "c": 2}, "positive"),
        ({"a": 1, "b": 2, "angle_a": 200}, "positive"),
    ],
)
def test_triangles_that_do_not_exist(measures: dict[str, float], problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        geometry.solve_triangle(**measures)


def test_polygons() -> None:
    found = geometry.polygon_measures("(0, 0), (4, 0), (4, 3)")
    assert found == {
        "area": 6,
        "perimeter": 12,
        "centroid": [pytest.approx(8 / 3), 1],
        "orientation": "counterclockwise",
        "convex": True,
    }
    arrow = geometry.polygon_measures("0,2 2,2 1,1 2,0 0,0")
    assert (arrow["area"], arrow["orientation"], arrow["convex"]) == (3, "clockwise", False)
    assert geometry.polygon_measures("(0,0) (1/2,0) (1/2,1/2) (0,1/2)")["area"] == 0.25
    for points, problem in [
        ("(0,0), (1,1), (2,2)", "one line"),
        ("(0,0), (1,1)", "3 to 1000 points"),
        ("(0,0), (1,1), (2", "5 numbers"),
        ("a, b", "not a point"),
    ]:
        with pytest.raises(ToolError, match=problem):
            geometry.polygon_measures(points)


@pytest.mark.parametrize(
    ("mirror", "image"),
    [
        ("x-axis", "(3, 2)"),
        ("the y axis", "(-3, -2)"),
        ("origin", "(-3, 2)"),
        ("y = x", "(-2, 3)"),
        ("y = -x", "(2, -3)"),
        ("x = 1", "(-1, -2)"),
        ("y = 2x + 1", "(-21/5, 8/5)"),
        ("2x - y = -1", "(-21/5, 8/5)"),  # the same line
        ("x/2 - y = 0", "(1/5, 18/5)"),
        ("(1, 1)", "(-1, 4)"),
    ],
)
def test_reflections(mirror: str, image: str) -> None:
    assert geometry.reflect_point("(3, -2)", mirror) == image
    if "=" in mirror:
        assert geometry.reflect_point(image, mirror) == "(3, -2)"


def test_reflections_that_cannot_be_read() -> None:
    for point, mirror, problem in [
        ("(1, 2)", "y = x^2", "cannot read the line"),
        ("(1, 2)", "3 = 4", "not a line"),
        ("(1, 2)", "x = 1/0", "divides by zero"),
        ("(1, 2)", "wall", "not a point"),
        ("(1, 2, 3)", "origin", "3 numbers"),
        ("(1/0, 2)", "origin", "divides by zero"),
    ]:
        with pytest.raises(ToolError, match=problem):
            geometry.reflect_point(point, mirror)


def test_points_and_lines() -> None:
    found = geometry.points_and_lines("(1, 2)", "(4, 6)", "(0, 0)")
    assert (found["distance"], found["manhattan_distance"], found["midpoint"]) == (5, 7, "(5/2, 4)")
    assert (found["line"], found["distance_from_line"], found["foot"]) == ("y = 4/3*x + 2/3", 0.4, "(-8/25, 6/25)")
    assert geometry.points_and_lines("(0, -1)", "(1, 1)")["line"] == "y = 2*x - 1"
    assert geometry.points_and_lines("(1, 2)", "(1, 5)")["line"] == "x = 1"
    assert geometry.points_and_lines("(1, 2, 3)", "(3, 5, 9)")["distance"] == 7
    for arguments, problem in [
        (("(1, 2)", "(1, 2, 3)"), "2 and 3 coordinates"),
        (("(1, 2)", "(1, 2)", "(0, 0)"), "two different points"),
    ]:
        with pytest.raises(ToolError, match=problem):
            geometry.points_and_lines(*arguments)
