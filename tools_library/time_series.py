"""Numbers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.dates import dates
from tools_library.tables import column_name, numbers, one_of, read_table

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_PERIODS = 120
_PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
_FUNCTIONS = ("count", "sum", "mean", "median", "minimum", "maximum", "std")


@tool
def resample_time_series(
    path: str, date_column: str, column: str, period: str = "month", function: str = "mean", day_first: bool = False
) -> str:
    """Time series: aggregate a column by hour, day, week, month, quarter or year (resampling), with the change from one
    period to the next.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        date_column: The column with dates such as 2024-02-28; rows without one are left out.
        column: The column with the numbers; missing and text cells are left out.
        period: "hour", "day", "week" (Monday to Sunday), "month", "quarter" or "year".
        function: "count", "sum", "mean", "median", "minimum", "maximum" or "std" (sample).
        day_first: true when 03/04/2024 is the third of April.

    Returns:
        A CSV table with period, result, count of numbers and percent change from the period before; periods without
        numbers are empty. At most the last 120 periods.

    Raises:
        ToolError: No such file, column, period or function, or no dates or numbers.
    """
    import pandas

    period = one_of(period, tuple(_PERIODS), "period")
    function = one_of(function, _FUNCTIONS, "function")
    table = read_table(path)
    days = dates(table, date_column, day_first=day_first)[0].rename("period")
    values = numbers(table, column).values.reindex(table.index)
    rows = pandas.DataFrame({"period": days.dt.to_period(_PERIODS[period]), "value": values}).dropna()
    if rows.empty:
        raise ToolError(f"no row has both a date in {date_column!r} and a number in {column!r}")
    grouped = rows.groupby("period")["value"]
    results = getattr(grouped, _method(function))()
    every = pandas.period_range(results.index.min(), results.index.max(), freq=_PERIODS[period])[-MAX_PERIODS:]
    name = f"{function}({column})"
    found = pandas.DataFrame({name: results.reindex(every), "count": grouped.count().reindex(every, fill_value=0)})
    found["change_percent"] = 100 * found[name].pct_change(fill_method=None)
    text = found.replace([float("inf"), float("-inf")], float("nan"))
    return text.to_csv(index_label=period, float_format="%.10g").strip()


@tool
def rolling_statistic(
    path: str, column: str, window: int, function: str = "mean", date_column: str = "", show: int = 20
) -> str:
    """Time series: moving (rolling) average, sum, standard deviation, minimum or maximum over a window of rows, to
    smooth a series or show its trend.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column with the numbers; missing and text cells are left out before the window is laid.
        window: How many numbers a window holds, from 2 to 10000; the first results have none.
        function: "mean", "sum", "median", "minimum", "maximum" or "std" (sample).
        date_column: The column to sort by; empty for the order of the rows.
        show: How many of the last rows to show, from 1 to 120.

    Returns:
        A CSV table with row (1 is the first under the header) or date, number and result.

    Raises:
        ToolError: No such file, column or function, or fewer numbers than the window holds.
    """
    import pandas

    function = one_of(function, _FUNCTIONS[1:], "function")
    if not 2 <= window <= 10000:
        raise ToolError(f"window must be from 2 to 10000, not {window}")
    table = read_table(path)
    values: pandas.Series[Any] = numbers(table, column, at_least=window).values
    label = "row"
    if date_column.strip():
        days = dates(table, date_column)[0].reindex(values.index).dropna().sort_values(kind="stable")
        values = values.loc[days.index].set_axis(pandas.DatetimeIndex(days))
        label = column_name(table, date_column)
        if len(values) < window:
            raise ToolError(f"only {len(values)} rows have a date and a number; the window needs {window}")
    results = getattr(values.rolling(window), _method(function))()
    found = pandas.DataFrame({column: values, f"{function}_{window}": results}).tail(min(max(show, 1), MAX_PERIODS))
    return found.to_csv(index_label=label, float_format="%.10g").strip()


def _method(function: str) -> str:
    return {"minimum": "min", "maximum": "max"}.get(function, function)
