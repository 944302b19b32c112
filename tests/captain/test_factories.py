"""Experts that a function makes: their parameters, their place in a team, and what goes wrong."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import UserMessage

from captain import Captain, ConfigError
from captain.library.factories import SeatContext
from captain.testing import FunctionModel, ScriptedModel

CaptainWith = Callable[..., Captain]
MODULE = "seat_makers"
SHOPPER = {
    "name": "shopper",
    "title": "Shopper",
    "description": "Stands for one user of the shop.",
    "kind": "factory",
    "factory": f"{MODULE}.made:make",
    "parameters": {
        "user": {"type": "integer", "description": "The number of the user."},
        "tone": {"type": "string", "description": "How it talks.", "enum": ["short", "long"], "default": "short"},
        "note": {"type": "string", "description": "Something else.", "required": False},
    },
}


def recall(steps: Any, *titles: str, goal: str = "the whole") -> str:
    return str(steps.plan(steps.part(*(titles or ("Shopper",)), method="recall", goal=goal)))


class Maker:
    """The factory of the tests: a module whose function says what a test wants."""

    def __init__(self) -> None:
        self.contexts: list[SeatContext] = []
        self.values: list[dict[str, Any]] = []
        self.makes: Callable[[SeatContext, dict[str, Any]], Any] = lambda context, values: AssistantAgent(
            context.name, ScriptedModel([f"FINAL ANSWER: user {values.get('user')}"])
        )

    def __call__(self, context: SeatContext, **values: Any) -> Any:
        self.contexts.append(context)
        self.values.append(values)
        return self.makes(context, values)


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    made = Maker()

    def make(context: SeatContext, **values: Any) -> Any:
        return made(context, **values)

    make.__module__ = f"{MODULE}.made"
    package, module = types.ModuleType(MODULE), types.ModuleType(f"{MODULE}.made")
    package.__dict__["__path__"] = []
    module.__dict__.update(make=make, run=__import__("subprocess").run)
    monkeypatch.setitem(sys.modules, MODULE, package)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """Gives `source(profile, ...)`: a folder with members, as a trained run is."""

    def write(*profiles: dict[str, Any], name: str = "trained") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "members.yaml").write_text(yaml.safe_dump({"domain": "shop", "profiles": list(profiles)}))
        return folder

    return write


@pytest.fixture
def solve(
    captain_with: CaptainWith, make_model: Any, steps: Any, source: Any, tmp_path: Path, maker: Maker
) -> Callable[..., Any]:
    """Gives `solve({step: answer}, settings, profiles=...)`: the result and the model."""

    def run(
        answers: dict[str, Any], settings: dict[str, Any] | None = None, *, profiles: Any = (SHOPPER,), task: str = ""
    ) -> Any:
        model = make_model({"planner": recall(steps), **answers})
        own = {
            "library.sources": [str(source(*profiles))],
            "library.factories": [MODULE],
            "library.user_dir": str(tmp_path / "user"),
        }
        captain = captain_with(model, {**own, **(settings or {})})
        return captain.solve(task or "What would user 2867 put first?"), model

    return run


def test_an_expert_is_made_with_what_the_task_says(solve: Any, maker: Maker, tmp_path: Path, read_journal: Any) -> None:
    (tmp_path / "data.txt").write_text("tastes")
    result, model = solve({"filler": ['{"user": "2867", "tone": null, "note": null}']})
    assert result.answer == "user 2867" and result.subtasks[0].team == ["shopper"]
    assert maker.values == [{"user": 2867, "tone": "short"}]
    (context,) = maker.contexts
    assert context.task == "What would user 2867 put first?" and context.profile.name == "shopper"
    assert context.source == (tmp_path / "trained").resolve() and context.workspace == result.run_dir / "work"
    assert context.profile.origin == "user" and context.library.expert("shopper") == context.profile
    (ask,) = model.asked("filler")
    assert "user (integer): The number of the user." in ask.text and "one of 'short', 'long'" in ask.text
    assert model.asked("expert") == []
    (record,) = read_journal(result.run_dir, "cast")
    assert record["chosen"] == "shopper"


def test_bindings_spare_the_question(solve: Any, maker: Maker) -> None:
    bindings = {"library.bindings": {"shopper": {"user": 5, "tone": "long", "note": "n"}}}
    result, model = solve({"filler": []}, bindings)
    assert result.answer == "user 5" and maker.values == [{"user": 5, "tone": "long", "note": "n"}]


def test_only_what_no_binding_gives_is_asked(solve: Any, maker: Maker) -> None:
    _, model = solve({"filler": ['{"tone": "LONG", "note": null}']}, {"library.bindings.shopper.user": 5})
    assert "The number of the user." not in model.asked("filler")[0].text
    assert maker.values == [{"user": 5, "tone": "long"}]


@pytest.mark.parametrize(
    ("filled", "why"),
    [
        ('{"user": null, "tone": null, "note": null}', "the task gives no value for its parameter 'user'"),
        ('{"user": 1, "tone": "loud", "note": null}', "parameter 'tone' must be one of 'short', 'long', not 'loud'"),
        ("no idea", "the task gives no value for its parameter 'user'"),
    ],
)
def test_without_fitting_values_the_role_is_cast_otherwise(
    solve: Any, maker: Maker, steps: Any, read_journal: Any, filled: str, why: str
) -> None:
    answers = {"filler": filled, "writer": steps.written("You shop."), "expert": "FINAL ANSWER: 7"}
    result, _ = solve(answers)
    assert maker.values == [] and result.answer == "7" and result.subtasks[0].team == ["shopper_2"]
    (record,) = read_journal(result.run_dir, "cast")
    assert record["chosen"] == "shopper_2" and f"shopper was not seated: {why}" in record["reason"]


def explode(context: SeatContext, values: dict[str, Any]) -> Any:
    raise KeyError(values["user"])


def namesake(context: SeatContext, values: dict[str, Any]) -> Any:
    return AssistantAgent("executor", ScriptedModel([]))


@pytest.mark.parametrize(
    ("makes", "why"),
    [
        (explode, "its factory failed: KeyError: 5"),
        (lambda context, values: "an agent", "a member is an AutoGen agent or team, not 'str'"),
        (namesake, "the member name 'executor' is taken"),
    ],
)
def test_a_factory_that_fails_costs_its_seat_not_the_run(
    solve: Any, maker: Maker, steps: Any, read_journal: Any, makes: Any, why: str
) -> None:
    maker.makes = makes
    answers = {"writer": steps.written("You shop."), "expert": "FINAL ANSWER: 7", "filler": "{}"}
    result, _ = solve(answers, {"library.bindings": {"shopper": {"user": 5}}})
    assert result.answer == "7"
    (record,) = read_journal(result.run_dir, "cast")
    assert why in record["reason"]


def test_a_factory_may_be_async_and_give_a_team(solve: Any, maker: Maker) -> None:
    async def team(context: SeatContext) -> Any:
        inner = AssistantAgent("inner", ScriptedModel(["FINAL ANSWER: from a team"]))
        return RoundRobinGroupChat([inner], name="crowd", description="Many.", max_turns=1)

    maker.makes = lambda context, values: team(context)
    result, _ = solve({"filler": '{"user": 1}'})
    assert result.answer == "from a team" and result.subtasks[0].team == ["crowd"]


def test_its_model_calls_belong_to_the_run(solve: Any, maker: Maker) -> None:
    maker.makes = lambda context, values: AssistantAgent(context.name, context.client("expert"))
    result, model = solve({"filler": '{"user": 1}', "expert": "FINAL ANSWER: counted"})
    assert result.answer == "counted" and result.usage.calls == len(model.asks)


def test_a_limit_inside_a_factory_or_its_agent_stops_the_run(solve: Any, maker: Maker) -> None:
    async def asks(context: SeatContext) -> Any:
        for _ in range(9):
            await context.client("expert").create([UserMessage(content="Hello", source="user")])

    maker.makes = lambda context, values: asks(context)
    result, _ = solve({"filler": '{"user": 1}', "expert": "Hi"}, {"limits.calls": 4})
    assert result.status == "stopped" and "4 calls" in result.stop_reason


def test_an_agent_that_raises_in_its_turn_is_named(solve: Any, maker: Maker, steps: Any) -> None:
    def raises(messages: Any) -> str:
        raise ValueError("no taste")

    maker.makes = lambda context, values: AssistantAgent(context.name, FunctionModel(raises))
    plan = steps.plan(
        steps.part("Historian", method="recall", goal="first"), steps.part("Shopper", method="recall", goal="second")
    )
    answers = {"planner": plan, "filler": '{"user": 1}', "expert": "FINAL ANSWER: before"}
    result, _ = solve(answers)
    assert result.status == "stopped" and "the member 'shopper' failed: ValueError: no taste" in result.stop_reason
    assert "before" in result.answer


def test_each_task_and_part_gets_an_expert_of_its_own(
    captain_with: CaptainWith, make_model: Any, steps: Any, source: Any, maker: Maker, tmp_path: Path
) -> None:
    def filled(ask: Any) -> str:
        return json.dumps({"user": 17 if "user 17" in ask.text.split("Task:")[1] else 2867})

    model = make_model({"planner": recall(steps), "filler": filled, "selector": []})
    own = {"library.sources": [str(source(SHOPPER))], "library.factories": [MODULE]}
    captain = captain_with(model, {**own, "library.user_dir": str(tmp_path / "user")})
    answers = [captain.solve(f"What would user {user} say?").answer for user in (2867, 17)]
    assert answers == ["user 2867", "user 17"]
    (cast,) = captain.teams.values()
    assert [seat.agent for seat in cast.seats] == [None]


def test_two_made_experts_talk_in_one_team(solve: Any, maker: Maker, steps: Any) -> None:
    item = {**SHOPPER, "name": "album", "title": "Album", "description": "Stands for one album.", "parameters": {}}
    said = {"shopper": "album, what are you about?", "album": "FINAL ANSWER: jazz"}
    maker.makes = lambda context, values: AssistantAgent(context.name, ScriptedModel([said[context.name]]))
    answers = {"planner": recall(steps, "Shopper", "Album"), "filler": '{"user": 1}'}
    result, _ = solve(answers, profiles=(SHOPPER, item))
    assert result.answer == "jazz" and result.subtasks[0].team == ["shopper", "album"]


def test_when_two_factories_fail_no_third_is_tried(solve: Any, maker: Maker, steps: Any, read_journal: Any) -> None:
    profiles = [{**SHOPPER, "name": f"shopper_{n}", "parameters": {}} for n in range(6)]
    maker.makes = lambda context, values: 1 / 0
    answers = {"writer": steps.written("You shop."), "expert": "FINAL ANSWER: 7"}
    result, _ = solve(answers, profiles=profiles)
    assert result.answer == "7" and len(maker.values) == 2
    assert read_journal(result.run_dir, "cast")[0]["reason"].count("ZeroDivisionError") == 2


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        ("os:system", "'os:system' is in no module that is allowed; add its package to library.factories"),
        (f"{MODULE}_evil:make", "is in no module that is allowed"),
    ],
)
def test_a_function_outside_of_the_allowed_modules_is_refused(
    captain_with: CaptainWith, make_model: Any, source: Any, factory: str, complaint: str
) -> None:
    folder = source({**SHOPPER, "factory": factory})
    settings = {"library.sources": [str(folder)], "library.factories": [MODULE]}
    with pytest.raises(ConfigError, match=complaint) as caught:
        captain_with(make_model({}), settings).solve("Do something.")
    assert "members.yaml:3: profile 'shopper'" in str(caught.value)


@pytest.mark.parametrize(
    ("factory", "why"),
    [
        (f"{MODULE}.made:run", "is in no module that is allowed"),  # imported there, nobody has allowed it
        (f"{MODULE}.made:mak", "has no function 'mak'; did you mean 'make'?"),
        (f"{MODULE}.lost:make", "cannot be imported"),
    ],
)
def test_a_function_that_is_not_there_costs_the_seat(
    solve: Any, steps: Any, read_journal: Any, factory: str, why: str
) -> None:
    answers = {"writer": steps.written("You shop."), "expert": "FINAL ANSWER: 7"}
    result, _ = solve(answers, profiles=[{**SHOPPER, "factory": factory, "parameters": {}}])
    assert result.answer == "7" and why in read_journal(result.run_dir, "cast")[0]["reason"]


@pytest.mark.parametrize(
    ("bindings", "complaint"),
    [
        ({"shoper": {"user": 1}}, "no factory expert 'shoper'; did you mean 'shopper'"),
        ({"shopper": {"usr": 1}}, "has no parameter 'usr'; did you mean 'user'"),
        ({"shopper": {"user": "me"}}, "library.bindings.shopper.user: parameter 'user' must be a whole number"),
        ({"shopper": {"user": True}}, "must be integer, not True"),
    ],
)
def test_wrong_bindings_are_named_before_the_first_call(solve: Any, bindings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        solve({"planner": []}, {"library.bindings": bindings})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"factory": None}, "names a function as package.module:function"),
        ({"kind": "assistant", "instructions": "Shop."}, "names a function as package.module:function"),
        ({"factory": "no colon"}, "field 'factory' is 'no colon'"),
        ({"parameters": {"context": {"type": "string", "description": "d"}}}, "'context' cannot be the name"),
        ({"parameters": {"user": {"type": "text", "description": "d"}}}, "'integer', 'number'"),
        ({"parameters": {"user": {"type": "integer", "description": "d", "default": "x"}}}, "'x' is no integer"),
        (
            {"parameters": {"t": {"type": "string", "description": "d", "enum": ["a"], "default": "b"}}},
            "the default 'b' is not among",
        ),
    ],
)
def test_wrong_profiles_are_named(
    captain_with: CaptainWith, make_model: Any, source: Any, change: dict[str, Any], complaint: str
) -> None:
    folder = source({**SHOPPER, **change})
    with pytest.raises(ConfigError, match=complaint) as caught:
        captain_with(make_model({}), {"library.sources": [str(folder)], "library.factories": [MODULE]}).solve("Do it.")
    assert "members.yaml:" in str(caught.value)


def test_a_source_is_a_folder_with_members(captain_with: CaptainWith, make_model: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="library.sources: the folder .* does not exist"):
        captain_with(make_model({}), {"library.sources": [str(tmp_path / "nowhere")]}).solve("Do it.")
    with pytest.raises(ConfigError, match="has no members; expected members.yaml or profiles"):
        captain_with(make_model({}), {"library.sources": [str(tmp_path)]}).solve("Do it.")


def test_a_source_may_hold_many_files_and_ordinary_experts(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    profiles = tmp_path / "run" / "profiles"
    profiles.mkdir(parents=True)
    for name in ("miller", "baker"):
        expert = {"name": name, "title": name.title(), "description": f"Works as a {name}.", "instructions": "Work."}
        entries = {"domain": "trades", "profiles": [{**expert, "origin": "packaged"}]}
        (profiles / f"{name}.yaml").write_text(yaml.safe_dump(entries))
    model = make_model({"planner": recall(steps, "Baker"), "expert": "FINAL ANSWER: bread"})
    captain = captain_with(model, {"library.sources": [str(tmp_path / "run")]})
    result = captain.solve("What is it?")
    assert result.subtasks[0].team == ["baker"]
    baker = captain.library.expert("baker")
    assert baker.origin == "user" and baker.source == str((tmp_path / "run").resolve())


def test_a_name_that_the_library_has_is_refused(
    captain_with: CaptainWith, make_model: Any, source: Any, tmp_path: Path
) -> None:
    folder = source({**SHOPPER, "name": "historian"})
    settings = {"library.sources": [str(folder)], "library.factories": [MODULE]}
    with pytest.raises(ConfigError, match="the name 'historian' is taken by the profile at .*experts.yaml"):
        captain_with(make_model({}), settings).solve("Do it.")


def test_a_replay_makes_the_same_expert_without_a_model(solve: Any, maker: Maker) -> None:
    maker.makes = lambda context, values: AssistantAgent(context.name, context.client("expert"))
    result, model = solve({"filler": '{"user": 2867}', "expert": "FINAL ANSWER: jazz"})
    asked = len(model.asks)
    again = Captain.replay(result.run_dir)
    assert again.answer == "jazz" and len(model.asks) == asked
    assert maker.values[0] == maker.values[1] and maker.contexts[0].source == maker.contexts[1].source
