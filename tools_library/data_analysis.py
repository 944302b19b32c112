"""Looking into tables: preview, filter, sort, group, pivot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.conditions import rows_meeting
from tools_library.table_formats import sheet_names
from tools_library.tables import column_name, located, numbers, one_of, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_SHOWN = 50
_FUNCTIONS = ("count", "sum", "mean", "median", "minimum", "maximum", "std", "distinct")


@tool
def preview_table(path: str, rows: int = 5) -> str:
    """Look at a table (CSV, TSV, Excel, Parquet): number of rows and columns, column names and types, missing cells,
    first rows; the first step of exploring a data set.

    Args:
        path: The file; "book.xlsx#Sheet2" is a sheet of an Excel file, "book.xlsx" its first one.
        rows: How many of the first rows to show, from 0 to 50.

    Returns:
        The shape, the sheets where there are several, one line a column, then the first rows as CSV.

    Raises:
        ToolError: No such file, or it is not a table.
    """
    table = read_table(path)
    lines = [f"{len(table)} rows, {len(table.columns)} columns"]
    if len(sheets := sheet_names(located(path)[0])) > 1:
        lines.append(f"sheets: {', '.join(sheets[:30])}")
    for position, name in enumerate(table.columns[:100]):
        column = table.iloc[:, position]
        lines.append(f"- {name}: {_kind(column)}, {int(column.isna().sum())} missing, {column.nunique()} distinct")
    if len(table.columns) > 100:
        lines.append(f"- and {len(table.columns) - 100} more columns")
    if shown := min(max(rows, 0), MAX_SHOWN):
        lines.append(f"first {min(shown, len(table))} rows:\n{table.head(shown).to_csv(index=False).strip()}")
    return "\n".join(lines)


@tool
def filter_rows(path: str, conditions: list[str], match_any: bool = False, show: int = 5) -> dict[str, Any]:
    """Count and filter the rows of a table that meet conditions (query, subset, where), and show the first of them.

    A missing cell meets no comparison, also not "!="; use "column is missing". Text is compared exactly, "contains"
    ignores case. Numbers are compared as numbers when the condition's value is a number.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        conditions: For example ["age >= 30", "city == Paris", "name contains smith", "email is missing"]. The signs are
            == != < <= > >= contains, is missing, is not missing. An empty list counts all rows.
        match_any: true when one condition is enough, false when all must hold.
        show: How many matching rows to show, from 0 to 50.

    Returns:
        matching, total, share (matching / total), rows (the first matching rows as CSV).

    Raises:
        ToolError: No such file or column, or a condition that cannot be read.
    """
    table = read_table(path)
    found = table[rows_meeting(table, conditions, match_any=match_any)]
    result: dict[str, Any] = {
        "matching": len(found),
        "total": len(table),
        "share": rounded(len(found) / len(table)) if len(table) else None,
    }
    if len(found) and (shown := min(max(show, 0), MAX_SHOWN)):
        result["rows"] = found.head(shown).to_csv(index=False).strip()
    return result


@tool
def group_by_aggregate(path: str, group_by: list[str], column: str = "*", function: str = "count") -> str:
    """Group the rows of a table by one or more columns and aggregate another column in each group: count, sum, mean,
    median, minimum, maximum, standard deviation or distinct values by category.

    Missing, infinite and text cells are left out of sums and means; rows without a group form the group "(missing)".

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        group_by: The columns to group by, for example ["country"] or ["country", "year"].
        column: The column to aggregate; "*" together with "count" counts rows, which gives the frequency of each value.
        function: "count" (cells that are not missing), "sum", "mean", "median", "minimum", "maximum", "std" (sample,
            divides by n - 1) or "distinct".

    Returns:
        A CSV table of the groups, the largest result first, at most 50 groups.

    Raises:
        ToolError: No such file, column or function, or no numbers to aggregate.
    """
    function = one_of(function, _FUNCTIONS, "function")
    table = read_table(path)
    if not group_by:
        raise ToolError("group_by must name at least one column")
    keys = [_label(table[column_name(table, name)]) for name in group_by]
    if column == "*":
        if function != "count":
            raise ToolError(f"column '*' works with function 'count' only; name a column for {function!r}")
        results = keys[0].groupby(keys).count()
    else:
        results = _aggregated(table, column, function, keys)
    results = results.sort_index().sort_values(ascending=False, kind="stable")
    names = [str(key.name) for key in keys]
    header = f"{','.join(names)},{function}({column})"
    lines = results.head(MAX_SHOWN).map(_cell).to_csv(header=False).strip().splitlines()
    more = [f"(and {len(results) - MAX_SHOWN} more groups)"] if len(results) > MAX_SHOWN else []
    return "\n".join([header, *lines, *more])


@tool
def sort_rows(path: str, by: list[str], descending: bool = False, top: int = 10, columns: list[str] = []) -> str:
    """Sort (rank, order) the rows of a table by one or more columns and show the first: the top or bottom n, largest or
    smallest values.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        by: The columns to sort by, the most important first; rows with a missing cell come last.
        descending: true for the largest first.
        top: How many rows to show, from 1 to 50.
        columns: The columns to show; empty for all.

    Returns:
        The rows as CSV with their number in the table (1 is the first under the header).

    Raises:
        ToolError: No such file or column.
    """
    table = read_table(path)
    if not by:
        raise ToolError("by must name at least one column")
    keys = [column_name(table, name) for name in by]
    shown = [column_name(table, name) for name in columns] or list(table.columns)
    parsed = table[keys].copy()
    for name in keys:
        found = numbers(table, name, at_least=0)
        parsed[name] = table[name].astype("string") if found.ignored_text else found.values.reindex(table.index)
    order = parsed.sort_values(keys, ascending=not descending, kind="stable").index
    return table.loc[order, shown].head(min(max(top, 1), MAX_SHOWN)).to_csv(index_label="row").strip()


@tool
def pivot_table(path: str, rows: str, columns: str, values: str = "*", function: str = "count") -> str:
    """Pivot table (cross tabulation) of two columns: one column's values down, the other's across, a count, sum, mean
    or other aggregate in each cell.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        rows: The column whose values become the rows, at most 200.
        columns: The column whose values become the columns, at most 50.
        values: The column to aggregate; "*" together with "count" counts rows.
        function: "count", "sum", "mean", "median", "minimum", "maximum", "std" (sample) or "distinct".

    Returns:
        A CSV table; a cell without data is empty.

    Raises:
        ToolError: No such file, column or function, too many values, or no numbers to aggregate.
    """
    function = one_of(function, _FUNCTIONS, "function")
    table = read_table(path)
    keys = [_label(table[column_name(table, name)]) for name in (rows, columns)]
    if keys[0].name == keys[1].name:
        raise ToolError(f"rows and columns are both {rows!r}; give two different columns")
    for key, limit in zip(keys, (200, MAX_SHOWN), strict=True):
        if key.nunique() > limit:
            raise ToolError(f"column {key.name!r} has {key.nunique()} different values; at most {limit} fit")
    if values == "*" and function != "count":
        raise ToolError(f"values '*' works with function 'count' only; name a column for {function!r}")
    cells = keys[0].groupby(keys).count() if values == "*" else _aggregated(table, values, function, keys)
    return cells.map(_cell).unstack(fill_value="").to_csv().strip()


def _aggregated(table: pandas.DataFrame, column: str, function: str, keys: list[pandas.Series[Any]]) -> Any:
    """One value a group; a group without numbers has none (the sum of no numbers is not 0 here)."""
    if function in ("count", "distinct"):
        values = table[column_name(table, column)]
    else:
        values = numbers(table, column).values.reindex(table.index)
    grouped = values.groupby(keys)
    method = {"minimum": "min", "maximum": "max", "distinct": "nunique"}.get(function, function)
    return grouped.sum(min_count=1) if method == "sum" else getattr(grouped, method)()


def _kind(column: pandas.Series[Any]) -> str:
    from pandas.api import types

    if column.isna().all():
        return "empty"
    if types.is_bool_dtype(column):
        return "true/false"
    if types.is_integer_dtype(column):
        return "whole number"
    if types.is_datetime64_any_dtype(column):
        return "date"
    return "number" if types.is_numeric_dtype(column) else "text"


def _label(column: pandas.Series[Any]) -> pandas.Series[Any]:
    return column if column.notna().all() else column.astype(object).where(column.notna(), "(missing)").map(_cell)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return str(value)
