"""Reads a mathematical expression into sympy without ever running it as Python.

The grammar is numbers, names, `+ - * / // % ^ ** !`, parentheses and calls of the functions listed here. There are no
dots, quotes, brackets or keywords in it, so no text can reach an attribute, an import or a built-in.
Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any

import sympy

MAX_CHARS = 2000
MAX_DEPTH = 60
MAX_BITS = 200_000
"""Size of the largest exact power, about 60 000 digits."""
MAX_SYMBOLIC_POWER = 500
MAX_FACTORIAL = 5000

_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|//|[-+*/%^!(),]))", re.A
)
_PLAIN = {
    "×": "*",
    "·": "*",
    "÷": "/",
    "−": "-",
    "–": "-",
    "²": "^2",
    "³": "^3",
    "√": " sqrt",
    "π": " pi ",
    "∞": " oo ",
}
_BINARY = {"+": 10, "-": 10, "*": 20, "/": 20, "//": 20, "%": 20, "^": 40, "**": 40}
_NEGATION = 30
_CONSTANTS: dict[str, Any] = {
    "pi": sympy.pi,
    "e": sympy.E,
    "E": sympy.E,
    "i": sympy.I,
    "I": sympy.I,
    "oo": sympy.oo,
    "inf": sympy.oo,
}


class ExpressionError(Exception):
    """The text is no expression, or its value would be too large; the message says where and what to do."""


def parse(text: str, variables: Collection[str] = ()) -> Any:
    """Return the sympy expression that `text` stands for.

    Args:
        text: The expression; `2x` and `3(x+1)` are products, decimals are exact (`0.1` is 1/10).
        variables: Names that are unknowns even where they would be a constant (`e`, `i`).

    Raises:
        ExpressionError: The text is not in the grammar, or a power or factorial is too large.
    """
    if len(text) > MAX_CHARS:
        raise ExpressionError(f"the expression has {len(text)} characters; at most {MAX_CHARS} are allowed")
    for sign, plain in _PLAIN.items():
        text = text.replace(sign, plain)
    parser = _Parser(_tokens(text), variables)
    value = parser.expression(0)
    if parser.token:
        hint = "; write numbers without thousands separators" if parser.token == "," else ""
        raise ExpressionError(f"did not expect {parser.token!r} in {text!r}{hint}")
    return value


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(
                f"cannot read {text[position : position + 12]!r}; only numbers, names, + - * / % ^ ! ( ) and commas are"
                " allowed"
            )
        tokens.append(match.group().strip())
        position = match.end()
    return tokens


class _Parser:
    """Precedence climbing over the tokens; every method returns a sympy expression."""

    def __init__(self, tokens: list[str], variables: Collection[str]) -> None:
        self.tokens = tokens
        self.variables = variables
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.token
        if not token or (expected and token != expected):
            raise ExpressionError(f"expected {expected or 'a number or a name'!r} but found {token or 'the end'!r}")
        self.position += 1
        return token

    def expression(self, floor: int) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError("the expression is nested too deeply")
        left = self.prefix()
        while True:
            operator, implied = self.token, False
            if operator == "mod":
                self.tokens[self.position] = operator = "%"
            if operator == "(" or operator[:1].isalpha():
                operator, implied = "*", True
            if operator == "!":
                self.take()
                left = _factorial(left)
                continue
            binding = _BINARY.get(operator)
            if binding is None or binding < floor:
                break
            if not implied:
                self.take()
            # a power groups to the right and its exponent may carry a sign: 2^-3^2 is 2^(-(3^2))
            right = self.expression(_NEGATION if binding == 40 else binding + 1)
            left = _combine(operator, left, right)
        self.depth -= 1
        return left

    def prefix(self) -> Any:
        token = self.take()
        if token in "+-":
            value = self.expression(_NEGATION)
            return value if token == "+" else -value
        if token == "(":
            value = self.expression(0)
            self.take(")")
            return value
        if token[0].isdigit() or token[0] == ".":
            return _number(token)
        if token[0].isalpha():
            return self.name(token)
        raise ExpressionError(f"did not expect {token!r}")

    def name(self, name: str) -> Any:
        if name in self.variables:
            return sympy.Symbol(name)
        if self.token == "(" and name in FUNCTIONS:
            return self.call(name)
        if name in FUNCTIONS:
            raise ExpressionError(f"{name} needs its argument in parentheses, for example {name}(2)")
        if self.token == "(" and len(name) > 1 and name not in _CONSTANTS:
            raise ExpressionError(f"unknown function {name!r}; known are {', '.join(sorted(FUNCTIONS))}")
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if "__" in name or len(name) > 30:
            raise ExpressionError(f"{name!r} is not a name for a variable")
        return sympy.Symbol(name)

    def call(self, name: str) -> Any:
        self.take("(")
        arguments = [self.expression(0)]
        while self.token == ",":
            self.take()
            arguments.append(self.expression(0))
        self.take(")")
        try:
            return FUNCTIONS[name](*arguments)
        except (TypeError, ValueError) as error:
            raise ExpressionError(f"{name}: {error}") from error


def _number(token: str) -> Any:
    exponent = token.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > 5000:
        raise ExpressionError(f"{token} is too large or too small a number")
    return sympy.Rational(token)


def _combine(operator: str, left: Any, right: Any) -> Any:
    if operator in ("/", "//", "%") and right == 0:
        raise ExpressionError("division by zero")
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "//":
            return sympy.floor(left / right)
        case "%":
            return sympy.Mod(left, right)
    return _power(left, right)


def _power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent.is_negative:
        raise ExpressionError("division by zero")
    if not exponent.is_Rational:
        if base.is_Rational and exponent.is_number and abs(sympy.N(exponent, 5)) > MAX_BITS:
            raise ExpressionError("the exponent is too large")
        return base**exponent
    if not base.is_Rational:
        if abs(exponent) > MAX_SYMBOLIC_POWER and not base.is_Float:
            raise ExpressionError(f"the exponent {exponent} is too large; at most {MAX_SYMBOLIC_POWER} here")
        return base**exponent
    size = max(int(abs(base.p)).bit_length(), int(base.q).bit_length())
    if base in (0, 1, -1) or size * abs(exponent) <= MAX_BITS:
        return base**exponent
    magnitude = abs(float(exponent) * math.log2(abs(base))) if abs(exponent) < 10**15 else math.inf
    if base.is_Integer or magnitude > MAX_BITS:
        raise ExpressionError("the power is too large to compute; for a remainder use powmod(base, exponent, modulus)")
    return sympy.N(base, 40) ** exponent


def _factorial(value: Any) -> Any:
    if value.is_number and not (value.is_Integer and 0 <= value <= MAX_FACTORIAL):
        raise ExpressionError(f"factorial needs a whole number from 0 to {MAX_FACTORIAL}, not {value}")
    return sympy.factorial(value)


def _whole(*values: Any, limit: int | None = None) -> list[int]:
    for value in values:
        if not value.is_Integer or (limit is not None and not 0 <= value <= limit):
            reach = f" from 0 to {limit}" if limit is not None else ""
            raise ValueError(f"needs whole numbers{reach}, not {value}")
    return [int(value) for value in values]


def _choose(n: Any, k: Any) -> Any:
    return sympy.Integer(math.comb(*_whole(n, k, limit=10 * MAX_FACTORIAL)))


def _arrange(n: Any, k: Any) -> Any:
    return sympy.Integer(math.perm(*_whole(n, k, limit=MAX_FACTORIAL)))


def _multinomial(*counts: Any) -> Any:
    groups = _whole(*counts, limit=MAX_FACTORIAL)
    if sum(groups) > MAX_FACTORIAL:
        raise ValueError(f"the counts may add up to {MAX_FACTORIAL} at most")
    return sympy.Integer(math.factorial(sum(groups)) // math.prod(math.factorial(count) for count in groups))


def _powmod(base: Any, exponent: Any, modulus: Any) -> Any:
    return sympy.Integer(pow(*_whole(base, exponent, modulus)))


def _modinv(number: Any, modulus: Any) -> Any:
    return _powmod(number, sympy.Integer(-1), modulus)


def _log(value: Any, base: Any = sympy.E) -> Any:
    if value == 0 or base in (0, 1):
        raise ValueError("the logarithm is not defined here")
    return sympy.log(value, base)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(sympy, name) for name in "sin cos tan sec csc cot asin acos atan atan2 sinh cosh tanh".split()},
    **{name: getattr(sympy, name) for name in "asinh acosh atanh exp sqrt root sign floor gcd lcm".split()},
    **{name: getattr(sympy, name) for name in "re im arg conjugate erf gamma".split()},
    "abs": sympy.Abs,
    "mod": lambda value, divisor: _combine("%", value, divisor),
    "cbrt": lambda value: sympy.real_root(value, 3),
    "ceil": sympy.ceiling,
    "min": sympy.Min,
    "max": sympy.Max,
    "log": _log,
    "ln": lambda value: _log(value),
    "log10": lambda value: _log(value, sympy.Integer(10)),
    "log2": lambda value: _log(value, sympy.Integer(2)),
    "factorial": _factorial,
    "comb": _choose,
    "binomial": _choose,
    "perm": _arrange,
    "multinomial": _multinomial,
    "powmod": _powmod,
    "modinv": _modinv,
}
