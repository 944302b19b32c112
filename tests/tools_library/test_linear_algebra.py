from __future__ import annotations

import pytest

from captain.errors import ToolError
from tools_library import linear_algebra as algebra


def test_matrix_powers() -> None:
    assert algebra.matrix_power("1 2; 3 4", -1) == "[-2, 1]\n[3/2, -1/2]"
    assert algebra.matrix_power("[[1, 1], [1, 0]]", 10) == "[89, 55]\n[55, 34]"  # Fibonacci numbers
    assert algebra.matrix_power("1/2, 0\n0, 0.1", 2) == "[1/4, 0]\n[0, 1/100]"
    assert algebra.matrix_power("5 7; 1 2", 0) == "[1, 0]\n[0, 1]"
    for matrix, problem in [
        ("1 2; 2 4", "no inverse"),
        ("1 2; 3", "must have as many"),
        ("1 2 3; 4 5 6", "square"),
        ("1 a; 2 3", "'a'"),
    ]:
        with pytest.raises(ToolError, match=problem):
            algebra.matrix_power(matrix, -1)


def test_properties_of_a_symmetric_matrix() -> None:
    assert algebra.matrix_properties("2 1; 1 2").splitlines() == [
        "2 rows, 2 columns",
        "rank: 2",
        "determinant: 3",
        "trace: 4",
        "characteristic polynomial: t**2 - 4*t + 3",
        "eigenvalue 3, eigenvectors (1, 1)",
        "eigenvalue 1, eigenvectors (-1, 1)",
        "inverse:",
        "[2/3, -1/3]",
        "[-1/3, 2/3]",
        "reduced row echelon form:",
        "[1, 0]",
        "[0, 1]",
    ]


def test_properties_of_other_matrices() -> None:
    assert "eigenvalue -I" in algebra.matrix_properties("0 -1; 1 0")  # a quarter turn
    assert "eigenvalue 1 (multiplicity 2), eigenvectors (1, 0)\n" in algebra.matrix_properties("1 1; 0 1")  # defective
    golden = algebra.matrix_properties("1 1; 1 0")
    assert "eigenvalue 1/2 + sqrt(5)/2 ≈ 1.61803398875" in golden
    singular = algebra.matrix_properties("1 2; 2 4")
    assert "rank: 1" in singular and "inverse: none" in singular and "null space: (-2, 1)" in singular
    wide = algebra.matrix_properties("1 2 3; 4 5 6")
    assert "null space: (1, -2, 1)" in wide and "determinant" not in wide
    cubic = algebra.matrix_properties("0 0 1; 1 0 1; 0 1 0")  # companion of t^3 - t - 1
    assert "eigenvalue ≈ 1.3247179572" in cubic  # the plastic number


def test_matrices_are_combined() -> None:
    assert algebra.combine_matrices("1 2; 3 4", "5; 6") == "[17]\n[39]"
    assert algebra.combine_matrices("1 2; 3 4", "0 1; 1 0") == "[2, 1]\n[4, 3]"
    assert algebra.combine_matrices("1 2", "1/2 0.5", "add") == "[3/2, 5/2]"
    assert algebra.combine_matrices("1 2", "1 3", "subtract") == "[0, -1]"
    for arguments, problem in [
        (("1 2", "3 4"), "2 columns"),
        (("1 2", "3", "add"), "cannot be added"),
        (("1", "3", "divide"), "operation must be"),
        (("", "3"), "1 to 12 rows"),
    ]:
        with pytest.raises(ToolError, match=problem):
            algebra.combine_matrices(*arguments)


def test_linear_systems() -> None:
    assert algebra.solve_linear_system("2 1; 1 -1", "3; 0") == "x1 = 1\nx2 = 1"
    assert algebra.solve_linear_system("2 3", "1") == (
        "x1 = 1/2 - 3*x2/2\nx2 = x2\ninfinitely many solutions; free: x2"
    )
    # the mean is the least-squares solution of x = 1, x = 2, x = 4
    assert algebra.solve_linear_system("1; 1; 1", "1 2 4").endswith("least squares: x1 = 7/3 ≈ 2.33333333333")
    assert algebra.solve_linear_system("1 1; 2 2", "3 7").startswith("no solution")
    with pytest.raises(ToolError, match="2 numbers; the matrix has 1 rows"):
        algebra.solve_linear_system("1 1", "3 7")


def test_vectors() -> None:
    found = algebra.vector_operations("(1, 2, 3)", "[4, 5, 6]")
    assert (found["dot"], found["cross"], found["difference"]) == (32, [-3, 6, -3], [-3, -3, -3])
    assert found["norm_first"] == pytest.approx(14**0.5)
    assert found["projection"] == ["128/77", "160/77", "192/77"]
    assert algebra.vector_operations("1 0", "0 2")["angle_degrees"] == 90
    assert algebra.vector_operations("1 1", "-2 -2")["angle_degrees"] == 180
    zero = algebra.vector_operations("0 0", "0 0")
    assert (zero["angle_degrees"], zero["projection"]) == (None, None)
    with pytest.raises(ToolError, match="2 and 3 numbers"):
        algebra.vector_operations("1 2", "1 2 3")
