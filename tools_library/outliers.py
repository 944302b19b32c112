"""Outliers of columns of tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import numbers, one_of, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_SHOWN = 50


@tool
def find_outliers(path: str, column: str, method: str = "iqr", threshold: float = 0.0, ddof: int = 0) -> dict[str, Any]:
    """Detect outliers (anomalies, extreme values) of a column of a table by the interquartile range (IQR) or by
    z-scores: how many there are, which, and the limits.

    Missing, infinite and text cells are left out and counted. A value is an outlier when it is strictly outside the
    limits.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column.
        method: "iqr" (outside quartile1 - threshold * IQR to quartile3 + threshold * IQR, quartiles interpolated
            linearly) or "zscore" (further than threshold standard deviations from the mean).
        threshold: 0 for the usual one: 1.5 for "iqr", 3 for "zscore".
        ddof: For "zscore": 0 takes the population standard deviation (divides by n), 1 the sample one (n - 1).

    Returns:
        method, lower_limit, upper_limit, outliers (how many), count, missing, ignored_text, values (row and
        value of the first 50 outliers; row 1 is the first under the header).

    Raises:
        ToolError: No such file, column or method, no numbers, a negative threshold, or ddof that is not 0 or 1.
    """
    found = numbers(read_table(path), column, at_least=2)
    values = found.values
    low, high = limits_of(values, method, threshold, ddof=ddof)
    outside = values[(values < low) | (values > high)]
    return {
        "method": method.strip().lower(),
        "lower_limit": rounded(low),
        "upper_limit": rounded(high),
        "outliers": len(outside),
        "count": len(values),
        "missing": found.missing,
        "ignored_text": found.ignored_text,
        "values": [
            {"row": row, "value": rounded(value)}
            for row, value in zip(outside.index[:MAX_SHOWN].tolist(), outside.tolist(), strict=False)
        ],
    }


def limits_of(values: pandas.Series[float], method: str, threshold: float, *, ddof: int) -> tuple[float, float]:
    """The lowest and the highest value that is no outlier.

    Raises:
        ToolError: An unknown method, a negative threshold, or ddof that is not 0 or 1.
    """
    method = one_of(method, ("iqr", "zscore"), "method")
    if not (threshold >= 0 and math.isfinite(threshold)) or ddof not in (0, 1):
        raise ToolError(f"threshold must be 0 or more and ddof 0 or 1, not {threshold} and {ddof}")
    if values.nunique() == 1:  # rounding must not put the only value outside
        return float(values.iloc[0]), float(values.iloc[0])
    factor = threshold or (1.5 if method == "iqr" else 3.0)
    if method == "iqr":
        low, high = float(values.quantile(0.25)), float(values.quantile(0.75))
        reach = factor * (high - low)
    else:
        low = high = float(values.mean())
        reach = factor * float(values.std(ddof=ddof))
    return low - reach, high + reach
