"""`captain doctor`: finds what is missing and says what to do; only what stops tasks is a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captain.testing import serve

Command = Callable[..., Any]


def found(outcome: Any, name: str) -> list[dict[str, Any]]:
    return [check for check in outcome.data["checks"] if check["name"] == name]


def test_everything_is_looked_at(command: Command, offline: list[str]) -> None:
    outcome = command("doctor", *offline, "--json")
    assert outcome.code == 0
    assert outcome.data["ok"] is True
    assert {check["name"] for check in outcome.data["checks"]} == {
        "model",
        "embedding",
        "library",
        "index",
        "tools",
        "execution",
        "sandbox",
        "extra",
    }
    assert "built at the first search" in found(outcome, "index")[0]["detail"]
    (execution,) = found(outcome, "execution")
    assert "no keys in their environment" in execution["detail"]


def test_weak_isolation_is_a_warning_and_a_problem_when_it_is_not_enough(command: Command, offline: list[str]) -> None:
    (sandbox,) = found(command("doctor", *offline, "sandbox.kind=none", "--json"), "sandbox")
    assert sandbox["state"] == "warning" and "the network is open" in sandbox["detail"]
    assert sandbox["remedy"] == "sandbox.kind=auto"
    outcome = command("doctor", *offline, "sandbox.kind=none", "sandbox.require=true", "--json")
    assert outcome.code == 1
    (execution,) = found(outcome, "execution")
    assert execution["state"] == "problem" and "sandbox.require=true" in execution["detail"]


def test_people_see_one_line_each(command: Command, offline: list[str]) -> None:
    outcome = command("doctor", *offline)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "tasks can be solved here"
    assert all(line.startswith(("ok", "warning")) for line in outcome.out.splitlines()[:-1])


def test_auto_takes_the_embedded_model_and_weights_may_come_later(
    command: Command, offline: list[str], tmp_path: Path
) -> None:
    outcome = command("doctor", *offline[3:], f'models.cache_dir="{tmp_path / "empty"}"', "--json")
    assert outcome.code == 0
    assert "auto takes the embedded model" in found(outcome, "model")[0]["detail"]
    (weights,) = found(outcome, "weights")
    assert weights["state"] == "warning"
    assert weights["remedy"] == "captain models fetch qwen2.5-coder-1.5b"


def test_damaged_weights(command: Command, offline: list[str], tmp_path: Path) -> None:
    (tmp_path / "file.gguf").write_bytes(b"not weights")
    wrong = "models.paths.qwen2.5-coder-1.5b=file.gguf"
    outcome = command("doctor", *offline[3:], wrong, f'models.cache_dir="{tmp_path / "empty"}"', "--json")
    assert outcome.code == 1
    assert found(outcome, "weights")[0]["state"] == "problem"


def test_missing_key(command: Command, offline: list[str]) -> None:
    outcome = command("doctor", *offline[3:], "model=openai", "--json")
    assert outcome.code == 1
    assert "OPENAI_API_KEY" in found(outcome, "model")[0]["detail"]


def test_endpoint_that_answers_and_one_that_does_not(command: Command, offline: list[str]) -> None:
    with serve(lambda body: "x") as server:
        address = [f"model.base_url={server.base_url}", "model.model=x", "model=compatible"]
        outcome = command("doctor", *offline[3:], *address, "--json")
    assert outcome.code == 0
    assert "answers" in found(outcome, "endpoint")[0]["detail"]
    gone = command("doctor", *offline[3:], *address, "--json")
    assert gone.code == 1
    assert "cannot be reached" in found(gone, "endpoint")[0]["detail"]


def test_tool_that_cannot_work_says_why(
    command: Command, offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy_tools.py").write_text(
        "from captain.tools import tool\n\n"
        '@tool(needs_packages=("no_such_package_anywhere",))\n'
        "def dig(depth: int) -> str:\n"
        '    """Dig a hole.\n\n    Args:\n        depth: In metres.\n    """\n    return ""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    outcome = command("doctor", *offline, "tools.modules=[needy_tools]", "--json")
    assert outcome.code == 0
    assert any(
        "dig cannot work" in c["detail"] and "no_such_package_anywhere" in c["detail"] for c in found(outcome, "tools")
    )


def test_broken_profiles_stop_tasks(command: Command, offline: list[str], tmp_path: Path) -> None:
    (tmp_path / "profiles.yaml").write_text("domain: x\nprofiles:\n  - {name: a, titel: b}\n")
    outcome = command("doctor", *offline, "library.profiles=[profiles.yaml]", "--json")
    assert outcome.code == 1
    assert "profiles.yaml" in found(outcome, "library")[0]["detail"]


def test_misspelt_setting(command: Command) -> None:
    outcome = command("doctor", "team.max_turn=3")
    assert outcome.code == 2
    assert "'team.max_turns'" in outcome.error
