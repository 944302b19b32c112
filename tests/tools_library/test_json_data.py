"""JSON files are looked into and turned into tables and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import json_data

SHOP = {
    "orders": [
        {"name": "tea", "price": 4, "to": {"city": "Graz"}},
        {"name": "Öl", "price": 12.5, "to": {"city": "Rom"}},
        {"name": "rice", "price": 20},
    ]
}


@pytest.fixture
def shop(workspace: Path) -> str:
    (workspace / "shop.json").write_text(json.dumps(SHOP), encoding="utf-8")
    return "shop.json"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", SHOP),
        ("orders[1].price", 12.5),
        ("orders[*].name", ["tea", "Öl", "rice"]),
        ("orders[-1].name", "rice"),
        ("orders[?price > `10`].name", ["Öl", "rice"]),
        ("length(orders)", 3),
        ("sum(orders[*].price)", 36.5),
        ("orders[*].to.city", ["Graz", "Rom"]),
        ("orders[?price > `99`]", []),
    ],
)
def test_parts_are_taken_out(shop: str, query: str, expected: object) -> None:
    assert json.loads(json_data.query_json(shop, query)) == expected


def test_what_is_not_there_and_what_is(shop: str, workspace: Path) -> None:
    assert json_data.query_json(shop, "items") == "(nothing there; the file holds an object with the fields 'orders')"
    (workspace / "l.json").write_text('[{"a": 1}]')
    shown = json_data.query_json("l.json", "a")
    assert shown == "(nothing there; the file holds a list of 1, the first being an object with the fields 'a')"


def test_lines_of_json_and_long_files(workspace: Path) -> None:
    (workspace / "a.jsonl").write_text('{"n": 1}\n\n{"n": 2}\n')
    assert json.loads(json_data.query_json("a.jsonl", "[*].n")) == [1, 2]
    (workspace / "long.json").write_text(json.dumps("x" * 13_000))
    assert json_data.query_json("long.json").endswith("[1,002 more characters; read on with start=12000]")
    assert json_data.query_json("long.json", start=13_000) == 'x"'


def test_objects_become_rows(shop: str, workspace: Path) -> None:
    assert json_data.json_to_table(shop, "orders.csv", "orders") == "3 rows and 3 columns written to orders.csv"
    assert (workspace / "orders.csv").read_text(encoding="utf-8").splitlines() == [
        "name,price,to.city",
        "tea,4.0,Graz",
        "Öl,12.5,Rom",
        "rice,20.0,",
    ]
    for query in ("", "orders[*].name", "nothing"):
        if query:
            with pytest.raises(
                ToolError, match="no list of objects; the file holds an object with the fields 'orders'"
            ):
                json_data.json_to_table(shop, "x.csv", query)
    with pytest.raises(ToolError, match="must end in"):
        json_data.json_to_table(shop, "x.txt", "orders")


def test_rows_become_objects(workspace: Path) -> None:
    (workspace / "t.csv").write_text("name,n,x\nÖl,1,0.1\ntea,2,\n", encoding="utf-8")
    assert json_data.table_to_json("t.csv", "new/t.json") == "2 objects with 3 fields written to new/t.json"
    rows = [{"name": "Öl", "n": 1, "x": 0.1}, {"name": "tea", "n": 2, "x": None}]
    assert json.loads((workspace / "new" / "t.json").read_text(encoding="utf-8")) == rows
    json_data.table_to_json("t.csv", "t.jsonl")
    assert [json.loads(line) for line in (workspace / "t.jsonl").read_text(encoding="utf-8").splitlines()] == rows
    for path, problem in [("t.txt", "must end in .json"), ("../t.json", "outside"), ("t.csv/t.json", "cannot write")]:
        with pytest.raises(ToolError, match=problem):
            json_data.table_to_json("t.csv", path)


@pytest.mark.parametrize(
    ("content", "query", "problem"),
    [
        ("{'a': 1}", "", "is no JSON"),
        ("", "", "is no JSON"),
        ("[" * 100_000, "", "is no JSON"),
        ("[1]", "[?", "is no JMESPath query"),
        ("[1]", "sum('a')", "is no JMESPath query"),
        ("[1]", "none(@)", "is no JMESPath query"),
    ],
)
def test_what_cannot_be_read_or_asked(workspace: Path, content: str, query: str, problem: str) -> None:
    (workspace / "a.json").write_text(content)
    with pytest.raises(ToolError, match=problem):
        json_data.query_json("a.json", query)


def test_a_file_that_is_too_large(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_data, "_MOST_BYTES", 10)
    with pytest.raises(ToolError, match="larger than"):
        json_data.query_json(shop)
    with pytest.raises(ToolError, match="no file"):
        json_data.query_json("none.json")
