"""Whole numbers: primes, divisors, remainders, digits."""

from __future__ import annotations

import math
import re

from captain.errors import ToolError
from captain.tools import tool
from tools_library import calculator

MAX_PRIME_LIMIT = 20_000_000
MAX_DIGITS = 80
MAX_LENGTH = 2000
"""Digits of the longest number that is calculated with."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@tool
def prime_factors(number: int) -> str:
    """Factor a whole number into primes (prime factorisation), test whether it is prime, count and add up its divisors,
    and give Euler's totient.

    Args:
        number: A whole number other than 0, 1 and -1, with at most 80 digits.

    Returns:
        For example "360 = 2^3 * 3^2 * 5; it is not prime; it has 24 positive divisors with the sum 1170;
        its totient is 96".

    Raises:
        ToolError: The number has no prime factors, or it is too large to factor.
    """
    if abs(number) < 2:
        raise ToolError(f"{number} has no prime factors; give a whole number of at least 2")
    if abs(number) >= 10**MAX_DIGITS:
        raise ToolError(f"the number has more than {MAX_DIGITS} digits, too many to factor")
    return calculator.compute("factor", {"number": str(number)})


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
def modular_inverse(numbers: list[str], modulus: int) -> dict[str, object]:
    """Modular multiplicative inverse of one or more whole numbers, and the sum of the inverses modulo m.

    Args:
        numbers: Whole numbers, also powers: ["3"], ["3", "3^2", "5^100"] or ["3^-1"].
        modulus: The modulus m, at least 2.

    Returns:
        inverses (number -> its inverse from 0 to m - 1), sum (of the inverses, modulo m).

    Raises:
        ToolError: A number is not whole or has a common divisor with the modulus, so that it has no inverse.
    """
    _check_modulus(modulus)
    if not numbers:
        raise ToolError("numbers must hold at least one number")
    inverses = []
    for text in numbers:
        residue = _power_residue(text, modulus)
        if (common := math.gcd(residue, modulus)) != 1:
            raise ToolError(f"{text} has no inverse modulo {modulus}: both are divisible by {common}")
        inverses.append(pow(residue, -1, modulus))
    return {"inverses": dict(zip(numbers, inverses, strict=True)), "sum": sum(inverses) % modulus}


@tool
def modular_power(base: int, exponent: int, modulus: int) -> int:
    """Modular exponentiation: the remainder of a (very large) power on division by a modulus, such as the last digits
    of 7^1000 modulo 100; a negative exponent takes the inverse.

    Args:
        base: A whole number.
        exponent: A whole number, as large as you like.
        modulus: The modulus, at least 1.

    Returns:
        base^exponent mod modulus, from 0 to modulus - 1.

    Raises:
        ToolError: The modulus is too small or too large, or the base has no inverse for a negative exponent.
    """
    if modulus != 1:
        _check_modulus(modulus)
    if exponent < 0 and (common := math.gcd(base, modulus)) != 1:
        raise ToolError(f"{base} has no inverse modulo {modulus}: both are divisible by {common}")
    return pow(base, exponent, modulus)


@tool
def chinese_remainder(remainders: list[str], moduli: list[str]) -> dict[str, int]:
    """Solve a system of congruences by the Chinese remainder theorem: the smallest number with given remainders modulo
    given moduli, which need not be coprime.

    Args:
        remainders: The remainders, for example ["2", "3", "2"].
        moduli: As many moduli, for example ["3", "5", "7"].

    Returns:
        smallest (the least solution from 0 up), modulus (all solutions are smallest plus its multiples).

    Raises:
        ToolError: The lists differ in length, an entry is not whole, a modulus is below 1, or there is no solution.
    """
    if len(remainders) != len(moduli) or not moduli:
        raise ToolError(f"there are {len(remainders)} remainders and {len(moduli)} moduli; give as many of both")
    solution, modulus = 0, 1
    for remainder_text, modulus_text in zip(remainders, moduli, strict=True):
        remainder, new = _whole(remainder_text), _whole(modulus_text)
        if new < 1:
            raise ToolError(f"a modulus must be at least 1, not {new}")
        common = math.gcd(modulus, new)
        if (remainder - solution) % common:
            raise ToolError(f"there is no solution: x = {remainder} (mod {new}) contradicts the congruences before it")
        step = (remainder - solution) // common * pow(modulus // common, -1, new // common) % (new // common)
        solution, modulus = solution + modulus * step, modulus * new // common
        solution %= modulus
    return {"smallest": solution, "modulus": modulus}


@tool
def gcd_and_lcm(numbers: list[str]) -> dict[str, int]:
    """Greatest common divisor (gcd, hcf) and least common multiple (lcm) of two or more whole numbers; for two also the
    coefficients of Bezout's identity (extended Euclid).

    Args:
        numbers: Whole numbers, for example ["84", "126"].

    Returns:
        gcd, lcm, and for two numbers bezout_first and bezout_second, so that gcd = first * bezout_first + second *
        bezout_second.

    Raises:
        ToolError: Fewer than two numbers, or one that is not whole.
    """
    values = [_whole(text) for text in numbers]
    if len(values) < 2:
        raise ToolError("numbers must hold at least two whole numbers")
    result = {"gcd": math.gcd(*values), "lcm": math.lcm(*values)}
    if len(values) == 2:
        result["bezout_first"], result["bezout_second"] = _bezout(*values)
    return result


@tool
def digits_in_base(number: str, base: int = 10, from_base: int = 10) -> dict[str, object]:
    """Write a whole number in another base (binary, octal, hexadecimal, any radix) and look at its digits: sum of the
    digits, number of digits, digital root, sum of the factorials of the digits.

    Args:
        number: The number, for example "145", "-145" or "ff"; letters are digits above 9.
        base: The base wanted for the digits, from 2 to 36.
        from_base: The base in which the number is written, from 2 to 36.

    Returns:
        written (in the wanted base), decimal (its value as text), digits, digit_sum, digit_factorial_sum, digital_root;
        of a negative number the digits without the sign.

    Raises:
        ToolError: A base is out of range, or the number has a digit that its base does not have.
    """
    if not (2 <= base <= 36 and 2 <= from_base <= 36):
        raise ToolError(f"a base must be from 2 to 36, not {base} and {from_base}")
    plain = re.sub(r"[\s_]", "", number)
    if len(plain) > MAX_LENGTH:
        raise ToolError(f"the number has more than {MAX_LENGTH} digits")
    try:
        value = int(plain, from_base)
    except ValueError:
        raise ToolError(f"{number[:40]!r} is not a whole number in base {from_base}") from None
    digits: list[int] = []
    rest = abs(value)
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits.append(digit)
    return {
        "written": ("-" if value < 0 else "") + "".join(_DIGITS[digit] for digit in reversed(digits)),
        "decimal": str(value),
        "digits": len(digits),
        "digit_sum": sum(digits),
        "digit_factorial_sum": sum(map(math.factorial, digits)),
        "digital_root": 0 if value == 0 else 1 + (abs(value) - 1) % (base - 1),
    }


def _check_modulus(modulus: int) -> None:
    if modulus < 2 or modulus >= 10**MAX_LENGTH:
        raise ToolError(f"the modulus must be at least 2 and have at most {MAX_LENGTH} digits")


def _whole(text: str) -> int:
    if not re.fullmatch(rf"\s*[+-]?\d{{1,{MAX_LENGTH}}}\s*", text):
        raise ToolError(f"{text[:40]!r} is not a whole number")
    return int(text)


def _power_residue(text: str, modulus: int) -> int:
    base, sign, exponent = text.replace("**", "^").partition("^")
    power = _whole(exponent.strip("() ")) if sign else 1
    number = _whole(base.strip("() "))
    if power < 0 and (common := math.gcd(number, modulus)) != 1:
        raise ToolError(f"{text} does not exist modulo {modulus}: both are divisible by {common}")
    return pow(number, power, modulus)


def _bezout(first: int, second: int) -> tuple[int, int]:
    """x and y with first * x + second * y = gcd(first, second)."""
    old, new, x, next_x = first, second, 1, 0
    while new:
        quotient = old // new
        old, new = new, old - quotient * new
        x, next_x = next_x, x - quotient * next_x
    if old < 0:
        old, x = -old, -x
    return x, (old - first * x) // second if second else 0
