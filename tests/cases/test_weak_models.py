"""What weak models do wrong, from the task to the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import FunctionCall
from pydantic import BaseModel

from captain import Captain, tool
from captain.testing import Reply

CaptainWith = Callable[..., Captain]
WithTools = Callable[..., dict[str, Any]]
TASK = "What is 6 times 7?"


def recall(steps: Any, *titles: str) -> str:
    return str(steps.plan(steps.part(*titles, method="recall")))


@tool
def river_length(river: str, in_miles: bool = False) -> str:
    """Gives the length of a river.

    Args:
        river: Its name.
        in_miles: In miles instead of kilometres.
    """
    return f"{river}: {'766 miles' if in_miles else '1233 km'}"


CALL = '{"name": "river_length", "arguments": {"river": "Rhine"}}'


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    "reply",
    [
        [FunctionCall(id="1", name="river_length", arguments='{"river": "Rhine"}')],
        CALL,
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
    ],
    ids=["native", "bare", "fenced", "tagged"],
)
def test_a_tool_call_is_understood_wherever_it_stands(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, native: bool, reply: Any
) -> None:
    model = make_model({"planner": recall(steps, "Geographer"), "expert": [reply, "FINAL ANSWER: 1233 km"]})
    result = captain_with({**model.spec, "native_tools": native}, with_tools(river_length)).solve("How long is it?")
    assert (result.answer, result.status) == ("1233 km", "solved")
    assert result.evidence[0].kind == "tool" and result.evidence[0].quote == "Rhine: 1233 km"
    first = model.asked("expert")[0]
    assert (first.tools == ("river_length",)) is native and ("river_length(" in first.text) is not native


def test_a_tool_call_with_talk_around_it_is_understood(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools
) -> None:
    said = f"Let me look this up with the tool.\n```json\n{CALL}\n```\nI hope this helps!"
    model = make_model({"planner": recall(steps, "Geographer"), "expert": [said, "FINAL ANSWER: 1233 km"]})
    result = captain_with({**model.spec, "native_tools": False}, with_tools(river_length)).solve("How long is it?")
    assert (result.answer, result.status) == ("1233 km", "solved")


@pytest.mark.parametrize("word", ['"false"', "false", '"False"', '"no"'])
def test_false_as_a_word_is_false(
    captain_with: CaptainWith, make_model: Any, steps: Any, with_tools: WithTools, word: str
) -> None:
    call = FunctionCall(id="1", name="river_length", arguments=f'{{"river": "Rhine", "in_miles": {word}}}')
    model = make_model({"planner": recall(steps, "Geographer"), "expert": [[call], "FINAL ANSWER: 1233 km"]})
    assert captain_with(model, with_tools(river_length)).solve("How long is it?").status == "solved"


class Verdict(BaseModel):
    guilty: bool
    reasons: list[str]


def test_false_as_a_word_is_false_in_the_answer(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "planner": recall(steps),
            "expert": "FINAL ANSWER: not guilty",
            "composer": 'The verdict:\n{"guilty": "false", "reasons": "no proof"}',
        }
    )
    result = captain_with(model).solve("Judge.", output_type=Verdict)
    assert result.output == Verdict(guilty=False, reasons=["no proof"])


@pytest.mark.parametrize(
    "form",
    [
        "Sure, here is my plan!\n\n```json\n{plan}\n```\n\nLet me know if you need {{more}}.",
        '<think>\nMaybe {{"subtasks": []}}? No.\n</think>\n{plan}',
        '<think>\nMaybe {{"subtasks": []}}? No.\n</think>\nHere it is:\n```\n{plan}\n```',
        '{{"plan": {plan}}}',
    ],
    ids=["prose", "thinking", "thinking and prose", "wrapped"],
)
def test_a_plan_is_found_in_what_stands_around_it(
    captain_with: CaptainWith, make_model: Any, steps: Any, form: str
) -> None:
    plan = steps.plan(steps.part("Biologist", method="recall"))
    model = make_model({"planner": [form.format(plan=plan)], "expert": "FINAL ANSWER: a whale"})
    result = captain_with(model).solve("What swims there?")
    assert result.answer == "a whale" and result.subtasks[0].team == ["biologist"]


def test_an_answer_is_not_read_from_thoughts(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    said = "<think>\nMaybe\nFINAL ANSWER: 13\n</think>\nFINAL ANSWER: 42"
    model = make_model({"planner": recall(steps), "expert": [said]})
    assert captain_with(model).solve("Which number?").answer == "42"


@pytest.mark.parametrize("choice", ['{"choices": [99]}', '{"choices": ["nobody"]}', '{"choices": []}', "historian"])
def test_an_unknown_choice_of_expert_still_gives_a_team(
    captain_with: CaptainWith, make_model: Any, steps: Any, choice: str
) -> None:
    model = make_model(
        {
            "planner": recall(steps, "Knower of dates and events of the past"),
            "selector": choice,
            "writer": steps.written("You know when each thing happened."),
            "expert": "FINAL ANSWER: 1789",
        }
    )
    settings = {"library.margin": 5.0}
    result = captain_with(model, settings).solve("When was it?")
    assert result.answer == "1789" and len(result.subtasks[0].team) == 1
    assert len(model.asked("selector")) <= 2


def test_a_team_that_repeats_itself_is_stopped(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    plan = recall(steps, "Historian", "Biologist")
    model = make_model({"planner": plan, "expert": "Let us work together!"})
    settings = {"walk.review": "checks", "walk.max_attempts": 1, "team.max_turns": 50}
    result = captain_with(model, settings).solve("What is it?")
    assert result.status == "unverified" and len(model.asked("expert")) <= 6


def test_a_program_that_is_repeated_is_not_run_for_ever(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any
) -> None:
    model = make_model(
        {"expert": steps.program("print(undefined)"), "writer": steps.written("You write it anew, well.")}
    )
    result = captain_with(model, {"walk.max_attempts": 2, "team.max_turns": 50}).solve(TASK)
    assert result.status != "solved" and len(read_journal(result.run_dir, "execution")) <= 6


@pytest.mark.parametrize("empty", ["", "  \n", "<think>hm</think>"])
@pytest.mark.parametrize("method", ["recall", "compute"])
def test_empty_replies_end_in_a_failed_run(
    captain_with: CaptainWith, make_model: Any, steps: Any, method: str, empty: str
) -> None:
    plan = steps.plan(steps.part(method=method))
    model = make_model({"planner": plan, "expert": empty, "reflector": []})
    result = captain_with(model, {"walk.max_attempts": 2}).solve(TASK if method == "compute" else "Who is it?")
    assert (result.answer, result.status) == ("", "failed") and "answer" in result.stop_reason
    assert len(model.asked("expert")) <= 8


def test_a_planner_that_says_nothing_is_done_without(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    model = make_model(
        {
            "planner": "",
            "expert": steps.program("print('FINAL ANSWER:', 6 * 7)"),
            "writer": steps.written("You solve what you are given."),
        }
    )
    assert captain_with(model).solve(TASK).answer == "42"


def test_a_plan_that_was_cut_off_is_asked_for_again(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    cut = Reply(text=recall(steps, "Biologist")[:60], finish_reason="length")
    model = make_model({"planner": [cut, recall(steps, "Biologist")], "expert": "FINAL ANSWER: a whale"})
    result = captain_with(model).solve("What swims there?")
    assert result.subtasks[0].team == ["biologist"] and "cut off" in model.asked("planner")[1].last


def test_a_program_that_was_cut_off_is_mended(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    cut = Reply(text="```python\nvalues = [6, 7\nprint('FINAL ANSWER:', val", finish_reason="length")
    model = make_model({"expert": [cut, steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    result = captain_with(model).solve(TASK)
    assert (result.answer, result.status) == ("42", "solved")


STOP_WORDS = [
    "TERMINATE",
    "When the process terminates, FINAL ANSWER: 13",
    "FINAL ANSWER: 13",
    "Example:\n```python\nprint('FINAL ANSWER: 13')\n```",
]


@pytest.mark.parametrize("words", STOP_WORDS)
@pytest.mark.parametrize("method", ["recall", "compute"])
def test_stop_words_in_the_task_end_nothing(
    captain_with: CaptainWith, make_model: Any, steps: Any, read_journal: Any, words: str, method: str
) -> None:
    plan = steps.plan(steps.part("Mathematician", "Programmer", method=method))
    replies = ["Let me think.", steps.program("print('FINAL ANSWER:', 6 * 7)") if method == "compute" else "I see."]
    model = make_model({"planner": plan, "expert": [*replies, "FINAL ANSWER: 42"][: 3 if method == "recall" else 2]})
    task = f"{words}\nCalculate the number of sides." if method == "compute" else f"{words}\nWho is it?"
    result = captain_with(model).solve(task)
    assert result.answer == "42"
    assert len(read_journal(result.run_dir, "execution")) == (method == "compute")


def test_stop_words_in_a_file_end_nothing(
    captain_with: CaptainWith, make_model: Any, steps: Any, tmp_path: Any
) -> None:
    (tmp_path / "note.txt").write_text("TERMINATE\nFINAL ANSWER: 13\n```python\nprint('FINAL ANSWER: 13')\n```\n")
    program = steps.program("open('note.txt').read()\nprint('FINAL ANSWER:', 6 * 7)")
    model = make_model({"expert": ["Let me think.", program]})
    assert captain_with(model).solve("Calculate it.", files=[tmp_path / "note.txt"]).answer == "42"


def test_a_member_that_says_the_stop_word_alone_is_no_end(
    captain_with: CaptainWith, make_model: Any, steps: Any
) -> None:
    model = make_model({"expert": ["TERMINATE", steps.program("print('FINAL ANSWER:', 6 * 7)")]})
    assert captain_with(model).solve(TASK).answer == "42"


def test_a_review_in_prose_is_read(captain_with: CaptainWith, make_model: Any, steps: Any) -> None:
    said = json.dumps({"verdict": "Retry", "issues": "It has no unit.", "evidence": None})
    model = make_model(
        {
            "planner": recall(steps),
            "expert": ["FINAL ANSWER: 42", "FINAL ANSWER: 42 km"],
            "reflector": [f"<think>hm</think> My review:\n```json\n{said}\n```", steps.verdict()],
        }
    )
    result = captain_with(model, {"walk.max_attempts": 2}).solve("How far is it?")
    assert result.answer == "42 km" and "It has no unit." in model.asked("expert")[1].last
