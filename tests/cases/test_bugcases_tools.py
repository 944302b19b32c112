"""Public bug reports about tools: how calls are read, what comes back, and what a failure costs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import FunctionCall

from captain import Captain, ModelError, tool

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]
DONE: Counter[str] = Counter()
FOREIGN = "日本語 مرحبا 🙂"


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def call(name: str, arguments: str = "{}", number: int = 1) -> FunctionCall:
    return FunctionCall(id=f"call-{number}", name=name, arguments=arguments)


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


@tool
def look_up(query: str) -> str:
    """Looks a query up.

    Args:
        query: What to look up.
    """
    DONE[query] += 1
    return f"found {query}"


@tool
def mark(tags: list[str], order_id: str = "") -> dict[str, Any]:
    """Marks an order.

    Args:
        tags: The tags.
        order_id: The order.
    """
    return {"tags": tags, "order": order_id}


@tool
def works(name: str) -> str:
    """Does something.

    Args:
        name: Of what it does.
    """
    DONE[name] += 1
    return f"did {name}"


@tool
def boom() -> str:
    """Fails."""
    DONE["boom"] += 1
    raise ValueError("no data")


@tool
def foreign() -> dict[str, str]:
    """Gives a text in many scripts."""
    return {"t": FOREIGN}


@tool
def flood() -> str:
    """Gives very much."""
    return "a" * 1_000_000 + "needle" + "z" * 1_000_000


@pytest.mark.parametrize("arguments", ['query = """a\nb"""', "[" * 100_000, '["a"]', '"a"', ""])
def test_tool_01_arguments_that_are_no_json_go_back_to_the_model(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, arguments: str
) -> None:
    replies = [[call("look_up", arguments)], [call("look_up", '{"query": "a"}')], "FINAL ANSWER: found a"]
    model = make_model({"planner": recall(steps), "expert": replies})
    result = captain_with(model, with_tools(look_up)).solve("What is a?")
    assert (result.answer, result.status) == ("found a", "solved") and DONE == {"a": 1}
    assert "JSON" in model.asked("expert")[1].last and result.failures[0].what == "tool"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"tags": '["a","b"]'}, '"tags": ["a", "b"]'),
        ({"tags": ["a"], "order_id": 10045}, '"order": "10045"'),
        ({"tags": ["a"], "order_id": 1e3}, "'order_id' must be text"),
        ({"tags": "a, b"}, "'tags' must be a list"),
    ],
    ids=["tool_03_a_list_as_text", "tool_04_a_number_as_text", "tool_04_a_float_is_no_text", "tool_03_no_list"],
)
def test_tool_arguments_of_another_type(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, arguments: Any, told: str
) -> None:
    replies = [[call("mark", json.dumps(arguments))], "FINAL ANSWER: done"]
    model = make_model({"planner": recall(steps), "expert": replies})
    captain_with(model, with_tools(mark)).solve("What is it?")
    assert told in model.asked("expert")[1].last


def test_tool_05_an_invented_tool_is_named_with_those_there_are(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    replies = [[call("find_president")], "FINAL ANSWER: nobody knows"]
    model = make_model({"planner": recall(steps), "expert": replies})
    result = captain_with(model, with_tools(look_up)).solve("Who is it?")
    told = model.asked("expert")[1].last
    assert result.answer == "nobody knows" and "find_president" in told and "look_up" in told


def test_tool_05_tools_are_not_invented_without_end(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    model = make_model({"planner": recall(steps), "expert": lambda ask: [call("find_president")]})
    result = captain_with(model, with_tools(look_up)).solve("Who is it?")
    assert result.status == "failed" and len(model.asked("expert")) <= 12


def test_tool_08_each_of_several_calls_runs_once_and_has_its_own_result(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    calls = [call("works", '{"name": "first"}', 1), call("boom", "{}", 2), call("works", '{"name": "second"}', 3)]
    seen: list[Any] = []

    def expert(ask: Any) -> Any:
        seen.append(ask.last)
        return calls if len(seen) == 1 else "FINAL ANSWER: did first"

    model = make_model({"planner": recall(steps), "expert": expert})
    result = captain_with(model, with_tools(works, boom)).solve("What was done?")
    assert DONE == {"first": 1, "boom": 1, "second": 1} and result.status == "solved"
    assert all(text in seen[1] for text in ("did first", "did second", "no data"))
    assert [failure.detail for failure in result.failures] == ["boom: ValueError: no data"]


def test_tool_09_parts_beside_one_that_fails_are_finished(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    parts = [steps.part(title, method="recall", goal=title) for title in ("Historian", "Biologist", "Geographer")]

    async def slow(ask: Any) -> str:
        await asyncio.sleep(0.1)
        return f"FINAL ANSWER: known to the {ask.member}"

    model = make_model({"planner": steps.plan(*parts), "biologist": [ModelError("it broke")], "expert": slow})
    result = captain_with(model).solve("What is known?")
    assert [report.answer for report in result.subtasks] == [f"known to the {n}" for n in ("historian", "geographer")]
    assert (result.status, result.missing) == ("stopped", ["Biologist"]) and "it broke" in result.stop_reason
    assert result.first_failure is not None and result.first_failure.subtask == "2"


def test_tool_14_a_hung_tool_is_given_up_when_the_run_is_cancelled(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    entered, release = threading.Event(), threading.Event()

    @tool
    def hangs() -> str:
        """Hangs."""
        entered.set()
        release.wait(60)
        return "late"

    async def cancelled() -> float:
        captain = captain_with(
            {"planner": recall(steps, "Historian", "Biologist"), "expert": lambda ask: [call("hangs")]},
            with_tools(hangs),
        )
        work = asyncio.ensure_future(captain.solve_async("What is it?"))
        await asyncio.to_thread(entered.wait, 30)
        start = time.perf_counter()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return time.perf_counter() - start

    assert asyncio.run(cancelled()) < 8
    release.set()


def test_tool_16_every_script_reaches_the_model_and_the_record_as_it_is(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, read_journal: Any
) -> None:
    model = make_model({"planner": recall(steps), "expert": [[call("foreign")], f"FINAL ANSWER: {FOREIGN}"]})
    result = captain_with(model, with_tools(foreign)).solve(f"What is {FOREIGN}?")
    assert FOREIGN in model.asked("expert")[1].last and result.answer == FOREIGN
    assert any(FOREIGN in entry.get("result", "") for entry in read_journal(result.run_dir, "tool_call"))
    assert FOREIGN in (result.run_dir / "result.json").read_text(encoding="utf-8")
    assert Captain.replay(result.run_dir).answer == FOREIGN


@pytest.mark.parametrize("titles", [("Historian",), ("Historian", "Biologist")])
def test_tool_17_the_error_of_a_tool_is_never_the_answer(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, titles: tuple[str, ...]
) -> None:
    model = make_model({"planner": recall(steps, *titles), "expert": lambda ask: [call("boom")]})
    result = captain_with(model, {**with_tools(boom), "team.max_turns": 4, "walk.max_attempts": 2}).solve("Which?")
    assert (result.answer, result.status) == ("", "failed")
    assert result.first_failure is not None and "no data" in result.first_failure.detail


def test_tool_17_nor_is_it_proof_of_one(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    model = make_model({"planner": recall(steps), "expert": [[call("boom")], "FINAL ANSWER: ValueError: no data"]})
    result = captain_with(model, with_tools(boom)).solve("Which?")
    assert result.status == "unverified" and all(evidence.kind != "tool" for evidence in result.evidence)


def test_ctx_02_a_huge_result_is_cut_and_whole_in_a_file(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    replies = [[call("flood")], "FINAL ANSWER: much"]
    model = make_model({"planner": recall(steps), "expert": replies})
    result = captain_with(model, with_tools(flood)).solve("How much?")
    told = model.asked("expert")[1].last
    assert len(told) < 8000 and "1994006 of 2000006 characters left out" in told
    (kept,) = (result.run_dir / "work").glob("*.txt")
    assert kept.name in told and "needle" in kept.read_text()
    assert (result.run_dir / "journal.jsonl").stat().st_size < 500_000


def test_sec_02_tools_stay_in_their_folder(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Any
) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    paths = ["../../etc/passwd", "docs/../../x", str(tmp_path / "secret.txt"), "/etc/passwd"]
    calls = [call("read_text_file", json.dumps({"path": path}), n) for n, path in enumerate(paths)]
    model = make_model({"planner": recall(steps), "expert": [calls, "FINAL ANSWER: nothing"]})
    settings = {"tools.enabled": True, "tools.modules": ["tools_library.files"], "tools.threshold": -1.0}
    captain_with(model, settings | {"tools.top_k": 9}).solve("What is in the file?")
    told = model.asked("expert")[1].last
    assert told.count("outside the workspace") == 4 and "root:" not in told and "the secret" not in told
