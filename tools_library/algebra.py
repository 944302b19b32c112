"""Calculations on expressions with sympy, in a process of their own.

Symbolic work can take for ever and cannot be stopped inside a thread, so `compute` starts this module as a program,
which reads one JSON request from its input and writes one JSON reply. Time and memory are bounded.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

SECONDS = 20.0
MEMORY_BYTES = 2 * 1024**3
MAX_SHOWN = 1500


def compute(operation: str, arguments: Mapping[str, str | int], *, seconds: float = SECONDS) -> str:
    """Run one operation of `OPERATIONS` in a new process and return its text.

    Args:
        operation: The name of the operation.
        arguments: The operation's own arguments.
        seconds: Time until the process is killed.

    Raises:
        ToolError: The input is wrong, or the calculation took too long or too much memory.
    """
    from captain.errors import ToolError

    request = json.dumps({"operation": operation, "arguments": dict(arguments), "seconds": seconds})
    command = [sys.executable, "-P", "-m", __name__]
    try:
        process = subprocess.run(command, input=request, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ToolError(f"the calculation was stopped after {seconds:g} s; give a smaller or simpler problem") from None
    try:
        reply = json.loads(process.stdout)
    except ValueError:
        reason = process.stderr.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise ToolError(f"the calculation failed ({reason[0][:200]}); give a smaller or simpler problem") from None
    if "error" in reply:
        raise ToolError(str(reply["error"]))
    return str(reply["text"])


def main() -> None:
    """Answer the request on the standard input."""
    request = json.load(sys.stdin)
    _bound(request["seconds"])
    sys.set_int_max_str_digits(0)
    from tools_library.expressions import ExpressionError

    try:
        reply = {"text": OPERATIONS[request["operation"]](**request["arguments"])}
    except ExpressionError as error:
        reply = {"error": str(error)}
    except (MemoryError, RecursionError, OverflowError):
        reply = {"error": "the calculation is too large; give a smaller or simpler problem"}
    except (NotImplementedError, ValueError, TypeError, ZeroDivisionError) as error:
        reply = {"error": f"this cannot be calculated: {str(error)[:300] or type(error).__name__}"}
    json.dump(reply, sys.stdout)


def _bound(seconds: float) -> None:
    try:
        import resource
    except ImportError:  # no such limits on Windows; the time-out of the parent still holds
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))


def evaluate(expression: str) -> str:
    """The exact and the decimal value of an expression without unknowns."""
    from tools_library.expressions import ExpressionError, parse

    value = parse(expression)
    if value.free_symbols:
        names = ", ".join(sorted(map(str, value.free_symbols)))
        raise ExpressionError(f"the expression contains the unknown {names}; only numbers can be evaluated")
    return _value(_simplest(value))


def simplify(expression: str) -> str:
    """The simplified, expanded and factored forms."""
    import sympy

    from tools_library.expressions import parse

    value = parse(expression)
    forms = {"simplified": sympy.simplify(value), "expanded": sympy.expand(value), "factored": sympy.factor(value)}
    return "\n".join(f"{name}: {_text(form)}" for name, form in forms.items())


def differentiate(expression: str, variable: str, order: int, at: str) -> str:
    """The derivative, and its value at a point where one is given."""
    import sympy

    from tools_library.expressions import ExpressionError, parse

    if not 1 <= order <= 20:
        raise ExpressionError(f"order must be from 1 to 20, not {order}")
    symbol = _unknown(variable)
    result = sympy.simplify(sympy.diff(parse(expression, {variable}), symbol, order))
    if not at.strip():
        return _text(result)
    return f"{_text(result)}\nat {variable} = {at}: {_value(_simplest(result.subs(symbol, parse(at))))}"


def integrate(expression: str, variable: str, lower: str, upper: str) -> str:
    """The antiderivative, or the definite integral where both bounds are given."""
    import sympy

    from tools_library.expressions import ExpressionError, parse

    symbol, integrand = _unknown(variable), parse(expression, {variable})
    if bool(lower.strip()) != bool(upper.strip()):
        raise ExpressionError("give both bounds for a definite integral, or neither")
    if not lower.strip():
        result = sympy.integrate(integrand, symbol)
        if result.has(sympy.Integral):
            raise ExpressionError("no antiderivative in closed form was found; give bounds for a numerical value")
        return f"{_text(sympy.simplify(result))} + C"
    bounds = (symbol, parse(lower), parse(upper))
    result = sympy.integrate(integrand, bounds)
    if result.has(sympy.Integral):
        return f"≈ {_decimal(sympy.Integral(integrand, bounds).evalf(15))} (numerical)"
    if result in (sympy.nan, sympy.zoo) or result.is_infinite:
        return f"the integral diverges ({result})"
    return _value(_simplest(result))


def solve(equations: str, unknowns: str) -> str:
    """All solutions of one equation or of a system, exact and decimal."""
    import sympy

    from tools_library.expressions import ExpressionError

    symbols = [_unknown(name) for name in re.split(r"[\s,;]+", unknowns.strip())]
    parts = [_difference(part, {str(symbol) for symbol in symbols}) for part in _split(equations)]
    differences = [difference for difference in map(sympy.simplify, parts) if difference != 0]
    if not differences:
        return "true for every value"
    if any(difference.is_number for difference in differences):
        return "no solution"
    if missing := [str(symbol) for symbol in symbols if not any(part.has(symbol) for part in differences)]:
        present = ", ".join(sorted({str(name) for part in differences for name in part.free_symbols}))
        raise ExpressionError(
            f"the unknown {', '.join(missing)} does not occur in the equations; they contain {present}"
        )
    single = len(symbols) == len(differences) == 1
    try:
        found = sympy.solve(differences[0] if single else differences, symbols, dict=True)
    except NotImplementedError:
        found = []
    if found:
        return "\n".join(_solution(each) for each in found)
    if single and len(differences[0].free_symbols) == 1:
        return _numerical_roots(differences[0], symbols[0])
    if all(part.is_polynomial(*symbols) for part in differences) and sympy.groebner(differences, *symbols).exprs == [1]:
        return "no solution"
    return "no exact solution was found; there may still be one"


def _solution(values: Mapping[Any, Any]) -> str:
    return ", ".join(f"{name} = {_value(_simplest(value))}" for name, value in values.items())


def factor(number: str) -> str:
    """The prime factors of a whole number with their exponents."""
    import sympy

    value = int(number)
    powers = sympy.factorint(abs(value))
    product = " * ".join(f"{prime}^{power}" if power > 1 else f"{prime}" for prime, power in powers.items())
    facts = f"{number} = {'-1 * ' if value < 0 else ''}{product}"
    divisors = 1
    for power in powers.values():
        divisors *= power + 1
    prime = "it is prime" if divisors == 2 and value > 0 else "it is not prime"
    return f"{facts}; {prime}; it has {divisors} positive divisors"


def matrix_power(matrix: str, power: int) -> str:
    """A power of a square matrix, exact."""
    import sympy

    from tools_library.expressions import ExpressionError

    rows = [[sympy.Rational(entry) for entry in row] for row in json.loads(matrix)]
    value = sympy.Matrix(rows)
    if power < 0 and value.det() == 0:
        raise ExpressionError("the matrix has determinant 0, so it has no inverse and no negative powers")
    result = value**power
    return "\n".join("[" + ", ".join(_text(entry) for entry in result.row(i)) + "]" for i in range(result.rows))


OPERATIONS: dict[str, Callable[..., str]] = {
    operation.__name__: operation
    for operation in (evaluate, simplify, differentiate, integrate, solve, factor, matrix_power)
}


def _unknown(name: str) -> Any:
    import sympy

    from tools_library.expressions import FUNCTIONS, ExpressionError

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,29}", name) or name in FUNCTIONS or name == "pi":
        raise ExpressionError(f"{name!r} is not a name for an unknown; use a letter such as 'x'")
    return sympy.Symbol(name)


def _split(equations: str) -> list[str]:
    parts = [part for part in re.split(r"[;\n]", equations) if part.strip()]
    if len(parts) == 1 and len(re.findall(r"=+", parts[0])) > 1:
        parts = re.split(r",(?![^(]*\))", parts[0])
    return parts


def _difference(equation: str, variables: set[str]) -> Any:
    from tools_library.expressions import ExpressionError, parse

    if re.search(r"[<>≤≥]", equation):
        raise ExpressionError("inequalities cannot be solved here; solve the equation with '=' to get its boundary")
    sides = re.split(r"=+", equation)
    if len(sides) > 2:
        raise ExpressionError(f"{equation.strip()!r} has more than one '='; separate equations by ';'")
    left = parse(sides[0], variables)
    return left - parse(sides[1], variables) if len(sides) == 2 else left


def _numerical_roots(difference: Any, symbol: Any) -> str:
    import sympy

    roots: list[float] = []
    for start in [Fraction(n, 2) for n in range(-40, 41)]:
        try:
            root = sympy.nsolve(difference, symbol, float(start))
        except (ValueError, ZeroDivisionError, TypeError):
            continue  # no root is near this start
        if root.is_real and not any(abs(float(root) - known) < 1e-8 for known in roots):
            roots.append(float(root))
    if not roots:
        return "no exact solution was found, and no real one near -20 to 20 by numerical search"
    found = "\n".join(f"{symbol} ≈ {root:.12g}" for root in sorted(roots))
    return f"{found}\n(numerical search near -20 to 20; other solutions may exist)"


def _simplest(value: Any) -> Any:
    import sympy

    return value if value.is_Rational or value.is_Float else sympy.simplify(value)


def _value(value: Any) -> str:
    """An exact value followed by its decimal where that adds something."""
    from tools_library.expressions import ExpressionError

    if value.has(*_undefined()):
        raise ExpressionError("the value is not defined (division by zero or an undefined form)")
    if value.free_symbols or value.is_infinite:
        return _text(value)
    if value.is_Integer:
        digits = str(abs(int(value)))
        return str(value) if len(digits) <= 1000 else f"≈ {_decimal(value.evalf(15))} ({len(digits)} digits)"
    if value.is_Float:
        return f"≈ {_decimal(value)}"
    exact, decimal = str(value), _decimal(value.evalf(15))
    if len(exact) > 200 or "CRootOf" in exact:
        return f"≈ {decimal}"
    return f"{exact} ≈ {decimal}"


def _undefined() -> tuple[Any, Any]:
    import sympy

    return sympy.nan, sympy.zoo


def _decimal(value: Any) -> str:
    import sympy

    text = str(sympy.N(value, 12, chop=True)) if value.is_number else str(value)
    text = re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text)
    return re.sub(r"\.(?!\d)", "", text)


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} … ({len(text)} characters, cut)"


if __name__ == "__main__":
    main()
