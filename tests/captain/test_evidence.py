"""Comparing answers, and finding them in what was printed."""

from __future__ import annotations

import pytest

from captain.evidence import claims_of, find_passage, largest_agreement, numbers_in, printed_constants, same_answer


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("42", "42.0", True),
        ("1,234", "1234", True),
        ("The answer is 42.", "42", True),
        ("3.14", "3.14159", True),
        ("3.14", "3.24159", False),
        ("3", "3.4", False),
        ("1e3", "1000", True),
        ("-5", "5", False),
        ("277050", "277051", False),
        ("Paris", "paris!", True),
        ("Paris", "Rome", False),
        ("x = 3, y = 4", "x = 3, y = 5", False),
        ("@mean[3.50] @sd[1]", "@sd[1.0], @mean[3.5]", True),
        ("@mean[3.5]", "@mean[3.6]", False),
        ("@mean[3.5]", "@median[3.5]", False),
        ("@mean[3.5]", "3.5", False),
        ("", "", True),
    ],
)
def test_answers_are_compared_by_value(one: str, other: str, same: bool) -> None:
    assert same_answer(one, other) is same
    assert same_answer(other, one) is same


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("@mean[3.5], @name[Ann]", ("3.5", "Ann")),
        ("It is 1,234 or 7, not 7", ("1234", "7")),
        ("Paris", ("Paris",)),
        ("", ()),
        ("word " * 40, ()),
    ],
)
def test_claims_are_the_pieces_that_can_be_checked(answer: str, claims: tuple[str, ...]) -> None:
    assert claims_of(answer) == claims


@pytest.mark.parametrize(
    ("claim", "texts", "line"),
    [
        ("42", ["nothing here", "a = 1\nsum: 42\n"], "sum: 42"),
        ("42", ["420 and 142"], None),
        ("3.14", ["pi = 3.14159"], "pi = 3.14159"),
        ("1234", ["total 1,234"], "total 1,234"),
        ("New York", ["the city: NEW  YORK"], "the city: NEW  YORK"),
        ("York", ["Yorkshire"], None),
        ("", ["anything"], None),
    ],
)
def test_a_passage_is_the_line_that_shows_the_claim(claim: str, texts: list[str], line: str | None) -> None:
    assert find_passage(claim, texts) == line


def test_numbers_are_read_with_signs_and_separators() -> None:
    assert numbers_in("from -1.5 to 2,000 by 1e-3, not x3 or 4y") == [-1.5, 2000.0, 0.001]


@pytest.mark.parametrize(
    ("answers", "positions"),
    [(["1", "2", "2.0"], [1, 2]), (["1", "2"], [0]), (["a"], [0]), ([], []), (["1", "1", "2", "2"], [0, 1])],
)
def test_the_largest_group_wins_and_the_first_among_equals(answers: list[str], positions: list[int]) -> None:
    assert largest_agreement(answers) == positions


def test_a_member_stands_behind_a_number_that_its_program_printed() -> None:
    printed = [["sum 277050"], ["checked: 277050"], ["277"]]
    assert largest_agreement(["277050", "yes", "277051"], printed) == [0, 1]


def test_short_numbers_in_a_printout_are_chance() -> None:
    assert largest_agreement(["42", "yes"], [["42"], ["row 42"]]) == [0]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ('print("FINAL ANSWER:", 42)', {"FINAL ANSWER: 42"}),
        ('total = sum(range(5))\nprint("FINAL ANSWER:", total)', set()),
        ("count = 0\nfor _ in range(3):\n    count += 1\nprint(count)", set()),
        ("print()", set()),
        ("not python (", set()),
    ],
)
def test_what_a_program_prints_without_computing_it(code: str, lines: set[str]) -> None:
    assert printed_constants(code) == lines
