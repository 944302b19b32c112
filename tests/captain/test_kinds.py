"""What the kind of an expert changes: whose programs are run, and who is told of programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from autogen_agentchat.agents import AssistantAgent

from captain import Captain
from captain.testing import ScriptedModel

CaptainWith = Callable[..., Captain]
INVITATION = files("captain.prompts").joinpath("coder_line.md").read_text(encoding="utf-8")[:60]
PROGRAM = "```python\nprint('FINAL ANSWER:', 6 * 7)\n```"
EXPERTS = {
    "poet": {"title": "Poet", "kind": "assistant"},
    "mechanic": {"title": "Mechanic", "kind": "coder"},
}


@pytest.fixture
def solve(captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path) -> Callable[..., Any]:
    """Gives `solve(title, method, replies)`: the result and the model."""
    profiles = [
        {"name": name, "description": f"Works as a {name}.", "instructions": "Work.", **fields}
        for name, fields in EXPERTS.items()
    ]
    path = tmp_path / "experts.yaml"
    path.write_text(yaml.safe_dump({"domain": "tests", "profiles": profiles}))

    def run(titles: list[str], method: str, replies: Any, *, members: Any = (), **spec: Any) -> Any:
        solo = f'{{"method": "{method}", "expert": {{"title": "{titles[0]}", "does": "works"}}}}'
        plan = solo if spec.get("strength") == "small" else steps.plan(steps.part(*titles, method=method))
        model = make_model({"planner": plan, "expert": replies})
        settings = {"library.profiles": [str(path)], "library.user_dir": str(tmp_path / "user")}
        captain = captain_with({**model.spec, **spec}, settings, members=members)
        task = "Which one is it, and why?" if method == "recall" else "What is 6 times 7?"
        return captain.solve(task), model

    return run


def test_a_coder_computes_also_where_nothing_has_to_be_computed(solve: Any) -> None:
    result, model = solve(["Mechanic"], "recall", [PROGRAM])
    assert INVITATION in model.asked("mechanic")[0].text
    assert result.answer == "42" and result.evidence[0].source == "program of mechanic"


def test_a_coder_need_not_compute_and_need_not_finish(solve: Any) -> None:
    result, model = solve(["Mechanic"], "recall", ["It is the left one, by its sound."])
    assert result.answer == "It is the left one, by its sound." and len(model.asked("mechanic")) == 1


def test_a_coder_that_repeats_an_empty_reply_ends(solve: Any) -> None:
    result, model = solve(["Mechanic"], "recall", "")
    assert result.status == "failed" and len(model.asked("mechanic")) < 10


def test_code_of_an_assistant_is_text_where_nothing_has_to_be_computed(solve: Any, read_journal: Any) -> None:
    result, model = solve(["Poet"], "recall", [f"Write it so:\n{PROGRAM}"])
    assert INVITATION not in model.asked("poet")[0].text
    assert read_journal(result.run_dir, "execution") == [] and result.answer.startswith("Write it so:")


def test_beside_a_coder_code_of_an_assistant_stays_text(solve: Any, read_journal: Any) -> None:
    replies = [f"Such is a program:\n{PROGRAM}\nMechanic?", PROGRAM]
    result, model = solve(["Poet", "Mechanic"], "recall", replies)
    assert [run["source"] for run in read_journal(result.run_dir, "execution")] == ["executor"]
    assert [ask.member for ask in model.asked("expert")] == ["poet", "mechanic"]
    assert INVITATION in model.asked("mechanic")[0].text and INVITATION not in model.asked("poet")[0].text


@pytest.mark.parametrize("title", ["Poet", "Mechanic"])
def test_everybody_writes_programs_where_it_has_to_be_computed(solve: Any, title: str) -> None:
    result, model = solve([title], "compute", [PROGRAM])
    assert result.answer == "42" and result.evidence[0].kind == "execution"
    assert "Reply with ONE complete program" in model.asked("expert")[0].text
    assert INVITATION not in model.asked("expert")[0].text


def test_a_small_coder_is_not_told_of_programs_where_nothing_has_to_be_computed(solve: Any, read_journal: Any) -> None:
    result, model = solve(["Mechanic"], "recall", ["The left one."], strength="small")
    assert INVITATION not in model.asked("mechanic")[0].text
    assert result.answer == "The left one." and read_journal(result.run_dir, "execution") == []


def test_code_of_an_own_agent_is_text_where_nothing_has_to_be_computed(solve: Any, read_journal: Any) -> None:
    own = AssistantAgent("bard", ScriptedModel([f"Thus:\n{PROGRAM}"]), description="A poet who works.")
    result, _ = solve(["Poet"], "recall", [], members=[own])
    assert result.subtasks[0].team == ["bard"] and read_journal(result.run_dir, "execution") == []
