from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from captain.errors import ToolError
from tools_library import data_analysis

Table = Callable[[str], str]

PEOPLE = """name,age,city,member,joined
Ann,31,Paris,True,2020-05-01
Bob,,Rome,False,2021-01-15
Cid,45,Paris,True,2019-12-31
Dee,28,,False,2022-07-07
Eva,45,Rome,True,2020-02-29
"""


def test_preview_tells_shape_types_missing_cells_and_first_rows(table: Table) -> None:
    text = data_analysis.preview_table(table(PEOPLE), rows=2)
    assert text.startswith("5 rows, 5 columns")
    assert "- age: number, 1 missing, 3 distinct" in text
    assert "- city: text, 1 missing, 2 distinct" in text
    assert "- member: true/false, 0 missing, 2 distinct" in text
    assert "Bob" in text and "Cid" not in text


@pytest.mark.parametrize("content", ["a;b\n1,5;2\n", "a\tb\n1\t2\n", "a|b\n1|2\n", "\ufeffa,b\n1,2\n"])
def test_separators_and_byte_order_mark(table: Table, content: str) -> None:
    text = data_analysis.preview_table(table(content))
    assert text.startswith("1 rows, 2 columns\n- a: ")


def test_old_encodings_are_read(workspace: Path) -> None:
    (workspace / "old.csv").write_bytes("name\nJosé\n".encode("latin-1"))
    assert "José" in data_analysis.preview_table("old.csv")


