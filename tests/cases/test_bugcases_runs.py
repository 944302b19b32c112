"""Public bug reports about runs: at once, cut off, cancelled, resumed, and with people in them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_core import FunctionCall

from captain import Captain, CaptainError, ConfigError, ModelError, Result, tool
from captain.effects import Approval, ApprovalRequest
from captain.testing import ScriptedModel

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]
DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


@tool(side_effects=True)
def send(letter: str) -> str:
    """Sends a letter.

    Args:
        letter: Which.
    """
    DONE[letter] += 1
    return f"sent {letter}"


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def call(name: str, arguments: str = "{}", number: int = 1) -> FunctionCall:
    return FunctionCall(id=f"call-{number}", name=name, arguments=arguments)


def the_run(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def cut_after(folder: Path, lines: int) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
    (folder / "result.json").write_text('{"status": "running"}')


def test_conc_01_one_expert_may_sit_in_two_teams_at_once(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    both = asyncio.Barrier(2)

    async def historian(ask: Any) -> str:
        await asyncio.wait_for(both.wait(), 20)
        return f"It was in the {'north' if 'the north' in ask.text else 'south'}."

    parts = [steps.part("Historian", other, method="recall", goal=goal) for other, goal in PLACES.items()]
    model = make_model(
        {
            "planner": steps.plan(*parts),
            "historian": historian,
            "expert": lambda ask: f"FINAL ANSWER: {ask.last}",
            "composer": "both",
        }
    )
    result = captain_with(model).solve("Tell two things.")
    answers = [report.answer for report in result.subtasks]
    assert ["north" in answer for answer in answers] == [True, False]
    assert ["south" in answer for answer in answers] == [False, True]
    assert all("historian" in report.team for report in result.subtasks)


PLACES = {"Biologist": "of the north", "Geographer": "of the south"}


class Holder(ScriptedModel):
    """A model that holds what can be neither copied nor written down."""

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.lock = threading.Lock()


def test_conc_05_live_objects_are_shared_and_named_never_copied(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    client = Holder(["FINAL ANSWER: 1789"] * 2)
    settings = {"model": {"name": "m", "provider": "compatible", "model": "m", "http_client": client}}
    with pytest.raises(ConfigError, match="http_client"):
        Captain(settings).solve("When was it?")
    member = AssistantAgent("chronicler", client, description="Chronicler of old times.")
    captains = [captain_with(make_model({"planner": recall(steps, "Chronicler")}), members=[member]) for _ in range(2)]
    results = [captain.solve("When was it?") for captain in captains]
    assert [result.answer for result in results] == ["1789"] * 2 and len(client.calls) == 2
    assert "chronicler" in (results[0].run_dir / "journal.jsonl").read_text()
    with pytest.raises(ConfigError, match="was made with the members chronicler, not with none"):
        Captain.replay(results[0].run_dir)


async def test_conc_06_a_stream_that_is_left_yields_nothing_more_and_calls_nobody(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    turns = iter(range(1000))

    async def member(ask: Any) -> str:
        await asyncio.sleep(0.02)
        return f"Thought {next(turns)}."

    model = make_model({"planner": recall(steps, "Historian", "Biologist"), "expert": member})
    stream = captain_with(model, {"team.max_turns": 1000}).stream("What is it?")
    seen = [await anext(stream), await anext(stream)]
    while len(model.asks) < 5:
        await asyncio.sleep(0.02)  # events pile up meanwhile
    await stream.aclose()
    asked = len(model.asks)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await asyncio.sleep(0.2)
    assert len(seen) == 2 and len(model.asks) <= asked + 1
    stored = json.loads((the_run(tmp_path) / "result.json").read_text())
    assert (stored["status"], stored["stop_reason"]) == ("stopped", "interrupted")


async def test_conc_07_a_cancelled_run_keeps_its_parts_and_goes_on_with_the_next(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    titles = ["Historian", "Biologist", "Geographer", "Programmer"]
    parts = [
        steps.part(title, method="recall", goal=f"part of {title}", depends_on=[number] if number else [])
        for number, title in enumerate(titles)
    ]
    third = asyncio.Event()
    blocked = True

    async def geographer(ask: Any) -> str:
        third.set()
        if blocked:
            await asyncio.sleep(3600)
        return "FINAL ANSWER: known"

    model = make_model({"planner": steps.plan(*parts), "geographer": geographer, "expert": "FINAL ANSWER: known"})
    work = asyncio.create_task(captain_with(model).solve_async("Tell four things."))
    await asyncio.wait_for(third.wait(), 30)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    folder = the_run(tmp_path)
    stored = Result.model_validate(json.loads((folder / "result.json").read_text()))
    assert (stored.status, stored.stop_reason) == ("stopped", "interrupted")
    assert [report.answer for report in stored.subtasks] == ["known", "known"] and stored.usage.calls == 5
    assert stored.missing == ["part of Geographer", "part of Programmer"]
    blocked = False
    model.asks.clear()
    again = await Captain.resume_async(folder)
    assert [ask.member for ask in model.asked("expert")] == ["geographer", "programmer"]
    assert len(again.subtasks) == 4 and again.missing == []


def test_state_01_a_choice_of_speaker_that_failed_is_made_again(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Historian", "Biologist", "Geographer"),
            "historian": ["@biologist and @geographer, who knows?"],
            "geographer": ["FINAL ANSWER: Gondor"],
            "speaker": [ModelError("the endpoint is gone"), '{"number": 2}'],
        }
    )
    with pytest.raises(ModelError, match="the endpoint is gone"):
        captain_with(model).solve("Where is it?")
    again = Captain.resume(the_run(tmp_path))
    assert again.answer == "Gondor" and len(model.asked("historian")) == 1 and len(model.asked("speaker")) == 2


def test_state_02_a_resumed_chat_is_heard_once(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    said = {"historian": ["It was long ago."], "biologist": ["It was a beast."], "geographer": "FINAL ANSWER: Gondor"}
    plan = recall(steps, "Historian", "Biologist", "Geographer")
    model = make_model({"planner": plan, **said})
    whole = captain_with(model).solve("Where was it?")
    lines = (whole.run_dir / "journal.jsonl").read_text().splitlines()
    (before,) = model.asked("geographer")
    spoken = [n for n, line in enumerate(lines) if json.loads(line)["kind"] == "message"]
    cut_after(whole.run_dir, spoken[1] + 1)
    again = Captain.resume(whole.run_dir)
    after = model.asked("geographer")[-1]
    assert again.answer == "Gondor" and len(model.asked("geographer")) == 2 and len(model.asked("biologist")) == 1
    assert after.text == before.text and all(after.text.count(text[0]) == 1 for text in list(said.values())[:2])


def test_state_03_a_run_is_read_back_at_each_of_its_events(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    async def approve(request: ApprovalRequest) -> Approval:
        return Approval(verdict="approve")

    def historian(ask: Any) -> Any:
        return "It is sent." if "sent a" in ask.text else [call("send", '{"letter": "a"}')]

    model = make_model(
        {
            "planner": recall(steps, "Historian", "Philatelist"),
            "historian": historian,
            "philatelist": "FINAL ANSWER: yes",
            "writer": steps.written("You know each stamp."),
        }
    )
    settings = {**with_tools(send), "approval.tools": ["send"], "walk.review": "always"}
    whole = Captain(captain_with(model, settings).config, approver=approve).solve("Send it.")
    journal = whole.run_dir / "journal.jsonl"
    original = journal.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in original]
    assert {"task", "model_call", "cast", "message", "tool", "decision", "reviewed"} <= set(kinds)
    firsts = sorted({kinds.index(kind) + 1 for kind in kinds if kinds.index(kind) >= kinds.index("task")})
    for kept in firsts:
        journal.write_bytes(b"".join(original[:kept]) + b'{"t": 1, "kind": "of a later version"}\n')
        (whole.run_dir / "result.json").write_text('{"status": "running"}')
        again = asyncio.run(Captain.resume_async(whole.run_dir, approver=approve))
        assert again.answer == whole.answer or again.unknown, kinds[kept - 1]
    assert not [path for path in whole.run_dir.rglob("*") if path.suffix in (".pkl", ".pickle")]


def test_state_06_each_of_two_calls_gets_its_own_decision(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, read_journal: Any
) -> None:
    calls = [call("send", '{"letter": "a"}', 1), call("send", '{"letter": "b"}', 2)]

    def member(ask: Any) -> Any:
        return "FINAL ANSWER: done" if "FunctionExecutionResultMessage" in ask.forms else calls

    second_is_decided = asyncio.Event()

    async def decide(request: ApprovalRequest) -> Approval:
        if request.arguments["letter"] == "b":
            second_is_decided.set()
            return Approval(verdict="approve")
        await asyncio.wait_for(second_is_decided.wait(), 20)
        return Approval(verdict="deny", note="not this one")

    model = make_model({"planner": recall(steps), "expert": member})
    config = captain_with(model, {**with_tools(send), "approval.tools": ["send"]}).config
    result = Captain(config, approver=decide).solve("Send both.")
    told = model.asked("expert")[1].last
    assert DONE == {"b": 1} and told.index("denied this call: not this one") < told.index("sent b")
    decisions = read_journal(result.run_dir, "decision")
    assert len({entry["request_hash"] for entry in decisions}) == 2
    assert {entry["request"]["arguments"]["letter"]: entry["value"]["verdict"] for entry in decisions} == {
        "a": "deny",
        "b": "approve",
    }


def test_state_07_resume_waits_for_its_result_and_refuses_what_is_no_run(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    model = make_model({"planner": recall(steps), "expert": "FINAL ANSWER: 42"})
    stopped = captain_with(model, {"limits.calls": 1}).solve("Which number?")
    again = Captain.resume(stopped.run_dir, overrides=["limits.calls=9"])
    assert isinstance(again, Result) and again.answer == "42"
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "journal.jsonl").write_text('{"kind": "something else"}\n')
    for wrong, complaint in (("nowhere", "no folder of a run"), ("foreign", "holds no task")):
        with pytest.raises(ConfigError, match=complaint):
            Captain.resume(tmp_path / wrong)


def test_hitl_02_a_person_without_a_keyboard_is_named_and_one_with_a_callback_is_asked(
    captain_with: CaptainWith, make_model: Any, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        alone = UserProxyAgent("customer", description="Customer who decides.")
        captain = captain_with(make_model({"planner": recall(steps, "Customer")}), members=[alone])
        with pytest.raises(CaptainError, match="the member 'customer' failed"):
            captain.solve("Which colour?")
    asked: list[str] = []

    async def answer(prompt: str, token: Any) -> str:
        asked.append(prompt)
        return "FINAL ANSWER: blue"

    reached = UserProxyAgent("customer", description="Customer who decides.", input_func=answer)
    result = captain_with(make_model({"planner": recall(steps, "Customer")}), members=[reached]).solve("Which colour?")
    assert result.answer == "blue" and len(asked) == 1


def test_hitl_02_what_waits_for_a_person_tells_what_it_is(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    def member(ask: Any) -> Any:
        return (
            "FINAL ANSWER: done" if "FunctionExecutionResultMessage" in ask.forms else [call("send", '{"letter":"a"}')]
        )

    model = make_model({"planner": recall(steps), "expert": member})
    config = captain_with(model, {**with_tools(send), "approval.tools": ["send"]}).config
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        paused = Captain(config).solve("Send it.")
    assert paused.status == "paused" and "'send' waits for approval" in paused.stop_reason and not DONE
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval(verdict="approve")

    assert Captain(config, approver=approve).solve("Send it.").answer == "done" and DONE == {"a": 1}
    assert (asked[0].name, asked[0].arguments) == ("send", {"letter": "a"}) and asked[0].reason
