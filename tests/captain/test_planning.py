"""How a task is cut into parts."""

from __future__ import annotations

from typing import Any

import pytest

from captain.briefing import Brief
from captain.config import ModelSpec, TeamConfig
from captain.planning import Plan, Planner
from captain.testing import ScriptedModel

LARGE = ModelSpec(name="m", provider="scripted", script=[])
SMALL = LARGE.model_copy(update={"strength": "small"})


async def plan(reply: str, brief: Brief, *, spec: ModelSpec = LARGE, **team: Any) -> tuple[Plan, ScriptedModel]:
    model = ScriptedModel([reply] * 2)
    return await Planner(model, spec, TeamConfig(**team)).plan(brief), model


async def test_parts_keep_what_the_planner_said(steps: Any) -> None:
    reply = steps.plan(
        steps.part("Historian", goal="first", method="recall"),
        steps.part("Mathematician", "Checker", goal="second", depends_on=[1]),
    )
    made, _ = await plan(reply, Brief(task="Find the year, then the sum of its digits."))
    first, second = made.subtasks
    assert (first.id, first.goal, first.method, first.depends_on) == ("1", "first", "recall", ())
    assert (second.depends_on, [role.title for role in second.roles]) == (("1",), ["Mathematician", "Checker"])


async def test_a_single_part_is_the_task_itself(steps: Any) -> None:
    made, _ = await plan(steps.plan(steps.part(goal="something else")), Brief(task="Sum up 1 and 2."))
    assert made.subtasks[0].goal == "Sum up 1 and 2."


@pytest.mark.parametrize("wrong", [[2], [3], [0], [-1], [99]])
async def test_impossible_dependencies_are_dropped(steps: Any, wrong: list[int]) -> None:
    parts = [steps.part(goal="a"), steps.part(goal="b", depends_on=[*wrong, 1, 1]), steps.part(goal="c")]
    made, _ = await plan(steps.plan(*parts), Brief(task="Do it."))
    assert made.subtasks[1].depends_on == ("1",)


async def test_parts_and_experts_are_bounded(steps: Any) -> None:
    parts = [steps.part("A", "B", "C", "a", goal=f"part {n}") for n in range(6)]
    made, _ = await plan(steps.plan(*parts), Brief(task="Do it."), max_subtasks=2, max_experts=2)
    assert [[role.title for role in part.roles] for part in made.subtasks] == [["A", "B"]] * 2


async def test_a_planner_that_gives_no_plan_is_asked_once_more_and_then_done_without() -> None:
    made, model = await plan("I would rather talk.", Brief(task="Sum up 1 and 2."))
    assert len(model.calls) == 2 and len(made.subtasks) == 1 and "no usable plan" in made.note
    assert made.subtasks[0].roles[0].title == "Problem solver"


@pytest.mark.parametrize(
    ("task", "names", "said", "method"),
    [
        ("Write it.\n\ndef area(a):\n    '''The area.'''", (), "compute", "code"),
        ("What is the mean price?", ("prices.csv",), "recall", "compute"),
        ("How many days are between 1 May and 7 June?", (), "recall", "compute"),
        ("Write a program that says hello.", (), "code", "code"),
        ("Who wrote Faust?", (), "recall", "recall"),
        ("Who wrote Faust?", (), "compute", "recall"),
        ("Calculate 3 + 4.", (), "compute", "compute"),
    ],
)
async def test_the_method_is_corrected_where_the_task_leaves_no_doubt(
    steps: Any, task: str, names: tuple[str, ...], said: str, method: str
) -> None:
    made, _ = await plan(steps.plan(steps.part(method=said)), Brief(task=task, names=names))
    assert made.subtasks[0].method == method


async def test_small_planners_are_spared_what_rules_decide() -> None:
    brief = Brief(task="def area(a):\n    '''The area.'''")
    made, model = await plan("", brief, spec=SMALL)
    assert model.calls == [] and made.subtasks[0].method == "code" and "by rule" in made.note
    made, model = await plan("", Brief(task="Which is the mean?", names=("t.csv",)), spec=SMALL)
    assert model.calls == [] and made.subtasks[0].method == "compute"


async def test_a_small_planner_makes_one_part() -> None:
    reply = '{"method": "recall", "expert": {"title": "Historian", "does": "knows"}}'
    made, _ = await plan(reply, Brief(task="Who was it?"), spec=SMALL)
    assert [role.title for role in made.subtasks[0].roles] == ["Historian"]
