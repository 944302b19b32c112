"""Values are from tables, from hand calculation or from definitions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import calculator
from tools_library import mathematics as maths


@pytest.fixture
def own_process() -> None:
    """Keeps calculations in a process of their own, as they are in use."""


@pytest.fixture(autouse=True)
def calculations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calculate in the process of the tests, which saves half a second each."""
    if "own_process" not in request.fixturenames:
        monkeypatch.setattr(calculator, "compute", lambda *call: calculator.text_of(calculator.answer(*call)))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "3/10 ≈ 0.3"),
        ("-7/3", "-7/3 ≈ -2.33333333333"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("-7 % 3", "2"),
        ("17 mod 5 + mod(9, 4)", "3"),
        ("2(3+4)!/7!", "2"),
        ("sqrt(2)*sqrt(8)", "4"),
        ("cbrt(-8)", "-2"),
        ("multinomial(1, 4, 4, 2)", "34650"),  # arrangements of MISSISSIPPI
        ("1! + 4! + 5!", "145"),
        ("powmod(7, 1000, 13)", "9"),
        ("modinv(3, 11)", "4"),
        ("e^(i*pi)", "-1"),
        ("log10(1000) + log(e)", "4"),
        ("3 × 4 − 10 ÷ 5", "10"),
    ],
)
def test_expressions_are_evaluated_exactly(expression: str, value: str) -> None:
    assert maths.evaluate_expression(expression) == value


