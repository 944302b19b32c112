"""Samples that a test compares, taken from the columns of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from captain.errors import ToolError
from tools_library.tables import cell_text, column_name, numbers, paired, read_table

if TYPE_CHECKING:
    import pandas

MAX_GROUPS = 50


def two_samples(path: str, column: str, kind: str, against: str) -> dict[str, pandas.Series[float]]:
    """The one or two samples that `kind` asks for, by name.

    Args:
        path: The file of the table.
        column: The column with the numbers.
        kind: "groups", "columns", "paired", or else one sample only.
        against: The column with the groups, or the second column.

    Raises:
        ToolError: No such column, not exactly two groups, or fewer than 2 numbers in a sample.
    """
    table = read_table(path)
    if kind == "paired":
        rows, _ = paired(table, [column, against], at_least=2)
        return {str(name): rows[name] for name in rows.columns}
    if kind == "columns":
        first, second = column_name(table, column), column_name(table, against)
        if first == second:
            raise ToolError(f"column {first!r} is given twice; give different columns")
        return {name: numbers(table, name, at_least=2).values for name in (first, second)}
    if kind == "groups":
        return groups_of(table, column, against, exactly=2)
    return {column: numbers(table, column, at_least=2).values}


def groups_of(
    table: pandas.DataFrame, column: str, by: str, *, exactly: int | None = None
) -> dict[str, pandas.Series[float]]:
    """The numbers of a column in each group of rows; rows without a group are left out.

    Raises:
        ToolError: No such column, a wrong number of groups, or a group with fewer than 2 numbers.
    """
    values = numbers(table, column, at_least=2).values
    labels = table[column_name(table, by)].loc[values.index].dropna().map(cell_text)
    if labels.nunique() > MAX_GROUPS:
        raise ToolError(f"column {by!r} makes {labels.nunique()} groups; at most {MAX_GROUPS} can be compared")
    groups = {str(label): values.loc[labels.index][labels == label] for label in sorted(labels.unique())}
    if exactly and len(groups) != exactly:
        raise ToolError(
            f"column {by!r} splits the rows into {len(groups)} groups {list(groups)[:8]}; {exactly} are needed"
        )
    if small := [label for label, group in groups.items() if len(group) < 2]:
        raise ToolError(f"group {small[0]!r} has fewer than 2 numbers in column {column!r}")
    return groups


def significance(alpha: float) -> float:
    """The level as it is; raises `ToolError` unless it is between 0 and 1."""
    if not 0 < alpha < 1:
        raise ToolError(f"alpha must be between 0 and 1, not {alpha}")
    return alpha


def finite(text: str, what: str) -> float:
    """A number written as text.

    Raises:
        ToolError: It is not a finite number.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ToolError(f"{what} must be a number, not {text!r}")
    return number
