"""Columns of dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from captain.errors import ToolError
from tools_library.tables import column_name

if TYPE_CHECKING:
    import pandas


def dates(
    table: pandas.DataFrame, name: str, *, day_first: bool = False
) -> tuple[pandas.Series[pandas.Timestamp], int]:
    """The dates of a column, NaT where there is none, and how many cells hold something else.

    Numbers are years when they are whole and from 1000 to 2999; otherwise they are no dates.

    Args:
        table: The table.
        name: The column.
        day_first: Whether 03/04/2024 is the third of April.

    Raises:
        ToolError: There is no such column, or it holds no dates.
    """
    import pandas

    column = table[column_name(table, name)]
    if pandas.api.types.is_datetime64_any_dtype(column):
        return column, 0
    cells = column
    if pandas.api.types.is_numeric_dtype(column):
        years = column.where((column % 1 == 0) & column.between(1000, 2999))
        cells = years.astype("Int64").astype("string")
    parsed = pandas.to_datetime(cells, errors="coerce", format="mixed", dayfirst=day_first, utc=True)
    plain: pandas.Series[pandas.Timestamp] = parsed.dt.tz_localize(None)
    if plain.isna().all():
        raise ToolError(f"column {name!r} holds no dates; write them like 2024-02-28 or 2024-02-28 13:45")
    return plain, int((column.notna() & plain.isna()).sum())
