"""The Captain as people call it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import captain as package
from captain import Captain, ConfigError
from captain.config import CaptainConfig, ModelSpec
from captain.errors import ModelError

CaptainWith = Callable[..., Captain]


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def test_one_expert_answers_without_a_group_chat(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "Geographer"), "expert": ["FINAL ANSWER: Paris"]})
    result = captain_with(model, {"walk.review": "checks"}).solve("Which is the capital of France?")
    assert (result.answer, result.status, result.usage.calls) == ("Paris", "unverified", 2)


def test_an_empty_first_reply_of_a_lone_expert_is_asked_for_again(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"planner": recall(steps, "Geographer"), "expert": ["", "FINAL ANSWER: Paris"]})
    assert captain_with(model).solve("Which is the capital of France?").answer == "Paris"


def test_a_team_is_cast_once_for_what_asks_for_it_again(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "expert": "FINAL ANSWER: 4",
            "planner": recall(steps, "Stamp collector"),
            "writer": [steps.written("You know every stamp and its price by heart.")],
        }
    )
    captain = captain_with(model)
    captain.solve("What does this stamp cost?")
    captain.solve("And that one?")
    assert len(model.asked("writer")) == 1
    (cast,) = captain.teams.values()
    assert [seat.name for seat in cast.seats] == ["stamp_collector"]


def test_another_need_does_not_get_the_old_team(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plans = [recall(steps, "Historian"), recall(steps, "Biologist")]
    model = make_model({"expert": "FINAL ANSWER: known", "planner": plans})
    captain = captain_with(model)
    assert captain.solve("Tell me something.").subtasks[0].team == ["historian"]
    assert captain.solve("Tell me more.").subtasks[0].team == ["biologist"]
    assert len(captain.teams) == 2


def test_teams_can_be_edited_in_place(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    from dataclasses import replace

    model = make_model({"expert": "FINAL ANSWER: known", "planner": recall(steps, "Historian")})
    captain = captain_with(model)
    captain.solve("Tell me something.")
    ((need, cast),) = captain.teams.items()
    seat = replace(cast.seats[0], name="expert_of_mine", profile=captain.library.expert("biologist"))
    captain.teams[need] = replace(cast, seats=(seat,))
    result = captain.solve("Tell me something.")
    assert result.subtasks[0].team == ["expert_of_mine"]
    assert "You work as a Biologist does." in model.asked("expert_of_mine")[0].text


class Place(BaseModel):
    name: str
    inhabitants: int


@pytest.mark.parametrize(
    ("output_type", "reply", "value"),
    [
        (Place, '{"name": "Ulm", "inhabitants": 126000}', Place(name="Ulm", inhabitants=126000)),
        (list[int], "[2, 3, 5]", [2, 3, 5]),
        (int, 'Sure!\n```json\n{"value": 7}\n```', 7),
    ],
)
def test_the_answer_comes_in_the_type_that_is_asked_for(
    captain_with: CaptainWith, make_model: Any, steps: Any, output_type: Any, reply: str, value: Any
) -> None:
    model = make_model({"planner": recall(steps), "expert": "FINAL ANSWER: so and so", "composer": reply})
    result = captain_with(model).solve("Tell me.", output_type=output_type)
    assert result.output == value and type(result.output) is type(value)
    assert result.answer == "so and so" and json.dumps(result.to_dict())


def test_an_answer_that_does_not_fit_its_type_keeps_its_text(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"planner": recall(steps), "expert": "FINAL ANSWER: nobody knows", "composer": "nobody knows"})
    result = captain_with(model).solve("How many?", output_type=int)
    assert result.output is None and result.answer == "nobody knows"
    assert result.status == "unverified" and "type" in result.stop_reason


def test_task_and_files_reach_every_member_as_they_are(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("item,price\nbread,3\nmilk,2\n")
    task = "Sum the prices!  Keep {braces}, $dollars,\n\tand odd   spaces; TERMINATE nothing."
    parts = [steps.part(title, goal=f"for the {title}") for title in ("Mathematician", "Programmer")]
    program = "import csv\nprint('FINAL ANSWER:', sum(int(r['price']) for r in csv.DictReader(open('prices.csv'))))"
    model = make_model({"planner": steps.plan(*parts), "expert": steps.program(program), "composer": "5"})
    result = captain_with(model).solve(task, files=[table])
    assert result.answer == "5" and result.status == "solved"
    asks = model.asked("expert")
    assert {ask.member for ask in asks} == {"mathematician", "programmer"}
    for ask in asks:
        assert task in ask.text and "prices.csv" in ask.text and "'price' number" in ask.text
    assert (result.run_dir / "work" / "prices.csv").read_text() == table.read_text()


async def test_stream_tells_what_happens_and_ends_with_the_result(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    events = [event async for event in captain_with(model).stream("What is 6 times 7?")]
    kinds = [event.kind for event in events if event.kind != "model_call"]
    assert kinds == ["started", "planned", "cast", "message", "execution", "reviewed", "subtask_done", "finished"]
    assert sum(event.kind == "model_call" for event in events) == 3
    assert events[-1].result is not None and events[-1].result.answer == "42"
    assert [event.source for event in events if event.kind == "message"] == ["mathematician"]


async def test_a_stream_that_nobody_reads_on_stops_its_work(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": lambda ask: asyncio.sleep(3600, "never")})
    stream = captain_with(model).stream("What is 6 times 7?")
    folder = None
    async for event in stream:
        folder = folder or event.data.get("run_dir")
        if event.kind == "cast":
            break
    await stream.aclose()
    for _ in range(200):
        stored = json.loads((Path(str(folder)) / "result.json").read_text())
        if stored["status"] != "running":
            break
        await asyncio.sleep(0.01)
    assert (stored["status"], stored["stop_reason"], stored["answer"]) == ("stopped", "interrupted", "")


async def test_errors_come_out_of_a_stream(captain_with: CaptainWith, make_model: Any) -> None:
    model = make_model({"planner": [ModelError("the endpoint is gone")]})
    with pytest.raises(ModelError, match="the endpoint is gone"):
        async for _ in captain_with(model).stream("What is 6 times 7?"):
            pass


async def test_solve_works_where_a_loop_already_runs(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    threads = []

    def expert(ask: Any) -> str:
        threads.append(threading.current_thread())
        return "FINAL ANSWER: fine"

    model = make_model({"planner": recall(steps), "expert": expert})
    assert captain_with(model).solve("How is it?").answer == "fine"
    assert threads[0] is not threading.current_thread()


async def test_two_solves_at_once_share_nothing(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    both = asyncio.Event()
    here: set[str] = set()

    async def expert(ask: Any) -> str:
        name = "red" if "red" in ask.text else "blue"
        here.add(name)
        if len(here) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 20)
        return str(steps.program(f"open('mine.txt', 'x').write('{name}')\nprint('FINAL ANSWER:', '{name}')"))

    model = make_model({"expert": expert})
    captain = captain_with(model)
    red, blue = await asyncio.gather(
        captain.solve_async("calculate the red one"), captain.solve_async("calculate the other")
    )
    assert (red.answer, blue.answer) == ("red", "blue")
    assert red.run_dir != blue.run_dir and red.usage.calls == blue.usage.calls == 3
    for result, word in ((red, "red"), (blue, "blue")):
        assert (result.run_dir / "work" / "mine.txt").read_text() == word
        assert len(read_journal(result.run_dir, "finished")) == 1


def test_two_captains_keep_to_their_own_models(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    models = [make_model({"planner": recall(steps), "expert": f"FINAL ANSWER: {name}"}) for name in ("a", "b")]
    captains = [captain_with(model) for model in models]
    assert [captain.solve("Who are you?").answer for captain in captains] == ["a", "b"]
    assert captains[0].config.model != captains[1].config.model
    assert [len(model.asks) for model in models] == [3, 3]


def test_roles_may_use_models_of_their_own(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    planner = make_model({"planner": recall(steps)})
    others = make_model({"expert": "FINAL ANSWER: fine"})
    result = captain_with(others, {"roles.planner": {**planner.spec, "name": "strong"}}).solve("How is it?")
    assert result.answer == "fine"
    assert [ask.step for ask in planner.asks] == ["planner"]
    assert "planner" not in [ask.step for ask in others.asks]


@pytest.mark.parametrize("task", ["", " \n\t"])
def test_an_empty_task_is_refused_before_anything_is_made(captain_with: CaptainWith, tmp_path: Path, task: str) -> None:
    with pytest.raises(ConfigError, match="the task is empty"):
        captain_with([]).solve(task)
    assert not (tmp_path / "runs").exists()


def test_a_missing_file_is_named(captain_with: CaptainWith, make_model: Any) -> None:
    with pytest.raises(ConfigError, match="'/no/such.csv'"):
        captain_with(make_model({})).solve("Sum it.", files=["/no/such.csv"])


def test_a_finished_configuration_is_taken_as_it_is() -> None:
    config = CaptainConfig(model=ModelSpec(name="x", provider="scripted", script=[]))
    assert Captain(config).config is config


def test_the_configuration_of_a_captain_cannot_be_changed(captain_with: CaptainWith) -> None:
    config = captain_with([]).config
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 1  # type: ignore[misc]


def test_single_mode_is_one_assistant(captain_with: CaptainWith, steps: Any) -> None:
    script = [steps.program("print(6 * 7)"), "FINAL ANSWER: 42"]
    result = captain_with(script, {"team.mode": "single"}).solve("What is 6 times 7?")
    assert (result.answer, result.status, result.subtasks) == ("42", "unverified", [])


def test_a_tool_may_call_another_captain_in_the_same_tree(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    inner = captain_with(make_model({"planner": recall(steps), "expert": "FINAL ANSWER: inner"}))
    outer = captain_with(
        make_model({"planner": recall(steps), "expert": lambda ask: f"FINAL ANSWER: {inner.solve('Who?').answer}"})
    )
    result = outer.solve("Who is in there?")
    assert result.answer == "inner" and result.usage.calls == 6
    assert len(list(result.run_dir.parent.iterdir())) == 1


def test_the_package_solves_with_the_default_configuration(
    monkeypatch: pytest.MonkeyPatch, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    from captain.testing import serve

    monkeypatch.chdir(tmp_path)
    plan = recall(steps, "Geography expert")

    def handler(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if prompt.startswith("You plan"):
            return plan
        if prompt.startswith("You review"):
            return str(steps.verdict())
        return json.dumps({"choices": [1]}) if prompt.startswith("Choose") else "FINAL ANSWER: Paris"

    with serve(handler) as server:
        monkeypatch.setenv("CAPTAIN_BASE_URL", server.base_url)
        monkeypatch.setenv("CAPTAIN_MODEL", "some-model")
        config = Captain({"embedding": "hash"}).config
        monkeypatch.setattr("captain.compose.config_from", lambda settings: config)
        result = package.solve("Which is the capital of France?")
    assert result.answer == "Paris" and result.run_dir.parent == tmp_path / "runs"
