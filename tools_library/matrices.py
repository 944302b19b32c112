"""Exact linear algebra with sympy on matrices of fractions.

Only the calculating process (`tools_library.calculator`) imports this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sympy

from tools_library.algebra import exact_and_decimal, simplest
from tools_library.expressions import ExpressionError

MAX_EIGENVECTORS = 4


def matrix_power(matrix: str, power: int) -> str:
    """A power of a square matrix."""
    value = _read(matrix)
    if power < 0 and value.det() == 0:
        raise ExpressionError("the matrix has determinant 0, so it has no inverse and no negative powers")
    return _shown(value**power)


def matrix_combination(first: str, second: str, operation: str) -> str:
    """The sum, difference or product of two matrices."""
    left, right = _read(first), _read(second)
    if operation == "multiply":
        if left.cols != right.rows:
            raise ExpressionError(
                f"a matrix with {left.cols} columns cannot be multiplied by one with {right.rows} rows"
            )
        return _shown(left * right)
    if left.shape != right.shape:
        raise ExpressionError(f"matrices of the shapes {left.shape} and {right.shape} cannot be added or subtracted")
    return _shown(left + right if operation == "add" else left - right)


def matrix_properties(matrix: str) -> str:
    """Rank, reduced form and, of a square matrix, determinant, inverse, eigenvalues and eigenvectors."""
    value = _read(matrix)
    reduced, pivots = value.rref()
    lines = [f"{value.rows} rows, {value.cols} columns", f"rank: {len(pivots)}"]
    if value.rows == value.cols:
        determinant = value.det()
        lines += [f"determinant: {exact_and_decimal(determinant)}", f"trace: {exact_and_decimal(value.trace())}"]
        lines += _eigen(value)
        lines.append(f"inverse:\n{_shown(value.inv())}" if determinant != 0 else "inverse: none (singular)")
    if len(pivots) < value.cols:
        lines.append("null space: " + "; ".join(_vector(vector) for vector in value.nullspace()))
    lines.append(f"reduced row echelon form:\n{_shown(reduced)}")
    return "\n".join(lines)


def linear_system(matrix: str, right_side: str) -> str:
    """All solutions of A x = b, or the least-squares solution where there is none."""
    left, right = _read(matrix), _read(right_side)
    if right.shape != (left.rows, 1):
        raise ExpressionError(f"the right side has {right.rows} numbers; the matrix has {left.rows} rows")
    unknowns = sympy.symbols([f"x{number}" for number in range(1, left.cols + 1)])
    solutions = sympy.linsolve((left, right), unknowns)
    if solutions is sympy.S.EmptySet or not solutions:
        if left.rank() < left.cols:
            return "no solution (the equations contradict each other)"
        best = (left.T * left).LUsolve(left.T * right)
        values = ", ".join(f"{name} = {exact_and_decimal(value)}" for name, value in zip(unknowns, best, strict=True))
        return f"no exact solution (the equations contradict each other); least squares: {values}"
    (solution,) = solutions
    lines = [f"{name} = {exact_and_decimal(value)}" for name, value in zip(unknowns, solution, strict=True)]
    free = sorted({str(symbol) for value in solution for symbol in value.free_symbols})
    return "\n".join(lines) + (f"\ninfinitely many solutions; free: {', '.join(free)}" if free else "")


OPERATIONS: dict[str, Callable[..., str]] = {
    operation.__name__: operation for operation in (matrix_power, matrix_combination, matrix_properties, linear_system)
}


def _read(text: str) -> Any:
    return sympy.Matrix([[sympy.Rational(entry) for entry in row] for row in json.loads(text)])


def _shown(matrix: Any) -> str:
    return "\n".join("[" + ", ".join(str(entry) for entry in matrix.row(i)) + "]" for i in range(matrix.rows))


def _vector(vector: Any) -> str:
    return "(" + ", ".join(str(simplest(entry)) for entry in vector) + ")"


def _eigen(value: Any) -> list[str]:
    """The characteristic polynomial, the eigenvalues and, where they are simple enough, the eigenvectors."""
    symbol = sympy.Symbol("t")
    polynomial = value.charpoly(symbol)
    lines = [f"characteristic polynomial: {polynomial.as_expr()}"]
    for factor, times in sympy.factor_list(polynomial)[1]:
        often = f" (multiplicity {times})" if times > 1 else ""
        if factor.degree() > 2:
            lines += [f"eigenvalue ≈ {_decimal(root)}{often}" for root in factor.nroots()]
            continue
        for root in sympy.roots(factor):
            line = f"eigenvalue {exact_and_decimal(root)}{often}"
            if value.rows <= MAX_EIGENVECTORS:
                kernel = (value - root * sympy.eye(value.rows)).applyfunc(sympy.nsimplify).nullspace(simplify=True)
                line += ", eigenvectors " + "; ".join(_vector(vector) for vector in kernel)
            lines.append(line)
    return lines


def _decimal(root: Any) -> str:
    return str(sympy.N(root, 12, chop=True))
