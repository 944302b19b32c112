"""Defects B1 to B10 of the reference implementation; `docs/reference_defects.md` tells what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from captain import Captain, CaptainConfig, ConfigError, ModelError, load_config
from captain.config import EmbeddingConfig
from captain.testing import serve

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]
TASK = "What is 6 times 7?"


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def test_b01_the_settings_of_execution_are_those_that_hold(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": [steps.program("print('x' * 5000)"), "FINAL ANSWER: x"]})
    captain_with(model, {"execution.max_output_chars": 300}).solve(TASK)
    assert 100 < model.asked("expert")[1].last.count("x") < 800
    off = make_model({"expert": steps.program("print('FINAL ANSWER:', 6 * 7)")})
    settings = {"execution.enabled": False, "walk.max_attempts": 1, "walk.review": "checks"}
    result = captain_with(off, settings).solve(TASK)
    assert result.status != "solved" and not list((result.run_dir / "work").iterdir())


@pytest.mark.parametrize("title", ["1. Data & Code – Expert (senior)", "Ünïcødé", "executor"])
def test_b02_names_are_valid_for_every_provider(
    captain_with: CaptainWith, make_model: Any, steps: Any, title: str
) -> None:
    model = make_model(
        {
            "planner": steps.plan(steps.part(title)),
            "expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")],
            "writer": steps.written("You solve what you are given."),
        }
    )
    result = captain_with(model).solve(TASK)
    assert result.answer == "42" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", result.subtasks[0].team[0])


@pytest.mark.parametrize("method", ["recall", "compute"])
def test_b03_a_team_of_one_is_a_team(captain_with: CaptainWith, make_model: Any, steps: Any, method: str) -> None:
    plan = steps.plan(steps.part("Mathematician", method=method))
    reply = "FINAL ANSWER: 42" if method == "recall" else steps.program("print('FINAL ANSWER:', 6 * 7)")
    model = make_model({"planner": plan, "expert": [reply]})
    task = TASK if method == "compute" else "Which number is it?"
    assert captain_with(model).solve(task).answer == "42"


@pytest.mark.parametrize("word", ["compute", "Compute", "COMPUTE", "compute."])
def test_b04_a_choice_in_another_spelling_counts(
    captain_with: CaptainWith, make_model: Any, steps: Any, word: str
) -> None:
    model = make_model(
        {
            "planner": [steps.plan(steps.part(method=word))],
            "expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")],
        }
    )
    assert captain_with(model).solve(TASK).status == "solved"


def test_b05_the_reviewer_reads_a_bounded_text(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    loud = steps.program("for n in range(4000): print('line', n)\nprint('FINAL ANSWER:', 6 * 7)")
    model = make_model({"expert": [loud]})
    spec = {**model.spec, "context_window": 4096}
    assert captain_with(spec, {"execution.max_output_chars": 30000}).solve(TASK).answer == "42"
    (ask,) = model.asked("reflector")
    assert len(ask.text) < 6500 and "FINAL ANSWER: 42" in ask.text and "{'" not in ask.text


def test_b06_system_messages_stand_first_or_nowhere(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    parts = [
        steps.part("Historian", "Biologist", "Geographer", method="recall", goal="a"),
        steps.part("Mathematician", goal="b"),
    ]
    knowers, program = ("biologist", "geographer"), steps.program("print('FINAL ANSWER:', 6 * 7)")
    model = make_model(
        {
            "planner": steps.plan(*parts),
            "historian": "@biologist and @geographer, who knows?",
            "expert": lambda ask: "FINAL ANSWER: yes" if ask.member in knowers else program,
            "speaker": '{"number": 1}',
            "composer": "both",
        }
    )
    captain_with(model, {"team.cross_check": True}).solve(TASK)
    assert {"planner", "expert", "speaker", "reflector", "composer"} <= {ask.step for ask in model.asks}
    for ask in model.asks:
        assert "SystemMessage" not in ask.forms[1:] and ask.forms[-1] != "AssistantMessage"


def test_b07_the_same_task_gets_the_same_team_and_settings(
    captain_with: CaptainWith, steps: Any, read_journal: Any
) -> None:
    plan = recall(steps, "Knower of dates of the past", "Knower of animals", "Philatelist")

    def handler(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if prompt.startswith("You plan"):
            return plan
        if prompt.startswith("Choose"):
            return json.dumps({"choices": [1] * prompt.count("\nRole ")})
        if prompt.startswith("Write a profile"):
            return str(steps.written(*["You know it all by heart."] * 3))
        return str(steps.verdict()) if prompt.startswith("You review") else "FINAL ANSWER: yes"

    with serve(handler) as server:
        model = {"name": "m", "provider": "compatible", "model": "m", "base_url": server.base_url}
        settings = {"library.margin": 9.0, "library.threshold": 0.1, "library.rank_by_use": False}
        runs = [captain_with(model, settings).solve("What is it?").run_dir for _ in range(2)]
        bodies = server.requests
    casts = [[(c["role"], c["chosen"], c["candidates"]) for c in read_journal(run, "cast")] for run in runs]
    assert casts[0] == casts[1] and len(casts[0]) == 3
    assert {body.get("temperature") for body in bodies} == {0}
    half = len(bodies) // 2
    assert [body["messages"] for body in bodies[:half]] == [body["messages"] for body in bodies[half:]]


def test_b08_failures_are_raised_as_what_they_are(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    gone = make_model({"expert": [ModelError("the endpoint is gone")]})
    with pytest.raises(ModelError, match="the endpoint is gone"):
        captain_with(gone).solve(TASK)
    with pytest.raises(ConfigError, match="nowhere"):
        captain_with(make_model({}), {"library.profiles": ["nowhere"]}).solve(TASK)


def test_b09_a_verdict_is_acted_on_and_needs_evidence(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "expert": ["I am sure.\nFINAL ANSWER: 41", steps.program("print('FINAL ANSWER:', 6 * 7)")] * 2,
            "reflector": [steps.verdict("retry", issues=["Nothing was computed."]), steps.verdict(), steps.verdict()],
        }
    )
    result = captain_with(model).solve(TASK)
    assert "Nothing was computed." in model.asked("expert")[1].last
    assert result.subtasks[0].attempts == 2 and len(model.asked("reflector")) >= 2
    claimed = make_model(
        {"expert": "I am sure.\nFINAL ANSWER: 42", "reflector": steps.verdict(evidence=["I am sure."])}
    )
    assert captain_with(claimed).solve(TASK).status == "unverified"


def test_b10_there_is_one_set_of_defaults() -> None:
    shipped = load_config().captain
    for name, field in CaptainConfig.model_fields.items():
        value = getattr(shipped, name)
        if name not in ("model", "roles") and isinstance(value, BaseModel):
            expected = EmbeddingConfig(provider="minilm") if name == "embedding" else field.get_default()
            differing = {key for key, one in value if one != getattr(expected, key)}
            assert not differing, f"{name}: {differing}"
