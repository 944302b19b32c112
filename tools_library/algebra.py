"""Calculations on single expressions with sympy; each returns text.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import sympy

from tools_library.expressions import FUNCTIONS, ExpressionError, parse

MAX_SHOWN = 1500


def evaluate(expression: str) -> str:
    """The exact and the decimal value of an expression without unknowns."""
    value = parse(expression)
    if value.free_symbols:
        names = ", ".join(sorted(map(str, value.free_symbols)))
        raise ExpressionError(f"the expression contains the unknown {names}; only numbers can be evaluated")
    return exact_and_decimal(simplest(value))


def simplify(expression: str) -> str:
    """The simplified, expanded and factored forms."""
    value = parse(expression)
    forms = {"simplified": sympy.simplify(value), "expanded": sympy.expand(value), "factored": sympy.factor(value)}
    return "\n".join(f"{name}: {_text(form)}" for name, form in forms.items())


def differentiate(expression: str, variable: str, order: int, at: str) -> str:
    """The derivative, and its value at a point where one is given."""
    if not 1 <= order <= 20:
        raise ExpressionError(f"order must be from 1 to 20, not {order}")
    symbol = unknown(variable)
    result = sympy.simplify(sympy.diff(parse(expression, {variable}), symbol, order))
    if not at.strip():
        return _text(result)
    return f"{_text(result)}\nat {variable} = {at}: {exact_and_decimal(simplest(result.subs(symbol, parse(at))))}"


def integrate(expression: str, variable: str, lower: str, upper: str) -> str:
    """The antiderivative, or the definite integral where both bounds are given."""
    symbol, integrand = unknown(variable), parse(expression, {variable})
    if bool(lower.strip()) != bool(upper.strip()):
        raise ExpressionError("give both bounds for a definite integral, or neither")
    if not lower.strip():
        result = sympy.integrate(integrand, symbol)
        if result.has(sympy.Integral):
            raise ExpressionError("no antiderivative in closed form was found; give bounds for a numerical value")
        return f"{_text(sympy.simplify(result))} + C"
    bounds = (symbol, parse(lower), parse(upper))
    if _has_pole(integrand, *bounds):
        return "the integral diverges (the integrand has a pole between the bounds)"
    result = sympy.integrate(integrand, bounds)
    if result.has(sympy.Integral):
        return f"≈ {_decimal(sympy.Integral(integrand, bounds).evalf(15))} (numerical)"
    if result in (sympy.nan, sympy.zoo) or result.is_infinite:
        return f"the integral diverges ({result})"
    return exact_and_decimal(simplest(result))


def _has_pole(integrand: Any, symbol: Any, lower: Any, upper: Any) -> bool:
    """Whether a fraction of polynomials has a pole between real bounds; sympy may integrate across it."""
    if integrand.free_symbols != {symbol} or not integrand.is_rational_function(symbol):
        return False
    if not (lower.is_extended_real and upper.is_extended_real):
        return False
    denominator = sympy.fraction(sympy.cancel(integrand))[1]
    if not denominator.has(symbol):
        return False
    ends = sorted([sympy.N(lower), sympy.N(upper)])
    return any(ends[0] <= sympy.N(root) <= ends[1] for root in sympy.real_roots(denominator))


def factor(number: str) -> str:
    """The prime factors of a whole number with their exponents, its divisors and its totient."""
    value = int(number)
    powers = sympy.factorint(abs(value))
    product = " * ".join(f"{prime}^{power}" if power > 1 else f"{prime}" for prime, power in powers.items())
    facts = f"{number} = {'-1 * ' if value < 0 else ''}{product}"
    divisors = 1
    for power in powers.values():
        divisors *= power + 1
    prime = "it is prime" if divisors == 2 and value > 0 else "it is not prime"
    total = math.prod((prime ** (power + 1) - 1) // (prime - 1) for prime, power in powers.items())
    totient = math.prod((prime - 1) * prime ** (power - 1) for prime, power in powers.items())
    return f"{facts}; {prime}; it has {divisors} positive divisors with the sum {total}; its totient is {totient}"


def complex_number(expression: str) -> str:
    """A complex number with its parts, modulus, argument and conjugate."""
    value = sympy.expand_complex(simplest(parse(expression)))
    if value.free_symbols:
        raise ExpressionError(f"the expression contains the unknown {', '.join(sorted(map(str, value.free_symbols)))}")
    real, imaginary = (simplest(part) for part in value.as_real_imag())
    angle = sympy.arg(value) if value != 0 else sympy.nan
    lines = [f"value: {exact_and_decimal(sympy.expand(real + imaginary * sympy.I))}"]
    lines += [f"real part: {exact_and_decimal(real)}", f"imaginary part: {exact_and_decimal(imaginary)}"]
    lines.append(f"modulus: {exact_and_decimal(simplest(sympy.sqrt(real**2 + imaginary**2)))}")
    if value == 0:
        lines.append("argument: not defined for 0")
    else:
        degrees = simplest(angle * 180 / sympy.pi)
        lines.append(f"argument: {exact_and_decimal(simplest(angle))} rad, {exact_and_decimal(degrees)} degrees")
    lines.append(f"conjugate: {exact_and_decimal(sympy.expand(real - imaginary * sympy.I))}")
    return "\n".join(lines)


OPERATIONS: dict[str, Callable[..., str]] = {
    operation.__name__: operation
    for operation in (evaluate, simplify, differentiate, integrate, factor, complex_number)
}


def unknown(name: str) -> Any:
    """The symbol of an unknown; raises `ExpressionError` where the name cannot be one."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,29}", name) or name in FUNCTIONS or name == "pi":
        raise ExpressionError(f"{name!r} is not a name for an unknown; use a letter such as 'x'")
    return sympy.Symbol(name)


def simplest(value: Any) -> Any:
    """A value simplified, unless it is a plain number already."""
    done = value.is_Rational or value.is_Float or value.has(sympy.CRootOf)
    return value if done else sympy.simplify(value)


def exact_and_decimal(value: Any) -> str:
    """An exact value followed by its decimal where that adds something."""
    if value.has(sympy.nan, sympy.zoo):
        raise ExpressionError("the value is not defined (division by zero or an undefined form)")
    if value.free_symbols or value.is_infinite:
        return _text(value)
    if value.is_Integer:
        digits = str(abs(int(value)))
        return str(value) if len(digits) <= 1000 else f"≈ {_decimal(value.evalf(15))} ({len(digits)} digits)"
    if value.is_Float:
        return f"≈ {_decimal(value)}"
    if value.has(sympy.I) and all(part.is_Integer for part in value.as_real_imag()):
        return str(value)
    exact, decimal = str(value), _decimal(value.evalf(15))
    return f"≈ {decimal}" if len(exact) > 200 or "CRootOf" in exact else f"{exact} ≈ {decimal}"


def _decimal(value: Any) -> str:
    text = str(sympy.N(value, 12, chop=True)) if value.is_number else str(value)
    text = re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text)
    return re.sub(r"\.(?!\d)", "", text)


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} … ({len(text)} characters, cut)"
