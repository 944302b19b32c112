"""Public bug reports about endpoints: context windows, refusals for load, keys, usage, and replies that are reused."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core.models import UserMessage

from captain import Captain, CaptainConfig, ModelError, ModelSpec
from captain.models import ModelCall, ModelRouter
from captain.testing import Fault, Reply, serve

CaptainWith = Callable[..., Captain]
HELLO = [UserMessage(content="hello", source="user")]
LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}, "required": []}}


def at(server: Any, **settings: Any) -> dict[str, Any]:
    return {"name": "t", "provider": "compatible", "model": "t", "base_url": server.base_url, **settings}


def answering(steps: Any, plan: str, members: Callable[[str], Any]) -> Callable[[dict[str, Any]], Any]:
    """A handler that plans, accepts, and leaves what members say to a function of the prompt."""

    def handler(body: dict[str, Any]) -> Any:
        text = "\n".join(str(message.get("content")) for message in body["messages"])
        if "You plan how a task is solved" in text:
            return plan
        return steps.verdict() if "You review the work" in text else members(text)

    return handler


def parts(steps: Any, count: int) -> str:
    titles = ["Historian", "Biologist", "Geographer", "Mathematician", "Programmer", "Independent checker"]
    return str(steps.plan(*[steps.part(title, method="recall", goal=f"part of {title}") for title in titles[:count]]))


def test_ctx_01_a_part_that_outgrows_the_window_fails_alone(captain_with: CaptainWith, steps: Any) -> None:
    refusal = json.dumps({"error": {"message": "context_length_exceeded: maximum context length is 10", "code": 400}})

    def member(text: str) -> Any:
        if "YOUR PART\npart of Biologist" not in text:
            time.sleep(0.05)
            return "FINAL ANSWER: known"
        return Fault("body", status=400, body=refusal)

    with serve(answering(steps, parts(steps, 3), member)) as server:
        result = captain_with(at(server)).solve("Tell three things.")
    assert [report.answer for report in result.subtasks] == ["known", "known"]
    assert result.missing == ["part of Biologist"] and result.status == "stopped"
    assert "window" in result.stop_reason and "known" in result.answer


def test_ctx_03_what_the_reply_needs_is_kept_free(captain_with: CaptainWith, steps: Any) -> None:
    window, reply, said = 2000, 300, iter(range(100))

    def member(text: str) -> Any:
        needed = len(text) / 3.2 + reply  # characters per token, as English and code have at least
        if needed > window:
            return Fault("body", status=400, body='{"error": {"message": "context_length_exceeded"}}')
        return f"{next(said)} " + "so much to say " * 60

    plan = steps.plan(steps.part("Historian", "Biologist", method="recall"))
    with serve(answering(steps, plan, member)) as server:
        spec = at(server, context_window=window, max_output_tokens=reply)
        settings = {"team.max_turns": 7, "walk.max_attempts": 1, "walk.review": "checks"}
        result = captain_with(spec, settings).solve("Where was it?")
    assert result.subtasks[0].stop_reason == "limit: 7 turns"


def test_rate_01_pauses_that_are_asked_for_are_kept(captain_with: CaptainWith, steps: Any) -> None:
    arrivals: list[float] = []
    turns = iter(range(100))

    def member(text: str) -> str:
        number = next(turns)
        return f"Thought {number}." if number < 5 else "FINAL ANSWER: 42"

    answer = answering(steps, steps.plan(steps.part("Historian", "Biologist", method="recall")), member)

    def handler(body: dict[str, Any]) -> Any:
        arrivals.append(time.perf_counter())
        return Fault("status", status=429, retry_after=0.2) if len(arrivals) % 4 == 0 else answer(body)

    with serve(handler) as server:
        result = captain_with(at(server)).solve("Which number?")
    refused = [number for number in range(len(arrivals)) if number % 4 == 3]
    assert result.answer == "42" and len(refused) >= 2
    assert all(arrivals[n + 1] - arrivals[n] >= 0.2 for n in refused) and result.usage.calls == len(arrivals) - len(
        refused
    )


def test_rate_01_no_more_requests_a_minute_than_are_allowed(
    captain_with: CaptainWith, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("captain.models.endpoint.MINUTE", 0.5)
    arrivals: list[float] = []
    answer = answering(steps, parts(steps, 4), lambda text: "FINAL ANSWER: known")

    def handler(body: dict[str, Any]) -> Any:
        arrivals.append(time.perf_counter())
        return answer(body)

    with serve(handler) as server:
        result = captain_with(at(server, requests_per_minute=3)).solve("Tell four things.")
    assert result.missing == [] and len(arrivals) == result.usage.calls == 10
    assert all(later - earlier > 0.4 for earlier, later in zip(arrivals, arrivals[3:], strict=False))


def test_rate_02_members_of_one_endpoint_do_not_storm_it(captain_with: CaptainWith, steps: Any) -> None:
    began: list[float] = []
    refused = 0

    def member(text: str) -> Any:
        nonlocal refused
        began.append(time.perf_counter())
        if began[-1] - began[0] < 0.8:
            refused += 1
            return Fault("status", status=429)
        return "FINAL ANSWER: known"

    with serve(answering(steps, parts(steps, 6), member)) as server:
        result = captain_with(at(server), {"team.max_subtasks": 6, "walk.max_parallel": 6}).solve("Tell six things.")
    assert len(result.subtasks) == 6 and result.missing == []
    assert refused <= 6 * 3  # each of the six waits longer each time, none asks at the rate of its refusals


def test_rate_03_a_wrong_key_is_told_at_once_and_never_shown(
    captain_with: CaptainWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key")
    body = json.dumps({"error": {"message": "Incorrect API key provided: sk-very-secret-key"}})
    with serve(lambda _: Fault("body", status=401, body=body)) as server:
        captain = captain_with(at(server, api_key_env="MY_KEY"))
        with pytest.raises(
            ModelError, match="not authorised; check the key in the environment variable MY_KEY"
        ) as caught:
            captain.solve("Which number?")
        assert len(server.requests) == 1 and "'t' at http://127.0.0.1" in str(caught.value)
    assert "sk-very-secret-key" not in str(caught.value)


def test_cost_01_usage_of_members_that_share_a_model_adds_up(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", "Geographer", method="recall"))
    counted = {"prompt_tokens": 10, "completion_tokens": 5}

    def member(ask: Any) -> Reply:
        return Reply(text="FINAL ANSWER: 42" if ask.member == "geographer" else f"I am {ask.member}.", **counted)

    model = make_model({"planner": Reply(text=plan, **counted), "expert": member, "reflector": []})
    captain = captain_with(model, {"walk.review": "checks"})
    for _ in range(2):
        result = captain.solve("Which number?")
        usage = result.usage
        assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (4, 40, 20)
        roles = usage.by_role
        assert {role: roles[role].calls for role in roles} == {"planner": 1, "expert": 3}
        assert sum(role.prompt_tokens + role.completion_tokens for role in roles.values()) == 60
        assert len(read_journal(result.run_dir, "model_call")) == 4


async def hash_of(spec: dict[str, Any] | None = None, **call: Any) -> str:
    """The identity under which a call is looked up before it is paid again."""
    calls: list[ModelCall] = []
    model = ModelSpec(name="m", provider="scripted", script=["one"], **(spec or {}))
    await ModelRouter(CaptainConfig(model=model), observer=calls.append).client("expert").create(HELLO, **call)
    return calls[0].request_hash


async def test_cache_01_a_reply_with_tools_is_none_without() -> None:
    choices = ["auto", "required", "none"]
    assert len({await hash_of(tools=[LOOK], tool_choice=choice) for choice in choices}) == 3


async def test_cache_02_a_reply_belongs_to_its_tools_and_instructions() -> None:
    other = {**LOOK, "name": "listen"}
    wider = {**LOOK, "parameters": {**LOOK["parameters"], "properties": {"at": {"type": "string"}}}}
    hashes = [await hash_of(tools=tools) for tools in ([], [LOOK], [other], [wider], [LOOK, other], [LOOK])]
    assert len(set(hashes)) == 5 and hashes[1] == hashes[5]


async def test_cache_03_a_reply_belongs_to_how_it_was_sampled() -> None:
    seeds = [{"temperature": 1.0, "seed": seed} for seed in (1, 2, 3)]
    others = [{"temperature": 0.5, "seed": 1}, {"temperature": 1.0, "seed": 1, "max_output_tokens": 5}]
    others.append({"temperature": 1.0, "seed": 1, "top_p": 0.5})
    hashes = [await hash_of(spec) for spec in [*seeds, *others]]
    assert len(set(hashes)) == 6 and await hash_of(seeds[0]) == hashes[0]


def test_cache_04_the_same_task_is_asked_again(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = steps.plan(steps.part("Historian", method="recall"))
    model = make_model({"planner": plan, "historian": ["FINAL ANSWER: one", "FINAL ANSWER: two"]})
    captain = captain_with(model)
    results = [captain.solve("Which number?") for _ in range(2)]
    assert [result.answer for result in results] == ["one", "two"]
    assert [result.usage.calls for result in results] == [3, 3]


def test_conc_04_one_captain_solves_again_in_another_event_loop(captain_with: CaptainWith, steps: Any) -> None:
    plan = steps.plan(steps.part("Historian", method="recall"))
    with serve(
        answering(steps, plan, lambda text: f"FINAL ANSWER: {'first' if 'first?' in text else 'second'}")
    ) as server:
        captain = captain_with(at(server))
        assert [captain.solve(f"The {which}?").answer for which in ("first", "second", "first")] == [
            "first",
            "second",
            "first",
        ]


def test_conc_02_threads_that_share_a_captain_get_their_own_answers(captain_with: CaptainWith, steps: Any) -> None:
    plan = steps.plan(steps.part("Historian", method="recall"))

    def member(text: str) -> str:
        return f"FINAL ANSWER: {text.split('echo <')[1].split('>')[0]}"

    answers: dict[int, Any] = {}
    with serve(answering(steps, plan, member)) as server:
        captain = captain_with(at(server))

        def work(number: int) -> None:
            answers[number] = captain.solve(f"echo <{number}>")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {number: result.answer for number, result in answers.items()} == {n: str(n) for n in range(8)}
    assert {result.usage.calls for result in answers.values()} == {3}
    assert len({result.run_dir for result in answers.values()}) == 8
