"""What every team is told first."""

from __future__ import annotations

from pathlib import Path

import pytest

from captain import ConfigError
from captain.briefing import Brief, take_in


def file_card(path: Path) -> str:
    work = path.parent / "work"
    work.mkdir(exist_ok=True)
    return take_in("Read it.", [path], work).cards[0]


def test_files_are_copied_and_described(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    table = tmp_path / "people.csv"
    table.write_text("name,age\nAnn,30\nBob,\n")
    note = tmp_path / "note.txt"
    note.write_text("first line\nsecond line\n")
    brief = take_in("  Who is older?\n", [table, str(note)], work)
    assert brief.task == "Who is older?" and brief.names == ("people.csv", "note.txt") and brief.tables
    text = brief.text()
    assert "2 rows" in text and "'name' text" in text and "'age' number 1 missing" in text and "Ann,30" in text
    assert "first line" in text and (work / "note.txt").read_text() == note.read_text()
    assert brief.columns == ("name", "age")


def test_a_table_with_many_columns_gets_a_bounded_card(tmp_path: Path) -> None:
    table = tmp_path / "wide.tsv"
    table.write_text("\t".join(f"c{n}" for n in range(90)) + "\n" + "\t".join("1" * 90) + "\n")
    card = file_card(table)
    assert "and 50 more" in card and "c89" not in card and len(card) < 3000


def test_a_broken_table_is_a_text(tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text('a,b\n"1,2\n3,4,5\n')
    assert "text" in file_card(broken)


def test_binary_files_are_named_only(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\xff\xfe\x00" * 10)
    assert file_card(picture) == "- picture.png: binary file, 70 bytes"


def test_long_texts_are_cut_even_within_a_character(tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text("ä" * 5000, encoding="utf-8")
    assert file_card(text).startswith("- long.txt: text, 10000 bytes") and len(file_card(text)) < 400


@pytest.mark.parametrize(
    ("task", "names", "message"),
    [
        ("", [], "task is empty"),
        ("do", ["no.csv"], "no such file: 'no.csv'"),
        ("do", ["a/x.csv", "b/x.csv"], "'x.csv'"),
    ],
)
def test_wrong_input_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, names: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/x.csv", "b/x.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("a\n1\n")
    with pytest.raises(ConfigError, match=message) as caught:
        take_in(task, names, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "entry_point", "code"),
    [
        ("def one(x):\n    pass\n\ndef two(y):\n", "two", True),
        ("Write a function that adds.", None, True),
        ("How tall is the tower?", None, False),
        ("undefined behaviour", None, False),
    ],
)
def test_a_brief_knows_what_is_asked_for(task: str, entry_point: str | None, code: bool) -> None:
    brief = Brief(task=task)
    assert brief.entry_point == entry_point and brief.asks_for_code is code
