"""Looking into tables in CSV files: preview, filter, group, outliers."""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import column_name, numbers, one_of, read_table, rounded

if TYPE_CHECKING:
    import pandas

MAX_SHOWN = 50
_MISSING = re.compile(r"\s*(.+?)\s+is\s+(not\s+)?(?:missing|null|empty|nan)\s*", re.I | re.S)
_COMPARISON = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<>|=|<|>|\bcontains\b)\s*(.*?)\s*", re.I | re.S)
_FUNCTIONS = ("count", "sum", "mean", "median", "minimum", "maximum", "std", "distinct")


@tool
def preview_table(path: str, rows: int = 5) -> str:
    """Show what a CSV file holds: number of rows and columns, each column's type and missing cells, the first rows.

    Args:
        path: The CSV or TSV file.
        rows: How many of the first rows to show, from 0 to 50.

    Returns:
        The shape, one line a column, then the first rows as CSV.

    Raises:
        ToolError: No such file, or it is not a table.
    """
    table = read_table(path)
    lines = [f"{len(table)} rows, {len(table.columns)} columns"]
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
    """Count the rows of a CSV file that meet conditions, and show the first of them.

    A missing cell meets no comparison, also not "!="; use "column is missing". Text is compared exactly, "contains"
    ignores case. Numbers are compared as numbers when the condition's value is a number.

    Args:
        path: The CSV or TSV file.
        conditions: For example ["age >= 30", "city == Paris", "name contains smith", "email is missing"]. The signs are
            == != < <= > >= contains, is missing, is not missing. An empty list counts all rows.
        match_any: true when one condition is enough, false when all must hold.
        show: How many matching rows to show, from 0 to 50.

    Returns:
        matching, total, share (matching / total), rows (the first matching rows as CSV).

    Raises:
        ToolError: No such file or column, or a condition that cannot be read.
    """
    import pandas

    table = read_table(path)
    mask = pandas.Series(not (match_any and conditions), index=table.index)
    for condition in conditions:
        met = _met(table, condition)
        mask = (mask | met) if match_any else (mask & met)
    found = table[mask]
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
    """Group the rows of a CSV file by one or more columns and aggregate another column in each group.

    Missing, infinite and text cells are left out of sums and means; rows without a group form the group "(missing)".

    Args:
        path: The CSV or TSV file.
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
        values = keys[0]
    elif function in ("count", "distinct"):
        values = table[column_name(table, column)]
    else:
        values = numbers(table, column).values.reindex(table.index)
    grouped = values.groupby(keys)
    method = {"minimum": "min", "maximum": "max", "distinct": "nunique"}.get(function, function)
    # the sum of no numbers is not 0 here: a group without numbers has no result
    results = grouped.sum(min_count=1) if method == "sum" else getattr(grouped, method)()
    results = results.sort_index().sort_values(ascending=False, kind="stable")
    names = [str(key.name) for key in keys]
    header = f"{','.join(names)},{function}({column})"
    lines = results.head(MAX_SHOWN).map(_cell).to_csv(header=False).strip().splitlines()
    more = [f"(and {len(results) - MAX_SHOWN} more groups)"] if len(results) > MAX_SHOWN else []
    return "\n".join([header, *lines, *more])


@tool
def find_outliers(path: str, column: str, method: str = "iqr", threshold: float = 0.0, ddof: int = 0) -> dict[str, Any]:
    """Find the outliers of a column of a CSV file by the interquartile range (IQR) or by z-scores.

    Missing, infinite and text cells are left out and counted. A value is an outlier when it is strictly outside the
    limits.

    Args:
        path: The CSV or TSV file.
        column: The column.
        method: "iqr" (outside quartile1 - threshold * IQR to quartile3 + threshold * IQR, quartiles interpolated
            linearly) or "zscore" (further than threshold standard deviations from the mean).
        threshold: 0 for the usual one: 1.5 for "iqr", 3 for "zscore".
        ddof: For "zscore": 0 takes the population standard deviation (divides by n), 1 the sample one (n - 1).

    Returns:
        method, threshold, lower_limit, upper_limit, outliers (how many), count, missing, ignored_text, values (row and
        value of the first 50 outliers; row 1 is the first under the header).

    Raises:
        ToolError: No such file, column or method, no numbers, a negative threshold, or ddof that is not 0 or 1.
    """
    method = one_of(method, ("iqr", "zscore"), "method")
    if not (threshold >= 0 and math.isfinite(threshold)) or ddof not in (0, 1):
        raise ToolError(f"threshold must be 0 or more and ddof 0 or 1, not {threshold} and {ddof}")
    found = numbers(read_table(path), column, at_least=2)
    values, factor = found.values, threshold or (1.5 if method == "iqr" else 3.0)
    if method == "iqr":
        low, high = float(values.quantile(0.25)), float(values.quantile(0.75))
        reach = factor * (high - low)
    else:
        low = high = float(values.mean())
        reach = factor * float(values.std(ddof=ddof))
    outside = values[(values < low - reach) | (values > high + reach)] if values.nunique() > 1 else values.iloc[:0]
    return {
        "method": method,
        "threshold": factor,
        "lower_limit": rounded(low - reach),
        "upper_limit": rounded(high + reach),
        "outliers": len(outside),
        "count": len(values),
        "missing": found.missing,
        "ignored_text": found.ignored_text,
        "values": [
            {"row": row, "value": rounded(value)}
            for row, value in zip(outside.index[:MAX_SHOWN].tolist(), outside.tolist(), strict=False)
        ],
    }


def _kind(column: pandas.Series[Any]) -> str:
    from pandas.api import types

    if column.isna().all():
        return "empty"
    if types.is_bool_dtype(column):
        return "true/false"
    if types.is_integer_dtype(column):
        return "whole number"
    return "number" if types.is_numeric_dtype(column) else "text"


def _label(column: pandas.Series[Any]) -> pandas.Series[Any]:
    return column if column.notna().all() else column.astype(object).where(column.notna(), "(missing)").map(_cell)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return str(value)


def _met(table: pandas.DataFrame, condition: str) -> pandas.Series[bool]:
    if match := _MISSING.fullmatch(condition):
        missing = table[column_name(table, match.group(1))].isna()
        return ~missing if match.group(2) else missing
    match = _COMPARISON.fullmatch(condition)
    if match is None:
        raise ToolError(f"cannot read the condition {condition!r}; write it like 'age >= 30' or 'city == Paris'")
    name, sign, wanted = column_name(table, match.group(1).strip("`'\"")), match.group(2).lower(), match.group(3)
    column = table[name]
    quoted = len(wanted) > 1 and wanted[0] == wanted[-1] and wanted[0] in "'\""
    wanted = wanted[1:-1] if quoted else wanted
    text = column.dropna().astype(str).str.strip()
    if sign == "contains":
        return text.str.contains(wanted, case=False, regex=False).reindex(table.index, fill_value=False).astype(bool)
    return _compared(table, name, sign, wanted, text).reindex(table.index, fill_value=False).astype(bool)


def _compared(
    table: pandas.DataFrame, name: str, sign: str, wanted: str, text: pandas.Series[str]
) -> pandas.Series[bool]:
    try:
        number = float(wanted)
    except ValueError:
        number = math.nan
    left: Any = text
    right: Any = wanted
    if table[name].dtype == bool:
        left, right = text.str.lower(), wanted.lower()
    if math.isfinite(number):
        parsed = numbers(table, name, at_least=0).values
        if len(parsed) or sign not in ("==", "=", "!=", "<>"):
            left, right = parsed, number
    elif sign in ("<", "<=", ">", ">=") and len(numbers(table, name, at_least=0).values):
        raise ToolError(f"column {name!r} holds numbers, so {wanted!r} cannot be compared by {sign!r}")
    if sign in ("!=", "<>"):
        equal: pandas.Series[bool] = (left == right).reindex(text.index, fill_value=False)
        unequal: pandas.Series[bool] = ~equal.astype(bool)
        return unequal
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}.get(sign, operator.eq)
    mask: pandas.Series[bool] = compare(left, right)
    return mask
