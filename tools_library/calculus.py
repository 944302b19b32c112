"""Derivatives, integrals, limits, series, continuity and differential equations."""

from __future__ import annotations

from captain.tools import tool
from tools_library import calculator


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
    return calculator.compute(
        "differentiate", {"expression": expression, "variable": variable, "order": order, "at": at}
    )


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
    return calculator.compute(
        "integrate", {"expression": expression, "variable": variable, "lower": lower, "upper": upper}
    )


@tool
def limit(expression: str, variable: str = "x", point: str = "0", direction: str = "both") -> str:
    """Find the limit of an expression or sequence as a variable goes to a point or to infinity, from both sides or
    one-sided (from the left or from the right).

    Args:
        expression: For example "sin(x)/x", "(1 + 1/n)^n" or "abs(x)/x".
        variable: The variable that moves.
        point: Where it goes, for example "0", "pi/2", "oo" (infinity) or "-oo".
        direction: "both", "left" (from below) or "right" (from above).

    Returns:
        The limit, exact and decimal, or that it does not exist, with both one-sided limits.

    Raises:
        ToolError: The text is not an expression, the limit cannot be found, or it takes too long.
    """
    arguments = {"expression": expression, "variable": variable, "point": point, "direction": direction}
    return calculator.compute("limit", arguments)


@tool
def taylor_series(expression: str, variable: str = "x", point: str = "0", degree: int = 5) -> str:
    """Expand a function into its Taylor or Maclaurin series (power series, polynomial approximation) around a point.

    Args:
        expression: For example "exp(x)*cos(x)".
        variable: The variable.
        point: The centre, for example "0" (Maclaurin) or "pi/4".
        degree: The highest power wanted, from 0 to 20.

    Returns:
        The polynomial up to that degree, the coefficient of each power in brackets after it.

    Raises:
        ToolError: The text is not an expression, it has no such series, or it takes too long.
    """
    arguments: dict[str, str | int] = {"expression": expression, "variable": variable, "point": point, "degree": degree}
    return calculator.compute("taylor", arguments)


@tool
def check_continuity(left: str, right: str, point: str, variable: str = "x", unknown: str = "") -> str:
    """Check whether a piecewise function is continuous where two pieces meet, or find the value of a parameter that
    makes it continuous.

    Args:
        left: The expression that holds up to the point (x <= point), for example "a*x + 3".
        right: The expression that holds beyond it (x > point), for example "x^2 - 1".
        point: Where the pieces meet, for example "2".
        variable: The variable.
        unknown: The parameter to find, for example "a"; empty to check only.

    Returns:
        The limits from both sides and whether they agree, or the values of the parameter.

    Raises:
        ToolError: An expression cannot be read, a limit cannot be found, or it takes too long.
    """
    arguments = {"left": left, "right": right, "point": point, "variable": variable, "parameter": unknown}
    return calculator.compute("continuity", arguments)


@tool
def solve_differential_equation(equation: str, conditions: str = "", function: str = "y", variable: str = "x") -> str:
    """Solve an ordinary differential equation (ODE) symbolically, with or without initial or boundary conditions.

    Args:
        equation: For example "y' + 2y = 0", "y'' - 3y' + 2y = exp(x)" or "dy/dx = x*y". y' is the first derivative.
        conditions: For example "y(0) = 1; y'(0) = 0"; empty for the general solution with constants C1, C2.
        function: The name of the unknown function.
        variable: Its variable.

    Returns:
        The solution, one a line when there are several.

    Raises:
        ToolError: The equation cannot be read or solved, or it takes too long.
    """
    arguments = {"equation": equation, "conditions": conditions, "function": function, "variable": variable}
    return calculator.compute("ode", arguments)
