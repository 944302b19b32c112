"""The walk of a task from its plan to its result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from captain import Captain
from captain.errors import ModelError
from captain.events import EventKind

CaptainWith = Callable[..., Captain]


def test_a_task_is_planned_cast_talked_over_reviewed_and_accepted(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert (result.answer, result.status) == ("42", "solved")
    assert [report.team for report in result.subtasks] == [["mathematician"]]
    assert [report.verdict for report in result.subtasks] == ["accept"]
    proof = result.evidence[0]
    assert (proof.claim, proof.kind, proof.quote) == ("42", "execution", "FINAL ANSWER: 42")
    assert [ask.step for ask in model.asks] == ["planner", "expert", "reflector"]
    assert result.usage.calls == 3 and set(result.usage.by_role) == {"planner", "expert", "reflector"}


def test_a_refused_answer_goes_back_to_the_same_team_with_the_issues_named(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model(
        {
            "expert": ["FINAL ANSWER: 41", "FINAL ANSWER: 41, but exactly", "FINAL ANSWER: 41, but exactly"],
            "planner": steps.plan(steps.part(method="recall")),
            "reflector": [steps.verdict("retry", issues=["It counts one too few."]), steps.verdict()],
        }
    )
    result = captain_with(model).solve("Name the number of the house.")
    report = result.subtasks[0]
    assert (report.attempts, report.verdict) == (2, "accept")
    first, second, *_ = model.asked("expert")
    assert "It counts one too few." in second.last and "It counts one too few." not in first.text
    assert first.member == second.member


def test_recast_seats_somebody_else(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "planner": steps.plan(steps.part("Historian", method="recall")),
            "expert": "FINAL ANSWER: 1789",
            "reflector": [steps.verdict("recast", issues=["The team lacks the skill."]), steps.verdict()],
            "writer": steps.written("You know dates by heart and check each twice."),
        }
    )
    result = captain_with(model).solve("When did the revolution begin?")
    members = [ask.member for ask in model.asked("expert")]
    assert members[0] == "historian" and members[1] != "historian"
    assert "The team lacks the skill." in model.asked("expert")[1].text
    assert result.subtasks[0].team == members[1:]


def test_a_wrong_part_leads_to_a_new_plan_that_knows_why(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model(
        {
            "planner": [
                steps.plan(steps.part("Historian", method="recall", goal="the wrong part")),
                steps.plan(steps.part("Geographer", method="recall", goal="the right part")),
            ],
            "historian": "FINAL ANSWER: Rome",
            "geographer": "FINAL ANSWER: Paris",
            "reflector": [steps.verdict("replan", issues=["Nobody asked about history."]), steps.verdict()],
        }
    )
    result = captain_with(model).solve("Which is the capital?")
    assert result.answer == "Paris" and len(result.subtasks) == 1
    assert "Nobody asked about history." in model.asked("planner")[1].text


@pytest.mark.parametrize("verdict", ["retry", "recast", "replan"])
def test_every_loop_is_bounded(captain_with: CaptainWith, make_model: Any, steps: Any, verdict: str) -> None:
    model = make_model(
        {
            "planner": steps.plan(steps.part(method="recall")),
            "expert": "FINAL ANSWER: a guess",
            "reflector": steps.verdict(verdict, issues=["never good enough"]),
            "writer": steps.written("You try it once more, as good as you can."),
        }
    )
    settings = {"walk.max_attempts": 2, "walk.max_replans": 1}
    result = captain_with(model, settings).solve("Say something.")
    assert result.status == "unverified" and result.answer == "a guess"
    assert len(model.asked("planner")) == (2 if verdict == "replan" else 1)
    assert len(model.asked("reflector")) == 2


async def test_independent_parts_are_worked_on_at_the_same_time(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    at_work, most = 0, 0
    both = asyncio.Event()

    async def expert(ask: Any) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if most == 2:
            both.set()
        await asyncio.wait_for(both.wait(), timeout=20)
        at_work -= 1
        return f"FINAL ANSWER: from the {ask.member}"

    parts = [steps.part(title, method="recall", goal=f"part of the {title}") for title in ("Historian", "Biologist")]
    model = make_model({"planner": steps.plan(*parts), "expert": expert, "composer": "both"})
    result = await captain_with(model).solve_async("Tell two things.")
    assert result.answer == "both" and most == 2
    reports = model.asked("composer")[0].text
    assert "from the historian" in reports and "from the biologist" in reports


def test_parallelism_is_bounded(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    at_work, most = 0, 0

    async def expert(ask: Any) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.01)
        at_work -= 1
        return "FINAL ANSWER: done"

    parts = [steps.part("Historian", method="recall", goal=f"part {n}") for n in range(4)]
    model = make_model({"planner": steps.plan(*parts), "expert": expert, "composer": "all"})
    captain_with(model, {"walk.max_parallel": 2}).solve("Tell four things.")
    assert most == 2


def test_a_dependent_part_gets_the_result_it_needs(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    first = steps.part("Geographer", method="recall", goal="find the country")
    second = steps.part("Historian", method="recall", goal="find its first king", depends_on=[1])
    model = make_model(
        {
            "planner": steps.plan(first, second),
            "geographer": "FINAL ANSWER: Atlantis",
            "historian": "FINAL ANSWER: Atlas",
        }
    )
    result = captain_with(model).solve("Who was the first king of the country in question?")
    assert result.answer == "Atlas"
    needed = model.asked("historian")[0].text
    assert "Atlantis" in needed and "find the country" in needed
    assert "Atlantis" not in model.asked("geographer")[0].text


def test_a_part_that_fails_leaves_its_siblings_their_work(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    parts = [steps.part(title, method="recall", goal=f"part of the {title}") for title in ("Historian", "Biologist")]

    async def breaks(ask: Any) -> str:
        await asyncio.sleep(0.05)
        raise ModelError("the endpoint is gone")

    model = make_model({"planner": steps.plan(*parts), "historian": breaks, "biologist": "FINAL ANSWER: a whale"})
    result = captain_with(model).solve("Tell two things.")
    assert result.status == "stopped" and "the endpoint is gone" in result.stop_reason
    assert "a whale" in result.answer


def test_a_model_that_fails_for_good_is_raised_when_there_is_nothing_to_tell(
    captain_with: CaptainWith, make_model: Any
) -> None:
    model = make_model({"expert": [ModelError("the endpoint is gone")]})
    with pytest.raises(ModelError, match="the endpoint is gone"):
        captain_with(model).solve("What is 6 times 7?")


def test_the_journal_tells_the_walk(captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any) -> None:
    model = make_model({"expert": [steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    result = captain_with(model).solve("What is 6 times 7?")
    events = set(get_args(EventKind)) - {"model_call"}
    kinds = [line["kind"] for line in read_journal(result.run_dir) if line["kind"] in events]
    assert kinds == ["started", "planned", "cast", "message", "execution", "reviewed", "subtask_done", "finished"]
    stored = json.loads((result.run_dir / "result.json").read_text())
    assert stored == result.to_dict()


def test_a_static_team_serves_every_part(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    parts = [steps.part(title, method="recall", goal=f"part of the {title}") for title in ("Historian", "Biologist")]
    model = make_model({"planner": steps.plan(*parts), "expert": "FINAL ANSWER: known", "composer": "all"})
    result = captain_with(model, {"team.mode": "static"}).solve("Tell two things.")
    assert [report.team for report in result.subtasks] == [["historian"], ["historian"]]
