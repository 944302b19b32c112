"""Arithmetic, algebra, equations and units."""

from __future__ import annotations

import math
from fractions import Fraction

from captain.errors import ToolError
from captain.tools import tool
from tools_library import calculator


@tool
def evaluate_expression(expression: str) -> str:
    """Calculate the exact and decimal value of an arithmetic expression, with fractions, roots, powers, factorials,
    trigonometry, logarithms, combinations and remainders.

    Decimals are exact (0.1 is 1/10). Angles are in radians; log and ln are natural, use log10 or log2 for others.

    Args:
        expression: For example "(1/3 + 0.25) * 2^10", "comb(10, 3)", "powmod(7, 1000, 13)", "modinv(3, 11)",
            "multinomial(1, 4, 4, 2)", "sin(pi/6)", "17 % 5" (remainder, never negative for a positive divisor).

    Returns:
        The exact value, followed by the decimal when that is different.

    Raises:
        ToolError: The text is not an expression, holds an unknown, divides by zero or is too large.
    """
    return calculator.compute("evaluate", {"expression": expression})


@tool
def simplify_expression(expression: str) -> str:
    """Simplify, expand and factor an algebraic expression.

    Args:
        expression: For example "(x^2 - 1)/(x - 1)".

    Returns:
        Three lines: the simplified, the expanded and the factored form.

    Raises:
        ToolError: The text is not an expression, or it takes too long.
    """
    return calculator.compute("simplify", {"expression": expression})


@tool
def solve_equations(equations: str, unknowns: str = "x") -> str:
    """Solve one equation or a system of equations for its unknowns, exactly where possible.

    Complex solutions are listed too (I is the imaginary unit); of a periodic equation those of one period.

    Args:
        equations: For example "x^2 - 5x + 6 = 0"; several are separated by semicolons: "x + y = 3; x - y = 1".
        unknowns: Names of the unknowns, separated by commas: "x" or "x, y".

    Returns:
        One solution a line with exact and decimal values, or "no solution", or "true for every value ...".

    Raises:
        ToolError: An equation cannot be read or solved, or it takes too long.
    """
    return calculator.compute("solve", {"equations": equations, "unknowns": unknowns})


@tool
def solve_inequality(inequality: str, variable: str = "x") -> str:
    """Solve an inequality or a system of inequalities in one real unknown: the solution set as intervals, also with
    absolute values, fractions and powers.

    Args:
        inequality: For example "x^2 - 5x + 6 > 0", "1 < 2x + 3 <= 9" or "abs(x - 1) < 2"; several that must all hold
            are separated by semicolons. The signs are < <= > >= and !=.
        variable: The unknown, a real number.

    Returns:
        The solutions, such as "x < 2 or x > 3", "1 <= x < 4", "no solution" or "every real x".

    Raises:
        ToolError: It cannot be read or solved, or it takes too long.
    """
    return calculator.compute("inequality", {"text": inequality, "variable": variable})


@tool
def complex_number(expression: str) -> str:
    """Calculate with complex numbers: sum, product, quotient, power or root; real and imaginary part, modulus (absolute
    value), argument (angle), conjugate and polar form of the result.

    Args:
        expression: For example "(1 + 2i)(3 - i)", "(2 + i)/(1 - i)", "sqrt(-9)", "(1 + i)^10". i is the imaginary unit.

    Returns:
        One line each: value (real + imaginary part), modulus, argument in radians and degrees, conjugate.

    Raises:
        ToolError: The text is not an expression, holds an unknown, or divides by zero.
    """
    return calculator.compute("complex_number", {"expression": expression})


@tool
def mixed_number(expression: str) -> dict[str, str]:
    """Calculate with fractions and mixed numbers: add, subtract, multiply, divide, reduce to lowest terms; convert
    between improper fraction, mixed number, decimal and percent.

    Args:
        expression: Numbers such as 2 1/3, -7/3, 5 or 0.25 joined by + - * / with spaces around them, for example
            "2 1/3 + 1/2", "-7/3" or "1 1/2 / 3/4". A mixed number or a fraction without spaces is one number.

    Returns:
        fraction (reduced), mixed (the sign stands once, in front: -7/3 is "-2 1/3"), decimal, percent.

    Raises:
        ToolError: A number cannot be read, or division by zero.
    """
    from tools_library.fraction_text import calculate

    value = calculate(expression)
    whole, rest = divmod(abs(value.numerator), value.denominator)
    parts = [str(whole)] if whole or not rest else []
    parts += [f"{rest}/{value.denominator}"] if rest else []
    return {
        "fraction": str(value),
        "mixed": f"{'-' if value < 0 else ''}{' '.join(parts)}",
        "decimal": f"{float(value):.12g}",
        "percent": f"{float(value * 100):.12g} %",
    }


@tool
def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a value between units of length, area, volume, mass, time, speed, temperature, pressure, energy, power,
    force, amount, angle or data size, also combined ones such as km/h or kJ/mol.

    A year is 365.25 days, a gallon, pint or cup is the US one, cal is 4.184 J. For money use convert_currency.

    Args:
        value: The number to convert.
        from_unit: The unit it has, for example "mile", "km/h", "kJ/(mol*K)", "celsius", "square feet".
        to_unit: The unit wanted.

    Returns:
        For example "1 mile = 1.609344 km".

    Raises:
        ToolError: A unit is unknown, the units measure different things, or the value is not finite.
    """
    from tools_library.units import convert

    if not math.isfinite(value):
        raise ToolError(f"{value} is not a finite number")
    result = convert(Fraction(str(value)), from_unit, to_unit)
    return f"{value:.12g} {from_unit} = {float(result):.12g} {to_unit}"


@tool
def convert_currency(amount: float, exchange_rate: float, fee_percent: float = 0.0) -> dict[str, float]:
    """Convert money from one currency into another at a given exchange rate: amount times rate, less a fee in percent.

    Rates are not looked up. The rate is the price of one unit of the currency you have in the one you want: at 0.85
    euros for a dollar 100 dollars are 85 euros. For the other way use 1 / rate.

    Args:
        amount: The money you have.
        exchange_rate: How many units of the wanted currency one unit buys, above 0.
        fee_percent: Fee that is kept back from the result, from 0 to 100.

    Returns:
        converted (after the fee), fee (in the wanted currency), inverse_rate (for the way back).

    Raises:
        ToolError: A number is not finite, or the rate or the fee is out of range.
    """
    if not all(map(math.isfinite, (amount, exchange_rate))) or exchange_rate <= 0 or not 0 <= fee_percent <= 100:
        raise ToolError("exchange_rate must be above 0, fee_percent from 0 to 100, and the amount a finite number")
    full = Fraction(str(amount)) * Fraction(str(exchange_rate))
    fee = full * Fraction(str(fee_percent)) / 100
    return {"converted": float(full - fee), "fee": float(fee), "inverse_rate": float(f"{1 / exchange_rate:.10g}")}
