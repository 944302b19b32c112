"""Solves equations with sympy, and by numerical search where there is no exact way.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import mpmath  # type: ignore[import-untyped]  # it ships no types
import sympy

from tools_library.algebra import exact_and_decimal, simplest, unknown
from tools_library.expressions import ExpressionError, parse


def solve(equations: str, unknowns: str) -> str:
    """All solutions of one equation or of a system, exact and decimal."""
    symbols = [unknown(name) for name in re.split(r"[\s,;]+", unknowns.strip())]
    parts = [_difference(part, {str(symbol) for symbol in symbols}) for part in _split(equations)]
    # simplified forms only tell what is trivial: solving them would let in roots where the original is not defined
    differences = [part for part in parts if sympy.simplify(part) != 0]
    if not differences:
        return "true for every value where both sides are defined"
    if any(sympy.simplify(part).is_number for part in differences):
        return "no solution"
    if missing := [str(symbol) for symbol in symbols if not any(part.has(symbol) for part in differences)]:
        present = ", ".join(sorted({str(name) for part in differences for name in part.free_symbols}))
        raise ExpressionError(
            f"the unknown {', '.join(missing)} does not occur in the equations; they contain {present}"
        )
    single = len(symbols) == len(differences) == 1
    found = _solved(differences[0] if single else differences, symbols)
    if found:
        return "\n".join(_solution(each) for each in found)
    if single and len(differences[0].free_symbols) == 1:
        return _numerical_roots(differences[0], symbols[0])
    if all(part.is_polynomial(*symbols) for part in differences) and sympy.groebner(differences, *symbols).exprs == [1]:
        return "no solution"
    return "no exact solution was found; there may still be one"


def _solved(problem: Any, symbols: list[Any]) -> list[dict[Any, Any]]:
    try:
        return list(sympy.solve(problem, symbols, dict=True))
    except NotImplementedError:
        if isinstance(problem, list):
            return []
    real = {symbol: sympy.Symbol(symbol.name, real=True) for symbol in symbols}
    try:  # sympy can solve some equations, such as those with abs, over the real numbers only
        return list(sympy.solve(problem.subs(real), list(real.values()), dict=True))
    except NotImplementedError:
        return []


def _solution(values: Mapping[Any, Any]) -> str:
    return ", ".join(
        f"{name} = {exact_and_decimal(simplest(value))}".replace("= ≈", "≈") for name, value in values.items()
    )


def _split(equations: str) -> list[str]:
    parts = [part for part in re.split(r"[;\n]", equations) if part.strip()]
    if len(parts) == 1 and len(re.findall(r"=+", parts[0])) > 1:
        parts = re.split(r",(?![^(]*\))", parts[0])
    return parts


def _difference(equation: str, variables: set[str]) -> Any:
    if re.search(r"[<>≤≥]", equation):
        raise ExpressionError(
            "inequalities are solved by solve_inequality; or solve the equation with '=' for the boundary"
        )
    sides = re.split(r"=+", equation)
    if len(sides) > 2:
        raise ExpressionError(f"{equation.strip()!r} has more than one '='; separate equations by ';'")
    left = parse(sides[0], variables)
    return left - parse(sides[1], variables) if len(sides) == 2 else left


def _numerical_roots(difference: Any, symbol: Any) -> str:
    """The real roots at which the difference of the sides changes its sign between -20 and 20."""
    function = sympy.lambdify(symbol, difference, "mpmath")
    roots: list[float] = []
    points = [mpmath.mpf(n) / 32 + mpmath.mpf("0.0123") for n in range(-641, 641)]
    heights = [_height(function, point) for point in points]
    for left, right, low, high in zip(points, points[1:], heights, heights[1:], strict=False):
        if low is None or high is None or low * high > 0:
            continue
        root = mpmath.findroot(function, (left, right), solver="anderson", verify=False)
        height = _height(function, root)
        if height is not None and abs(height) < 1e-9 * (abs(low) + abs(high)):  # a pole changes the sign too
            roots.append(float(root))
    if not roots:
        return "no solution was found: no exact one, and no real one between -20 and 20"
    found = "\n".join(f"{symbol} ≈ {root:.12g}" for root in roots)
    return f"{found}\n(real solutions between -20 and 20, found numerically; others may exist)"


def _height(function: Callable[[Any], Any], point: Any) -> Any:
    try:
        value = function(point)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return value if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None
