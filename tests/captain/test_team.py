"""How a team talks: who speaks, who sees what, and how a chat ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from captain import Captain

CaptainWith = Callable[..., Captain]


def small(model: Any) -> dict[str, Any]:
    return {**model.spec, "strength": "small"}


def solo_plan(*, method: str = "compute", title: str = "Mathematician") -> str:
    does = "writes and tests Python functions and programs"
    return f'{{"method": "{method}", "expert": {{"title": "{title}", "does": "{does}"}}}}'


def printing(steps: Any, answer: object, remark: str = "") -> str:
    return str(steps.program(f"{remark}\nvalue = {answer!r}\nprint('FINAL ANSWER:', value)"))


def test_a_checker_works_blind_and_agreement_is_proof(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {"mathematician": [printing(steps, 42, "# SECRET WAY")], "checker": [printing(steps, "42.0", "# OTHER WAY")]}
    )
    result = captain_with(model, {"team.cross_check": True}).solve("What is 6 times 7?")
    assert (result.answer, result.status) == ("42", "solved")
    assert result.evidence[0].kind == "agreement" and "2 of 2" in result.evidence[0].quote
    (ask,) = model.asked("checker")
    assert "SECRET" not in ask.text and "mathematician" not in ask.text and "42" not in ask.text
    assert "What is 6 times 7?" in ask.text
    assert model.asked("reflector") == []


def test_a_checker_sees_what_its_own_programs_printed(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    checker = [steps.program("print('half way: 21')"), printing(steps, 42)]
    model = make_model({"mathematician": [printing(steps, 42, "# SECRET WAY")], "checker": checker})
    captain_with(model, {"team.cross_check": True}).solve("What is 6 times 7?")
    second = model.asked("checker")[1]
    assert "half way: 21" in second.last and "SECRET" not in second.text


def test_two_of_three_decide(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    answers = iter([41, 42, 42])
    model = make_model({"planner": solo_plan(), "expert": lambda ask: printing(steps, next(answers))})
    result = captain_with(small(model), {"team.cross_check": True}).solve("Calculate six times seven.")
    assert (result.answer, result.status) == ("42", "solved")
    assert len({ask.member for ask in model.asked("expert")}) == 3
    assert result.evidence[0].quote.startswith("2 of 3")
    assert result.subtasks[0].contradictions == []


def test_three_opinions_leave_the_answer_unverified(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    answers = iter([41, 42, 43])

    def expert(ask: Any) -> str:
        return printing(steps, next(answers)) if "backwards" not in ask.text else "I still think so."

    model = make_model({"planner": solo_plan(), "expert": expert})
    result = captain_with(small(model), {"team.cross_check": True}).solve("Calculate six times seven.")
    assert result.status == "unverified" and result.subtasks[0].contradictions


def test_no_third_member_is_asked_when_two_agree(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"planner": solo_plan(), "expert": lambda ask: printing(steps, 42)})
    captain_with(small(model), {"team.cross_check": True}).solve("Calculate six times seven.")
    assert len(model.asked("expert")) == 2


def test_disagreement_forces_one_round_that_checks_backwards(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model(
        {
            "mathematician": [printing(steps, 41), printing(steps, 42, "# from the answer backwards")],
            "checker": [printing(steps, 42), printing(steps, 42)],
        }
    )
    result = captain_with(model, {"team.cross_check": True}).solve("What is 6 times 7?")
    assert result.answer == "42" and result.subtasks[0].contradictions == []
    second = model.asked("mathematician")[1]
    assert "mathematician says '41'" in second.text and "checker says '42'" in second.text


def test_a_check_backwards_happens_once(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    count = iter(range(100))
    model = make_model(
        {
            "expert": lambda ask: printing(steps, next(count)),
            "reflector": steps.verdict("retry", issues=["it changes each time"]),
        }
    )
    result = captain_with(model, {"walk.max_attempts": 3}).solve("What is 6 times 7?")
    # Three attempts, and one round more after the first change.
    assert len(model.asked("expert")) == 4 and result.status == "unverified"
    assert sum("backwards" in ask.last for ask in model.asked("expert")) == 1


def test_a_changed_answer_is_checked_backwards(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "expert": [printing(steps, 41), printing(steps, 42), printing(steps, 42, "# again")],
            "reflector": [steps.verdict("retry", issues=["one too few"]), steps.verdict(), steps.verdict()],
        }
    )
    result = captain_with(model).solve("What is 6 times 7?")
    assert (result.answer, result.status) == ("42", "solved")
    assert "it was 41 before" in model.asked("expert")[2].last


def test_a_check_backwards_without_a_program_settles_nothing(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model(
        {
            "expert": [printing(steps, 42), "I am sure.\nFINAL ANSWER: 42"],
            "reflector": steps.verdict(contradictions=["The text says 41, the program 42."]),
        }
    )
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.status == "unverified" and result.subtasks[0].contradictions


def test_a_failed_program_goes_back_to_its_author(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = steps.plan(steps.part("Mathematician", "Programmer"))
    model = make_model(
        {"planner": plan, "mathematician": [steps.program("print(1 / 0)"), printing(steps, 42)], "programmer": []}
    )
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.answer == "42" and result.status == "solved"
    assert "ZeroDivisionError" in model.asked("mathematician")[1].last


def test_repairs_are_bounded(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    count = iter(range(100))
    settings = {"team.max_repairs": 1, "walk.max_attempts": 1}
    model = make_model({"expert": lambda ask: steps.program(f"raise SystemExit({next(count)} + 1)")})
    result = captain_with(model, settings).solve("What is 6 times 7?")
    assert len(model.asked("expert")) == 2 and result.status != "solved"


def test_whoever_is_addressed_speaks_next(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", "Geographer", method="recall"))
    model = make_model(
        {
            "planner": plan,
            "historian": ["@geographer, which country was it?"],
            "geographer": ["biologist: it was Gondor. What lives there?"],
            "biologist": ["FINAL ANSWER: eagles"],
        }
    )
    result = captain_with(model).solve("What lives there?")
    assert result.answer == "eagles"
    assert [ask.member for ask in model.asked("expert")] == ["historian", "geographer", "biologist"]
    assert model.asked("speaker") == []


def test_a_model_decides_only_when_several_are_addressed(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", "Geographer", method="recall"))
    model = make_model(
        {
            "planner": plan,
            "historian": ["@biologist and @geographer, who knows?"],
            "geographer": ["FINAL ANSWER: Gondor"],
            "speaker": ['{"number": 2}'],
        }
    )
    assert captain_with(model).solve("Where is it?").answer == "Gondor"
    assert len(model.asked("speaker")) == 1


def test_a_useless_choice_of_speaker_does_not_stop_the_team(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", "Geographer", method="recall"))
    model = make_model(
        {
            "planner": plan,
            "historian": "@biologist and @geographer, who knows?",
            "expert": "FINAL ANSWER: Gondor",
            "speaker": "I cannot say.",
        }
    )
    assert captain_with(model).solve("Where is it?").answer == "Gondor"


def test_a_limit_reached_by_the_choice_of_a_speaker_stops_the_run(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", "Geographer", method="recall"))
    model = make_model({"planner": plan, "historian": ["@biologist and @geographer, who knows?"]})
    result = captain_with(model, {"limits.calls": 2}).solve("Where is it?")
    assert result.status == "stopped" and "2 calls" in result.stop_reason


def test_a_chat_ends_at_its_limit_of_turns(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    count = iter(range(100))
    plan = steps.plan(steps.part("Historian", "Biologist", method="recall"))
    model = make_model({"planner": plan, "expert": lambda ask: f"Thought number {next(count)}."})
    settings = {"team.max_turns": 5, "walk.max_attempts": 1, "walk.review": "checks"}
    result = captain_with(model, settings).solve("What is it?")
    assert len(model.asked("expert")) == 5 and result.subtasks[0].stop_reason == "limit: 5 turns"
    assert result.answer == "Thought number 4." and result.status == "unverified"


def test_members_hear_each_other_by_name(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = steps.plan(steps.part("Historian", "Biologist", method="recall"))
    model = make_model({"planner": plan, "historian": ["It was long ago."], "biologist": ["FINAL ANSWER: dinosaurs"]})
    captain_with(model).solve("What lived there?")
    (ask,) = model.asked("biologist")
    assert "historian: It was long ago." in ask.text and "historian (Historian)" in ask.text


def test_a_long_chat_is_cut_to_the_context_window(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    count = iter(range(100))
    plan = steps.plan(steps.part("Historian", "Biologist", method="recall"))
    model = make_model({"planner": plan, "expert": lambda ask: f"{next(count)} " + "so much to say " * 300})
    spec = {**model.spec, "context_window": 2048, "max_output_tokens": 256}
    captain_with(spec, {"team.max_turns": 6, "walk.max_attempts": 1, "walk.review": "checks"}).solve("Where was it?")
    asks = model.asked("expert")
    assert max(len(ask.text) for ask in asks) < 2048 * 3.2
    assert all("Where was it?" in ask.text for ask in asks)
    assert asks[-1].last.split()[-1] == "say"


@pytest.mark.parametrize("order", ["shared_first", "profile_first"])
def test_what_opens_a_prompt_can_be_set(captain_with: CaptainWith, make_model: Any, steps: Any, order: str) -> None:
    model = make_model({"planner": steps.plan(steps.part("Historian", method="recall")), "expert": "FINAL ANSWER: yes"})
    captain_with(model, {"team.order": order}).solve("Was it so?")
    (ask,) = model.asked("expert")
    assert ask.text.startswith("You are historian (Historian)") is (order == "profile_first")
    assert "You work as a Historian does." in ask.text


async def test_a_cancelled_solve_ends_its_program(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    import time

    program = steps.program("import time\nopen('started', 'w').close()\ntime.sleep(60)\nopen('ended', 'w').close()")
    captain = captain_with(make_model({"expert": program}))
    folders: list[Any] = []
    listen = lambda event: folders.append(event.data["run_dir"]) if event.kind == "started" else None  # noqa: E731
    work = asyncio.create_task(captain.solve_async("Calculate for a while.", listener=listen))
    from pathlib import Path

    while not folders or not (Path(folders[0]) / "work" / "started").exists():
        await asyncio.sleep(0.02)
        assert not work.done()
    start = time.perf_counter()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert time.perf_counter() - start < 8
    assert not (Path(folders[0]) / "work" / "ended").exists()
