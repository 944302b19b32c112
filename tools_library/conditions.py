"""Conditions on the rows of a table, written as text: `age >= 30`, `city == Paris`, `email is missing`."""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from tools_library.tables import column_name, numbers

if TYPE_CHECKING:
    import pandas

_MISSING = re.compile(r"\s*(.+?)\s+is\s+(not\s+)?(?:missing|null|empty|nan)\s*", re.I | re.S)
_COMPARISON = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<>|=|<|>|\bcontains\b)\s*(.*?)\s*", re.I | re.S)


def rows_meeting(table: pandas.DataFrame, conditions: list[str], *, match_any: bool = False) -> pandas.Series[bool]:
    """Which rows meet the conditions, all of them or any; all rows when there is none.

    Raises:
        ToolError: A condition that cannot be read, or a column that is not there.
    """
    import pandas

    mask = pandas.Series(not (match_any and conditions), index=table.index)
    for condition in conditions:
        met = row_meets(table, condition)
        mask = (mask | met) if match_any else (mask & met)
    return mask


def row_meets(table: pandas.DataFrame, condition: str) -> pandas.Series[bool]:
    """Which rows meet one condition; a missing cell meets no comparison.

    Raises:
        ToolError: It cannot be read, or its column is not there.
    """
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
