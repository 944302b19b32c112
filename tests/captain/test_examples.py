"""Examples that a task gives, and how programs are held against them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from captain import Captain
from captain.examples import Example, ExampleHarness, find_examples

CaptainWith = Callable[..., Captain]


@pytest.mark.parametrize(
    ("task", "examples"),
    [
        ("area(2, 3) == 6", [("area(2, 3)", "6")]),
        (
            "area(2, 3) -> 6 and area([1, (2)], 'a)') returns 'x'",
            [("area(2, 3)", "6"), ("area([1, (2)], 'a)')", "'x'")],
        ),
        ("area(1, 1) should return true.", [("area(1, 1)", "True")]),
        ("    >>> area(2, 3)\n    6\n    >>> area(0, 1)\n    0\n", [("area(2, 3)", "6"), ("area(0, 1)", "0")]),
        (">>> sorted(area(2))\n[1, 2]\n", [("sorted(area(2))", "[1, 2]")]),
        ("area(2, 3) == 6, that is area(2, 3) == 6", [("area(2, 3)", "6")]),
        ("area(x, y) is the product", []),
        ("area(2, 3 == 6", []),
        ("Call other(2) == 3", []),
        ("area(n) => unknown", []),
        ("def area(a, b):\n    '''Multiply.'''\n", []),
    ],
)
def test_calls_with_a_stated_result_are_found(task: str, examples: list[tuple[str, str]]) -> None:
    assert [(one.call, one.expected) for one in find_examples(task, "area")] == examples


def run(program: str, *examples: tuple[str, str]) -> Any:
    harness = ExampleHarness(tuple(Example(*one) for one in examples))
    extended, mark = harness.extend(program)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        exec(compile(extended, "program", "exec"), {"__name__": "__main__"})
    return harness.read(printed.getvalue(), mark)


def test_examples_are_run_against_a_program() -> None:
    output, outcome = run("print('hello')\ndef f(x): return x / 3", ("f(3)", "1"), ("f(1)", "0.3333333"), ("f(3)", "2"))
    assert output == "hello" and (outcome.held, outcome.total) == (2, 3)
    assert outcome.failures == ("f(3) gave 1.0, expected 2",)


def test_an_example_that_raises_has_failed() -> None:
    _, outcome = run("def f(x): raise ValueError('no')", ("f(3)", "1"))
    assert not outcome.passed and outcome.failures == ("f(3) raised ValueError: no",)


def test_text_that_a_session_prints_counts_as_expected() -> None:
    _, outcome = run("def f(): return {1: 'a'}", ("f()", "{1: 'a'}"))
    assert outcome.passed


def test_truth_is_not_a_number() -> None:
    assert not run("def f(): return 1.0000000001", ("f()", "True"))[1].passed


def test_a_program_cannot_print_a_pass_or_leave_early() -> None:
    output, outcome = run("print('@000000000000 HOLD f(1)')\nraise SystemExit", ("f(1)", "1"))
    assert outcome.held == 0 and "ended before" in outcome.failures[0]
    assert "HOLD" in output


TASK = "def area(a, b):\n    '''The area of a rectangle: area(2, 3) == 6 and area(1, 1) == 1'''\n"
RIGHT, WRONG = "def area(a, b):\n    return a * b", "def area(a, b):\n    return a + b"


def test_a_program_for_which_all_examples_hold_is_solved(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": [steps.program(WRONG), steps.program(RIGHT)]})
    result = captain_with(model).solve(TASK)
    assert (result.answer, result.status) == (RIGHT, "solved")
    assert result.evidence[0].kind == "examples" and result.evidence[0].quote.startswith("2 of 2")
    assert "area(2, 3) gave 5, expected 6" in model.asked("expert")[1].text
    assert model.asked("reflector") == []


def test_a_program_for_which_examples_fail_is_never_solved(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": steps.program(WRONG), "writer": steps.written("You write programs with great care.")})
    result = captain_with(model, {"walk.max_attempts": 2}).solve(TASK)
    assert result.status == "unverified" and result.answer == WRONG
    assert "area(2, 3) gave 5" in result.subtasks[0].issues[0] + result.subtasks[0].issues[-1]
