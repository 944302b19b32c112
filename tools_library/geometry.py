"""Plane geometry: circles, triangles, polygons, points and lines."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import one_of, rounded
from tools_library.triangles import solutions

_NUMBER = r"[+-]?(?:\d+/\d+|\d+\.?\d*(?:[eE][+-]?\d{1,2})?|\.\d+)"
_MIRRORS = {"x-axis": (0, 1, 0), "y-axis": (1, 0, 0), "y=x": (1, -1, 0), "y=-x": (1, 1, 0)}

Point = tuple[Fraction, Fraction]


@tool
def circle_measures(value: float, given: str = "radius", angle_degrees: float = 0.0) -> dict[str, float | None]:
    """Circle: radius, diameter, circumference (perimeter) and area from any one of them; arc length, sector area and
    chord for an angle; also the volume and surface of the sphere.

    Args:
        value: The known measure, above 0.
        given: What it is: "radius", "diameter", "circumference" or "area".
        angle_degrees: Angle of a sector at the centre, from 0 to 360; 0 for none.

    Returns:
        radius, diameter, circumference, area, area_over_pi, sphere_volume, sphere_surface, and with an angle
        arc_length, sector_area and chord.

    Raises:
        ToolError: The value is not above 0, the angle is out of range, or given is something else.
    """
    given = one_of(given, ("radius", "diameter", "circumference", "area"), "given")
    if not 0 < value < math.inf or not 0 <= angle_degrees <= 360:
        raise ToolError(f"value must be above 0 and angle_degrees from 0 to 360, not {value} and {angle_degrees}")
    radius = {
        "radius": value,
        "diameter": value / 2,
        "circumference": value / (2 * math.pi),
        "area": math.sqrt(value / math.pi),
    }[given]
    measures = {
        "radius": radius,
        "diameter": 2 * radius,
        "circumference": 2 * math.pi * radius,
        "area": math.pi * radius**2,
        "area_over_pi": radius**2,
        "sphere_volume": 4 / 3 * math.pi * radius**3,
        "sphere_surface": 4 * math.pi * radius**2,
    }
    if angle_degrees:
        angle = math.radians(angle_degrees)
        measures |= {"arc_length": radius * angle, "sector_area": radius**2 * angle / 2}
        measures["chord"] = 2 * radius * math.sin(angle / 2)
    return {name: rounded(measure) for name, measure in measures.items()}


@tool
def solve_triangle(
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    angle_a: float = 0.0,
    angle_b: float = 0.0,
    angle_c: float = 0.0,
) -> list[dict[str, float | None]]:
    """Solve a triangle from three of its sides and angles (law of sines, law of cosines, Heron, Pythagoras): all sides,
    angles, area, perimeter, heights, inradius and circumradius.

    Args:
        a: Side a, 0 when unknown.
        b: Side b, 0 when unknown.
        c: Side c, 0 when unknown.
        angle_a: Angle opposite a in degrees, 0 when unknown.
        angle_b: Angle opposite b in degrees, 0 when unknown.
        angle_c: Angle opposite c in degrees, 0 when unknown; 90 for a right triangle with the hypotenuse c.

    Returns:
        One or two triangles (two sides and an angle not between them may fit two), each with a, b, c, angle_a, angle_b,
        angle_c, area, perimeter, height_a, height_b, height_c, inradius, circumradius.

    Raises:
        ToolError: Not exactly three measures, no side among them, a negative one, or no such triangle.
    """
    found = []
    for sides, angles in solutions((a, b, c), (angle_a, angle_b, angle_c)):
        half = sum(sides) / 2
        area = sides[0] * sides[1] * math.sin(math.radians(angles[2])) / 2
        measures = dict(zip(("a", "b", "c", "angle_a", "angle_b", "angle_c"), (*sides, *angles), strict=True))
        measures |= {"area": area, "perimeter": 2 * half}
        measures |= {f"height_{name}": 2 * area / side for name, side in zip("abc", sides, strict=True)}
        measures |= {"inradius": area / half, "circumradius": math.prod(sides) / (4 * area)}
        found.append({name: rounded(value) for name, value in measures.items()})
    return found


@tool
def polygon_measures(points: str) -> dict[str, object]:
    """Area of a polygon (triangle, quadrilateral, any shape) from the coordinates of its corners by the shoelace
    formula, with perimeter, centroid and orientation.

    Args:
        points: The corners in order, for example "(0, 0), (4, 0), (4, 3)"; at least three.

    Returns:
        area (exact where the coordinates are), perimeter, centroid, orientation, convex (true or false). The sides must
        not cross.

    Raises:
        ToolError: Fewer than three points, or all on one line.
    """
    corners = _points(points, at_least=3)
    following = [*corners[1:], corners[0]]
    crosses = [p[0] * q[1] - q[0] * p[1] for p, q in zip(corners, following, strict=True)]
    doubled = sum(crosses)
    if doubled == 0:
        raise ToolError("the points lie on one line, or the sides cross; the area is 0")
    centroid = [
        sum((p[axis] + q[axis]) * cross for p, q, cross in zip(corners, following, crosses, strict=True))
        / (3 * doubled)
        for axis in (0, 1)
    ]
    sides = [(q[0] - p[0], q[1] - p[1]) for p, q in zip(corners, following, strict=True)]
    turns = {(u[0] * v[1] - u[1] * v[0]) > 0 for u, v in zip(sides, [*sides[1:], sides[0]], strict=True) if _turn(u, v)}
    return {
        "area": rounded(abs(doubled) / 2),
        "perimeter": rounded(sum(math.hypot(*map(float, side)) for side in sides)),
        "centroid": [rounded(value) for value in centroid],
        "orientation": "counterclockwise" if doubled > 0 else "clockwise",
        "convex": len(turns) == 1,
    }


@tool
def reflect_point(point: str, mirror: str) -> str:
    """Reflect a point of the plane across a line, an axis or another point (mirror image): x-axis, y-axis, origin, y =
    x, or any line such as y = 2x + 1.

    Args:
        point: The point, for example "(3, -2)".
        mirror: "x-axis", "y-axis", "origin", "y = x", "x = 3", "y = 2x + 1", "2x + 3y = 6", or a point "(1, 1)".

    Returns:
        The image, for example "(-2, 3)", with exact fractions.

    Raises:
        ToolError: The point or the mirror cannot be read.
    """
    ((x, y),) = _points(point, at_least=1, at_most=1)
    plain = re.sub(r"\s+", "", mirror.lower()).replace("axis", "-axis").replace("--", "-").removeprefix("the")
    if plain == "origin":
        return _shown((-x, -y))
    if plain not in _MIRRORS and "=" not in plain:
        ((centre_x, centre_y),) = _points(mirror, at_least=1, at_most=1)
        return _shown((2 * centre_x - x, 2 * centre_y - y))
    a, b, c = map(Fraction, _MIRRORS[plain]) if plain in _MIRRORS else _line(plain)
    excess = 2 * (a * x + b * y - c) / (a * a + b * b)
    return _shown((x - a * excess, y - b * excess))


@tool
def points_and_lines(first: str, second: str, other: str = "") -> dict[str, object]:
    """Distance between two points, midpoint, slope and equation of the line through them; distance of a third point
    from that line; points in the plane or in space.

    Args:
        first: The first point, for example "(1, 2)" or "(1, 2, 3)".
        second: The second point, with as many coordinates.
        other: Optional third point of the plane, for its distance from the line and its foot on it.

    Returns:
        distance, manhattan_distance, midpoint; in the plane slope (null for a vertical line) and line; with a third
        point distance_from_line and foot.

    Raises:
        ToolError: A point cannot be read, the points have different numbers of coordinates, or there is no line.
    """
    p, q = _coordinates(first), _coordinates(second)
    if len(p) != len(q):
        raise ToolError(f"the points have {len(p)} and {len(q)} coordinates; they must have as many")
    steps = [b - a for a, b in zip(p, q, strict=True)]
    result: dict[str, object] = {
        "distance": rounded(math.hypot(*map(float, steps))),
        "manhattan_distance": rounded(sum(map(abs, steps))),
        "midpoint": f"({', '.join(str((a + b) / 2) for a, b in zip(p, q, strict=True))})",
    }
    if len(p) == 2 and any(steps):
        slope = steps[1] / steps[0] if steps[0] else None
        result["slope"] = None if slope is None else str(slope)
        result["line"] = f"x = {p[0]}" if slope is None else _line_text(slope, p[1] - slope * p[0])
    if other.strip():
        if "line" not in result:
            raise ToolError("a distance from the line needs two different points of the plane")
        ((x, y),) = _points(other, at_least=1, at_most=1)
        share = ((x - p[0]) * steps[0] + (y - p[1]) * steps[1]) / (steps[0] ** 2 + steps[1] ** 2)
        foot = (p[0] + share * steps[0], p[1] + share * steps[1])
        result["distance_from_line"] = rounded(math.hypot(float(x - foot[0]), float(y - foot[1])))
        result["foot"] = _shown(foot)
    return result


def _coordinates(text: str) -> list[Fraction]:
    found = re.findall(_NUMBER, text)
    rest = re.sub(r"[\s,;()\[\]]", "", re.sub(_NUMBER, "", text))
    if rest or len(found) < 2 or len(text) > 5000:
        raise ToolError(f"{text[:40]!r} is not a point; write it like (3, -2) with numbers such as 1/2 or 0.5")
    try:
        return [Fraction(number) for number in found]
    except ZeroDivisionError:
        raise ToolError(f"{text[:40]!r} divides by zero") from None


def _points(text: str, *, at_least: int, at_most: int = 1000) -> list[Point]:
    numbers = _coordinates(text)
    count = len(numbers) // 2
    if len(numbers) % 2 or not at_least <= count <= at_most:
        wanted = f"{at_least}" if at_least == at_most else f"{at_least} to {at_most}"
        raise ToolError(f"{text[:40]!r} holds {len(numbers)} numbers; {wanted} points of the plane are needed")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _line(text: str) -> tuple[Fraction, Fraction, Fraction]:
    """a, b and c of the line a x + b y = c."""
    sides = text.split("=")
    totals = {"x": Fraction(0), "y": Fraction(0), "": Fraction(0)}
    term = re.compile(r"([+-]?)(\d+(?:\.\d+)?(?:/\d+)?)?\*?([xy]?)(?:/(\d+))?")
    for side, sign in zip(sides, (1, -1), strict=False):
        position = 0
        while position < len(side):
            match = term.match(side, position)
            if match is None or match.end() == position or not (match.group(2) or match.group(3)):
                raise ToolError(f"cannot read the line {text!r}; write it like y = 2x + 1 or 2x + 3y = 6")
            minus, number, name, under = match.groups()
            if int(under or 1) == 0 or (number or "").endswith("/0"):
                raise ToolError(f"the line {text!r} divides by zero")
            totals[name] += sign * (-1 if minus == "-" else 1) * Fraction(number or 1) / int(under or 1)
            position = match.end()
    if len(sides) != 2 or not (totals["x"] or totals["y"]):
        raise ToolError(f"{text!r} is not a line; write it like y = 2x + 1 or 2x + 3y = 6")
    return totals["x"], totals["y"], -totals[""]


def _line_text(slope: Fraction, height: Fraction) -> str:
    return f"y = {slope}*x {'-' if height < 0 else '+'} {abs(height)}"


def _turn(u: Point, v: Point) -> bool:
    return u[0] * v[1] != u[1] * v[0]


def _shown(point: Point) -> str:
    return f"({point[0]}, {point[1]})"
