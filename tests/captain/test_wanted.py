"""The form in which a task wants its answer."""

from __future__ import annotations

import pytest

from captain.briefing import Brief
from captain.wanted import Wanted

FORM = Brief(task="Find both. Give @mean[value] and @rows[list of numbers].")


def test_the_fields_of_a_task_are_wanted_of_the_whole_answer_only() -> None:
    assert Wanted.by(FORM, method="compute", whole=True).fields == ("mean", "rows")
    assert Wanted.by(FORM, method="compute", whole=False).fields == ()
    assert "@mean[{mean}]" in Wanted.by(FORM, method="compute", whole=True).hint()


def test_a_function_head_wants_a_program() -> None:
    brief = Brief(task="def helper(x):\n    return x\n\ndef area(r):\n    '''The area.'''\n")
    assert Wanted.by(brief, method="code", whole=True).entry_point == "area"
    assert not Wanted.by(brief, method="compute", whole=True).is_program


@pytest.mark.parametrize(
    ("answer", "lacking"),
    [
        ("@mean[3] @rows[1, 2]", ()),
        ("@mean[3]", ("rows",)),
        ("@mean[3] @rows[[1], [2]]", ()),
        ("@mean[3] @rows[]", ()),
        ("3 and 1, 2", ("mean", "rows")),
    ],
)
def test_missing_fields_are_named(answer: str, lacking: tuple[str, ...]) -> None:
    assert Wanted(fields=("mean", "rows")).lacking(answer) == lacking


@pytest.mark.parametrize(
    ("fields", "answer", "shaped"),
    [
        (("mean",), "3.5", "@mean[3.5]"),
        (("mean",), "[3.5]", "@mean[3.5]"),
        (("mean",), "@mean[3.5]", "@mean[3.5]"),
        (("mean", "sd"), "3.5", "3.5"),
        ((), "3.5", "3.5"),
    ],
)
def test_a_bare_value_takes_the_only_form_there_is(fields: tuple[str, ...], answer: str, shaped: str) -> None:
    assert Wanted(fields=fields).shape(answer) == shaped


def test_fields_are_found_wherever_they_stand() -> None:
    wanted = Wanted(fields=("mean", "sd"))
    assert wanted.find("so @sd[ 1 ]\nand then @mean[3]") == "@mean[3], @sd[1]"
    assert wanted.find("only @sd[1]") is None
    assert Wanted().find("@sd[1]") is None
