"""How columns of tables are related."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import (
    column_name,
    numbers,
    numeric_columns,
    one_of,
    paired,
    read_table,
    rounded,
    varied,
)

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_MATRIX = 40


@tool
def correlation(path: str, column1: str, column2: str, method: str = "pearson") -> dict[str, Any]:
    """Correlation coefficient of two columns of a table (Pearson, Spearman or Kendall), with the p-value: how strongly
    and significantly two variables are related.

    Only rows with a number in both columns count.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column1: The first column.
        column2: The second column.
        method: "pearson" (linear), "spearman" (ranks) or "kendall" (tau-b).

    Returns:
        method, coefficient, p_value (two-sided), rows_used, rows_left_out.

    Raises:
        ToolError: No such file or column, fewer than 3 complete rows, or a column that is constant.
    """
    method = one_of(method, ("pearson", "spearman", "kendall"), "method")
    rows, left_out = paired(read_table(path), [column1, column2], at_least=3)
    for name in rows.columns:
        varied(rows[name], str(name))
    coefficient, p_value = _correlated(rows, method)
    return {
        "method": method,
        "coefficient": rounded(coefficient),
        "p_value": rounded(p_value),
        "rows_used": len(rows),
        "rows_left_out": left_out,
    }


@tool
def correlation_matrix(path: str, columns: list[str] = [], method: str = "pearson") -> str:
    """Correlation matrix of several or all numeric columns of a table: which variables are related, the strongest pairs
    first, by Pearson, Spearman or Kendall coefficient.

    Each pair uses the rows with a number in both of its columns.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        columns: The columns, at least two; empty for all numeric ones, at most 40.
        method: "pearson" (linear), "spearman" (ranks) or "kendall" (tau-b).

    Returns:
        The matrix as CSV, then the 20 strongest pairs with coefficient, two-sided p-value and rows used.

    Raises:
        ToolError: No such file or column, or fewer than two numeric columns.
    """
    import numpy
    import pandas

    method = one_of(method, ("pearson", "spearman", "kendall"), "method")
    table = read_table(path)
    wanted = [column_name(table, name) for name in columns] or numeric_columns(table)[:MAX_MATRIX]
    names = list(dict.fromkeys(wanted))
    if len(names) < 2:
        raise ToolError(f"a correlation needs at least two numeric columns, not {len(names)}")
    found = {name: numbers(table, name).values for name in names}
    matrix = pandas.DataFrame(numpy.eye(len(names)), index=names, columns=names)
    pairs = []
    for first, second in combinations(names, 2):
        rows = pandas.DataFrame({"a": found[first], "b": found[second]}).dropna()
        measured = _correlated(rows, method) if len(rows) > 2 and rows.nunique().min() > 1 else (math.nan, math.nan)
        matrix.loc[first, second] = matrix.loc[second, first] = measured[0]
        if math.isfinite(measured[0]):
            pairs.append((first, second, *measured, len(rows)))
    pairs.sort(key=lambda pair: -abs(pair[2]))
    lines = [f"{a} and {b}: {value:.6g} (p = {p:.4g}, {rows} rows)" for a, b, value, p, rows in pairs[:20]]
    return "\n".join([matrix.to_csv(float_format="%.6g").strip(), "strongest pairs:", *(lines or ["none"])])


def _correlated(rows: pandas.DataFrame, method: str) -> tuple[float, float]:
    """Coefficient and two-sided p-value of the two columns of a table without missing cells."""
    from scipy import stats

    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    outcome = test(rows.iloc[:, 0], rows.iloc[:, 1])
    return float(outcome.statistic), float(outcome.pvalue)
