"""Opens the files that tools work on, and finds tables, columns and numbers in them."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from captain.errors import ToolError
from captain.tools import resolve_path
from tools_library.table_formats import encoding_of, is_binary, read_frame

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Numbers",
    "cell_text",
    "column_name",
    "encoding_of",
    "existing_file",
    "is_binary",
    "located",
    "numbers",
    "numeric_columns",
    "one_of",
    "paired",
    "read_table",
    "rounded",
    "varied",
]
_THOUSANDS = r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"


class Numbers(NamedTuple):
    """The numbers of one column; the index is the row, 1 being the first row under the header."""

    values: pandas.Series[float]
    missing: int
    """Empty cells, NaN and infinite values."""
    ignored_text: int
    """Cells with text that is no number."""

    def counts(self) -> dict[str, int]:
        """How many cells were used and how many were left out, for the result of a tool."""
        return {"count": len(self.values), "missing": self.missing, "ignored_text": self.ignored_text}


def existing_file(path: str) -> Path:
    """The file at a path of the workspace.

    Raises:
        ToolError: There is none; the message names files with a similar name.
    """
    found = resolve_path(path)
    if found.is_file():
        return found
    if found.is_dir():
        raise ToolError(f"{path!r} is a folder, not a file")
    siblings = sorted(entry.name for entry in found.parent.iterdir()) if found.parent.is_dir() else []
    raise ToolError(f"there is no file {path!r}{_near(found.name, siblings[:500], 'files there')}")


def read_table(path: str) -> pandas.DataFrame:
    """Read a table with a header line from a CSV, TSV, Excel or Parquet file; of text the separator is found.

    Args:
        path: The file; "book.xlsx#Sheet2" is a sheet of an Excel file, "book.xlsx" its first one.

    Raises:
        ToolError: No such file, no columns, too large, or not a table.
    """
    import pandas

    file, sheet = located(path)
    table = read_frame(file, sheet=sheet)
    table.columns = [str(name).strip() for name in table.columns]
    if not len(table.columns):
        raise ToolError(f"{path!r} cannot be read as a table: it has no columns")
    table.index = pandas.RangeIndex(1, len(table) + 1)
    return table


def located(path: str) -> tuple[Path, str]:
    """The file of a table, and the sheet that the path names after a "#".

    Raises:
        ToolError: There is no such file.
    """
    name, mark, sheet = path.rpartition("#")
    if mark and not resolve_path(path).is_file():
        return existing_file(name), sheet
    return existing_file(path), ""


def column_name(table: pandas.DataFrame, name: str) -> str:
    """The name of a column as the table spells it; case and outer spaces do not matter.

    Raises:
        ToolError: There is no such column, or more than one; the message names the nearest and all others.
    """
    names = [str(column) for column in table.columns]
    exact = [column for column in names if column == name]
    alike = exact or [column for column in names if column.strip().lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise ToolError(f"more than one column is called {name!r}: {', '.join(map(repr, alike))}")
    raise ToolError(f"there is no column {name!r}{_near(name, names, 'columns')}")


def numbers(table: pandas.DataFrame, name: str, *, at_least: int = 1) -> Numbers:
    """The finite numbers of a column, with thousands separators understood.

    Args:
        table: The table.
        name: The column.
        at_least: How many numbers are needed.

    Raises:
        ToolError: There is no such column, or it holds too few numbers.
    """
    import numpy
    import pandas

    column = table[column_name(table, name)]
    cells = column.dropna()
    if not pandas.api.types.is_numeric_dtype(cells):
        text = cells.astype(str).str.strip()
        grouped = text.str.fullmatch(_THOUSANDS).astype(bool)
        cells = text.where(~grouped, text.str.replace(",", "", regex=False))
    parsed = pandas.to_numeric(cells, errors="coerce").astype(float)
    unreadable = int(parsed.isna().sum())
    finite = parsed[numpy.isfinite(parsed)]
    if len(finite) < at_least:
        raise ToolError(
            f"column {name!r} has {len(finite)} numbers in {len(column)} rows ({len(column) - len(cells)} missing,"
            f" {unreadable} with text); at least {at_least} are needed"
        )
    return Numbers(finite, len(column) - len(finite) - unreadable, unreadable)


def paired(table: pandas.DataFrame, names: list[str], *, at_least: int) -> tuple[pandas.DataFrame, int]:
    """The rows in which all these columns hold a number, and how many rows were left out.

    Raises:
        ToolError: A column is missing or twice among the names, or too few rows are complete.
    """
    import pandas

    names = [column_name(table, name) for name in names]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ToolError(f"column {twice[0]!r} is given twice; give different columns")
    complete = pandas.DataFrame({name: numbers(table, name).values for name in names}).dropna()
    if len(complete) < at_least:
        raise ToolError(f"only {len(complete)} rows have numbers in all of {names}; at least {at_least} are needed")
    return complete, len(table) - len(complete)


def numeric_columns(table: pandas.DataFrame) -> list[str]:
    """The columns that hold numbers in most of their cells that are not missing; true/false columns are not numbers."""
    names = []
    for name in map(str, table.columns):
        if table.columns.tolist().count(name) == 1 and table[name].dtype != bool:
            found = numbers(table, name, at_least=0)
            if len(found.values) > found.ignored_text:
                names.append(name)
    return names


def varied(values: pandas.Series[float], name: str) -> None:
    """Raise `ToolError` when all values are the same."""
    if values.nunique() < 2:
        raise ToolError(f"column {name!r} is constant; this needs values that vary")


def cell_text(value: Any) -> str:
    """A cell as text; a whole number in a column with missing cells is 3, not 3.0."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.10g}"
    return str(value)


def rounded(value: Any) -> float | None:
    """A number with ten significant digits; None where it is not defined."""
    number = float(value)
    return float(f"{number:.10g}") if math.isfinite(number) else None


def one_of(option: str, options: tuple[str, ...], what: str) -> str:
    """An option in the spelling of `options`, whatever its case.

    Raises:
        ToolError: It is none of them.
    """
    wanted = option.strip().lower()
    if wanted not in options:
        raise ToolError(f"{what} must be one of {', '.join(map(repr, options))}, not {option!r}")
    return wanted


def _near(name: str, names: list[str], what: str) -> str:
    lower = {each.lower(): each for each in names}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)]
    meant = f"; did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(map(repr, names[:40])) or "none"
    return f"{meant} The {what}: {listed}" if near else f"; the {what}: {listed}"
