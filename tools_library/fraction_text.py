"""Fractions and mixed numbers written as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from captain.errors import ToolError

_NUMBER = re.compile(r"(-?)\s*(?:(\d+)\s+(\d+)/(\d+)|(\d+)/(-?\d+)|(\d+(?:\.\d*)?|\.\d+))(?![\d/.])")
_OPERATOR = re.compile(r"\s*([-+*/×÷:])\s*")
MAX_CHARS = 500


def calculate(text: str) -> Fraction:
    """The value of mixed numbers joined by + - * and /; products go before sums, all from left to right.

    Raises:
        ToolError: The text cannot be read, or it divides by zero.
    """
    plain = text.strip().replace("−", "-").replace("–", "-")
    if len(plain) > MAX_CHARS:
        raise ToolError(f"the text has {len(plain)} characters; at most {MAX_CHARS} are allowed")
    value, position = _number(plain, 0)
    terms = [value]
    while position < len(plain):
        operator = _OPERATOR.match(plain, position)
        if operator is None:
            raise ToolError(f"cannot read {plain[position:][:20]!r}; write numbers such as 2 1/3 joined by + - * or /")
        value, position = _number(plain, operator.end())
        sign = operator.group(1)
        if sign in "+-":
            terms.append(value if sign == "+" else -value)
        elif sign in "*×":
            terms[-1] *= value
        elif value == 0:
            raise ToolError("division by zero")
        else:
            terms[-1] /= value
    return sum(terms, Fraction(0))


def _number(text: str, position: int) -> tuple[Fraction, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        raise ToolError(f"cannot read a number at {text[position:][:20]!r}; write 2 1/3, -7/3, 5 or 0.25")
    minus, whole, over, under, numerator, denominator, plain = match.groups()
    if (under or denominator or "1").strip("-0") == "":
        raise ToolError(f"{match.group().strip()!r} divides by zero")
    if whole:
        value = Fraction(whole) + Fraction(int(over), int(under))
    elif numerator:
        value = Fraction(int(numerator), int(denominator))
    else:
        value = Fraction(plain)
    return (-value if minus else value), match.end()
