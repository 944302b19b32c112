"""A scorer that runs tests which the solver never saw, once, against the program in its final answer."""

from __future__ import annotations

import ast
import secrets
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captain.config import ExecutionConfig

_HARNESS = """\
import io, sys, types

answer = types.ModuleType("answer")
sys.modules["answer"] = answer
printed, sys.stdout = sys.stdout, io.StringIO()
exec(compile({program!r}, "answer.py", "exec"), answer.__dict__)
exec(compile({tests!r}, "tests.py", "exec"), answer.__dict__)
if "check" in answer.__dict__ and {entry_point!r} in answer.__dict__:
    answer.check(getattr(answer, {entry_point!r}))
sys.stdout = printed
print({mark!r})
"""


async def hidden_tests(
    answer: str, expected: Mapping[str, Any], *, timeout: float = 20.0, execution: ExecutionConfig | None = None
) -> bool:
    """Tell whether the program in an answer passes its tests.

    Args:
        answer: A whole function, bare or in a fenced block with or without text around it, or only the body of the
            function that `prompt` begins.
        expected: `test`, the tests: assertions, or a function `check(candidate)`; `entry_point`, the name of the
            function; optionally `prompt`, the head of the function with what stands before it.
        timeout: Seconds for program and tests together.
        execution: The run's execution settings; the backend is taken from them.

    Returns:
        True when everything ran to its end in time without an error. A program that ends the process is wrong.
    """
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock

    from captain.execution import build_executor

    entry_point = str(expected["entry_point"])
    program = program_in(answer, entry_point=entry_point, prompt=str(expected.get("prompt", "")))
    if program is None:
        return False
    mark = f"passed {secrets.token_hex(16)}"
    code = _HARNESS.format(program=program, tests=str(expected["test"]), entry_point=entry_point, mark=mark)
    settings = (execution or ExecutionConfig()).model_copy(update={"timeout": timeout})
    with tempfile.TemporaryDirectory(prefix="captain-tests-", ignore_cleanup_errors=True) as folder:
        executor = build_executor(settings, folder=Path(folder))
        await executor.start()
        try:
            result = await executor.execute_code_blocks([CodeBlock(code=code, language="python")], CancellationToken())
        finally:
            await executor.stop()
    return result.exit_code == 0 and mark in result.output


def program_in(answer: str, *, entry_point: str, prompt: str = "") -> str | None:
    """Give the program of an answer, with what the prompt sets up before it, or None when there is none.

    The candidates are the last fenced block that defines the function, all blocks together, the answer itself from its
    first line of code on. One that defines the function follows the prompt, so that its imports and other functions
    are there; else the first block, or the answer, is taken for the body that completes the prompt.
    """
    from captain.decide.reading import read_code_blocks

    blocks = [block.code for block in read_code_blocks(answer)]
    defining = [code for code in reversed(blocks) if _defines(code, entry_point)]
    for code in (*defining, "\n\n".join(blocks), answer, _from_first_statement(answer)):
        if _defines(code, entry_point):
            return whole if _compiles(whole := f"{prompt}\n\n{code}") else code
    for body in (*blocks[:1], answer):
        if prompt and body.strip() and _compiles(program := prompt.rstrip("\n") + "\n" + _indented(body)):
            return program
    return None


def _defines(code: str, name: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(node, functions) and node.name == name for node in tree.body) or any(
        isinstance(target, ast.Name) and target.id == name for target in assigned
    )


def _compiles(code: str) -> bool:
    try:
        compile(code, "answer.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(code.strip())


def _from_first_statement(text: str) -> str:
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith(("def ", "import ", "from ", "class ", "@"))]
    return "\n".join(lines[starts[0] :]) if starts else ""


def _indented(body: str) -> str:
    """Give a body the indentation of a function's, keeping that of its lines to each other.

    A first line without indentation before indented ones is common: the prompt had ended within the line.
    """
    lines = body.strip("\n").splitlines()
    if len(lines) > 1 and not lines[0].startswith((" ", "\t")):
        rest = textwrap.dedent("\n".join(lines[1:]))
        inner = "    " if lines[0].rstrip().endswith(":") else ""
        if all(line.startswith((" ", "\t")) or not line.strip() for line in lines[1:]) and not inner:
            return textwrap.indent(lines[0] + "\n" + rest, "    ")
    return textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")
