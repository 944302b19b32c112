"""Code is checked, formatted, run and tested; programs are held in as the settings say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from captain.config import CaptainConfig
from captain.errors import ToolError
from captain.execution import running_as
from tools_library import code


def test_syntax_errors_are_named_with_their_line(workspace: Path) -> None:
    assert code.check_python("x = 1\nif x\n    pass\n") == "syntax error in line 2: expected ':'"
    assert code.check_python("x = '\0'").startswith("syntax error")


def test_undefined_names_and_likely_bugs(workspace: Path) -> None:
    found = code.check_python("import os\n\ndef f(x=[]):\n    return y\n")
    assert "1:8: F401" in found and "3:9: B006" in found and "4:12: F821" in found
    assert code.check_python("print(sum(range(3)))\n") == "no problems found"


def test_a_file_of_the_workspace_is_checked(workspace: Path) -> None:
    (workspace / "a.py").write_text("print(missing)\n")
    assert "F821" in code.check_python(path="a.py")
    for arguments, problem in [
        ({"path": "b.py"}, "no file"),
        ({"path": "../secret.txt"}, "outside"),
        ({"path": "a.py", "code": "1"}, "either code or"),
        ({}, "either code or"),
        ({"code": "#" * 200_001}, "longer than"),
    ]:
        with pytest.raises(ToolError, match=problem):
            code.check_python(**arguments)


def test_without_ruff_only_the_syntax_is_checked_and_it_says_so(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "nothing else was checked" in code.check_python("print(missing)")
    assert "syntax error" in code.check_python("print(")


def test_a_module_of_the_same_name_is_not_taken_for_the_checker(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "ruff.py").write_text("raise SystemExit('taken')")
    monkeypatch.chdir(workspace)
    assert "F821" in code.check_python("print(missing)")


def test_code_is_formatted() -> None:
    assert code.format_python("x = {  'a':1 }\nif x : print( x )\n") == 'x = {"a": 1}\nif x:\n    print(x)\n'
    with pytest.raises(ToolError, match="cannot be formatted"):
        code.format_python("def f(:")


async def test_a_program_sees_copies_of_the_files(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a.txt").write_text("6")
    (workspace / "link").symlink_to(workspace.parent / "secret.txt")
    program = (
        "import os\nfrom pathlib import Path\nplace = Path('sub/a.txt')\n"
        "print(int(place.read_text()) * 7, os.path.exists('link'))\nplace.write_text('gone')\n"
    )
    shown = await code.run_python(program)
    assert shown.splitlines()[0] == "42 False"
    assert (workspace / "sub" / "a.txt").read_text() == "6"


async def test_a_program_that_fails_or_says_nothing(workspace: Path) -> None:
    failed = await code.run_python("print('before')\n1 / 0")
    assert failed.startswith("failed with exit code 1:\nbefore") and "ZeroDivisionError" in failed
    assert await code.run_python("x: int\npass") == "(nothing was printed)"


async def test_tests_of_the_workspace_are_run(workspace: Path) -> None:
    (workspace / "adding.py").write_text("def add(a, b):\n    return a + b\n")
    (workspace / "test_good.py").write_text("from adding import add\n\ndef test_it():\n    assert add(2, 3) == 5\n")
    (workspace / "test_bad.py").write_text("from adding import add\n\ndef test_bad():\n    assert add(2, 3) == 6\n")
    good = await code.run_tests("test_good.py")
    assert "1 passed" in good and "failed" not in good
    every = await code.run_tests()
    assert every.startswith("failed with exit code 1") and "1 failed, 1 passed" in every and "assert 5 == 6" in every
    with pytest.raises(ToolError, match="no file or folder"):
        await code.run_tests("none.py")


async def test_too_much_to_copy(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "a").write_text("12345")
    monkeypatch.setattr(code, "_MOST_BYTES", 4)
    with pytest.raises(ToolError, match="too much to copy"):
        await code.run_python("1")


def settings(**execution: Any) -> CaptainConfig:
    model = {"name": "test", "provider": "scripted", "script": ["x"]}
    return CaptainConfig.model_validate({"model": model, "execution": execution})


async def test_programs_run_as_the_settings_say(workspace: Path) -> None:
    with running_as(settings(enabled=False)):
        with pytest.raises(ToolError, match="switched off"):
            await code.run_python("print(1)")
    with running_as(settings(timeout=0.5)):
        assert "failed" in await code.run_python("import time\ntime.sleep(20)")


def test_a_captain_hands_its_settings_to_the_tools_of_its_members(
    captain_with: Any, make_model: Any, steps: Any
) -> None:
    from autogen_core import FunctionCall

    def expert(ask: Any) -> Any:
        if "FunctionExecutionResultMessage" in ask.forms:
            return f"FINAL ANSWER: {'off' if 'switched off' in ask.text else 'on'}"
        return [FunctionCall(id="1", name="run_python", arguments='{"code": "print(1)"}')]

    model = make_model({"planner": steps.plan(steps.part("Programmer", method="recall")), "expert": expert})
    settings = {
        "tools.enabled": True,
        "tools.modules": ["tools_library.code"],
        "tools.threshold": -1.0,
        "tools.top_k": 9,
    }
    assert captain_with(model, {**settings, "execution.enabled": False}).solve("Print 1.").answer == "off"
    assert captain_with(model, settings).solve("Print 1.").answer == "on"
