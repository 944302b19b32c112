from __future__ import annotations

import pytest

from captain.errors import ToolError
from tools_library import combinatorics


def test_selections() -> None:
    assert combinatorics.count_selections(5, 2) == {
        "combinations": 10,
        "permutations": 20,
        "combinations_with_repetition": 15,
        "permutations_with_repetition": 25,
    }
    assert combinatorics.count_selections(52, 5)["combinations"] == 2598960  # hands of poker
    assert combinatorics.count_selections(2, 3)["combinations"] == 0
    assert set(combinatorics.count_selections(0, 0).values()) == {1}
    with pytest.raises(ToolError, match="from 0 to 2000"):
        combinatorics.count_selections(-1, 2)


def test_arrangements() -> None:
    found = combinatorics.count_arrangements("MISSISSIPPI")
    assert (found["arrangements"], found["circular"]) == (34650, 3150)
    assert found["items"] == {"M": 1, "I": 4, "S": 4, "P": 2}
    assert "listed" not in found
    assert combinatorics.count_arrangements("aab", 2)["listed"] == ["aa", "ab", "ba"]
    assert combinatorics.count_arrangements("red, red, blue")["listed"] == [
        "blue, red, red",
        "red, blue, red",
        "red, red, blue",
    ]
    assert combinatorics.count_arrangements("1, 2, 3, 4")["circular"] == 6
    assert "circular" not in combinatorics.count_arrangements("aabb")  # turning may change nothing there
    for items, length, problem in [("", 0, "not 0 and 0"), ("abc", 4, "not 3 and 4"), ("a" * 501, 0, "500 items")]:
        with pytest.raises(ToolError, match=problem):
            combinatorics.count_arrangements(items, length)


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ((5,), 7),
        ((100,), 190569292),  # MacMahon
        ((10, "integer", 3), 8),
        ((10, "distinct"), 10),
        ((10, "distinct", 3), 4),
        ((5, "compositions"), 16),
        ((5, "compositions", 3), 6),
        ((5, "set"), 52),
        ((5, "set", 2), 15),
        ((4, "derangements"), 9),
        ((5, "catalan"), 42),
        ((0,), 1),
        ((0, "set"), 1),
        ((0, "compositions"), 1),
        ((3, "integer", 4), 0),
    ],
)
def test_partitions(arguments: tuple[int, str, int], count: int) -> None:
    assert combinatorics.count_partitions(*arguments) == count


def test_partitions_that_do_not_exist() -> None:
    for arguments, problem in [((-1,), "from 0"), ((3, "circular"), "kind must be"), ((3, "catalan", 2), "parts must")]:
        with pytest.raises(ToolError, match=problem):
            combinatorics.count_partitions(*arguments)
