"""Limits, series and continuity with sympy.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from tools_library.algebra import exact_and_decimal, simplest, unknown
from tools_library.expressions import ExpressionError, parse

MAX_DEGREE = 20


def limit(expression: str, variable: str, point: str, direction: str) -> str:
    """A limit, or why there is none."""
    side = {"both": "", "left": "-", "right": "+"}.get(direction.strip().lower())
    if side is None:
        raise ExpressionError(f"direction must be 'both', 'left' or 'right', not {direction!r}")
    symbol, function, goal = unknown(variable), parse(expression, {variable}), parse(point)
    if goal.is_infinite or side:
        return _shown(_one_sided(function, symbol, goal, side or "-"))
    left, right = (_one_sided(function, symbol, goal, each) for each in "-+")
    if _equal(left, right):
        return _shown(left)
    return f"the limit does not exist: from the left {_shown(left)}, from the right {_shown(right)}"


def taylor(expression: str, variable: str, point: str, degree: int) -> str:
    """The Taylor polynomial, and its coefficients."""
    if not 0 <= degree <= MAX_DEGREE:
        raise ExpressionError(f"degree must be from 0 to {MAX_DEGREE}, not {degree}")
    symbol, function, centre = unknown(variable), parse(expression, {variable}), parse(point)
    if centre.free_symbols or not centre.is_finite:
        raise ExpressionError(f"the point must be a finite number, not {point!r}")
    shift = sympy.Dummy("h")
    moved = function.subs(symbol, centre + shift)
    polynomial = sympy.series(moved, shift, 0, degree + 1).removeO()
    if not polynomial.is_polynomial(shift):
        raise ExpressionError(f"there is no Taylor series at {variable} = {point}: the function is singular there")
    coefficients = [simplest(sympy.expand(polynomial).coeff(shift, power)) for power in range(degree + 1)]
    base = str(symbol) if centre == 0 else f"({symbol - centre})"
    text = "".join(_term(value, base, power) for power, value in enumerate(coefficients) if value != 0)
    shown = f"-{text[3:]}" if text.startswith(" - ") else text[3:] or "0"
    return f"{shown} [coefficients from degree 0: {', '.join(map(str, coefficients))}]"


def continuity(left: str, right: str, point: str, variable: str, parameter: str) -> str:
    """Whether two pieces meet, or the parameter that makes them meet."""
    name = parameter.strip()
    symbol, goal = unknown(variable), parse(point)
    names = {variable, name} - {""}
    pieces = [parse(left, names), parse(right, names)]
    ends = [_one_sided(piece, symbol, goal, side) for piece, side in zip(pieces, "-+", strict=True)]
    if not name:
        same = _equal(*ends) and all(end.is_finite is not False for end in ends)
        verdict = "continuous" if same else "not continuous"
        return f"{verdict} at {variable} = {point}: from the left {_shown(ends[0])}, from the right {_shown(ends[1])}"
    solutions = sympy.solve(ends[0] - ends[1], unknown(name))
    if not solutions:
        everywhere = _equal(*ends)
        return f"continuous for every {name}" if everywhere else f"no value of {name} makes it continuous"
    return "\n".join(f"{name} = {exact_and_decimal(simplest(value))}".replace("= ≈", "≈") for value in solutions)


OPERATIONS: dict[str, Callable[..., str]] = {"limit": limit, "taylor": taylor, "continuity": continuity}


def _one_sided(function: Any, symbol: Any, goal: Any, side: str) -> Any:
    found = sympy.limit(function, symbol, goal, side)
    if found.has(sympy.Limit):
        raise ExpressionError("the limit was not found; try a simpler form of the expression")
    return found


def _equal(first: Any, second: Any) -> bool:
    if first == second:
        return True
    if first.has(sympy.AccumBounds) or second.has(sympy.AccumBounds) or first.is_infinite or second.is_infinite:
        return False
    return bool(sympy.simplify(first - second) == 0)


def _shown(value: Any) -> str:
    if value.has(sympy.AccumBounds):
        return f"no value: it oscillates ({value})"
    if value is sympy.nan or value is sympy.zoo:
        return "no value"
    return exact_and_decimal(simplest(value)) if not value.is_infinite else str(value)


def _term(value: Any, base: str, power: int) -> str:
    """One term with its sign."""
    negative = value.could_extract_minus_sign() and not value.is_Add
    size = -value if negative else value
    factor = f"({size})" if size.is_Add and power else str(size)
    raised = "" if power == 0 else base if power == 1 else f"{base}^{power}"
    term = raised if size == 1 and power else "*".join(part for part in (factor, raised) if part)
    return f" {'-' if negative else '+'} {term}"
