"""Values are worked out by hand or known from textbooks."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import statistics

Table = Callable[[str], str]


def column(*values: object, name: str = "v") -> str:
    return "\n".join([f"{name},other", *(f"{value},1" for value in values)])


def test_describe_column_by_hand(table: Table) -> None:
    # 2 4 4 4 5 5 7 9: mean 5, squared deviations add up to 32, cubed ones to 42, fourth powers to 356
    found = statistics.describe_column(table(column(2, 4, 4, 4, 5, 5, 7, 9)), "v")
    assert (found["count"], found["mean"], found["median"], found["sum"]) == (8, 5, 4.5, 40)
    assert found["std_population"] == 2
    assert found["std_sample"] == pytest.approx(math.sqrt(32 / 7))
    assert (found["minimum"], found["quartile1"], found["quartile3"], found["maximum"]) == (2, 4, 5.5, 9)
    assert found["skewness_population"] == pytest.approx(42 / 8 / 8)
    assert found["excess_kurtosis_population"] == pytest.approx(356 / 8 / 16 - 3)
    assert found["skewness_sample"] == pytest.approx(42 / 64 * math.sqrt(8 * 7) / 6)


def test_missing_text_and_infinite_cells_are_left_out_and_counted(table: Table) -> None:
    found = statistics.describe_column(table(column(1, "", 2, "NaN", 3, "inf", "abc")), "v")
    assert (found["count"], found["missing"], found["ignored_text"], found["mean"]) == (3, 3, 1, 2)
    assert found["skewness_sample"] == 0


def test_thousands_separators_are_numbers(table: Table) -> None:
    assert statistics.describe_column(table('v,w\n"1,000",1\n"2,000,000.5",1\n500,1'), "v")["sum"] == 2001500.5


def test_one_number_and_a_constant_column_have_undefined_moments(table: Table) -> None:
    assert statistics.describe_column(table(column(3)), "v")["std_sample"] is None
    constant = statistics.describe_column(table(column(3, 3, 3, 3, 3)), "v")
    assert (constant["std_sample"], constant["skewness_sample"], constant["excess_kurtosis_population"]) == (
        0,
        None,
        None,
    )


def test_a_text_column_is_described_by_its_values(table: Table) -> None:
    found = statistics.describe_column(table(column("a", "b", "a", "")), "v")
    assert found == {"type": "text", "count": 3, "missing": 1, "distinct": 2, "most_common": {"a": 2, "b": 1}}


def test_an_empty_column_and_a_wrong_name_are_errors(table: Table) -> None:
    path = table("age,height\n,1\n,2")
    with pytest.raises(ToolError, match="'age' is empty"):
        statistics.describe_column(path, "age")
    with pytest.raises(ToolError, match="did you mean 'height'"):
        statistics.describe_column(path, "hieght")
    assert statistics.describe_column(path, " HEIGHT ")["sum"] == 3


def test_a_whole_table_is_summarised(table: Table) -> None:
    path = table("v,w,name,flag,empty\n2,1.5,a,True,\n4,,b,False,\n4,2.5,a,True,\n6,x,,True,\n")
    lines = statistics.summary_statistics(path).splitlines()
    assert lines[0] == (
        "column,type,count,missing,distinct,mean,median,mode,std,variance,minimum,quartile1,quartile3,maximum,sum"
    )
    # 2 4 4 6: squared deviations add up to 8
    assert lines[1] == "v,number,4,0,3,4,4,4,1.632993162,2.666666667,2,3.5,4.5,6,16"
    assert lines[2].startswith("w,number (1 cells with text left out),2,1,3,2,2,1.5,")
    assert lines[3] == "name,text,3,1,2,,,a,,,,,,,"
    assert lines[4] == "flag,text,4,0,2,,,True,,,,,,,"
    assert lines[5] == "empty,empty,0,4,0,,,,,,,,,,"
    assert len(statistics.summary_statistics(path, ["w", "V"]).splitlines()) == 3
    with pytest.raises(ToolError, match="no column"):
        statistics.summary_statistics(path, ["u"])
    with pytest.raises(ToolError, match="no rows"):
        statistics.summary_statistics(table("a,b\n"))


def test_values_are_counted(table: Table) -> None:
    path = table("g,n\na,1\nb,2\na,\n,1\nc,3\n")
    assert statistics.value_counts(path, "g", top=2) == {
        "count": 4,
        "missing": 1,
        "distinct": 3,
        "mode": ["a"],
        "values": {"a": {"count": 2, "share": 0.5}, "b": {"count": 1, "share": 0.25}},
    }
    assert list(statistics.value_counts(path, "n")["values"]) == ["1", "2", "3"]  # not 1.0
    assert statistics.value_counts(table("g,h\nx,1\ny,1\n"), "g")["mode"] == ["x", "y"]
    with pytest.raises(ToolError, match="'g' is empty"):
        statistics.value_counts(table("g,h\n,1\n"), "g")
