"""Which expert takes which role."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from captain import Captain

CaptainWith = Callable[..., Captain]
WRITTEN = "You look at each stamp twice before you name its price."


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


def library(folder: Path, *experts: dict[str, Any]) -> str:
    folder.mkdir()
    entries = [{"description": f"Expert {e['name']}.", "instructions": f"Be {e['name']}.", **e} for e in experts]
    (folder / "experts.yaml").write_text(yaml.safe_dump({"domain": "d", "profiles": entries}))
    return str(folder)


def test_a_title_that_the_library_has_needs_no_model(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": recall(steps, "historian"), "expert": "FINAL ANSWER: yes", "selector": []})
    result = captain_with(model).solve("Was it so?")
    assert result.subtasks[0].team == ["historian"]
    assert "You work as a Historian does." in model.asked("historian")[0].text


def test_the_choice_is_put_by_number_once_for_the_whole_team(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    experts = ["Knower of dates and events of the past", "Knower of animals and plants and cells"]
    model = make_model(
        {"planner": recall(steps, *experts), "expert": "FINAL ANSWER: yes", "selector": ['{"choices": [2, 2]}']}
    )
    settings = {"library.margin": 5.0, "library.threshold": -1.0}
    result = captain_with(model, settings).solve("Was it so?")
    records = read_journal(result.run_dir, "cast")
    assert [record["reason"] for record in records] == ["chosen by a model"] * 2
    assert all(record["chosen"] == record["candidates"][1]["name"] for record in records)
    assert result.subtasks[0].team == [record["chosen"] for record in records]
    assert "\n  1. " in model.asked("selector")[0].text


def test_missing_roles_are_written_in_one_call_and_kept(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    writer = [steps.written(WRITTEN, "You bind old books so that they last for ever.")]
    model = make_model(
        {
            "planner": recall(steps, "Philatelist", "Bookbinder"),
            "philatelist": ["Ask the binder."],
            "bookbinder": ["FINAL ANSWER: glue"],
            "writer": writer,
        }
    )
    settings = {"library.keep_written": True, "library.user_dir": str(tmp_path / "user")}
    captain = captain_with(model, settings)
    result = captain.solve("What holds it together?")
    assert result.subtasks[0].team == ["philatelist", "bookbinder"] and len(model.asked("writer")) == 1
    assert WRITTEN in model.asked("philatelist")[0].text
    kept = [profile for profile in captain.library.experts() if profile.origin == "written"]
    assert {profile.title for profile in kept} == {"Philatelist", "Bookbinder"}

    later = make_model({"planner": recall(steps, "Philatelist"), "expert": "FINAL ANSWER: 3", "writer": []})
    again = captain_with(later, settings).solve("What does it cost?")
    assert again.subtasks[0].team == ["philatelist"] and WRITTEN in later.asked("philatelist")[0].text


def test_what_is_written_is_not_kept_unless_wanted(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    model = make_model(
        {"planner": recall(steps, "Philatelist"), "expert": "FINAL ANSWER: 3", "writer": [steps.written(WRITTEN)]}
    )
    captain = captain_with(model, {"library.user_dir": str(tmp_path / "user")})
    captain.solve("What does it cost?")
    assert not list((tmp_path / "user").glob("experts/*"))


def test_a_writer_that_writes_nothing_leaves_the_role_itself(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    model = make_model({"planner": recall(steps, "Philatelist"), "expert": "FINAL ANSWER: 3", "writer": "I refuse."})
    result = captain_with(model).solve("What does it cost?")
    assert result.subtasks[0].team == ["philatelist"]
    assert "does the work of a Philatelist" in model.asked("philatelist")[0].text
    assert "nothing was written" in read_journal(result.run_dir, "cast")[0]["reason"]


@pytest.mark.parametrize("title", ["Süß & Söhne – Experten!", "99 problems", "executor", "User", "數學家", "x" * 60])
def test_names_of_written_experts_are_valid_everywhere(
    captain_with: CaptainWith, make_model: Any, steps: Any, title: str
) -> None:
    plan = steps.plan(steps.part(title, "Historian"))
    programs = [steps.program("print(1)"), steps.program("print('FINAL ANSWER:', 6 * 7)")]
    model = make_model({"planner": plan, "expert": programs, "writer": [steps.written(WRITTEN)]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.answer == "42"
    first = result.subtasks[0].team[0]
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", first) and first not in ("executor", "user")


def test_two_roles_of_one_name_are_two_members(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Stamp-expert", "Stamp expert"),
            "stamp_expert": ["I ask my colleague."],
            "stamp_expert_2": ["FINAL ANSWER: 3"],
            "writer": [steps.written(WRITTEN, "You know all there is about it.")],
        }
    )
    result = captain_with(model).solve("What does it cost?")
    assert result.subtasks[0].team == ["stamp_expert", "stamp_expert_2"] and result.answer == "3"


def test_without_a_library_every_role_is_written(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {"planner": recall(steps, "Historian"), "expert": "FINAL ANSWER: 3", "writer": [steps.written(WRITTEN)]}
    )
    result = captain_with(model, {"library.enabled": False}).solve("When was it?")
    assert result.subtasks[0].team == ["historian"] and WRITTEN in model.asked("historian")[0].text


async def test_parts_that_ask_for_one_team_at_once_pay_for_one_cast(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    async def writer(ask: Any) -> str:
        await asyncio.sleep(0.02)
        return str(steps.written(WRITTEN))

    parts = [steps.part("Philatelist", method="recall", goal=f"stamp {n}") for n in range(3)]
    model = make_model({"planner": steps.plan(*parts), "expert": "FINAL ANSWER: 3", "writer": writer, "composer": "9"})
    result = await captain_with(model).solve_async("What do they cost?")
    assert len(model.asked("writer")) == 1
    assert {tuple(report.team) for report in result.subtasks} == {("philatelist",)}


def test_members_get_their_own_tools_and_those_that_fit(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path, read_journal: Any
) -> None:
    source = library(
        tmp_path / "experts",
        {"name": "dater", "title": "Dater", "tools": ["days_between_dates"]},
        {"name": "factorer", "title": "Factorer", "tools": ["prime_factors"]},
    )
    model = make_model(
        {"planner": recall(steps, "Dater", "Factorer"), "dater": ["And you?"], "factorer": ["FINAL ANSWER: 3"]}
    )
    settings = {
        "library.profiles": [source],
        "library.user_dir": str(tmp_path / "user"),
        "tools.enabled": True,
        "tools.modules": ["tools_library"],
        "tools.threshold": 0.99,
    }
    captain = captain_with(model, settings)
    result = captain.solve("Which is it?")
    assert [ask.tools for ask in model.asked("expert")] == [("days_between_dates",), ("prime_factors",)]
    assert [record["tools"] for record in read_journal(result.run_dir, "cast")] == [
        ["days_between_dates"],
        ["prime_factors"],
    ]


def test_a_small_model_is_not_asked_to_choose(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = '{"method": "recall", "expert": {"title": "Knower of the past", "does": "knows events, dates and people"}}'
    model = make_model({"planner": plan, "expert": "FINAL ANSWER: 3", "selector": []})
    result = captain_with({**model.spec, "strength": "small"}, {"library.margin": 5.0}).solve("When was that?")
    assert result.subtasks[0].team == ["historian"]


def test_a_profile_may_name_the_model_that_speaks_for_it(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Path
) -> None:
    source = library(tmp_path / "experts", {"name": "thinker", "title": "Thinker", "role": "reflector"})
    strong = make_model({"expert": "FINAL ANSWER: deep"})
    model = make_model({"planner": recall(steps, "Thinker")})
    settings = {
        "library.profiles": [source],
        "library.user_dir": str(tmp_path / "user"),
        "roles.reflector": {**strong.spec, "name": "strong"},
    }
    assert captain_with(model, settings).solve("What do you think?").answer == "deep"
    assert [ask.member for ask in strong.asked("expert")] == ["thinker"]
