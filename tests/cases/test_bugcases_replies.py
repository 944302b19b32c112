"""Public bug reports about what models reply; `docs/bugcases.md` tells which test stands for which report."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core.models import ChatCompletionClient, UserMessage
from pydantic import BaseModel

from captain import Captain
from captain.decide import decide
from captain.testing import Fault, Reply, ScriptedModel, serve

CaptainWith = Callable[..., Captain]
QUESTION = [UserMessage(content="What next?", source="user")]


class Progress(BaseModel):
    done: bool
    reason: str
    next: str


class Order(BaseModel):
    how: str
    steps: list[str] = []


class Score(BaseModel):
    name: str
    score: int


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


async def ask(client: ChatCompletionClient, wanted: type[BaseModel]) -> Any:
    return await decide(client, QUESTION, wanted)


async def test_model_02_what_was_thought_is_no_answer(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    thought = 'maybe {"subtasks": []}? or {"a":1}? no'
    model = make_model(
        {
            "planner": f"<think>{thought}</think>\n{recall(steps, 'Biologist')}",
            "expert": "<think>FINAL ANSWER: a fish {</think>FINAL ANSWER: a whale",
        }
    )
    result = captain_with(model).solve("What swims there?")
    assert result.answer == "a whale" and result.subtasks[0].team == ["biologist"]
    said = [entry["text"] for entry in read_journal(result.run_dir, "message")]
    assert said == ["FINAL ANSWER: a whale"]
    calls = {entry["role"]: entry for entry in read_journal(result.run_dir, "model_call")}
    assert "a fish" in calls["expert"]["thought"] and calls["planner"]["thought"] == thought


@pytest.mark.parametrize("word", ["false", "False", "no"])
async def test_model_03_values_of_another_type_are_brought_into_theirs(word: str) -> None:
    reply = json.dumps({"done": word, "reason": 7, "next": ["alice"]})
    mended = json.dumps({"done": word, "reason": "seven", "next": "alice"})
    decision = await ask(ScriptedModel([reply, mended]), Progress)
    assert decision.value.done is False and decision.value.next == "alice" and decision.repairs <= 1


async def test_model_03_a_review_of_wrong_types_ends_no_run_early(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    refused = json.dumps({"verdict": "Retry", "issues": "No unit.", "evidence": 7, "contradictions": None})
    model = make_model(
        {
            "planner": recall(steps),
            "expert": ["FINAL ANSWER: 42", "FINAL ANSWER: 42 km"],
            "reflector": [refused, steps.verdict()],
        }
    )
    result = captain_with(model, {"walk.max_attempts": 2}).solve("How far is it?")
    assert result.answer == "42 km" and "No unit." in model.asked("expert")[1].last


async def test_model_05_a_fence_inside_a_value_stays_in_it() -> None:
    how = "run ```sh\nls\n``` then ```sh ls``` and stop {here}"
    reply = f"Here:\n```json\n{json.dumps({'how': how, 'steps': ['```']}, indent=1)}\n```\nDone."
    decision = await ask(ScriptedModel([reply]), Order)
    assert decision.value == Order(how=how, steps=["```"]) and decision.repairs == 0


async def test_model_06_a_field_that_is_missing_is_asked_for_once_and_named() -> None:
    model = ScriptedModel(['{"name":"x"}', '{"name":"x","score":"3"}'])
    decision = await ask(model, Score)
    assert decision.value == Score(name="x", score=3) and (decision.how, decision.repairs) == ("repaired", 1)
    assert "score" in (decision.error or "") and "required" in model.calls[1].text


def test_model_07_an_empty_turn_is_asked_for_again(steps: Any, captain_with: CaptainWith) -> None:
    replies = iter(["", Fault("null_content"), "   \n", "FINAL ANSWER: 42"])

    def handler(body: dict[str, Any]) -> Any:
        text = body["messages"][0]["content"] + str(body["messages"][-1]["content"])
        if "You plan how a task is solved" in text:
            return recall(steps, "Historian")
        return steps.verdict() if "You review the work" in text else next(replies)

    with serve(handler) as server:
        model = {"name": "t", "provider": "compatible", "model": "t", "base_url": server.base_url}
        result = captain_with(model).solve("Which number?")
    assert result.answer == "42"


def test_model_07_a_part_that_stays_empty_fails_alone(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    parts = [steps.part(title, method="recall", goal=title) for title in ("Historian", "Biologist")]
    model = make_model(
        {
            "planner": steps.plan(*parts),
            "historian": ["", "  ", "\n"],
            "biologist": "FINAL ANSWER: a whale",
            "composer": "It is a whale; the year is not known.",
        }
    )
    result = captain_with(model, {"walk.max_attempts": 1}).solve("What and when?")
    silent, spoke = result.subtasks
    assert spoke.answer == "a whale" and spoke.verdict == "accept" and "whale" in result.answer
    assert silent.answer == "" and silent.verdict != "accept" and "no answer" in silent.issues[0]
    assert result.missing == ["Historian"] and result.status == "unverified"


def test_model_09_members_that_say_nothing_are_stopped(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "Historian", "Biologist"), "expert": "", "reflector": []})
    result = captain_with(model, {"team.max_turns": 20, "walk.max_attempts": 1}).solve("Who is it?")
    assert len(model.asked("expert")) <= 6 and result.usage.calls == len(model.asks)
    assert result.subtasks[0].stop_reason == "nobody has anything to add" and result.status == "failed"


def test_model_11_a_reply_cut_off_before_its_first_word_is_told_as_such(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    cut = Reply(text="", finish_reason="length", prompt_tokens=50, completion_tokens=1024)
    model = make_model({"planner": recall(steps), "expert": cut, "reflector": []})
    result = captain_with(model, {"walk.max_attempts": 1}).solve("Who is it?")
    assert result.status == "failed" and len(model.asked("expert")) <= 3
    assert result.usage.completion_tokens >= 1024 * len(model.asked("expert"))
    told = result.stop_reason + str(result.failures) + "".join(ask.last for ask in model.asked("expert"))
    assert "cut off" in told


async def test_model_11_a_typed_reply_that_was_cut_off_is_asked_for_once_more_and_shorter() -> None:
    cut = Reply(text="", finish_reason="length", completion_tokens=1024)
    model = ScriptedModel([cut, '{"name": "x", "score": 3}'])
    decision = await ask(model, Score)
    assert (
        decision.value.score == 3
        and "cut off" in (decision.error or "")
        and model.total_usage().completion_tokens > 1024
    )


def strict(body: dict[str, Any], answer: Callable[[str], str]) -> Any:
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user" or any(a == b for a, b in zip(roles, roles[1:], strict=False)) or "system" in roles:
        text = "Conversation roles must alternate user/assistant/user/assistant/..."
        return Fault("body", status=400, body=json.dumps({"error": {"message": text}}))
    return answer("\n".join(str(message["content"]) for message in body["messages"]))


def test_model_14_a_team_talks_through_a_template_that_wants_roles_in_turn(
    captain_with: CaptainWith, steps: Any
) -> None:
    def answer(text: str) -> str:
        if "You plan how a task is solved" in text:
            return recall(steps, "Historian", "Biologist", "Geographer")
        if "You review the work" in text:
            return str(steps.verdict())
        return "FINAL ANSWER: 42" if "You are geographer (" in text else f"I say nothing, {len(text)}."

    with serve(lambda body: strict(body, answer)) as server:
        model = {"name": "t", "provider": "compatible", "model": "t", "base_url": server.base_url}
        result = captain_with(model).solve("Which number?")
        assert (result.answer, result.subtasks[0].team) == ("42", ["historian", "biologist", "geographer"])
        assert len(server.requests) - result.usage.calls == 1  # it is learnt from one refusal


@pytest.mark.parametrize("refused", [True, False])
def test_cost_02_usage_is_what_the_endpoint_counted_or_marked_as_estimated(
    captain_with: CaptainWith, read_journal: Any, refused: bool
) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}
    fault = Fault("body", status=200, body=json.dumps(body)) if refused else None
    reply = Reply(text="yes", prompt_tokens=70, completion_tokens=5)
    with serve(lambda body: reply, faults=[fault]) as server:
        model = {"name": "t", "provider": "compatible", "model": "t", "base_url": server.base_url}
        result = captain_with(model, {"team.mode": "single"}).solve("Is it so?")
    usage = read_journal(result.run_dir, "model_call")[0]["usage"]
    assert usage["estimated"] is refused and result.usage.prompt_tokens == usage["prompt_tokens"] > 0
    assert refused or (result.usage.prompt_tokens, result.usage.completion_tokens) == (70, 5)
