from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from captain.errors import ToolError
from tools_library import feature_engineering as features

Table = Callable[[str], str]

SHOP = "price,units,unit cost,a-b,city,e\n10,2,3,1,Rome,1\n20,,4,2,Oslo,2\n30,3,5,3,,3\n40,0,x,4,Rome,4\n"


def new_column(workspace: Path, name: str) -> list[float | None]:
    column = pandas.read_csv(workspace / "new.csv")[name]
    return [None if math.isnan(value) else value for value in column]


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("price * units", [20, None, 90, 0]),
        ("price / units", [5, None, 10, None]),  # 40 / 0 is not defined
        ("PRICE - 1", [9, 19, 29, 39]),
        ("price - unit cost", [7, 16, 25, None]),
        ("price - `unit cost` + 2`a-b`", [9, 20, 31, None]),
        ("price / mean(price)", [0.4, 0.8, 1.2, 1.6]),
        ("(price - min(price)) / (max(price) - min(price))", [0, 1 / 3, 2 / 3, 1]),
        ("sqrt(price - 20)", [None, 0, math.sqrt(10), math.sqrt(20)]),
        ("log(e) + max(e, 2)", [2, math.log(2) + 2, math.log(3) + 3, math.log(4) + 4]),
        ("price // 15 + price % 15", [10, 6, 2, 12]),
        ("price > 20", [0, 0, 1, 1]),
        ("price > 10 and city == Rome", [0, 0, 0, 1]),
        ("city is missing", [0, 0, 1, 0]),
    ],
)
def test_a_column_is_computed(table: Table, workspace: Path, expression: str, values: list[float | None]) -> None:
    found = features.add_column(table(SHOP), "new.csv", "new", expression)
    assert new_column(workspace, "new") == [value if value is None else pytest.approx(value) for value in values]
    assert (found["count"], found["missing"]) == (4 - values.count(None), values.count(None))
    known = [value for value in values if value is not None]
    assert found["mean"] == pytest.approx(sum(known) / len(known))


def test_whole_numbers_stay_whole(table: Table, workspace: Path) -> None:
    features.add_column(table(SHOP), "new.csv", "double", "2 * price")
    assert (workspace / "new.csv").read_text().splitlines()[1].endswith(",20")