@pytest.mark.parametrize(
    "hostile",
    [
        '__import__("os").system("touch {0}")',
        "open('{0}', 'w')",
        "().__class__.__mro__",
        "[x for x in (1,)]",
        "lambda: 0",
    ],
)
def test_no_expression_runs_as_python(hostile: str, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for call in (maths.evaluate_expression, maths.simplify_expression, maths.solve_equations, maths.integrate):
        with pytest.raises(ToolError):
            call(hostile.format(mark))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("9^9^9", "too large"),
        ("2^(2^(2^(2^10)))", "too large"),
        ("((x+1)^400)^999999999", "too large"),
        ("factorial(10^9)", "factorial needs"),
        ("9!!!", "factorial needs"),
        ("comb(10^9, 5)", "whole numbers"),
        ("1e99999999", "too large"),
        ("(" * 500 + "1" + ")" * 500, "nested too deeply"),
        ("1+" * 2000 + "1", "characters"),
        ("1/0", "division by zero"),
        ("0^-1", "division by zero"),
        ("modinv(2, 4)", "not invertible"),
        ("x + 1", "unknown x"),
        ("sinn(2)", "unknown function 'sinn'"),
        ("2 +", "the end"),
        ("1,000 + 1", "thousands separators"),
        ("", "the end"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_at_once(expression: str, problem: str) -> None:
    start = time.monotonic()
    with pytest.raises(ToolError, match=problem):
        maths.evaluate_expression(expression)
    assert time.monotonic() - start < 5


@pytest.mark.usefixtures("own_process")
def test_a_calculation_that_does_not_end_is_stopped() -> None:
    start = time.monotonic()
    with pytest.raises(ToolError, match="stopped after 2 s"):
        calculator.compute("evaluate", {"expression": "exp(exp(exp(100)))"}, seconds=2)
    assert time.monotonic() - start < 8


@pytest.mark.usefixtures("own_process")
def test_calculations_run_in_their_own_process() -> None:
    assert (
        maths.evaluate_expression("2^20000") == "≈ 3.98027684034e+6020 (6021 digits)"
    )  # log10: 20000 * 0.30103 = 6020.6
    with pytest.raises(ToolError, match="unknown x"):
        maths.evaluate_expression("x")


def test_a_large_power_of_a_decimal_is_approximated() -> None:
    # (1 + 1e-7)^(1e9) = exp(1e9 * ln(1 + 1e-7)) = exp(99.999995000000333)
    value = maths.evaluate_expression("1.0000001^1000000000")
    assert float(value.removeprefix("≈ ")) == pytest.approx(2.6881036999e43, rel=1e-7)


@pytest.mark.parametrize(
    ("equations", "unknowns", "solutions"),
    [
        ("x^2 - 5x + 6 = 0", "x", {"x = 2", "x = 3"}),
        ("x + y = 3; x - y = 1", "x, y", {"x = 2, y = 1"}),
        ("x + y = 3, x - y = 1", "x y", {"x = 2, y = 1"}),
        ("2^x = 8", "x", {"x = 3"}),
        ("x = x", "x", {"true for every value where both sides are defined"}),
        ("x = x + 1", "x", {"no solution"}),
        ("x + y = 1; x + y = 2", "x, y", {"no solution"}),
        ("x^2 + y^2 = 1; x^2 + y^2 = 4; x = y", "x, y", {"no solution"}),
        ("e + 1 = 3", "e", {"e = 2"}),
    ],
)
def test_equations_are_solved(equations: str, unknowns: str, solutions: set[str]) -> None:
    assert set(maths.solve_equations(equations, unknowns).splitlines()) == solutions


def test_a_quintic_has_its_five_roots_and_a_transcendental_equation_its_numerical_one() -> None:
    quintic = maths.solve_equations("x^5 - x - 1 = 0")
    assert len(quintic.splitlines()) == 5
    assert "x ≈ 1.1673039" in quintic  # the real root
    assert "x ≈ 0.7390851332" in maths.solve_equations("cos(x) = x")  # the Dottie number
    assert maths.solve_equations("abs(x) = 2") == "x = -2\nx = 2"


@pytest.mark.parametrize(
    "equation", ["exp(x) = 0", "1/x = 0", "sqrt(x) = -1", "(x^2 - 1)/(x - 1) = 2", "exp(-x^2) = 0"]
)
def test_no_root_is_made_up(equation: str) -> None:
    assert maths.solve_equations(equation).startswith("no solution was found")


@pytest.mark.parametrize(("equations", "problem"), [("x < 3", "inequalities"), ("y = 2", "contain y"), ("1=x=2", "=")])
def test_unsolvable_questions_say_why(equations: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        maths.solve_equations(equations)


def test_algebra_and_calculus() -> None:
    assert maths.simplify_expression("(x^2 - 1)/(x - 1)").splitlines()[0] == "simplified: x + 1"
    assert "factored: (x - 3)*(x - 2)" in maths.simplify_expression("x^2 - 5x + 6")
    assert maths.differentiate("x^3", order=2, at="5") == "6*x\nat x = 5: 30"
    assert maths.integrate("cos(x)") == "sin(x) + C"
    assert maths.integrate("x^2", lower="0", upper="3") == "9"
    assert maths.integrate("exp(-x^2)", lower="-oo", upper="oo").startswith("sqrt(pi) ≈ 1.772453850")
    for integrand in ("1/x", "1/x^2", "1/(x^3 - x + 0.3)", "1/(2x - 1)"):
        assert "diverges" in maths.integrate(integrand, lower="0", upper="2")
    assert maths.integrate("1/sqrt(x)", lower="0", upper="4") == "4"
    assert maths.integrate("1/x", lower="e", upper="e^3") == "2"
    with pytest.raises(ToolError, match="both bounds"):
        maths.integrate("x", lower="0")


def test_whole_numbers() -> None:
    assert maths.prime_factors(360) == "360 = 2^3 * 3^2 * 5; it is not prime; it has 24 positive divisors"
    assert maths.prime_factors(-12).startswith("-12 = -1 * 2^2 * 3;")
    assert "it is prime" in maths.prime_factors(2**61 - 1)  # a Mersenne prime
    assert maths.primes_below(10) == {"count": 4, "sum": 17, "largest": 7, "primes": "2, 3, 5, 7"}
    assert maths.primes_below(2_000_000)["sum"] == 142913828922  # Project Euler 10
    assert maths.primes_below(11)["largest"] == 7
    assert maths.primes_below(-5) == {"count": 0, "sum": 0, "primes": ""}
    for wrong in (
        lambda: maths.prime_factors(1),
        lambda: maths.primes_below(10**12),
        lambda: maths.prime_factors(10**90),
    ):
        with pytest.raises(ToolError):
            wrong()


def test_matrix_powers() -> None:
    assert maths.matrix_power("1 2; 3 4", -1) == "[-2, 1]\n[3/2, -1/2]"
    assert maths.matrix_power("[[1, 1], [1, 0]]", 10) == "[89, 55]\n[55, 34]"  # Fibonacci numbers
    assert maths.matrix_power("1/2, 0\n0, 0.1", 2) == "[1/4, 0]\n[0, 1/100]"
    assert maths.matrix_power("5 7; 1 2", 0) == "[1, 0]\n[0, 1]"
    for matrix, problem in [("1 2; 2 4", "no inverse"), ("1 2; 3", "square"), ("1 a; 2 3", "'a'")]:
        with pytest.raises(ToolError, match=problem):
            maths.matrix_power(matrix, -1)


def test_dates() -> None:
    assert maths.days_between_dates("2024-02-28", "March 1, 2024")["days"] == 2
    assert maths.days_between_dates("1900-02-28", "1900-03-01")["days"] == 1  # 1900 was no leap year
    assert maths.days_between_dates("20 July 1969", "1969-07-20")["start_weekday"] == "Sunday"  # the Moon landing
    assert maths.days_between_dates("2024-03-01", "2024-02-01")["days"] == -29
    for wrong in ("2023-02-29", "03/04/2024", "yesterday"):
        with pytest.raises(ToolError, match="YYYY-MM-DD"):
            maths.days_between_dates(wrong, "2024-01-01")


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (1, "mile", "km", 1.609344),
        (36, "km/h", "m/s", 10),
        (25, "C", "K", 298.15),
        (-40, "fahrenheit", "celsius", -40),
        (1, "kcal", "J", 4184),
        (4.184, "J/(mol*K)", "cal/mol/K", 1),
        (1, "square feet", "cm^2", 929.0304),
        (1, "GiB", "bytes", 2**30),
        (1, "kWh", "MJ", 3.6),
        (2, "hours", "minutes", 120),
        (1, "atm", "kPa", 101.325),
        (1, "g/cm3", "kg/m^3", 1000),
        (180, "degrees", "rad", 3.14159265359),
    ],
)
def test_units(value: float, source: str, target: str, result: float) -> None:
    text = maths.convert_units(value, source, target)
    assert float(text.split(" = ")[1].split()[0]) == pytest.approx(result, rel=1e-11)


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("kg", "m", "different things"),
        ("USD", "EUR", "unknown unit"),
        ("kilometrs", "m", "did you mean"),
        ("", "m", "diff"),
    ],
)
def test_units_that_do_not_fit(source: str, target: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        maths.convert_units(1, source, target)
    with pytest.raises(ToolError, match="absolute zero"):
        maths.convert_units(-300, "C", "K")
