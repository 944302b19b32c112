"""Preparing tables: missing values, duplicates, outliers, rows and columns; each tool writes a new file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.conditions import rows_meeting
from tools_library.outliers import limits_of
from tools_library.samples import finite
from tools_library.table_formats import write_table
from tools_library.tables import cell_text, column_name, numbers, numeric_columns, one_of, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

_METHODS = ("mean", "median", "mode", "constant", "forward", "backward", "interpolate", "drop")


@tool
def missing_values(path: str) -> dict[str, Any]:
    """Report the missing values (null, NaN, empty cells) of a table: count and percentage by column, complete rows,
    duplicated rows; the first step of data cleaning and preprocessing.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.

    Returns:
        rows, columns, missing_cells, complete_rows, duplicate_rows, by_column (missing and percent, for columns with
        missing cells).

    Raises:
        ToolError: No such file, or it is not a table.
    """
    table = read_table(path)
    missing = table.isna()
    counts = {name: int(missing.iloc[:, position].sum()) for position, name in enumerate(map(str, table.columns))}
    return {
        "rows": len(table),
        "columns": len(table.columns),
        "missing_cells": int(missing.to_numpy().sum()),
        "complete_rows": int((~missing.any(axis=1)).sum()),
        "duplicate_rows": int(table.duplicated().sum()),
        "by_column": {
            name: {"missing": count, "percent": rounded(100 * count / len(table))}
            for name, count in counts.items()
            if count
        },
    }


@tool
def fill_missing_values(
    path: str,
    save_as: str,
    method: str = "mean",
    columns: list[str] = [],
    constant: str = "",
) -> dict[str, Any]:
    """Impute (fill in) or drop missing values of columns and save the cleaned table: by mean, median, mode, a constant,
    the previous or next value, or linear interpolation.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the result, for example "clean.csv".
        method: "mean", "median", "mode" (most frequent value), "constant", "forward" (last value above), "backward",
            "interpolate" (linear between the neighbours) or "drop" (remove the rows with a missing cell).
        columns: The columns to fill; empty for all that have missing cells (for "mean", "median" and "interpolate" the
            numeric ones).
        constant: The value for the method "constant".

    Returns:
        saved (file and size), filled (column -> the value used, or the method, and the number of cells), still_missing,
        rows_dropped.

    Raises:
        ToolError: No such file, column or method, a column without numbers for a mean, or save_as cannot be written.
    """
    method = one_of(method, _METHODS, "method")
    table = read_table(path)
    chosen = [column_name(table, name) for name in columns] or _with_missing(table, method)
    cleaned, filled = table, {}
    if method == "drop":
        cleaned = table.dropna(subset=chosen)
    else:
        cleaned = table.copy()
        for name in dict.fromkeys(chosen):
            cells, how = _filled(table, name, method, constant)
            filled[name] = {"with": how, "cells": int(table[name].isna().sum() - cells.isna().sum())}
            cleaned[name] = cells
    return {
        "saved": write_table(cleaned, save_as, source=path),
        "filled": filled,
        "still_missing": int(cleaned.isna().to_numpy().sum()),
        "rows_dropped": len(table) - len(cleaned),
    }


@tool
def remove_outliers(
    path: str, save_as: str, columns: list[str], method: str = "iqr", threshold: float = 0.0, clip: bool = False
) -> dict[str, Any]:
    """Remove the rows with outliers in given columns, or clip (winsorise) them to the limits, by IQR or z-score, and
    save the cleaned table.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the result.
        columns: The numeric columns to look at; rows with a missing cell stay.
        method: "iqr" or "zscore" (population standard deviation).
        threshold: 0 for the usual one: 1.5 for "iqr", 3 for "zscore".
        clip: true to move outliers to the nearest limit instead of removing their rows.

    Returns:
        saved, outliers (column -> how many), rows_removed, limits (column -> lowest and highest value kept).

    Raises:
        ToolError: No such file, column or method, no numbers, a negative threshold, or save_as cannot be written.
    """
    table = read_table(path)
    if not columns:
        raise ToolError("columns must name at least one column")
    keep = table.index == table.index
    cleaned, outliers, limits = table.copy(), {}, {}
    for name in dict.fromkeys(column_name(table, each) for each in columns):
        values = numbers(table, name, at_least=2).values
        low, high = limits_of(values, method, threshold, ddof=0)
        outside = values[(values < low) | (values > high)]
        outliers[name], limits[name] = len(outside), [rounded(low), rounded(high)]
        keep &= ~table.index.isin(outside.index)
        if clip and len(outside):
            cleaned[name] = values.clip(low, high).reindex(table.index)
    cleaned = cleaned if clip else cleaned[keep]
    return {
        "saved": write_table(cleaned, save_as, source=path),
        "outliers": outliers,
        "rows_removed": len(table) - len(cleaned),
        "limits": limits,
    }


@tool
def save_selection(
    path: str,
    save_as: str,
    conditions: list[str] = [],
    columns: list[str] = [],
    drop_duplicates: bool = False,
) -> str:
    """Save a part of a table as a new file: rows that meet conditions, chosen columns, without duplicate rows; also
    converts between CSV, TSV, Excel and Parquet.

    Args:
        path: The table; "book.xlsx#Sheet2" takes a sheet of an Excel file.
        save_as: The new file; its ending (.csv, .tsv, .xlsx, .parquet) gives the format.
        conditions: Rows to keep, for example ["age >= 30", "city == Paris", "email is not missing"]; all must hold.
        columns: Columns to keep, in this order; empty for all.
        drop_duplicates: true to keep only the first of rows that are equal in all kept columns.

    Returns:
        How many rows and columns were written where.

    Raises:
        ToolError: No such file or column, a condition that cannot be read, or save_as cannot be written.
    """
    table = read_table(path)
    chosen = table[rows_meeting(table, conditions)]
    if columns:
        chosen = chosen[list(dict.fromkeys(column_name(table, name) for name in columns))]
    if drop_duplicates:
        chosen = chosen.drop_duplicates()
    return write_table(chosen, save_as, source=path)


def _with_missing(table: pandas.DataFrame, method: str) -> list[str]:
    names = numeric_columns(table) if method in ("mean", "median", "interpolate") else list(map(str, table.columns))
    return [name for name in names if table[column_name(table, name)].isna().any()]


def _filled(table: pandas.DataFrame, name: str, method: str, constant: str) -> tuple[Any, str | float | None]:
    """The column without missing cells as far as the method can, and what was put in."""
    column = table[name]
    if method in ("forward", "backward"):
        return (column.ffill() if method == "forward" else column.bfill()), f"{method} value"
    if method == "constant":
        numeric = name in numeric_columns(table)
        value: Any = finite(constant, f"the constant for the numeric column {name!r}") if numeric else constant
        return column.astype(float if numeric else object).fillna(value), value
    if method == "mode":
        modes = column.mode()
        return (column.fillna(modes.iloc[0]), cell_text(modes.iloc[0])) if len(modes) else (column, "nothing")
    found = numbers(table, name)
    if found.ignored_text:
        raise ToolError(f"column {name!r} has {found.ignored_text} cells with text; only numbers have a {method}")
    values = found.values.reindex(table.index)
    if method == "interpolate":
        return values.interpolate(limit_area="inside"), "interpolation"
    centre = float(values.mean() if method == "mean" else values.median())
    return values.fillna(centre), rounded(centre)