@pytest.mark.parametrize(
    ("name", "expression", "problem"),
    [
        ("price", "units", "a new column"),
        (" ", "units", "a new column"),
        ("new", "1 + 1", "names no column"),
        ("new", "prize + 1", "did you mean 'price'"),
        ("new", "city * 2", "0 numbers"),
        ("new", "price +", "the end"),
        ("new", "__import__('os')", "no column 'os'"),
        ("new", "price.__class__", "cannot read"),
        ("new", "price > high", "holds numbers"),
    ],
)
def test_columns_that_cannot_be_computed(table: Table, name: str, expression: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        features.add_column(table(SHOP), "new.csv", name, expression)


def test_a_column_called_like_a_function(table: Table, workspace: Path) -> None:
    path = table("max,exp,v\n1,0,5\n2,1,6\n")
    features.add_column(path, "new.csv", "new", "max + exp(v - v) + `exp`")
    assert new_column(workspace, "new") == [2, 4]


def test_bins_by_edges_width_and_quantile(table: Table, workspace: Path) -> None:
    path = table("v,w\n0,1\n18,1\n19,1\n65,1\n70,1\n,1\n130,1\n")
    found = features.bin_column(path, "new.csv", "v", "0, 18, 65, 120", labels=["child", "adult", "old"])
    assert (found["bins"], found["without_bin"]) == ({"child": 2, "adult": 2, "old": 1}, 2)
    assert (workspace / "new.csv").read_text().splitlines()[1:4] == ["0.0,1,child", "18.0,1,child", "19.0,1,adult"]
    path = table("v,w\n1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n101,1\n")
    assert features.bin_column(path, "new.csv", "v")["bins"] == {
        "[1, 26]": 7,
        "(26, 51]": 0,
        "(51, 76]": 0,
        "(76, 101]": 1,
    }
    assert list(features.bin_column(path, "new.csv", "v", "4", "quantile")["bins"].values()) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("bins", "method", "labels", "problem"),
    [
        ("1", "width", [], "from 2 to 50"),
        ("many", "width", [], "from 2 to 50"),
        ("5 3 1", "width", [], "must rise"),
        ("3", "quantile", [], "too equal"),
        ("2", "width", ["a"], "2 bins, not 1"),
        ("2", "width", ["a", "a"], "the same"),
        ("2", "kmeans", [], "method must be"),
    ],
)
def test_bins_that_cannot_be_made(table: Table, bins: str, method: str, labels: list[str], problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        features.bin_column(table("v,w\n1,1\n1,1\n1,1\n9,1\n"), "new.csv", "v", bins, method, labels)


def test_categories_are_encoded(table: Table, workspace: Path) -> None:
    path = table("g,n\nb,1\na,2\nb,1\n,3\n")
    found = features.encode_categories(path, "new.csv", "g")
    assert (found["columns"], found["categories"], found["missing"]) == (["g_a", "g_b"], {"a": 1, "b": 2}, 1)
    assert (workspace / "new.csv").read_text().splitlines()[1:] == ["b,1,0,1", "a,2,1,0", "b,1,0,1", ",3,0,0"]
    features.encode_categories(path, "new.csv", "g", "label")
    assert (workspace / "new.csv").read_text().splitlines()[1:] == ["b,1,1", "a,2,0", "b,1,1", ",3,"]
    features.encode_categories(path, "new.csv", "n", "frequency")
    assert new_column(workspace, "n_frequency") == [0.5, 0.25, 0.5, 0.25]
    with pytest.raises(ToolError, match="101 categories"):
        features.encode_categories(table("g,n\n" + "".join(f"c{n},1\n" for n in range(101))), "new.csv", "g")


def test_columns_are_scaled(table: Table, workspace: Path) -> None:
    # 2 4 4 4 5 5 7 9: mean 5, population deviation 2, median 4.5, quartiles 4 and 5.5
    path = table("v,w\n" + "".join(f"{v},1\n" for v in (2, 4, 4, 4, 5, 5, 7, 9, "")))
    for method, first, last in [
        ("standard", -1.5, 2),
        ("minmax", 0, 1),
        ("robust", -2.5 / 1.5, 3),
        ("log", math.log(2), math.log(9)),
        ("log1p", math.log(3), math.log(10)),
    ]:
        found = features.scale_columns(path, "new.csv", ["v"], method)
        values = new_column(workspace, f"v_{method}")
        assert (values[0], values[7], values[8]) == (pytest.approx(first), pytest.approx(last), None)
        assert found[f"v_{method}"]["missing"] == 1
    with pytest.raises(ToolError, match="does not vary"):
        features.scale_columns(path, "new.csv", ["w"])
    with pytest.raises(ToolError, match="1 numbers without a logarithm"):
        features.scale_columns(table("v,w\n0,1\n2,1\n"), "new.csv", ["v"], "log")


def test_parts_of_dates(table: Table, workspace: Path) -> None:
    path = table("day,v\n2024-02-29,1\n1969-07-20 20:17,2\n,3\nsoon,4\n")
    parts = ["year", "quarter", "month", "week", "day", "weekday", "weekday_name", "day_of_year", "hour", "minute"]
    found = features.extract_date_parts(path, "new.csv", "day", parts)
    rows = (workspace / "new.csv").read_text().splitlines()
    assert rows[1] == "2024-02-29,1,2024,1,2,9,29,3,Thursday,60,0,0"
    assert rows[2] == "1969-07-20 20:17,2,1969,3,7,29,20,6,Sunday,201,20,17"  # the Moon landing
    assert rows[3] == ",3" + "," * 10
    assert (found["unreadable"], found["missing"], found["latest"]) == (1, 1, "2024-02-29 00:00:00")


def test_odd_dates(table: Table, workspace: Path) -> None:
    path = table("day,year,n\n03/04/2024,1999,1\n13/04/2024,,2\n")
    features.extract_date_parts(path, "new.csv", "day", ["month"], day_first=True)
    assert new_column(workspace, "day_month") == [4, 4]
    features.extract_date_parts(path, "new.csv", "year", ["year"])
    assert new_column(workspace, "year_year") == [1999, None]
    for column, parts, problem in [
        ("n", ["year"], "no dates"),
        ("day", ["age"], "each of parts"),
        ("day", [], "parts"),
    ]:
        with pytest.raises(ToolError, match=problem):
            features.extract_date_parts(path, "new.csv", column, parts)
