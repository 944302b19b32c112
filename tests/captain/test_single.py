"""The single assistant that teams are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from captain import Captain

CaptainWith = Callable[..., Captain]
SINGLE = {"team.mode": "single"}


def test_a_plain_answer_is_its_last_words(captain_with: CaptainWith) -> None:
    result = captain_with(["It is Paris."], SINGLE).solve("Which is the capital of France?")
    assert (result.answer, result.status, result.usage.calls) == ("It is Paris.", "unverified", 1)


def test_what_its_program_prints_as_the_answer_is_the_answer(captain_with: CaptainWith, steps: Any) -> None:
    script = [steps.program("print('FINAL ANSWER:', 6 * 7)")]
    assert captain_with(script, SINGLE).solve("What is 6 times 7?").answer == "42"


def test_it_sees_what_its_program_printed_and_may_repair_it(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    replies = [steps.program("print(1 / 0)"), steps.program("print(6 * 7)"), "FINAL ANSWER: 42"]
    model = make_model({"expert": replies})
    assert captain_with(model, SINGLE).solve("What is 6 times 7?").answer == "42"
    assert "ZeroDivisionError" in model.asks[1].last and "42" in model.asks[2].last


@pytest.mark.parametrize("repairs", [0, 2])
def test_its_repairs_are_bounded(captain_with: CaptainWith, make_model: Any, steps: Any, repairs: int) -> None:
    model = make_model({"expert": steps.program("raise SystemExit(3)")})
    captain_with(model, {**SINGLE, "team.max_repairs": repairs}).solve("What is 6 times 7?")
    assert len(model.asks) == repairs + 1


def test_for_a_function_the_program_is_the_answer(captain_with: CaptainWith, steps: Any) -> None:
    result = captain_with([steps.program("def area(a):\n    return a")], SINGLE).solve("def area(a):\n    '''Area'''")
    assert result.answer == "def area(a):\n    return a"


def test_it_finds_the_files_of_the_task(captain_with: CaptainWith, steps: Any, tmp_path: Any) -> None:
    (tmp_path / "n.txt").write_text("41")
    script = [steps.program("print('FINAL ANSWER:', int(open('n.txt').read()) + 1)")]
    assert captain_with(script, SINGLE).solve("Add one.", files=[tmp_path / "n.txt"]).answer == "42"


def test_limits_hold_for_it_too(captain_with: CaptainWith, steps: Any) -> None:
    result = captain_with([steps.program("print(1)")] * 9, {**SINGLE, "limits.calls": 2}).solve("What is it?")
    assert result.status == "stopped" and result.usage.calls == 2
