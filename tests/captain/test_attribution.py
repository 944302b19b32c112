"""What failed in a run, and which step first went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import FunctionCall

from captain import Captain
from captain.cli import main

CaptainWith = Callable[..., Captain]


def test_a_run_without_failures_names_none(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.failures == [] and result.first_failure is None


def test_a_program_that_failed_and_was_repaired_is_named(
    captain_with: CaptainWith, make_model: Any, steps: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = [steps.program("print(1 / 0)"), steps.program("print('FINAL ANSWER:', 6 * 7)")]
    result = captain_with(make_model({"expert": programs})).solve("What is 6 times 7?")
    assert result.status == "solved"
    (failure,) = result.failures
    assert (failure.subtask, failure.member, failure.what, failure.step) == ("1", "mathematician", "program", 1)
    assert "ZeroDivisionError" in failure.detail and result.first_failure == failure
    assert main(["why", str(result.run_dir), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["first"]["what"] == "program" and told["status"] == "solved"
    assert main(["why", str(result.run_dir)]) == 0
    assert "subtask 1, step 1, mathematician: ZeroDivisionError" in capsys.readouterr().out


def test_a_tool_that_failed_is_named(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    def expert(ask: Any) -> Any:
        if "FunctionExecutionResultMessage" in ask.forms:
            return "FINAL ANSWER: I do not know"
        return [FunctionCall(id="1", name="word_count", arguments='{"nonsense": 5}')]

    part = steps.part("Historian", method="recall")
    model = make_model({"planner": steps.plan(part), "expert": expert})
    settings = {"tools.enabled": True, "tools.modules": ["tools_library.text"], "tools.threshold": -1.0}
    result = captain_with(model, settings).solve("Count the words.")
    assert [(f.member, f.what, f.step) for f in result.failures] == [("historian", "tool", 1)]


def test_what_a_review_refuses_is_named_after_what_failed(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    part = steps.part("Historian", method="recall")
    reviews = [steps.verdict("retry", issues=["No year is given."]), steps.verdict()]
    model = make_model({"planner": steps.plan(part), "expert": "FINAL ANSWER: long ago", "reflector": reviews})
    result = captain_with(model, {"walk.review": "always"}).solve("When was it?")
    assert [(f.what, f.detail) for f in result.failures] == [("claim", "refused by the review: No year is given.")]


def test_a_model_that_fails_for_good_is_named_for_its_part(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    from captain.errors import ModelError

    def expert(ask: Any) -> Any:
        if "the broken" in ask.text:
            raise ModelError("the endpoint is gone")
        return "FINAL ANSWER: fine"

    parts = [steps.part("Historian", method="recall", goal=goal) for goal in ("the broken", "the whole one")]
    model = make_model({"planner": steps.plan(*parts), "expert": expert})
    result = captain_with(model).solve("Do both.")
    assert result.status == "stopped"
    named = [(f.subtask, f.what) for f in result.failures]
    assert ("1", "model") in named and all(subtask == "1" for subtask, _ in named)


def test_a_limit_is_named(captain_with: CaptainWith, make_model: Any) -> None:
    result = captain_with(make_model({"expert": "thinking"}), {"limits.calls": 2}).solve("What is 6 times 7?")
    assert result.status == "stopped"
    assert result.first_failure is not None and result.first_failure.what == "limit"


def test_what_is_no_run_is_an_error(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", str(tmp_path)]) == 2
    assert "no folder of a run" in capsys.readouterr().err
