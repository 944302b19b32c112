"""Linear and mixed-integer programs, and the numerical minimum of a function, with scipy.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import sympy

from tools_library.algebra import unknown
from tools_library.expressions import ExpressionError, parse

MAX_VARIABLES, MAX_CONSTRAINTS = 200, 500
# a strict limit has no optimum on it, so it is meant to be closed
_CLOSED = {"=<": "<=", "=>": ">=", "==": "=", "<": "<=", ">": ">="}
_SIGN = re.compile(r"<=|>=|=<|=>|==|<|>|=")


class Rows(NamedTuple):
    """Constraints as lower <= matrix x <= upper."""

    matrix: list[list[float]]
    lower: list[float]
    upper: list[float]


def linear_program(objective: str, constraints: str, goal: str, integers: str, free: str) -> str:
    """The optimum of a linear function under linear constraints."""
    import numpy
    from scipy import optimize

    function = parse(objective)
    relations = [relation for text in json.loads(constraints) for relation in _relations(text)]
    parts = [function, *(difference for difference, _, _ in relations)]
    names = sorted({str(symbol) for part in parts for symbol in part.free_symbols}, key=_natural)
    if not names or len(names) > MAX_VARIABLES or len(relations) > MAX_CONSTRAINTS:
        raise ExpressionError(f"1 to {MAX_VARIABLES} variables and up to {MAX_CONSTRAINTS} constraints are allowed")
    symbols = [unknown(name) for name in names]
    weights, constant = _linear(function, symbols)
    rows = _rows(relations, symbols)
    whole, unbounded = (_chosen(text, names) for text in (integers, free))
    sign = -1 if goal == "maximize" else 1
    outcome = optimize.milp(
        sign * numpy.array(weights),
        integrality=[int(name in whole) for name in names],
        bounds=optimize.Bounds([-numpy.inf if name in unbounded else 0 for name in names], numpy.inf),
        constraints=[optimize.LinearConstraint(numpy.array(rows.matrix), rows.lower, rows.upper)] if relations else [],
    )
    if outcome.x is None or outcome.status != 0:
        reasons = {1: "it took too long", 2: "infeasible: no values meet all constraints", 3: "unbounded: no limit"}
        return f"no optimum ({reasons.get(outcome.status, str(outcome.message)[:200])})"
    values = [round(float(x)) if name in whole else float(x) for name, x in zip(names, outcome.x, strict=True)]
    best = constant + sum(weight * value for weight, value in zip(weights, values, strict=True))
    lines = [f"{goal.removesuffix('ize')}um: {_number(best)}"]
    lines += [f"{name} = {_number(value)}" for name, value in zip(names, values, strict=True)]
    texts = [text.strip() for _, _, text in relations]
    return "\n".join([*lines, *(_slack(text, index, rows, values) for index, text in enumerate(texts))])


def minimum(expression: str, bounds: str, goal: str) -> str:
    """The least or greatest value that a search finds in a box."""
    import numpy
    from scipy import optimize

    ranges = [_range(text) for text in json.loads(bounds)]
    names = [name for name, _, _ in ranges]
    function = parse(expression, set(names))
    if missing := {str(symbol) for symbol in function.free_symbols} - set(names):
        raise ExpressionError(f"there are no bounds for {', '.join(sorted(missing))}; give some like 'x: -5 to 5'")
    called = sympy.lambdify([sympy.Symbol(name) for name in names], function, modules=["scipy", "numpy"])
    sign = -1.0 if goal == "maximize" else 1.0

    def height(point: Any) -> float:
        with numpy.errstate(all="ignore"):
            value = called(*point)
        real = not isinstance(value, complex) or abs(value.imag) < 1e-12
        number = float(numpy.real(value)) if real else numpy.inf
        return sign * number if numpy.isfinite(number) else numpy.inf

    box = [(low, high) for _, low, high in ranges]
    start = optimize.differential_evolution(height, box, seed=0, tol=1e-10, maxiter=300, polish=False)
    if not numpy.isfinite(start.fun):
        raise ExpressionError("the expression has no finite real value in these bounds")
    polished = optimize.minimize(height, start.x, bounds=box, method="Nelder-Mead", options=_FINE)
    best = min((start, polished), key=lambda found: float(found.fun))
    lines = [f"{goal.removesuffix('ize')}um ≈ {_number(sign * float(best.fun))}"]
    for (name, low, high), value in zip(ranges, best.x, strict=True):
        edge = " (at the edge of its range)" if min(value - low, high - value) < 1e-6 * (high - low) else ""
        lines.append(f"{name} ≈ {_number(float(value))}{edge}")
    return "\n".join(lines)


OPERATIONS: dict[str, Callable[..., str]] = {"linear_program": linear_program, "minimum": minimum}
_FINE = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000, "maxfev": 10000}


def _relations(text: str) -> list[tuple[Any, str, str]]:
    """Left minus right side, sign and text of each comparison; `0 <= x <= 4` holds two."""
    plain = text.replace("≤", "<=").replace("≥", ">=")
    signs = [_CLOSED.get(sign, sign) for sign in _SIGN.findall(plain)]
    if not signs:
        raise ExpressionError(f"the constraint {text!r} has no <=, >= or =")
    sides = [parse(side) for side in _SIGN.split(plain)]
    return [(left - right, sign, text) for left, right, sign in zip(sides, sides[1:], signs, strict=False)]


def _rows(relations: list[tuple[Any, str, str]], symbols: list[Any]) -> Rows:
    rows = Rows([], [], [])
    for difference, sign, _ in relations:
        weights, constant = _linear(difference, symbols)
        rows.matrix.append(weights)
        rows.lower.append(-float("inf") if sign == "<=" else -constant)
        rows.upper.append(float("inf") if sign == ">=" else -constant)
    return rows


def _slack(text: str, index: int, rows: Rows, values: list[float]) -> str:
    held = sum(weight * value for weight, value in zip(rows.matrix[index], values, strict=True))
    slack = min(held - rows.lower[index], rows.upper[index] - held)
    return f"{text}: {'binding' if abs(slack) <= 1e-7 * max(1.0, abs(held)) else f'slack {_number(slack)}'}"


def _linear(expression: Any, symbols: list[Any]) -> tuple[list[float], float]:
    expanded = sympy.expand(expression)
    weights = [expanded.coeff(symbol, 1) for symbol in symbols]
    constant = expanded.subs(dict.fromkeys(symbols, 0))
    linear = sum((weight * symbol for weight, symbol in zip(weights, symbols, strict=True)), constant)
    if any(weight.free_symbols for weight in weights) or sympy.expand(expanded - linear) != 0 or not constant.is_real:
        raise ExpressionError(f"{expression} is not linear in {', '.join(map(str, symbols))}")
    return [float(weight) for weight in weights], float(constant)


def _chosen(text: str, names: list[str]) -> set[str]:
    chosen = set(names) if text.strip().lower() == "all" else {part for part in re.split(r"[\s,;]+", text) if part}
    if stray := chosen - set(names):
        raise ExpressionError(f"{', '.join(sorted(stray))} is no variable; the variables are {', '.join(names)}")
    return chosen


def _range(text: str) -> tuple[str, float, float]:
    match = re.fullmatch(r"\s*(\w+)\s*(?::|=|\bin\b)\s*\[?\s*(.+?)\s*(?:\bto\b|\.\.|,|;)\s*(.+?)\s*\]?\s*", text)
    if match is None:
        raise ExpressionError(f"cannot read the bounds {text!r}; write them like 'x: -5 to 5'")
    low, high = (parse(part) for part in match.groups()[1:])
    if not (low.is_real and high.is_real and low.is_finite and high.is_finite and low < high):
        raise ExpressionError(f"the bounds {text!r} must be two finite numbers, the smaller one first")
    return str(unknown(match.group(1))), float(low), float(high)


def _natural(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(\d*)", name)
    return (match.group(1), int(match.group(2) or 0)) if match else (name, 0)


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 else value:.10g}"
