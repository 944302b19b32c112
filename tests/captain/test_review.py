"""Review: what checks decide, what a model may add, and the status that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from captain import Captain

CaptainWith = Callable[..., Captain]


def recall(steps: Any) -> str:
    return str(steps.plan(steps.part("Historian", method="recall")))


def printing(steps: Any, text: str) -> str:
    return str(steps.program(f"text = {text!r}\nprint(text)"))


def test_quotes_of_a_reviewer_count_only_when_they_stand_in_the_record(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    said = "It was in 1789, as the Bastille fell.\nFINAL ANSWER: 1789"
    quotes = ["it was  in 1789,", "Historians all agree on 1789", "  "]
    model = make_model({"planner": recall(steps), "expert": said, "reflector": steps.verdict(evidence=quotes)})
    result = captain_with(model).solve("When did the revolution begin?")
    assert [(e.kind, e.quote) for e in result.evidence] == [("statement", "it was  in 1789,")]
    assert result.status == "unverified"


def test_a_quote_from_the_task_is_no_evidence(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "planner": recall(steps),
            "expert": "FINAL ANSWER: blue",
            "reflector": steps.verdict(evidence=["the house is red"]),
        }
    )
    result = captain_with(model).solve("Given that the house is red, name its colour.")
    assert result.evidence == []


def test_a_refusal_without_a_reason_is_none(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": [printing(steps, "FINAL ANSWER: 42")], "reflector": [steps.verdict("retry")]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.status == "solved" and result.subtasks[0].attempts == 1


def test_agreement_is_not_put_to_a_model(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": printing(steps, "FINAL ANSWER: 42"), "reflector": []})
    result = captain_with(model, {"team.cross_check": True}).solve("What is 6 times 7?")
    assert result.status == "solved"


@pytest.mark.parametrize(("review", "asked"), [("checks", 0), ("auto", 1), ("always", 1)])
def test_who_reviews_can_be_set(
    captain_with: CaptainWith, make_model: Any, steps: Any, review: str, asked: int
) -> None:
    model = make_model({"expert": [printing(steps, "FINAL ANSWER: 42")]})
    result = captain_with(model, {"walk.review": review}).solve("What is 6 times 7?")
    assert result.status == "solved" and len(model.asked("reflector")) == asked


def test_a_reviewer_cannot_wave_through_what_checks_refused(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": printing(steps, "no fields here")})
    settings = {"walk.review": "always", "walk.max_attempts": 1}
    result = captain_with(model, settings).solve("Compute it. Answer as @mean[value].")
    assert result.status == "unverified" and result.subtasks[0].verdict != "accept"


def test_a_reviewer_that_gives_no_verdict_leaves_the_checks(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": [printing(steps, "FINAL ANSWER: 42")], "reflector": "Looks good to me!"})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.status == "solved" and len(model.asked("reflector")) == 2


def test_a_claim_that_nothing_printed_is_not_solved(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": ["I know it.\nFINAL ANSWER: 42"]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert (result.answer, result.status) == ("42", "unverified")
    assert result.subtasks[0].unsupported_claims == ["42"]


def test_a_claim_that_a_reviewer_doubts_is_not_solved(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    doubt = steps.verdict(unsupported_claims=["that it is an integer"])
    model = make_model({"expert": [printing(steps, "FINAL ANSWER: 42")], "reflector": [doubt]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.status == "unverified" and "claim" in result.stop_reason


def test_a_program_that_failed_proves_nothing(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    program = steps.program("print('FINAL ANSWER: 42')\nraise SystemExit(1)")
    model = make_model({"expert": [program, "FINAL ANSWER: 42"]})
    result = captain_with(model).solve("What is 6 times 7?")
    assert result.status == "unverified" and not any(e.kind == "execution" for e in result.evidence)


def test_a_constant_that_is_printed_proves_nothing(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": steps.program("print('FINAL ANSWER: 42')")})
    result = captain_with(model).solve("What is 6 times 7?")
    assert (result.answer, result.status) == ("42", "unverified")


def test_form_fields_are_demanded_and_checked(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    expert = [printing(steps, "FINAL ANSWER: @mean[3.5]"), printing(steps, "FINAL ANSWER: @mean[3.5], @sd[1.25]")]
    model = make_model({"expert": expert})
    result = captain_with(model).solve("Compute both. Answer as @mean[value], @sd[value].")
    assert (result.answer, result.status) == ("@mean[3.5], @sd[1.25]", "solved")
    assert "@sd[...]" in model.asked("expert")[1].last and "@mean[...]" not in model.asked("expert")[1].last
    assert [e.claim for e in result.evidence] == ["3.5", "1.25"]


def test_one_wanted_field_takes_a_bare_value(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model({"expert": [printing(steps, "FINAL ANSWER: 3.5")]})
    result = captain_with(model).solve("Compute the mean. Answer as @mean[value].")
    assert (result.answer, result.status) == ("@mean[3.5]", "solved")


def test_a_reviewer_reads_a_bounded_record(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    program = steps.program("print('x' * 5000)\n" * 3 + "print('FINAL ANSWER:', 6 * 7)")
    model = make_model({"expert": [program]})
    captain_with({**model.spec, "context_window": 4096}).solve("What is 6 times 7?")
    (ask,) = model.asked("reflector")
    assert len(ask.text) < 6500 and "FINAL ANSWER: 42" in ask.text
