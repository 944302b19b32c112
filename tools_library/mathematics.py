"""Exact mathematics: arithmetic, algebra, calculus, whole numbers, matrices, dates and units."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime
from fractions import Fraction

from captain.errors import ToolError
from captain.tools import tool

MAX_PRIME_LIMIT = 20_000_000
MAX_DIGITS = 80
_DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")


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
    return _compute("evaluate", expression=expression)


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
    return _compute("solve", equations=equations, unknowns=unknowns)


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
    return _compute("simplify", expression=expression)


@tool
def differentiate(expression: str, variable: str = "x", order: int = 1, at: str = "") -> str:
    """Differentiate an expression with respect to a variable, and evaluate the derivative at a point if one is given.

    Args:
        expression: For example "x^3 * sin(x)".
        variable: The variable to differentiate by.
        order: 1 for the first derivative, up to 20.
        at: Optional point, for example "pi/2".

    Returns:
        The derivative, and on a second line its value at the point.

    Raises:
        ToolError: The text is not an expression, or it takes too long.
    """
    return _compute("differentiate", expression=expression, variable=variable, order=order, at=at)


@tool
def integrate(expression: str, variable: str = "x", lower: str = "", upper: str = "") -> str:
    """Integrate an expression: the antiderivative without bounds, the definite integral with both bounds.

    Args:
        expression: For example "x * exp(-x)".
        variable: The variable to integrate over.
        lower: Lower bound, for example "0" or "-oo" (infinity is oo).
        upper: Upper bound, for example "pi" or "oo".

    Returns:
        The antiderivative + C, or the exact and decimal value; a numerical value when there is no closed form.

    Raises:
        ToolError: The text is not an expression, no antiderivative is known, or it takes too long.
    """
    return _compute("integrate", expression=expression, variable=variable, lower=lower, upper=upper)


@tool
def prime_factors(number: int) -> str:
    """Factor a whole number into primes, say whether it is prime and count its divisors.

    Args:
        number: A whole number other than 0, 1 and -1, with at most 80 digits.

    Returns:
        For example "360 = 2^3 * 3^2 * 5; it is not prime; it has 24 positive divisors".

    Raises:
        ToolError: The number has no prime factors, or it is too large to factor.
    """
    if abs(number) < 2:
        raise ToolError(f"{number} has no prime factors; give a whole number of at least 2")
    if abs(number) >= 10**MAX_DIGITS:
        raise ToolError(f"the number has more than {MAX_DIGITS} digits, too many to factor")
    return _compute("factor", number=str(number))


@tool
def primes_below(limit: int) -> dict[str, int | str]:
    """Count and add up all prime numbers below a limit, and list them when they are few.

    Args:
        limit: Primes strictly smaller than this are taken; at most 20000000.

    Returns:
        count, sum, largest, and primes (the list, when there are at most 200).

    Raises:
        ToolError: The limit is above 20000000.
    """
    if limit > MAX_PRIME_LIMIT:
        raise ToolError(f"limit {limit} is too large; at most {MAX_PRIME_LIMIT}")
    sieve = bytearray([1]) * max(limit, 2)
    sieve[:2] = b"\0\0"
    for number in range(2, math.isqrt(max(limit, 2)) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, len(sieve), number)))
    primes = [number for number in range(max(limit, 0)) if sieve[number]]
    result: dict[str, int | str] = {"count": len(primes), "sum": sum(primes)}
    if primes:
        result["largest"] = primes[-1]
    if len(primes) <= 200:
        result["primes"] = ", ".join(map(str, primes))
    return result


@tool
def matrix_power(matrix: str, power: int) -> str:
    """Raise a square matrix to a whole power, exactly; power -1 gives the inverse.

    Args:
        matrix: Rows separated by semicolons, numbers by spaces or commas: "1 2; 3 4". "[[1, 2], [3, 4]]" works too.
        power: From -1000 to 1000; 0 gives the identity matrix.

    Returns:
        One row a line, with exact fractions.

    Raises:
        ToolError: The matrix is not square, an entry is no number, or there is no inverse.
    """
    rows = [re.split(r"[\s,]+", row.strip(" ,[]\t")) for row in re.split(r"[;\n]|\]\s*,?\s*\[", matrix.strip(" []\n"))]
    if any(len(row) != len(rows) for row in rows):
        shape = f"{len(rows)} rows with {sorted({len(row) for row in rows})} entries"
        raise ToolError(f"the matrix must be square but has {shape}; separate rows by ';'")
    if len(rows) > 12 or abs(power) > 1000:
        raise ToolError("at most 12 rows and powers from -1000 to 1000 are allowed")
    entries = [[str(_fraction(entry)) for entry in row] for row in rows]
    return _compute("matrix_power", matrix=json.dumps(entries), power=power)


@tool
def days_between_dates(start: str, end: str) -> dict[str, int | str]:
    """Count the days between two dates and name the day of the week of both, by the Gregorian calendar.

    For the weekday of a single date give it twice.

    Args:
        start: A date such as "2024-02-28", "28 February 2024" or "February 28, 2024".
        end: A date in the same forms; the result is negative when it is before the start.

    Returns:
        days (end minus start, the start day not counted), start_weekday, end_weekday.

    Raises:
        ToolError: A date does not exist, is ambiguous (03/04/2024) or is not in the years 1 to 9999.
    """
    first, last = _date(start), _date(end)
    return {"days": (last - first).days, "start_weekday": _weekday(first), "end_weekday": _weekday(last)}


@tool
def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a value between units of length, area, volume, mass, time, speed, temperature, pressure, energy, power,
    force, amount, angle or data size, also combined ones such as km/h or kJ/mol.

    A year is 365.25 days, a gallon, pint or cup is the US one, cal is 4.184 J. Currencies are not known.

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


def _compute(operation: str, **arguments: str | int) -> str:
    from tools_library.calculator import compute

    return compute(operation, arguments)


def _fraction(text: str) -> Fraction:
    over, slash, under = text.partition("/")
    try:
        if len(text) > 40 or re.search(r"[eE][+-]?\d{3}", text):
            raise ValueError
        return Fraction(over) / Fraction(under if slash else 1)
    except (ValueError, ZeroDivisionError):
        raise ToolError(f"{text[:40]!r} in the matrix is not a number such as 2, -0.5 or 1/3") from None


def _date(text: str) -> date:
    plain = " ".join(re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text.replace(",", " ")).split())
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(plain, form).date()
        except ValueError:
            continue
    raise ToolError(f"{text!r} is not a date that exists, or it is ambiguous; write it as YYYY-MM-DD")


def _weekday(day: date) -> str:
    return ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[day.weekday()]