def test_a_table_with_only_a_header(table: Table) -> None:
    path = table("a,b\n")
    assert data_analysis.preview_table(path).startswith("0 rows, 2 columns\n- a: empty")
    assert data_analysis.filter_rows(path, ["a > 1"]) == {"matching": 0, "total": 0, "share": None}


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "cannot be read"), ("a,b\n1,2,3\n4,5,6\n", "header line names 2"), ("a\0b", "not a text file")],
)
def test_files_that_are_no_tables(table: Table, content: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        data_analysis.preview_table(table(content))


def test_a_missing_file_is_named_with_its_neighbour(table: Table) -> None:
    table(PEOPLE)
    with pytest.raises(ToolError, match="did you mean 'data.csv'"):
        data_analysis.preview_table("dta.csv")
    with pytest.raises(ToolError, match="outside"):
        data_analysis.preview_table("../secret.txt")


@pytest.mark.parametrize(
    ("conditions", "matching"),
    [
        ([], 5),
        (["age >= 31"], 3),
        (["age > 31"], 2),
        (["age = 45", "city == Paris"], 1),
        (["age != 45"], 2),  # the missing age does not count
        (["city != 'Paris'"], 2),
        (["city is missing"], 1),
        (["age is not missing"], 4),
        (["name contains A"], 2),
        (["member == true"], 3),
        (["joined < 2020-05-01"], 2),
        (["AGE <= 28"], 1),
        (["age == thirty"], 0),
    ],
)
def test_rows_are_counted(table: Table, conditions: list[str], matching: int) -> None:
    found = data_analysis.filter_rows(table(PEOPLE), conditions)
    assert (found["matching"], found["total"], found["share"]) == (matching, 5, matching / 5)


def test_any_condition_and_shown_rows(table: Table) -> None:
    found = data_analysis.filter_rows(table(PEOPLE), ["age < 30", "name == Bob"], match_any=True, show=1)
    assert found["matching"] == 2
    assert found["rows"].splitlines()[1:] == ["Bob,,Rome,False,2021-01-15"]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("agee > 3", "did you mean 'age'"),
        ("age", "cannot read"),
        ("age > old", "holds numbers"),
        ("@x == 1", "no column"),
    ],
)
def test_conditions_that_cannot_be_met(table: Table, condition: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        data_analysis.filter_rows(table(PEOPLE), [condition])


def test_groups_by_hand(table: Table) -> None:
    path = table("g,h,v\na,x,1\na,y,3\nb,x,10\nb,x,\n,y,4\nc,x,\n")
    counted = data_analysis.group_by_aggregate(path, ["g"])
    assert counted.splitlines() == ["g,count(*)", "a,2", "b,2", "(missing),1", "c,1"]
    assert data_analysis.group_by_aggregate(path, ["g"], "v", "mean").splitlines()[1:] == [
        "b,10",
        "(missing),4",
        "a,2",
        "c,",
    ]
    assert data_analysis.group_by_aggregate(path, ["g"], "v", "sum").splitlines()[1:] == [
        "b,10",
        "(missing),4",
        "a,4",
        "c,",
    ]
    assert "a,1.414213562" in data_analysis.group_by_aggregate(path, ["g"], "v", "std")
    assert "b,x,10" in data_analysis.group_by_aggregate(path, ["g", "h"], "v", "maximum").splitlines()
    assert "b,1" in data_analysis.group_by_aggregate(path, ["g"], "v", "count").splitlines()
    assert "a,2" in data_analysis.group_by_aggregate(path, ["g"], "h", "distinct").splitlines()


def test_many_groups_are_cut(table: Table) -> None:
    text = data_analysis.group_by_aggregate(table("g,v\n" + "".join(f"{n},1\n" for n in range(60))), ["g"])
    assert text.endswith("(and 10 more groups)")


@pytest.mark.parametrize(
    ("group_by", "column", "function", "problem"),
    [
        (["g"], "w", "sum", "no column 'w'"),
        (["g"], "*", "sum", "'count' only"),
        (["g"], "v", "mode", "function must be one of"),
        ([], "v", "sum", "at least one"),
        (["g"], "g", "mean", "0 numbers"),
    ],
)
def test_groups_that_cannot_be_made(
    table: Table, group_by: list[str], column: str, function: str, problem: str
) -> None:
    with pytest.raises(ToolError, match=problem):
        data_analysis.group_by_aggregate(table("g,v\na,1\nb,2\n"), group_by, column, function)


def test_rows_are_sorted_and_the_first_shown(table: Table) -> None:
    path = table(PEOPLE)
    oldest = data_analysis.sort_rows(path, ["age", "name"], descending=True, top=2, columns=["name", "age"])
    assert oldest.splitlines() == ["row,name,age", "5,Eva,45.0", "3,Cid,45.0"]
    assert data_analysis.sort_rows(path, ["age"]).splitlines()[-1].startswith("2,Bob,")  # missing comes last
    assert data_analysis.sort_rows(table('v,w\n"1,000",1\n9,2\n"20",3\n'), ["v"]).splitlines()[1:] == [
        "2,9,2",
        "3,20,3",
        '1,"1,000",1',
    ]
    with pytest.raises(ToolError, match="at least one"):
        data_analysis.sort_rows(path, [])


def test_a_pivot_table_by_hand(table: Table) -> None:
    path = table("g,h,v\na,x,1\na,y,3\nb,x,10\nb,x,20\nb,,5\n")
    assert data_analysis.pivot_table(path, "g", "h").splitlines() == ["g,(missing),x,y", "a,,1,1", "b,1,2,"]
    assert data_analysis.pivot_table(path, "g", "h", "v", "mean").splitlines() == [
        "g,(missing),x,y",
        "a,,1,3",
        "b,5,15,",
    ]
    for arguments, problem in [
        (("g", "g"), "two different"),
        (("g", "h", "*", "sum"), "'count' only"),
        (("g", "h", "g", "mean"), "0 numbers"),
        (("g", "h", "v", "mode"), "function must be"),
    ]:
        with pytest.raises(ToolError, match=problem):
            data_analysis.pivot_table(path, *arguments)


def test_a_pivot_table_that_would_not_fit(table: Table) -> None:
    path = table("g,h\n" + "".join(f"{n % 2},{n}\n" for n in range(60)))
    with pytest.raises(ToolError, match="60 different values; at most 50"):
        data_analysis.pivot_table(path, "g", "h")
    assert data_analysis.pivot_table(path, "h", "g").splitlines()[1] == "0,1,"
