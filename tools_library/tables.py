"""Opens the files that tools work on, and finds tables, columns and numbers in them."""

from __future__ import annotations

import csv
import difflib
import math
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from captain.errors import ToolError
from captain.tools import resolve_path

if TYPE_CHECKING:
    import pandas

MAX_TABLE_BYTES = 200 * 1024**2
_THOUSANDS = r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"


class Numbers(NamedTuple):
    """The numbers of one column; the index is the row, 1 being the first row under the header."""

    values: pandas.Series[float]
    missing: int
    """Empty cells, NaN and infinite values."""
    ignored_text: int
    """Cells with text that is no number."""


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


def is_binary(path: Path) -> bool:
    """Whether a file holds something other than text (a zero byte near its beginning)."""
    with path.open("rb") as stream:
        return b"\0" in stream.read(8192)


def encoding_of(path: Path) -> str:
    """`utf-8-sig` where the whole file is valid UTF-8, else `latin-1`."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            while stream.read(1 << 20):
                pass
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8-sig"


def read_table(path: str) -> pandas.DataFrame:
    """Read a CSV or TSV file with a header line; the separator is found from the header.

    Raises:
        ToolError: No such file, no columns, too large, or not a table.
    """
    import pandas

    found = existing_file(path)
    if found.stat().st_size > MAX_TABLE_BYTES:
        raise ToolError(f"{path!r} is larger than {MAX_TABLE_BYTES // 1024**2} MB")
    if is_binary(found):
        raise ToolError(f"{path!r} is not a text file; only CSV and TSV tables can be read")
    encoding = encoding_of(found)
    with found.open(encoding=encoding) as stream:
        separator = max(",;\t|", key=stream.readline().count)
        stream.seek(0)
        first = [len(row) for row in islice((row for row in csv.reader(stream, delimiter=separator) if row), 2)]
    if len(first) == 2 and first[1] > first[0]:
        raise ToolError(f"the rows of {path!r} have {first[1]} cells but its header line names {first[0]} columns")
    try:
        table = pandas.read_csv(
            found, sep=separator, encoding=encoding, skipinitialspace=True, low_memory=False, compression=None
        )
    except (pandas.errors.EmptyDataError, pandas.errors.ParserError, ValueError) as error:
        raise ToolError(f"{path!r} cannot be read as a table: {error}") from error
    table.columns = [str(name).strip() for name in table.columns]
    table.index = pandas.RangeIndex(1, len(table) + 1)
    return table


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
