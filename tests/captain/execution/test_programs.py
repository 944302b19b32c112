"""A program shows the value that it ends with."""

from __future__ import annotations

import contextlib
import io

import pytest

from captain.execution import show_last_expression


def printed(code: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(show_last_expression(code), "program.py", "exec"), {"__name__": "__main__"})
    return output.getvalue()


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("x = 3\nx * 2", "6\n"),
        ("(1 +\n 2)", "3\n"),
        ("(1 + 2) * (3 + 4)", "21\n"),
        ("a = 4; a  # the answer", "4\n"),
        ("a = 4\na;", "4\n"),
        ("1, 2", "(1, 2)\n"),
        ("*range(3),", "(0, 1, 2)\n"),
        ("(y := 5)", "5\n"),
        ("'例 🚀'.upper(), '例'", "('例 🚀', '例')\n"),
        ("name = '例'; name", "例\n"),
        ("def f():\n    return 7\n\nif __name__ == '__main__':\n    f()", "7\n"),
        ("def f():\n    return 7\nif __name__ == '__main__': f()", "7\n"),
        ("print(1)\n2", "1\n2\n"),
        ("[].append(1)", ""),
        ("def f(): print('in')\nf()", "in\n"),
        ("print('once')", "once\n"),
        ("'only a text'", ""),
        ("...", ""),
        ("'''{\n'''\nsum([1,\n  2])", "3\n"),
    ],
)
def test_last_expression(code: str, output: str) -> None:
    assert printed(code) == output


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("total = 1 + 1", "2\n"),
        ("total: int = 2  # result", "2\n"),
        ("total = 1\ntotal += 4", "5\n"),
        ("a = b = 3", "3\n"),
        ("data = {\n 'a': 1,\n}", "{'a': 1}\n"),
        ("if __name__ == '__main__':\n    answer = 9", "9\n"),
        ("print('seen')\nx = 1", "seen\n"),
        ("import sys\nsys.stdout.write('w')\nx = 1", "w"),
        ("x: int", ""),
        ("a, b = 1, 2", ""),
        ("for i in range(3):\n    x = i", ""),
    ],
)
def test_last_assignment(code: str, output: str) -> None:
    assert printed(code) == output


@pytest.mark.parametrize("code", ["", "def f(:\n", "# only a comment", "x = 1\r\ny = 2\r", "print(", "\x00"])
def test_left_alone(code: str) -> None:
    assert show_last_expression(code) == code


def test_lines_keep_their_numbers() -> None:
    code = "# one\nx = 1\n\nx + (\n  2\n)\n\n# end\n"
    assert show_last_expression(code).count("\n") == code.count("\n")
