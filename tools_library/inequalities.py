"""Inequalities in one real unknown with sympy.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import re
from typing import Any

import sympy

from tools_library.algebra import exact_and_decimal, simplest, unknown
from tools_library.expressions import ExpressionError, parse

_SIGNS: dict[str, Any] = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "!=": sympy.Ne, "=": sympy.Eq}
_SIGN = re.compile(r"<=|>=|=<|=>|!=|==|<|>|=")


def solve(text: str, variable: str) -> str:
    """The real solutions of inequalities that must all hold, as intervals."""
    plain = unknown(variable)
    symbol = sympy.Symbol(plain.name, real=True)
    found: Any = sympy.S.Reals
    relations, period = _relations(text, variable), None
    for sign, sides in relations:
        left, right = (side.subs(plain, symbol) for side in sides)
        if extra := (left - right).free_symbols - {symbol}:
            raise ExpressionError(f"{', '.join(map(str, extra))} is unknown too; only {variable} can be solved for")
        relation = _SIGNS[sign](left, right)
        if relation in (sympy.true, sympy.false):
            found = found if relation == sympy.true else sympy.S.EmptySet
            continue
        if (left - right).has(sympy.functions.elementary.trigonometric.TrigonometricFunction):
            period = sympy.periodicity(left - right, symbol)
            if period is None or len(relations) > 1:
                raise ExpressionError("of periodic functions only a single inequality with one period can be solved")
        domain = sympy.calculus.util.continuous_domain(left - right, symbol, sympy.S.Reals)
        found = found.intersect(sympy.solveset(relation, symbol, domain=domain).intersect(domain))
    shown = _shown(found, variable)
    repeats = period is not None and shown != "no solution" and found != sympy.S.Reals
    return f"{shown} (one period; it repeats every {period})" if repeats else shown


def _relations(text: str, variable: str) -> list[tuple[str, tuple[Any, Any]]]:
    """Each comparison of the text; `1 < x <= 3` holds two."""
    relations = []
    for part in re.split(r"[;\n]|\band\b", text.replace("≤", "<=").replace("≥", ">=").replace("≠", "!=")):
        if not part.strip():
            continue
        signs = [{"=<": "<=", "=>": ">=", "==": "="}.get(sign, sign) for sign in _SIGN.findall(part)]
        sides = [parse(side, {variable}) for side in _SIGN.split(part)]
        if not signs:
            raise ExpressionError(f"{part.strip()!r} has no sign of comparison (< <= > >= !=)")
        relations += list(zip(signs, zip(sides, sides[1:], strict=False), strict=True))
    if not relations:
        raise ExpressionError("there is no inequality to solve")
    return relations


def _shown(found: Any, variable: str) -> str:
    if found is sympy.S.EmptySet or found.is_empty:
        return "no solution"
    if found == sympy.S.Reals:
        return f"every real {variable}"
    parts = found.args if isinstance(found, sympy.Union) else (found,)
    if isinstance(found, sympy.Complement) and isinstance(found.args[1], sympy.FiniteSet):
        holes = ", ".join(exact_and_decimal(simplest(value)) for value in found.args[1])
        inside = _shown(found.args[0], variable)
        return f"{inside}, except {holes}"
    return " or ".join(_part(part, variable) for part in parts)


def _part(part: Any, variable: str) -> str:
    if isinstance(part, sympy.FiniteSet):
        return " or ".join(f"{variable} = {exact_and_decimal(simplest(value))}" for value in part)
    if not isinstance(part, sympy.Interval):
        raise ExpressionError(f"the solutions have no simple form: {str(part)[:300]}")
    low, high = (exact_and_decimal(simplest(end)) for end in (part.start, part.end))
    below = "" if part.start == -sympy.oo else f"{low} {'<' if part.left_open else '<='} "
    above = "" if part.end == sympy.oo else f" {'<' if part.right_open else '<='} {high}"
    if below and not above:
        return f"{variable} {'>' if part.left_open else '>='} {low}"
    return f"{below}{variable}{above}"
