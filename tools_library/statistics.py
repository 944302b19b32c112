"""Summary statistics of columns of tables. Missing, infinite and text cells are left out and counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import Numbers, cell_text, column_name, numbers, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_COLUMNS = 60


@tool
def describe_column(path: str, column: str) -> dict[str, Any]:
    """Summary statistics of one column of a table: count, missing cells, mean, median, standard deviation, quartiles,
    minimum, maximum, skewness and kurtosis; for a text column the distinct and most common values.

    Missing cells (empty, NaN, infinite) and cells with text are left out and counted. A value that is not defined, such
    as the standard deviation of one number, is null. Quartiles interpolate linearly.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The name of the column.

    Returns:
        count, missing, ignored_text, mean, median, std_sample (divides by n - 1), std_population (divides by n),
        minimum, quartile1, quartile3, maximum, sum, skewness_sample and excess_kurtosis_sample (bias-corrected, as
        pandas), skewness_population and excess_kurtosis_population (moments divided by n, as the default of scipy).

    Raises:
        ToolError: No such file or column, or the column is empty.
    """
    table = read_table(path)
    cells = table[column_name(table, column)].dropna()
    if cells.empty:
        raise ToolError(f"column {column!r} is empty: all {len(table)} cells are missing")
    try:
        found = numbers(table, column)
    except ToolError:
        common = cells.astype(str).value_counts().head(5)
        return {
            "type": "text",
            "count": len(cells),
            "missing": len(table) - len(cells),
            "distinct": int(cells.nunique()),
            "most_common": {str(value): int(count) for value, count in common.items()},
        }
    return {"type": "number", **found.counts(), **_moments(found)}


@tool
def summary_statistics(path: str, columns: list[str] = []) -> str:
    """Summary statistics of a whole table, column by column: count, missing values, mean, median, mode, standard
    deviation, variance, minimum, quartiles, maximum, sum and distinct values of every numeric column.

    Missing (empty, NaN, infinite) and text cells are left out and counted. Deviation and variance are of a sample (they
    divide by n - 1). Text columns get count, missing, distinct and the most common value.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        columns: The columns to describe; empty for all, at most 60 are shown.

    Returns:
        A CSV table with one line a column.

    Raises:
        ToolError: No such file or column, or the table has no rows.
    """
    table = read_table(path)
    if table.empty:
        raise ToolError(f"{path!r} has no rows to describe")
    names = [column_name(table, name) for name in columns] or [str(name) for name in table.columns]
    fields = ("type", "count", "missing", "distinct", "mean", "median", "mode", "std", "variance")
    lines = [",".join(["column", *fields, "minimum", "quartile1", "quartile3", "maximum", "sum"])]
    for name in names[:MAX_COLUMNS]:
        shown = f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"\n') else name
        lines.append(",".join([shown, *_summary(table, name)]))
    if len(names) > MAX_COLUMNS:
        lines.append(f"(and {len(names) - MAX_COLUMNS} more columns)")
    return "\n".join(lines)


@tool
def value_counts(path: str, column: str, top: int = 20) -> dict[str, Any]:
    """Frequency table of a column: how often each value or category occurs, with its share, the mode and the number of
    distinct (unique) values.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column, of text or of numbers.
        top: How many of the most frequent values to list, from 1 to 200.

    Returns:
        count (cells that are not missing), missing, distinct, mode (all most frequent values, at most 20), values
        (value -> count and share of count, the most frequent first; of equally frequent ones the one seen first).

    Raises:
        ToolError: No such file or column, or all cells are missing.
    """
    table = read_table(path)
    name = column_name(table, column)
    cells = table[name].dropna().map(cell_text)
    if cells.empty:
        raise ToolError(f"column {name!r} is empty: all {len(table)} cells are missing")
    counts = cells.value_counts(sort=False).sort_values(ascending=False, kind="stable")
    return {
        "count": len(cells),
        "missing": len(table) - len(cells),
        "distinct": len(counts),
        "mode": counts[counts == counts.iloc[0]].index.tolist()[:20],
        "values": {
            value: {"count": int(times), "share": rounded(times / len(cells))}
            for value, times in counts.head(min(max(top, 1), 200)).items()
        },
    }


def _summary(table: pandas.DataFrame, name: str) -> list[str]:
    """The cells of one line, beginning with the type of the column."""
    cells = table[name].dropna()
    found = numbers(table, name, at_least=0)
    distinct = str(cells.nunique())
    if not len(found.values) or table[name].dtype == bool:
        common = cells.map(cell_text).value_counts(sort=False)
        mode = str(common.idxmax()).replace(",", ";").replace("\n", " ")[:60] if len(common) else ""
        kind = "text" if len(cells) else "empty"
        return [kind, str(len(cells)), str(len(table) - len(cells)), distinct, "", "", mode, *[""] * 7]
    values = found.values
    modes = values.mode()
    moments: list[Any] = [values.mean(), values.median(), modes.iloc[0], values.std(), values.var(), values.min()]
    moments += [values.quantile(0.25), values.quantile(0.75), values.max(), values.sum()]
    kind = f"number ({found.ignored_text} cells with text left out)" if found.ignored_text else "number"
    plain = [rounded(moment) for moment in moments]
    return [
        kind,
        str(len(values)),
        str(found.missing),
        distinct,
        *("" if each is None else f"{each:.10g}" for each in plain),
    ]


def _moments(found: Numbers) -> dict[str, float | None]:
    values = found.values
    deviations = values - values.mean()
    variance = float((deviations**2).mean())
    varied = values.nunique() > 1 and variance > 0
    undefined = math.nan
    moments = {
        "mean": values.mean(),
        "median": values.median(),
        "std_sample": values.std(ddof=1),
        "std_population": values.std(ddof=0),
        "minimum": values.min(),
        "quartile1": values.quantile(0.25),
        "quartile3": values.quantile(0.75),
        "maximum": values.max(),
        "sum": values.sum(),
        "skewness_sample": values.skew() if varied else undefined,
        "skewness_population": (deviations**3).mean() / variance**1.5 if varied else undefined,
        "excess_kurtosis_sample": values.kurt() if varied else undefined,
        "excess_kurtosis_population": (deviations**4).mean() / variance**2 - 3 if varied else undefined,
    }
    return {name: rounded(value) for name, value in moments.items()}
