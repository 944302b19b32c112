"""Values are from tables, from hand calculation or from definitions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import calculator, calculus
from tools_library import mathematics as maths


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
    for call in (maths.evaluate_expression, maths.simplify_expression, maths.solve_equations, calculus.integrate):
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


def test_expressions_are_simplified() -> None:
    assert maths.simplify_expression("(x^2 - 1)/(x - 1)").splitlines()[0] == "simplified: x + 1"
    assert "factored: (x - 3)*(x - 2)" in maths.simplify_expression("x^2 - 5x + 6")


@pytest.mark.parametrize(
    ("inequality", "solutions"),
    [
        ("x^2 - 5x + 6 > 0", "x < 2 or x > 3"),
        ("1 < 2x + 3 <= 9", "-1 < x <= 3"),
        ("abs(x - 1) < 2", "-1 < x < 3"),
        ("(x - 1)/(x + 2) ≤ 0", "-2 < x <= 1"),
        ("1/x > 0", "x > 0"),
        ("sqrt(x) < 3", "0 <= x < 9"),
        ("x^2 < 0", "no solution"),
        ("x^2 >= 0", "every real x"),
        ("x^2 <= 0", "x = 0"),
        ("x != 2", "x < 2 or x > 2"),
        ("x^2 > 2; x > 0", "x > sqrt(2) ≈ 1.41421356237"),
        ("x > 1 and x < 0", "no solution"),
        ("sin(x) > 0", "0 < x < pi ≈ 3.14159265359 (one period; it repeats every 2*pi)"),
        ("sin(x) < 2", "every real x"),
    ],
)
def test_inequalities_are_solved(inequality: str, solutions: str) -> None:
    assert maths.solve_inequality(inequality) == solutions


@pytest.mark.parametrize(
    ("inequality", "problem"),
    [("x + 1", "no sign"), ("x + y > 2", "y is unknown too"), ("sin(x) > 0; x < 2", "single"), ("", "no inequality")],
)
def test_inequalities_that_cannot_be_solved(inequality: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        maths.solve_inequality(inequality)


def test_complex_numbers() -> None:
    assert maths.complex_number("(1 + 2i)(3 - i)").splitlines() == [
        "value: 5 + 5*I",
        "real part: 5",
        "imaginary part: 5",
        "modulus: 5*sqrt(2) ≈ 7.07106781187",
        "argument: pi/4 ≈ 0.785398163397 rad, 45 degrees",
        "conjugate: 5 - 5*I",
    ]
    assert maths.complex_number("(2 + i)/(1 - i)").startswith("value: 1/2 + 3*I/2 ≈ 0.5 + 1.5*I\n")
    assert maths.complex_number("(1 + i)^10").startswith("value: 32*I\n")  # (2i)^5
    assert maths.complex_number("e^(i*pi) + 1").splitlines()[4] == "argument: not defined for 0"
    with pytest.raises(ToolError, match="unknown z"):
        maths.complex_number("z + i")


@pytest.mark.parametrize(
    ("expression", "fraction", "mixed"),
    [
        ("-7/3", "-7/3", "-2 1/3"),
        ("2 1/3 + 1/2", "17/6", "2 5/6"),
        ("-2 1/3 - 2/3", "-3", "-3"),
        ("1 1/2 / 3/4", "2", "2"),
        ("1/2 + 1/2 × 1/3", "2/3", "2/3"),
        ("2 - -1/3", "7/3", "2 1/3"),
        ("0.25 * 3", "3/4", "3/4"),
        ("1/3 − 1/3", "0", "0"),
        ("6/-4", "-3/2", "-1 1/2"),
    ],
)
def test_mixed_numbers(expression: str, fraction: str, mixed: str) -> None:
    found = maths.mixed_number(expression)
    assert (found["fraction"], found["mixed"]) == (fraction, mixed)


def test_fractions_that_do_not_exist() -> None:
    assert maths.mixed_number("1/8")["percent"] == "12.5 %"
    for expression, problem in [
        ("1/0", "divides by zero"),
        ("1 / 0", "division by zero"),
        ("2 1/0", "divides by zero"),
        ("1/2/3", "cannot read"),
        ("x", "cannot read"),
        ("1 2", "cannot read"),
        ("1+" * 300 + "1", "characters"),
    ]:
        with pytest.raises(ToolError, match=problem):
            maths.mixed_number(expression)


def test_money_is_multiplied_by_the_rate() -> None:
    assert maths.convert_currency(100, 0.85) == {"converted": 85, "fee": 0, "inverse_rate": pytest.approx(1 / 0.85)}
    assert maths.convert_currency(19.99, 1.1)["converted"] == 21.989  # exact, not 21.989000000000003
    assert maths.convert_currency(200, 2, fee_percent=2.5) == {"converted": 390, "fee": 10, "inverse_rate": 0.5}
    for arguments in ((100, 0), (100, -1), (float("inf"), 1), (1, 1, 101)):
        with pytest.raises(ToolError, match="exchange_rate must be above 0"):
            maths.convert_currency(*arguments)


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
