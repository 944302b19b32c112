"""Ordinary differential equations with sympy.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import re
from typing import Any

import sympy

from tools_library.algebra import unknown
from tools_library.expressions import ExpressionError, parse

MAX_ORDER = 6


def solve(equation: str, conditions: str, function: str, variable: str) -> str:
    """The general solution, or the one that meets the conditions."""
    name, symbol = str(unknown(function)), unknown(variable)
    wanted = sympy.Function(name)(symbol)
    parsed = _equation(equation, name, symbol)
    if not parsed.has(sympy.Derivative):
        raise ExpressionError(f"there is no derivative of {name} in {equation!r}; write {name}' or d{name}/d{variable}")
    given = _conditions(conditions, name, symbol)
    solutions = sympy.dsolve(parsed, wanted, ics=given) if given else sympy.dsolve(parsed, wanted)
    found = solutions if isinstance(solutions, list) else [solutions]
    if not found:
        raise ExpressionError("no solution was found")
    return "\n".join(_shown(each, wanted, name) for each in found)


def _equation(text: str, name: str, symbol: Any) -> Any:
    plain, orders = _plain(text, name, str(symbol))
    sides = re.split(r"=+", plain)
    if len(sides) > 2:
        raise ExpressionError(f"{text!r} has more than one '='")
    names = {name, str(symbol), *orders}
    difference = parse(sides[0], names) - (parse(sides[1], names) if len(sides) == 2 else 0)
    function = sympy.Function(name)(symbol)
    stand_ins = {sympy.Symbol(each): sympy.Derivative(function, (symbol, order)) for each, order in orders.items()}
    return difference.subs(stand_ins).subs(sympy.Symbol(name), function)


def _plain(text: str, name: str, variable: str) -> tuple[str, dict[str, int]]:
    """The text with a plain name for each derivative, and the order that each name stands for."""
    orders: dict[str, int] = {}

    def stand_in(order: int) -> str:
        if not 1 <= order <= MAX_ORDER:
            raise ExpressionError(f"derivatives up to order {MAX_ORDER} can be solved, not {order}")
        orders[f"{name}derivative{order}"] = order
        return f" {name}derivative{order} "

    argument = rf"(?:\(\s*{variable}\s*\))?"
    leibniz = rf"d\^?(\d*)\s*{name}{argument}\s*/\s*d\s*{variable}(?:\^?\d+)?"
    text = re.sub(leibniz, lambda match: stand_in(int(match.group(1) or 1)), text)
    text = text.replace("″", "''").replace("′", "'").replace("’", "'").replace('"', "''")
    text = re.sub(rf"(?<![A-Za-z_]){name}{argument}('+){argument}", lambda match: stand_in(len(match.group(1))), text)
    return re.sub(rf"(?<![A-Za-z_]){name}\(\s*{variable}\s*\)", f" {name} ", text), orders


def _conditions(text: str, name: str, symbol: Any) -> dict[Any, Any]:
    function = sympy.Function(name)
    given: dict[Any, Any] = {}
    for part in re.split(r"[;\n]|,(?![^(]*\))", text.replace("′", "'").replace("’", "'")):
        if not part.strip():
            continue
        match = re.fullmatch(rf"\s*{name}('*)\(([^()]+|.*\))\)\s*=\s*(.+)", part)
        if match is None:
            raise ExpressionError(f"cannot read the condition {part.strip()!r}; write it like {name}(0) = 1")
        order, point, value = len(match.group(1)), parse(match.group(2)), parse(match.group(3))
        place = function(point)
        if order:
            place = sympy.Derivative(function(symbol), (symbol, order)).subs(symbol, point)
        given[place] = value
    return given


def _shown(solution: Any, wanted: Any, name: str) -> str:
    if solution.lhs == wanted:
        return f"{name} = {sympy.simplify(solution.rhs)}"
    return f"{solution.lhs} = {solution.rhs}".replace(str(wanted), name)
