"""Triangles from three of their six measures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from captain.errors import ToolError

Three = tuple[float, float, float]


def solutions(sides: Three, angles: Three) -> list[tuple[Three, Three]]:
    """All triangles with these sides and opposite angles in degrees; 0 stands for an unknown one.

    Raises:
        ToolError: Not three measures, no side among them, a negative one, or no such triangle.
    """
    measures = (*sides, *angles)
    known = [value for value in measures if value]
    if any(not (math.isfinite(value) and value >= 0) for value in measures) or any(angle >= 180 for angle in angles):
        raise ToolError("sides must be positive numbers and angles between 0 and 180 degrees")
    if len(known) != 3 or not any(sides):
        raise ToolError(f"exactly three measures with at least one side are needed, not {len(known)} measures")
    found = [triangle for triangle in _candidates(sides, angles) if _possible(*triangle)]
    if not found:
        raise ToolError("there is no triangle with these measures")
    return found


def _candidates(sides: Three, angles: Three) -> Iterator[tuple[Three, Three]]:
    count = sum(map(bool, sides))
    if count == 3:
        yield from _from_sides(sides)
    elif count == 1:
        yield from _from_angles(sides, angles)
    else:
        yield from _from_two_sides(sides, angles)


def _from_sides(sides: Three) -> Iterator[tuple[Three, Three]]:
    a, b, c = sides
    if a + b > c and b + c > a and c + a > b:
        yield sides, (_angle(a, b, c), _angle(b, c, a), _angle(c, a, b))


def _from_angles(sides: Three, angles: Three) -> Iterator[tuple[Three, Three]]:
    full = [angle or 180 - sum(angles) for angle in angles]
    if min(full) <= 0:
        return
    place = next(index for index, side in enumerate(sides) if side)
    ratio = sides[place] / _sine(full[place])
    yield tuple(ratio * _sine(angle) for angle in full), tuple(full)  # type: ignore[misc]  # three of each


def _from_two_sides(sides: Three, angles: Three) -> Iterator[tuple[Three, Three]]:
    missing = next(index for index, side in enumerate(sides) if not side)
    place = next(index for index, angle in enumerate(angles) if angle)
    complete = list(sides)
    cosine = math.cos(math.radians(angles[place]))
    if place == missing:  # the angle between the two sides
        p, q = (side for side in sides if side)
        complete[missing] = math.sqrt(p * p + q * q - 2 * p * q * cosine)
        yield from _from_sides((complete[0], complete[1], complete[2]))
        return
    opposite = sides[place]
    (beside,) = (side for index, side in enumerate(sides) if side and index != place)
    # the law of cosines is a quadratic equation in the missing side
    height = opposite**2 - (beside * _sine(angles[place])) ** 2
    if abs(height) <= 1e-12 * opposite**2:  # a right angle up to rounding: one triangle, not two nearly equal ones
        height = 0.0
    if height < 0:
        return
    root = math.sqrt(height)
    for side in sorted({beside * cosine + root, beside * cosine - root}, reverse=True):
        if side > 1e-12 * beside:
            complete[missing] = side
            yield from _from_sides((complete[0], complete[1], complete[2]))


def _possible(sides: Three, angles: Three) -> bool:
    return min(sides) > 0 and min(angles) > 0 and abs(sum(angles) - 180) < 1e-6


def _angle(opposite: float, first: float, second: float) -> float:
    cosine = (first**2 + second**2 - opposite**2) / (2 * first * second)
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine))))


def _sine(degrees: float) -> float:
    return math.sin(math.radians(degrees))
