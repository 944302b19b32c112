"""Tools that check and run code; programs run in the sandbox."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from captain import ToolError, tool
from captain.tools import resolve_path

_SECONDS = 50.0
"""Less than a call of a tool may take, so that what was printed until then is seen."""
_MOST_CHARACTERS = 200_000
_MOST_BYTES = 50_000_000
_TESTS = """\
import importlib.util, os, subprocess, sys

where = WHERE
if importlib.util.find_spec("pytest"):
    command = ["pytest", "-q", "--no-header", "-p", "no:cacheprovider", where]
else:
    command = ["unittest", "discover", "-s", where] if os.path.isdir(where) else ["unittest", where]
done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
print(done.stdout + done.stderr)
sys.exit(done.returncode)
"""


@tool
def check_python(code: str = "", path: str = "") -> str:
    """Check Python code without running it: syntax errors, undefined names, unused imports and likely bugs (lint).

    Args:
        code: The code; or leave it empty and give a path.
        path: A Python file of the workspace.

    Returns:
        One problem a line with its place, or that there are none.

    Raises:
        ToolError: There is no such file, or neither or both of code and path are given.
    """
    text = _code_of(code, path)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        return f"syntax error{f' in line {line}' if line else ''}: {getattr(error, 'msg', error)}"
    if importlib.util.find_spec("ruff") is None:
        return "no syntax errors; nothing else was checked, as the package ruff is not installed"
    return _lint(text) or "no problems found"


@tool(needs_packages=("ruff",))
def format_python(code: str) -> str:
    """Format Python code in the usual style (line breaks, quotes, spaces), without changing what it does.

    Args:
        code: The code.

    Returns:
        The formatted code.

    Raises:
        ToolError: The code has a syntax error.
    """
    done = _ruff(["format"], code)
    if done.returncode:
        raise ToolError(f"the code cannot be formatted: {done.stderr.strip()[:400]}")
    return done.stdout


@tool
async def run_python(code: str) -> str:
    """Run a Python program in the sandbox and get what it prints; it sees copies of the workspace's files.

    Args:
        code: The whole program; let it print its results.

    Returns:
        What it printed; with the exit code when it failed.

    Raises:
        ToolError: Programs are switched off, or the workspace is too large to copy.
    """
    return await _run(code)


@tool
async def run_tests(path: str = ".") -> str:
    """Run unit tests (pytest or unittest) of the workspace in the sandbox and get the report: passed, failed, why.

    Args:
        path: A test file or folder of the workspace.

    Returns:
        The report; with the exit code when a test failed.

    Raises:
        ToolError: There is no such file or folder, programs are switched off, or the workspace is too large to copy.
    """
    place = resolve_path(path)
    if not place.exists():
        raise ToolError(f"there is no file or folder {path!r}; list_files shows what there is")
    relative = place.relative_to(resolve_path("."))
    return await _run(_TESTS.replace("WHERE", repr(str(relative))))


async def _run(program: str) -> str:
    """Runs a program in a folder of its own, into which the workspace's files are copied."""
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock

    from captain.execution import build_executor, settings_in_use

    settings, sandbox = settings_in_use()
    if not settings.enabled:
        raise ToolError("programs are switched off here (execution.enabled=false); do without them")
    settings = settings.model_copy(update={"timeout": min(settings.timeout, _SECONDS)})
    with tempfile.TemporaryDirectory(prefix="captain-run-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        _copy_workspace(folder)
        executor = build_executor(settings, folder=folder, sandbox=sandbox)
        await executor.start()
        try:
            block = CodeBlock(code=program, language="python")
            result = await executor.execute_code_blocks([block], CancellationToken())
        finally:
            await executor.stop()
    shown = result.output.strip() or "(nothing was printed)"
    return shown if result.exit_code == 0 else f"failed with exit code {result.exit_code}:\n{shown}"


def _copy_workspace(folder: Path) -> None:
    workspace, total = resolve_path("."), 0
    for file in sorted(workspace.rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        total += file.stat().st_size
        if total > _MOST_BYTES:
            raise ToolError(f"the workspace holds more than {_MOST_BYTES // 1_000_000} MB, too much to copy")
        target = folder / file.relative_to(workspace)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _code_of(code: str, path: str) -> str:
    if bool(code.strip()) == bool(path):
        raise ToolError("give either code or the path of a file")
    text = code
    if path:
        file = resolve_path(path)
        if not file.is_file():
            raise ToolError(f"there is no file {path!r}; list_files shows what there is")
        text = file.read_text(encoding="utf-8", errors="replace")
    if len(text) > _MOST_CHARACTERS:
        raise ToolError(f"the code is longer than {_MOST_CHARACTERS:,} characters")
    return text


def _lint(text: str) -> str:
    done = _ruff(["check", "--select", "E9,F,B", "--output-format", "concise", "--stdin-filename", "program.py"], text)
    lines = [line for line in done.stdout.splitlines() if line.startswith("program.py:")]
    return "\n".join(lines[:50])


def _ruff(arguments: list[str], text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "ruff", *arguments, "--isolated", "-"]
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"the check was stopped after {_SECONDS:g} s; give a part of the code") from error
