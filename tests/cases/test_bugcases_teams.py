"""Public bug reports about teams: who is seated, who speaks, and when a chat is over."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from autogen_core import FunctionCall

from captain import Captain, ConfigError, tool

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def experts(folder: Path, **titles: str) -> dict[str, Any]:
    """Settings under which a Captain has these experts, and asks a model whenever it may."""
    entries = [
        {"name": name, "title": title, "description": f"Works as a {title}.", "instructions": f"Be a {title}."}
        for name, title in titles.items()
    ]
    (folder / "own.yaml").write_text(yaml.safe_dump({"domain": "d", "profiles": entries}), encoding="utf-8")
    return {
        "library.profiles": [str(folder / "own.yaml")],
        "library.user_dir": str(folder / "user"),
        "library.threshold": -1.0,
        "library.margin": 9.0,
    }


@tool
def river_length(river: str) -> str:
    """Gives the length of a river.

    Args:
        river: Its name.
    """
    return f"{river}: 1233 km"


@pytest.mark.parametrize("second", ['{"number": 2}', "2", "geographer", "'Geographer'."])
def test_team_02_a_choice_of_speaker_that_names_two_is_asked_for_again(
    captain_with: CaptainWith, make_model: Any, steps: Any, second: str
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Historian", "Biologist", "Geographer"),
            "historian": ["@biologist and @geographer, who knows?"],
            "geographer": ["FINAL ANSWER: Gondor"],
            "biologist": [],
            "speaker": ["geographer should go, then biologist checks", second],
        }
    )
    assert captain_with(model).solve("Where is it?").answer == "Gondor"
    assert '"number"' in model.asked("speaker")[1].last


def test_team_02_a_choice_that_is_never_clear_is_told(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Historian", "Biologist", "Geographer"),
            "historian": ["@biologist and @geographer, who knows?"],
            "biologist": ["FINAL ANSWER: Gondor"],
            "speaker": "biologist, or geographer",
        }
    )
    result = captain_with(model).solve("Where is it?")
    (notice,) = read_journal(result.run_dir, "notice")
    assert "biologist" in notice["text"] and notice["subtask"] == "1" and len(model.asked("speaker")) == 2


@pytest.mark.parametrize(
    "title", ["data analyst\n", "'Data Analyst'", " DATA  ANALYST ", "data_analyst", '"Data-Analyst".']
)
def test_team_03_an_expert_is_found_however_its_title_is_spelt(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path, title: str
) -> None:
    settings = experts(tmp_path, data_analyst="Data Analyst", cook="Cook", clerk="Data clerk")
    model = make_model({"planner": recall(steps, title), "expert": "FINAL ANSWER: 3", "selector": [], "writer": []})
    assert captain_with(model, settings).solve("What is known?").subtasks[0].team == ["data_analyst"]


def test_team_03_a_role_that_nobody_has_ends_in_one_question(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    written = steps.written("You know each stamp.")
    model = make_model({"planner": recall(steps, "Philatelist"), "expert": "FINAL ANSWER: 3", "writer": [written]})
    assert captain_with(model).solve("What does it cost?").subtasks[0].team == ["philatelist"]


def test_team_04_names_fit_every_endpoint_and_titles_stay(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    titles = [" Content Generator", "C++ Dev", "Données/Analyst"]
    model = make_model(
        {
            "planner": recall(steps, *titles),
            "expert": lambda ask: f"I am {ask.member}." if "données" not in ask.member else "FINAL ANSWER: 3",
            "writer": steps.written(*[f"You do the work of number {n} well." for n in range(3)]),
        }
    )
    result = captain_with(model, {"walk.max_attempts": 1}).solve("What is it?")
    team = result.subtasks[0].team
    assert len(set(team)) == 3 and all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) for name in team)
    heads = {ask.member: ask.text for ask in model.asked("expert")}
    assert all(f"You are {name} ({title.strip()})" in heads[name] for name, title in zip(team, titles, strict=True))


@pytest.mark.parametrize("name", ["专家", "✈️agent"])
def test_team_05_a_name_that_no_endpoint_takes_is_refused_when_the_library_is_read(
    captain_with: CaptainWith, make_model: Any, tmp_path: Path, name: str
) -> None:
    settings = experts(tmp_path, cook="Cook", **{name: "Expert"})
    with pytest.raises(ConfigError, match=rf"own\.yaml:\d+: profile '{name}.*must be 1 to 64 ASCII"):
        captain_with(make_model({"planner": []}), settings).solve("What is it?")


def test_tool_07_nobody_hands_the_word_to_itself_without_end(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    turns = iter(range(100))
    model = make_model(
        {
            "planner": recall(steps, "Historian", "Biologist"),
            "historian": lambda ask: f"@historian, please go on ({next(turns)}).",
            "biologist": ["FINAL ANSWER: a whale"],
            "speaker": [],
        }
    )
    result = captain_with(model).solve("What is it?")
    assert result.answer == "a whale" and len(model.asked("historian")) == 1


def test_team_13_a_model_given_in_memory_serves_every_role(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = make_model(
        {
            "planner": recall(steps, "Philatelist", "Knower of dates and events of the past"),
            "writer": [steps.written("You know each stamp.")],
            "philatelist": ["And you, @historian?"],
            "historian": ["FINAL ANSWER: 1840"],
        }
    )
    settings = {"library.margin": 9.0, "walk.review": "always"}
    assert captain_with(model, settings).solve("When was it?").answer == "1840"
    assert {ask.step for ask in model.asks} == {"planner", "writer", "selector", "expert", "reflector"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the file is empty"),
        (None, "does not exist"),
        ('{"name": "cook", "title": "Cook"}', r":1: .*unknown key 'name'"),
        ('[{"name": "cook"}]', r":1: expected the keys 'domain' and 'profiles'"),
        ('{"domain": "d", "profiles": [{"name": "a"}, 3]}', r":1: a profile must be a mapping of fields, not 3"),
    ],
)
def test_team_14_what_is_wrong_with_a_library_is_named_with_its_path(
    captain_with: CaptainWith, make_model: Any, tmp_path: Path, content: str | None, complaint: str
) -> None:
    path = tmp_path / "experts.yaml"
    if content is not None:
        path.write_text(content)
    captain = captain_with(make_model({"planner": []}), {"library.profiles": [str(path)]})
    with pytest.raises(ConfigError, match=complaint) as caught:
        captain.solve("What is it?")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ['[{"name": "cook"}]', '{"domain": "d", "profiles": []}'])
def test_team_14_a_library_is_a_place_and_no_text(captain_with: CaptainWith, make_model: Any, text: str) -> None:
    captain = captain_with(make_model({"planner": []}), {"library.profiles": [text]})
    with pytest.raises(ConfigError, match="is neither a package nor a folder or file"):
        captain.solve("What is it?")


def test_limit_01_a_chat_that_ends_at_its_limit_keeps_what_tools_gave(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, read_journal: Any
) -> None:
    rivers = iter(["Rhine", "Elbe", "Oder"])

    def expert(ask: Any) -> Any:
        return [FunctionCall(id="1", name="river_length", arguments=f'{{"river": "{next(rivers)}"}}')]

    model = make_model({"planner": recall(steps, "Geographer", "Historian"), "expert": expert})
    settings = {**with_tools(river_length), "team.max_turns": 2, "team.max_tool_rounds": 1, "walk.max_attempts": 1}
    result = captain_with(model, settings | {"walk.review": "checks"}).solve("How long is it?")
    assert result.subtasks[0].stop_reason == "limit: 2 turns" and result.usage.calls == len(model.asks) == 3
    assert "Elbe: 1233 km" in result.answer
    told = [entry["result"] for entry in read_journal(result.run_dir, "tool_call") if "result" in entry]
    assert told == ["Rhine: 1233 km", "Elbe: 1233 km"]


@pytest.mark.parametrize("quotes", ['"""', "'''"])
@pytest.mark.parametrize(
    "form", ["FINAL ANSWER: {0}first\nsecond\nthird{0}", "FINAL ANSWER:\n{0}\nfirst\nsecond\nthird\n{0}"]
)
def test_limit_03_a_final_answer_of_several_lines_is_one(
    captain_with: CaptainWith, make_model: Any, steps: Any, form: str, quotes: str
) -> None:
    model = make_model({"planner": recall(steps), "expert": [f"I am done.\n{form.format(quotes)}\nBye."]})
    assert captain_with(model).solve("Which lines?").answer == "first\nsecond\nthird"


