from __future__ import annotations

import pytest

from captain.errors import ToolError
from tools_library import calculus


def test_derivatives_and_integrals() -> None:
    assert calculus.differentiate("x^3", order=2, at="5") == "6*x\nat x = 5: 30"
    assert calculus.integrate("cos(x)") == "sin(x) + C"
    assert calculus.integrate("x^2", lower="0", upper="3") == "9"
    assert calculus.integrate("exp(-x^2)", lower="-oo", upper="oo").startswith("sqrt(pi) ≈ 1.772453850")
    for integrand in ("1/x", "1/x^2", "1/(x^3 - x + 0.3)", "1/(2x - 1)"):
        assert "diverges" in calculus.integrate(integrand, lower="0", upper="2")
    assert calculus.integrate("1/sqrt(x)", lower="0", upper="4") == "4"
    assert calculus.integrate("1/x", lower="e", upper="e^3") == "2"
    with pytest.raises(ToolError, match="both bounds"):
        calculus.integrate("x", lower="0")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("sin(x)/x",), "1"),
        (("(1 + 1/n)^n", "n", "oo"), "E ≈ 2.71828182846"),
        (("(x^2 - 4)/(x - 2)", "x", "2"), "4"),
        (("1/x", "x", "0", "right"), "oo"),
        (("1/x", "x", "0", "left"), "-oo"),
        (("1/x^2",), "oo"),
        (("exp(x)", "x", "-oo"), "0"),
        (("abs(x)/x",), "the limit does not exist: from the left -1, from the right 1"),
        (("floor(x)", "x", "2"), "the limit does not exist: from the left 1, from the right 2"),
        (("sin(x)", "x", "oo"), "no value: it oscillates (AccumBounds(-1, 1))"),
    ],
)
def test_limits(arguments: tuple[str, ...], value: str) -> None:
    assert calculus.limit(*arguments) == value


@pytest.mark.parametrize(
    ("arguments", "series"),
    [
        (("exp(x)", "x", "0", 3), "1 + x + 1/2*x^2 + 1/6*x^3 [coefficients from degree 0: 1, 1, 1/2, 1/6]"),
        (("sin(x)",), "x - 1/6*x^3 + 1/120*x^5 [coefficients from degree 0: 0, 1, 0, -1/6, 0, 1/120]"),
        (("log(x)", "x", "1", 2), "(x - 1) - 1/2*(x - 1)^2 [coefficients from degree 0: 0, 1, -1/2]"),
        (("-x^2", "x", "-1", 2), "-1 + 2*(x + 1) - (x + 1)^2 [coefficients from degree 0: -1, 2, -1]"),
        (("cos(t)", "t", "0", 0), "1 [coefficients from degree 0: 1]"),
    ],
)
def test_taylor_series(arguments: tuple[str, str, str, int], series: str) -> None:
    assert calculus.taylor_series(*arguments) == series


def test_continuity() -> None:
    assert calculus.check_continuity("x^2", "2x", "2") == "continuous at x = 2: from the left 4, from the right 4"
    assert calculus.check_continuity("x", "x + 1", "0").startswith(
        "not continuous at x = 0: from the left 0, from the ri"
    )
    assert calculus.check_continuity("1/x", "1/x", "0").startswith("not continuous")
    assert calculus.check_continuity("1/x^2", "1/x^2", "0").startswith("not continuous")  # both limits are infinite
    assert calculus.check_continuity("a*x + 3", "x^2 - 1", "2", unknown="a") == "a = 0"
    assert calculus.check_continuity("a^2", "4x", "1", unknown="a") == "a = -2\na = 2"
    assert calculus.check_continuity("a", "a + x", "0", unknown="a") == "continuous for every a"
    assert calculus.check_continuity("a", "a + 1", "0", unknown="a") == "no value of a makes it continuous"


@pytest.mark.parametrize(
    ("arguments", "solution"),
    [
        (("y' + 2y = 0",), "y = C1*exp(-2*x)"),
        (("y' + 2y = 0", "y(0) = 3"), "y = 3*exp(-2*x)"),
        (("y'' + y = 0", "y(0) = 0; y'(0) = 1"), "y = sin(x)"),
        (("y'' - 3y' + 2y = 0",), "y = (C1 + C2*exp(x))*exp(x)"),
        (("dy/dx = x*y",), "y = C1*exp(x**2/2)"),
        (("d^2y/dx^2 = 6x", "y(0) = 1, y'(0) = 2"), "y = x**3 + 2*x + 1"),
        (("y'(x) = y(x)(1 - y(x))", "y(0) = 1/2"), "y = exp(x)/(exp(x) + 1)"),  # the logistic curve
        (("x'' + x = 0", "", "x", "t"), "x = C1*sin(t) + C2*cos(t)"),
    ],
)
def test_differential_equations(arguments: tuple[str, ...], solution: str) -> None:
    assert calculus.solve_differential_equation(*arguments) == solution


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: calculus.limit("x", direction="up"), "direction must be"),
        (lambda: calculus.limit("x +"), "the end"),
        (lambda: calculus.taylor_series("1/x"), "singular"),
        (lambda: calculus.taylor_series("sqrt(x)"), "singular"),
        (lambda: calculus.taylor_series("x", degree=21), "degree must be"),
        (lambda: calculus.taylor_series("x", point="oo"), "finite number"),
        (lambda: calculus.solve_differential_equation("y = 3"), "no derivative"),
        (lambda: calculus.solve_differential_equation("y' = 1", "at 0 it is 1"), "cannot read the condition"),
        (lambda: calculus.solve_differential_equation("d^7y/dx^7 = 1"), "up to order 6"),
        (lambda: calculus.solve_differential_equation("y' = __import__('os')"), "cannot read"),
    ],
)
def test_calculus_that_cannot_be_done(call: object, problem: str) -> None:
    assert callable(call)
    with pytest.raises(ToolError, match=problem):
        call()
