from __future__ import annotations

import pytest

from captain.errors import ToolError
from tools_library import number_theory as numbers


def test_whole_numbers() -> None:
    assert numbers.prime_factors(360) == (
        "360 = 2^3 * 3^2 * 5; it is not prime; it has 24 positive divisors with the sum 1170; its totient is 96"
    )
    assert numbers.prime_factors(-12).startswith("-12 = -1 * 2^2 * 3;")
    assert "it is prime" in numbers.prime_factors(2**61 - 1)  # a Mersenne prime
    assert numbers.primes_below(10) == {"count": 4, "sum": 17, "largest": 7, "primes": "2, 3, 5, 7"}
    assert numbers.primes_below(2_000_000)["sum"] == 142913828922  # Project Euler 10
    assert numbers.primes_below(11)["largest"] == 7
    assert numbers.primes_below(-5) == {"count": 0, "sum": 0, "primes": ""}
    for wrong in (
        lambda: numbers.prime_factors(1),
        lambda: numbers.primes_below(10**12),
        lambda: numbers.prime_factors(10**90),
    ):
        with pytest.raises(ToolError):
            wrong()


def test_remainders_of_powers() -> None:
    assert numbers.modular_power(7, 1000, 100) == 1  # 7^4 = 2401
    assert numbers.modular_power(3, 10**30, 7) == 4  # Fermat: the exponent is 4 modulo 6
    assert numbers.modular_power(3, -1, 11) == 4
    assert numbers.modular_power(5, 3, 1) == 0
    for call, problem in [
        (lambda: numbers.modular_power(2, -1, 4), "divisible by 2"),
        (lambda: numbers.modular_power(2, 3, 0), "at least 2"),
    ]:
        with pytest.raises(ToolError, match=problem):
            call()


def test_modular_inverses_and_their_sum() -> None:
    # 3 * 4 = 12, 9 * 5 = 45 and 5 are the inverses modulo 11; together 14
    assert numbers.modular_inverse(["3", "3^2", "5^-1"], 11) == {"inverses": {"3": 4, "3^2": 5, "5^-1": 5}, "sum": 3}
    assert numbers.modular_inverse(["-1"], 10)["sum"] == 9
    for entries, modulus, problem in [
        (["3", "2"], 4, "2 has no inverse modulo 4: both are divisible by 2"),  # not left out in silence
        (["2^-1"], 4, "does not exist"),
        (["1.5"], 7, "not a whole number"),
        ([], 7, "at least one"),
        (["3"], 1, "at least 2"),
    ]:
        with pytest.raises(ToolError, match=problem):
            numbers.modular_inverse(entries, modulus)


def test_the_chinese_remainder_theorem() -> None:
    assert numbers.chinese_remainder(["2", "3", "2"], ["3", "5", "7"]) == {"smallest": 23, "modulus": 105}  # Sun Tzu
    assert numbers.chinese_remainder(["1", "3"], ["4", "6"]) == {"smallest": 9, "modulus": 12}
    assert numbers.chinese_remainder(["-1"], ["5"]) == {"smallest": 4, "modulus": 5}
    for remainders, moduli, problem in [
        (["1", "2"], ["4", "6"], "no solution"),
        (["1"], ["4", "6"], "1 remainders and 2 moduli"),
        (["1"], ["0"], "at least 1"),
        (["x"], ["3"], "not a whole number"),
    ]:
        with pytest.raises(ToolError, match=problem):
            numbers.chinese_remainder(remainders, moduli)


def test_common_divisors_and_multiples() -> None:
    found = numbers.gcd_and_lcm(["84", "126"])
    assert (found["gcd"], found["lcm"]) == (42, 252)
    assert 84 * found["bezout_first"] + 126 * found["bezout_second"] == 42
    assert numbers.gcd_and_lcm(["-4", "6", "10"]) == {"gcd": 2, "lcm": 60}
    assert numbers.gcd_and_lcm(["-5", "0"]) == {"gcd": 5, "lcm": 0, "bezout_first": -1, "bezout_second": 0}
    with pytest.raises(ToolError, match="at least two"):
        numbers.gcd_and_lcm(["3"])


def test_digits() -> None:
    found = numbers.digits_in_base("145")
    assert (found["digit_sum"], found["digit_factorial_sum"], found["digits"]) == (10, 145, 3)  # 1! + 4! + 5!
    assert numbers.digits_in_base("-145")["digit_factorial_sum"] == 145
    assert numbers.digits_in_base("255", 16)["written"] == "ff"
    assert numbers.digits_in_base("-ff", 2, 16)["written"] == "-11111111"
    assert numbers.digits_in_base("zz", 10, 36)["decimal"] == "1295"
    assert numbers.digits_in_base("987654321")["digital_root"] == 9
    zero = numbers.digits_in_base("0", 2)
    assert (zero["written"], zero["digit_factorial_sum"], zero["digital_root"]) == ("0", 1, 0)
    for arguments, problem in [(("9", 10, 8), "base 8"), (("1", 1), "from 2 to 36"), (("1" * 3000,), "more than")]:
        with pytest.raises(ToolError, match=problem):
            numbers.digits_in_base(*arguments)
