from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import text


def test_counts_by_hand() -> None:
    counts = text.count_text("Don't panic! The cat sat.\nThe end", target="the")
    assert counts == {
        "characters": 33,
        "characters_without_spaces": 27,
        "letters": 24,
        "words": 7,
        "distinct_words": 6,
        "sentences": 3,
        "lines": 2,
        "target_occurrences": 2,
        "target_as_word": 2,
    }


def test_letters_and_words_are_told_apart() -> None:
    assert text.count_text("strawberry", "r")["target_occurrences"] == 3
    counts = text.count_text("cat concatenate Cat.", "cat")
    assert (counts["target_occurrences"], counts["target_as_word"]) == (3, 2)
    assert text.count_text("a.b axb", "a.b")["target_occurrences"] == 1


def test_an_empty_text_and_numbers() -> None:
    assert set(text.count_text("").values()) == {0}
    assert text.count_text("Pi is 3.14. Yes")["sentences"] == 2


def test_a_pattern_is_found_in_a_file_and_in_a_folder(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "a.txt").write_text("one 2024-01-02 two 2024-03-04\nnothing\n")
    (workspace / "sub" / "b.txt").write_text("x\nERROR 2023-12-31\n")
    (workspace / "picture.bin").write_bytes(b"\0 2024-01-01")
    (workspace / ".hidden").write_text("2020-01-01")
    assert text.find_pattern(r"\d{4}-\d\d-\d\d").splitlines() == [
        "3 matches in 2 lines",
        "a.txt:1: one 2024-01-02 two 2024-03-04",
        "sub/b.txt:2: ERROR 2023-12-31",
    ]
    assert text.find_pattern("error", "sub/b.txt") == "0 matches in 0 lines"
    assert text.find_pattern("error", "sub/b.txt", ignore_case=True).startswith("1 matches")
    assert text.find_pattern("o", "a.txt", limit=1).splitlines()[-1] == "(and 1 more lines)"


def test_a_pattern_that_explodes_is_stopped(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "SEARCH_SECONDS", 0.3)
    (workspace / "a.txt").write_text("a" * 60 + "!")
    start = time.monotonic()
    with pytest.raises(ToolError, match="stopped"):
        text.find_pattern(r"^(a|a|aa)+$")
    assert time.monotonic() - start < 5


def test_searches_that_cannot_be_done(workspace: Path) -> None:
    (workspace / "a.bin").write_bytes(b"\0")
    for pattern, path, problem in [
        ("(", ".", "not a regular expression"),
        ("", ".", "empty"),
        ("x", "b.txt", "no file"),
        ("x", "a.bin", "not a text file"),
        ("x", "..", "outside"),
    ]:
        with pytest.raises(ToolError, match=problem):
            text.find_pattern(pattern, path)


def test_a_link_out_of_the_workspace_is_not_searched(workspace: Path) -> None:
    os.symlink(workspace.parent / "secret.txt", workspace / "link.txt")
    os.symlink(workspace.parent, workspace / "folder")
    assert text.find_pattern("outside") == "0 matches in 0 lines"
