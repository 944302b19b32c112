"""Matrices, vectors and systems of linear equations, calculated exactly."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

from captain.errors import ToolError
from captain.tools import tool
from tools_library import calculator
from tools_library.tables import one_of, rounded

MAX_SIZE = 12
MAX_POWER = 1000


@tool
def matrix_power(matrix: str, power: int) -> str:
    """Raise a square matrix to a whole power, exactly; power -1 gives the inverse matrix, other negative powers those
    of the inverse.

    Args:
        matrix: Rows separated by semicolons, numbers by spaces or commas: "1 2; 3 4". "[[1, 2], [3, 4]]" works too.
        power: From -1000 to 1000; 0 gives the identity matrix.

    Returns:
        One row a line, with exact fractions.

    Raises:
        ToolError: The matrix is not square, an entry is no number, or there is no inverse.
    """
    entries = _matrix(matrix)
    if any(len(row) != len(entries) for row in entries):
        raise ToolError(f"the matrix must be square but has {len(entries)} rows and {len(entries[0])} columns")
    if abs(power) > MAX_POWER:
        raise ToolError(f"powers from -{MAX_POWER} to {MAX_POWER} are allowed, not {power}")
    return calculator.compute("matrix_power", {"matrix": json.dumps(entries), "power": power})


@tool
def matrix_properties(matrix: str) -> str:
    """Analyse a matrix exactly: determinant, rank, trace, inverse, eigenvalues and eigenvectors, characteristic
    polynomial, null space (kernel) and reduced row echelon form.

    Args:
        matrix: Rows separated by semicolons, numbers by spaces or commas: "1 2; 3 4". "[[1, 2], [3, 4]]" works too.

    Returns:
        One property a line; eigenvalues that have no simple exact form as decimals, eigenvectors up to size 4.

    Raises:
        ToolError: An entry is no number, rows differ in length, or the matrix is larger than 12 rows or columns.
    """
    return calculator.compute("matrix_properties", {"matrix": json.dumps(_matrix(matrix))})


@tool
def combine_matrices(first: str, second: str, operation: str = "multiply") -> str:
    """Multiply, add or subtract two matrices exactly (matrix product, sum, difference); also a matrix times a column
    vector.

    Args:
        first: Rows separated by semicolons, numbers by spaces or commas: "1 2; 3 4".
        second: The second matrix; a column vector is "5; 6".
        operation: "multiply", "add" or "subtract".

    Returns:
        The result, one row a line.

    Raises:
        ToolError: An entry is no number, the shapes do not fit, or the operation is unknown.
    """
    operation = one_of(operation, ("multiply", "add", "subtract"), "operation")
    left, right = json.dumps(_matrix(first)), json.dumps(_matrix(second))
    return calculator.compute("matrix_combination", {"first": left, "second": right, "operation": operation})


@tool
def solve_linear_system(matrix: str, right_side: str) -> str:
    """Solve a system of linear equations A x = b given as a coefficient matrix and a right side, exactly; all solutions
    when there are infinitely many, least squares when there is none.

    Args:
        matrix: The coefficients, one equation a row: "2 1; 1 -1". Rows are separated by semicolons.
        right_side: The numbers right of the equals signs, for example "3; 0" or "3 0".

    Returns:
        One unknown x1, x2 ... a line, or that there is no exact solution.

    Raises:
        ToolError: An entry is no number, or there are not as many right sides as equations.
    """
    column = [[entry] for row in _matrix(right_side) for entry in row]
    arguments = {"matrix": json.dumps(_matrix(matrix)), "right_side": json.dumps(column)}
    return calculator.compute("linear_system", arguments)


@tool
def vector_operations(first: str, second: str) -> dict[str, object]:
    """Calculate with two vectors: dot (scalar) product, cross product, angle between them, lengths (norms), sum,
    difference, projection of the first on the second.

    Args:
        first: The numbers of the first vector, for example "1, 2, 3".
        second: The numbers of the second vector, as many.

    Returns:
        dot, norm_first, norm_second, angle_degrees (null when a vector is zero), sum, difference, projection, cross (of
        three numbers; of two the number x1 y2 - x2 y1).

    Raises:
        ToolError: An entry is no number, or the vectors differ in length.
    """
    u, v = (list(map(Fraction, sum(_matrix(text), []))) for text in (first, second))
    if len(u) != len(v):
        raise ToolError(f"the vectors have {len(u)} and {len(v)} numbers; they must have as many")
    dot = sum(a * b for a, b in zip(u, v, strict=True))
    squares = [sum(a * a for a in vector) for vector in (u, v)]
    norms = [math.sqrt(square) for square in squares]
    result: dict[str, object] = {
        "dot": _plain(dot),
        "norm_first": rounded(norms[0]),
        "norm_second": rounded(norms[1]),
        "angle_degrees": _angle(Fraction(dot), Fraction(squares[0] * squares[1])),
        "sum": [_plain(a + b) for a, b in zip(u, v, strict=True)],
        "difference": [_plain(a - b) for a, b in zip(u, v, strict=True)],
        "projection": [_plain(b * dot / squares[1]) for b in v] if norms[1] else None,
    }
    if len(u) == 2:
        result["cross"] = _plain(u[0] * v[1] - u[1] * v[0])
    if len(u) == 3:
        pairs = [(1, 2), (2, 0), (0, 1)]
        result["cross"] = [_plain(u[i] * v[j] - u[j] * v[i]) for i, j in pairs]
    return result


def _matrix(text: str) -> list[list[str]]:
    """The entries as exact fractions, row by row.

    Raises:
        ToolError: An entry is no number, rows differ in length, or there are too many.
    """
    parts = re.split(r"[;\n]|\]\s*,?\s*\[", text.strip(" []()\n;"))
    rows = [[entry for entry in re.split(r"[\s,]+", part.strip(" ,[]()\t")) if entry] for part in parts]
    if len({len(row) for row in rows}) > 1:
        raise ToolError(f"the rows have {sorted({len(row) for row in rows})} entries; all must have as many")
    if not rows[0] or len(rows) > MAX_SIZE or len(rows[0]) > MAX_SIZE:
        raise ToolError(f"a matrix must have 1 to {MAX_SIZE} rows and columns")
    return [[str(_fraction(entry)) for entry in row] for row in rows]


def _fraction(text: str) -> Fraction:
    over, slash, under = text.partition("/")
    try:
        if len(text) > 40 or re.search(r"[eE][+-]?\d{3}", text):
            raise ValueError
        return Fraction(over) / Fraction(under if slash else 1)
    except (ValueError, ZeroDivisionError):
        raise ToolError(f"{text[:40]!r} is not a number such as 2, -0.5 or 1/3") from None


def _plain(value: Fraction | int) -> int | str | float:
    value = Fraction(value)
    return int(value) if value.denominator == 1 else str(value) if value.denominator < 10**6 else float(value)


def _angle(dot: Fraction, squares: Fraction) -> float | None:
    """The angle in degrees of two vectors, from their dot product and the product of their squared lengths."""
    if not squares:
        return None
    # the sine is taken exactly: an arc cosine near 1 or -1 loses half of the digits
    sine = math.sqrt(1 - dot * dot / squares)
    return rounded(math.degrees(math.atan2(sine, float(dot) / math.sqrt(squares))))
