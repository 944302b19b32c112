from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from captain.errors import ToolError
from tools_library import data_analysis, data_cleaning, statistics
from tools_library import table_formats as formats

Table = Callable[[str], str]

TABLE = "name,age,joined\nAnn,31,2020-05-01\nBob,,2021-01-15\nCid,45,2019-12-31\n"


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "parquet"])
def test_every_format_is_written_and_read_back(table: Table, ending: str) -> None:
    path, new = table(TABLE), f"new/copy.{ending}"
    assert data_cleaning.save_selection(path, new) == f"3 rows and 3 columns written to {new}"
    assert data_analysis.preview_table(new, rows=0).splitlines() == [
        "3 rows, 3 columns",
        "- name: text, 0 missing, 3 distinct",
        "- age: number, 1 missing, 2 distinct",
        "- joined: text, 0 missing, 3 distinct",
    ]
    found = statistics.describe_column(new, "age")
    assert (found["mean"], found["count"], found["missing"]) == (38, 2, 1)


def test_sheets_of_an_excel_file(workspace: Path) -> None:
    with pandas.ExcelWriter(workspace / "book.xlsx", engine="openpyxl") as book:
        pandas.DataFrame({"a": [1, 2]}).to_excel(book, sheet_name="Jan", index=False)
        frame = pandas.DataFrame({"b": [5.0, None, 7.0], "day": pandas.to_datetime(["2024-01-01"] * 3)})
        frame.to_excel(book, sheet_name="Feb 2024", index=False)
    text = data_analysis.preview_table("book.xlsx")
    assert text.startswith("2 rows, 1 columns\nsheets: Jan, Feb 2024\n- a: whole number")
    assert "- day: date" in data_analysis.preview_table("book.xlsx#feb 2024")
    assert statistics.describe_column("book.xlsx#Feb 2024", "b")["mean"] == 6
    with pytest.raises(ToolError, match="no sheet 'Mar'; its sheets: 'Jan', 'Feb 2024'"):
        data_analysis.preview_table("book.xlsx#Mar")


def test_a_name_with_a_number_sign_is_a_file(workspace: Path) -> None:
    (workspace / "a#1.csv").write_text("x\n1\n")
    assert data_analysis.preview_table("a#1.csv").startswith("1 rows")
    with pytest.raises(ToolError, match="has no sheets"):
        (workspace / "b.csv").write_text("x\n1\n")
        data_analysis.preview_table("b.csv#1")


def test_a_missing_package_is_named(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(TABLE)
    for ending in ("xlsx", "parquet"):
        data_cleaning.save_selection(path, f"t.{ending}")
    real = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name in ("openpyxl", "pyarrow") else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    for name, package in (("t.xlsx", "openpyxl"), ("t.parquet", "pyarrow")):
        with pytest.raises(ToolError, match=f"needs the package '{package}'"):
            data_analysis.preview_table(name)
        with pytest.raises(ToolError, match=f"needs the package '{package}'"):
            data_cleaning.save_selection(path, f"again-{name}")
    assert data_analysis.preview_table(path).startswith("3 rows")  # text needs neither


@pytest.mark.parametrize("name", ["t.xlsx", "t.parquet", "t.xls", "t.csv"])
def test_broken_files_are_errors(workspace: Path, name: str) -> None:
    (workspace / name).write_bytes(b"\0not a table")
    with pytest.raises(ToolError, match="t[.]"):
        data_analysis.preview_table(name)


def test_a_file_that_unpacks_to_too_much_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_UNPACKED_BYTES", 1000)
    with zipfile.ZipFile(workspace / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", "0" * 100_000)
    with pytest.raises(ToolError, match="when unpacked"):
        data_analysis.preview_table("bomb.xlsx")


def test_what_may_not_be_written(table: Table, workspace: Path) -> None:
    path = table(TABLE)
    (workspace / "plain").write_text("x")
    for name, problem in [
        ("data.csv", "must be a new file"),
        ("sub/../data.csv", "must be a new file"),
        ("out.txt", "must end in"),
        ("../out.csv", "outside"),
        ("plain/out.csv", "cannot write"),
    ]:
        with pytest.raises(ToolError, match=problem):
            data_cleaning.save_selection(path, name)
    assert (workspace / "data.csv").read_text() == TABLE