TEXT = 'Explain {"a": 1} and {x} and \\frac{1}{2} and ${y} and $z and %s and {0}'


@tool
def braces(text: str) -> str:
    """Gives {the same} and ${more} back.

    Args:
        text: Any {text}.
    """
    return f"{text} {{0}} ${{later}}"


def test_cfg_11_braces_and_dollars_pass_as_they_are(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, tmp_path: Path
) -> None:
    said = f"{TEXT} said"

    def historian(ask: Any) -> Any:
        if "FunctionExecutionResultMessage" in ask.forms:
            return said
        return [FunctionCall(id="1", name="braces", arguments='{"text": "{0} and {1}"}')]

    model = make_model(
        {
            "planner": recall(steps, "Historian {x} $x", "Biologist"),
            "historian_x_x": historian,
            "biologist": [f"FINAL ANSWER: {TEXT}"],
            "composer": '{"n": "${y}"}',
        }
    )
    settings = experts(tmp_path, historian_x_x="Historian {x} $x", biologist="Biologist")
    result = captain_with(model, settings | with_tools(braces)).solve(TEXT, output_type=dict[str, str])
    assert result.answer == TEXT and result.output == {"n": "${y}"}
    assert all(
        TEXT in ask.text for step in ("planner", "historian_x_x", "biologist", "composer") for ask in model.asked(step)
    )
    assert (
        said in model.asked("biologist")[0].text and "{0} and {1} {0} ${later}" in model.asked("historian_x_x")[1].text
    )


def test_hitl_01_nothing_asks_a_person(
    captain_with: CaptainWith, make_model: Any, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> str:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("builtins.input", asked)
    monkeypatch.setattr(sys, "stdin", None)
    inner = captain_with({"planner": recall(steps, "Historian"), "expert": "FINAL ANSWER: 1789"})
    model = make_model(
        {
            "planner": steps.plan(steps.part("Philatelist", "Chronicler", method="recall")),
            "writer": [steps.written("You know each stamp.")],
            "philatelist": ["@chronicler, when was it?"],
        }
    )
    outer = captain_with(model, members=[inner.as_agent("chronicler", "Chronicler of old times.")])
    assert "1789" in outer.solve("When was it?").answer
