"""New columns made from those of a table; each tool writes a new file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.table_formats import write_table
from tools_library.tables import cell_text, column_name, numbers, one_of, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_CATEGORIES = 100
_PARTS = ("year", "quarter", "month", "week", "day", "weekday", "weekday_name", "day_of_year", "hour", "minute")


@tool
def add_column(path: str, save_as: str, name: str, expression: str) -> dict[str, Any]:
    """Feature engineering: create a new feature (column) of a table from an expression on other columns, such as a sum,
    difference, ratio, product, logarithm or a yes/no condition, and save it.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the table with the new column.
        name: The name of the new column.
        expression: Arithmetic such as "adults + children", "price / mean(price)", "log(income)", "`unit cost` * 2", or
            conditions such as "age >= 18 and city == Rome", which give 1 where all hold, else 0. mean, median, std,
            sum, min and max of one column are over all rows. Column names with signs stand in backticks.

    Returns:
        saved, name, count (rows with a value), missing (no value: a cell is missing or it is not defined), mean, std
        (sample), minimum, maximum, first (the first five values).

    Raises:
        ToolError: No such file or column, the expression cannot be read, or save_as cannot be written.
    """
    from tools_library.column_expressions import computed
    from tools_library.conditions import rows_meeting

    table = read_table(path)
    wanted = name.strip()
    if not wanted or wanted in map(str, table.columns):
        raise ToolError(f"name must be that of a new column, not {name!r}")
    if re.search(r"[<>=]|!=|\bcontains\b|\bis\s+(not\s+)?(missing|null|empty|nan)\b", expression, re.I):
        values: Any = rows_meeting(table, re.split(r"\s+and\s+|\s*&+\s*", expression)).astype(float)
    else:
        values = computed(table, expression)
    whole = values.notna().all() and (values % 1 == 0).all() and values.abs().max() < 1e15
    saved = write_table(table.assign(**{wanted: values.astype(int) if whole else values}), save_as, source=path)
    return {"saved": saved, "name": wanted, **_described(values)}


@tool
def bin_column(
    path: str, save_as: str, column: str, bins: str = "4", method: str = "width", labels: list[str] = []
) -> dict[str, Any]:
    """Feature engineering: bin (discretise) a numeric column into groups or intervals, such as age groups or
    quartiles, and save the table with the new column.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the table with the column "<column>_bin".
        column: The numeric column; a missing cell gets no bin.
        bins: How many bins, from 2 to 50, or the edges: "0, 18, 65, 120". A bin holds its upper edge but not its lower
            one, the first bin holds both. A value outside the edges gets no bin.
        method: "width" (equally wide bins) or "quantile" (bins with equally many rows).
        labels: Names of the bins, from the lowest; empty for intervals such as "(18, 65]".

    Returns:
        saved, bins (bin -> rows in it, from the lowest), without_bin (rows).

    Raises:
        ToolError: No such file, column or method, wrong bins or labels, or save_as cannot be written.
    """
    import pandas

    method = one_of(method, ("width", "quantile"), "method")
    table = read_table(path)
    name = column_name(table, column)
    values = numbers(table, name, at_least=2).values
    edges = _edges(values, bins, method)
    if labels and len(labels) != len(edges) - 1:
        raise ToolError(f"labels must name {len(edges) - 1} bins, not {len(labels)}")
    if len(set(labels)) < len(labels):
        raise ToolError("two labels are the same")
    names = labels or [
        f"{'[' if not position else '('}{low:.6g}, {high:.6g}]"
        for position, (low, high) in enumerate(zip(edges, edges[1:], strict=False))
    ]
    binned = pandas.cut(values, edges, labels=names, include_lowest=True).astype(object).reindex(table.index)
    saved = write_table(table.assign(**{f"{name}_bin": binned}), save_as, source=path)
    return {
        "saved": saved,
        "bins": {each: int((binned == each).sum()) for each in names},
        "without_bin": int(binned.isna().sum()),
    }


@tool
def encode_categories(path: str, save_as: str, column: str, method: str = "one_hot") -> dict[str, Any]:
    """Feature engineering: encode a categorical (text) column as numbers, by one-hot (dummy variables), label (ordinal
    codes) or frequency encoding, and save the table.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the table with the new columns; the column itself stays.
        column: The column with at most 100 categories.
        method: "one_hot" (a column "<column>_<category>" of 0 and 1 for each), "label" ("<column>_code": 0, 1, 2 ... in
            sorted order, empty for a missing cell) or "frequency" ("<column>_frequency": share of the rows).

    Returns:
        saved, columns (the new ones), categories (category -> rows, in the order of the codes), missing.

    Raises:
        ToolError: No such file, column or method, too many categories, or save_as cannot be written.
    """
    method = one_of(method, ("one_hot", "label", "frequency"), "method")
    table = read_table(path)
    name = column_name(table, column)
    cells = table[name].dropna().map(cell_text)
    counts = cells.value_counts().sort_index()
    if not 1 <= len(counts) <= MAX_CATEGORIES:
        raise ToolError(f"column {name!r} has {len(counts)} categories; 1 to {MAX_CATEGORIES} can be encoded")
    texts = cells.reindex(table.index)
    new: dict[str, Any] = {}
    if method == "one_hot":
        new = {f"{name}_{category}": (texts == category).astype(int) for category in counts.index}
    elif method == "label":
        codes = {category: code for code, category in enumerate(counts.index)}
        new = {f"{name}_code": texts.map(codes).astype("Int64")}
    else:
        new = {f"{name}_frequency": texts.map(counts / len(cells)).astype(float)}
    return {
        "saved": write_table(table.assign(**new), save_as, source=path),
        "columns": list(new),
        "categories": {str(category): int(count) for category, count in counts.items()},
        "missing": len(table) - len(cells),
    }


@tool
def scale_columns(path: str, save_as: str, columns: list[str], method: str = "standard") -> dict[str, Any]:
    """Feature engineering and preprocessing: scale or transform numeric columns by standardisation (z-score), min-max
    normalisation, robust scaling or a logarithm, and save the table.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the table with the columns "<column>_<method>"; the columns themselves stay.
        columns: The numeric columns.
        method: "standard" (mean 0, population deviation 1), "minmax" (0 to 1), "robust" (minus the median, divided by
            the interquartile range), "log" (natural, of positive numbers) or "log1p" (log of 1 + x).

    Returns:
        saved, and for each new column count, missing, mean, std (sample), minimum, maximum, first.

    Raises:
        ToolError: No such file, column or method, a constant column, a number without logarithm, or save_as cannot be
            written.
    """
    method = one_of(method, ("standard", "minmax", "robust", "log", "log1p"), "method")
    table = read_table(path)
    if not columns:
        raise ToolError("columns must name at least one column")
    new = {}
    for name in dict.fromkeys(column_name(table, each) for each in columns):
        new[f"{name}_{method}"] = _scaled(numbers(table, name, at_least=2).values, name, method).reindex(table.index)
    saved = write_table(table.assign(**new), save_as, source=path)
    return {"saved": saved, **{name: _described(values) for name, values in new.items()}}


@tool
def extract_date_parts(
    path: str, save_as: str, column: str, parts: list[str] = ["year", "month", "day"], day_first: bool = False
) -> dict[str, Any]:
    """Feature engineering: take year, month, day, weekday, quarter or hour out of a date or time column and save the
    table with these new columns.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        save_as: The new file for the table with the columns "<column>_<part>".
        column: The column with dates such as 2024-02-28 or 2024-02-28 13:45.
        parts: Of "year", "quarter", "month", "week" (ISO), "day", "weekday" (Monday is 0), "weekday_name",
            "day_of_year", "hour", "minute".
        day_first: true when 03/04/2024 is the third of April.

    Returns:
        saved, columns (the new ones), earliest, latest, unreadable (cells that are no date), missing.

    Raises:
        ToolError: No such file, column or part, no dates, or save_as cannot be written.
    """
    from tools_library.dates import dates

    wanted = [one_of(part, _PARTS, "each of parts") for part in parts]
    if not wanted:
        raise ToolError(f"parts must name at least one of {', '.join(_PARTS)}")
    table = read_table(path)
    name = column_name(table, column)
    found, unreadable = dates(table, name, day_first=day_first)
    new: dict[str, Any] = {}
    for part in dict.fromkeys(wanted):
        if part == "weekday_name":
            values: Any = found.dt.day_name()
        elif part == "week":
            values = found.dt.isocalendar().week.astype("Int64")
        else:
            values = getattr(found.dt, {"weekday": "day_of_week"}.get(part, part)).astype("Int64")
        new[f"{name}_{part}"] = values
    return {
        "saved": write_table(table.assign(**new), save_as, source=path),
        "columns": list(new),
        "earliest": str(found.min()),
        "latest": str(found.max()),
        "unreadable": unreadable,
        "missing": int(found.isna().sum()) - unreadable,
    }


def _described(values: pandas.Series[float]) -> dict[str, Any]:
    return {
        "count": int(values.notna().sum()),
        "missing": int(values.isna().sum()),
        "mean": rounded(values.mean()),
        "std": rounded(values.std()),
        "minimum": rounded(values.min()),
        "maximum": rounded(values.max()),
        "first": [rounded(value) for value in values.head(5)],
    }


def _edges(values: pandas.Series[float], bins: str, method: str) -> list[float]:
    import numpy

    edges: list[float]
    try:
        given = [float(part) for part in re.split(r"[\s,;]+", bins.strip(" []()"))]
    except ValueError:
        given = []
    if len(given) > 1:
        if sorted(set(given)) != given:
            raise ToolError(f"the edges {bins!r} must rise")
        return given
    if not given or given[0] not in range(2, 51):
        raise ToolError(f"bins must be a number from 2 to 50 or edges such as '0, 18, 65', not {bins!r}")
    count = int(given[0])
    if method == "width":
        edges = numpy.linspace(values.min(), values.max(), count + 1).tolist()
    else:
        edges = values.quantile(numpy.linspace(0, 1, count + 1)).tolist()
    if len(set(edges)) <= count:
        raise ToolError(f"the numbers are too few or too equal for {count} bins; give fewer bins, or edges")
    return edges


def _scaled(values: pandas.Series[float], name: str, method: str) -> pandas.Series[float]:
    import numpy

    if method in ("log", "log1p"):
        argument = values + 1 if method == "log1p" else values
        if (argument <= 0).any():
            raise ToolError(f"column {name!r} has {int((argument <= 0).sum())} numbers without a logarithm")
        return values.map(numpy.log if method == "log" else numpy.log1p)
    quartiles = values.quantile([0.25, 0.75])
    centre, width = {
        "standard": (values.mean(), values.std(ddof=0)),
        "minmax": (values.min(), values.max() - values.min()),
        "robust": (values.median(), quartiles.iloc[1] - quartiles.iloc[0]),
    }[method]
    if values.nunique() < 2 or not width > 0:
        raise ToolError(f"column {name!r} does not vary enough to be scaled by {method!r}")
    return (values - float(centre)) / float(width)
