"""What is done to a program's text before it runs: its language, and the value it forgot to print.

Small models write programs as in a notebook, with the result as the last line. `show_last_expression` prints it. The
text is changed in place on its own line, so line numbers in error messages stay those of the member's program.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Literal, NamedTuple

Language = Literal["python", "shell"]

_PYTHON = frozenset({"python", "py", "python3", "ipython", "ipython3", "pycon"})
_SHELL = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session"})
_PRINTERS = frozenset({"print", "pprint", "pp", "display", "stdout", "stderr"})
_SHOW_OPEN = "(lambda _: _ is None or print(_))(("
_SHOW_CLOSE = "))"


class Span(NamedTuple):
    """A stretch of source: lines from 1, columns in bytes of UTF-8, as `ast` counts them."""

    first_line: int
    first_column: int
    last_line: int
    last_column: int


def language_of(name: str, code: str) -> Language | None:
    """Tell how a code block is run.

    Args:
        name: The language as the block's fence names it; may be empty.
        code: The text of the block, looked at only when the fence names nothing.

    Returns:
        The language, or None when it cannot be run here.
    """
    word = name.strip().lower()
    if word in _PYTHON or word.startswith("python3."):
        return "python"
    if word in _SHELL:
        return "shell"
    if word or _parse(code) is None:
        return None
    return "python"


def prepare(code: str, language: Language) -> str:
    """Give a block the form in which it is written to its file: common indent off, `\\n` line ends, value shown."""
    text = textwrap.dedent(code.replace("\r\n", "\n"))
    return show_last_expression(text) if language == "python" else text


def show_last_expression(code: str) -> str:
    """Make a Python program print the value that it ends with, as a notebook does.

    A bare expression in the last statement is printed unless its value is None; calls of `print` and texts that stand
    alone are left. When the program prints nothing anywhere and ends by assigning to a name, that name is printed.
    The body of a closing `if __name__ == "__main__":` counts as the end of the program.

    Args:
        code: The program; one that does not parse is returned as it is.

    Returns:
        The program with the same lines as before, at most one of them longer.
    """
    tree = _parse(code)
    if tree is None or "\r" in code:
        return code
    last = _last_statement(tree)
    if isinstance(last, ast.Expr):
        return _show_expression(code, last)
    name = _assigned_name(last)
    if name is None or last is None or _prints(tree):
        return code
    end = _span(last)
    return _insert(code, end.last_line, end.last_column, f"; print({name})")


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _last_statement(tree: ast.Module) -> ast.stmt | None:
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.If) and not last.orelse and _is_main_guard(last.test):
        return last.body[-1]
    return last


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _show_expression(code: str, statement: ast.Expr) -> str:
    value = statement.value
    if isinstance(value, ast.Constant) and isinstance(value.value, str | type(...)):
        return code
    if isinstance(value, ast.Await | ast.Yield | ast.YieldFrom):
        return code
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _PRINTERS:
        return code
    span = _span(statement)  # unlike the span of the value, it holds the parentheses around it
    closed = _insert(code, span.last_line, span.last_column, _SHOW_CLOSE)
    return _insert(closed, span.first_line, span.first_column, _SHOW_OPEN)


def _assigned_name(statement: ast.stmt | None) -> str | None:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.AnnAssign) and statement.value is not None and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return None


def _prints(tree: ast.Module) -> bool:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool((names | attributes) & _PRINTERS)


def _span(node: ast.expr | ast.stmt) -> Span:
    last_line = node.lineno if node.end_lineno is None else node.end_lineno
    last_column = node.col_offset if node.end_col_offset is None else node.end_col_offset
    return Span(node.lineno, node.col_offset, last_line, last_column)


def _insert(code: str, line: int, column: int, text: str) -> str:
    lines = code.split("\n")
    raw = lines[line - 1].encode()
    lines[line - 1] = (raw[:column] + text.encode() + raw[column:]).decode()
    return "\n".join(lines)
