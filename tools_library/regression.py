"""Linear models of columns of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import paired, read_table, rounded, varied

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIELD = "tables"


@tool
def linear_regression(path: str, target: str, features: list[str]) -> dict[str, Any]:
    """Fit a simple or multiple linear regression (ordinary least squares, line of best fit) on columns of a table:
    coefficients, intercept, standard errors, p-values, R squared, RMSE.

    Only rows with a number in every column used count. All of them are fitted; for a test on held-out rows use
    train_regression_model.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        target: The column to predict.
        features: The columns to predict it from, for example ["age", "weight"].

    Returns:
        coefficients (intercept and each feature with value, standard_error and two-sided p_value), r_squared,
        adjusted_r_squared, rmse (root of the mean squared residual), rows_used, rows_left_out.

    Raises:
        ToolError: No such file or column, too few complete rows, or features that determine each other.
    """
    import numpy
    from scipy import stats

    if not features:
        raise ToolError("features must name at least one column")
    rows, left_out = paired(read_table(path), [target, *features], at_least=len(features) + 2)
    varied(rows.iloc[:, 0], target)
    y = rows.iloc[:, 0].to_numpy()
    x = numpy.column_stack([numpy.ones(len(rows)), rows.iloc[:, 1:].to_numpy()])
    weights, covariance = fit(x, y)
    residual = float(((y - x @ weights) ** 2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    freedom = len(rows) - x.shape[1]
    errors = numpy.sqrt(numpy.diag(covariance) * residual / freedom)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stats.t.sf(numpy.abs(weights / errors), freedom)
    names = ["intercept", *map(str, rows.columns[1:])]
    return {
        "coefficients": {
            name: {"value": rounded(weight), "standard_error": rounded(error), "p_value": rounded(p)}
            for name, weight, error, p in zip(names, weights, errors, p_values, strict=True)
        },
        "r_squared": rounded(1 - residual / total),
        "adjusted_r_squared": rounded(1 - residual / total * (len(rows) - 1) / freedom),
        "rmse": rounded((residual / len(rows)) ** 0.5),
        "rows_used": len(rows),
        "rows_left_out": left_out,
    }


def fit(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Least-squares weights of the columns of x, and the inverse of x'x; columns may differ much in size.

    Raises:
        ToolError: The columns determine each other.
    """
    import numpy

    scale = numpy.abs(x).max(axis=0)
    scale[scale == 0] = 1
    scaled = x / scale
    if numpy.linalg.matrix_rank(scaled) < x.shape[1]:
        raise ToolError("the features determine each other (or one is constant); leave one of them out")
    weights = numpy.linalg.lstsq(scaled, y, rcond=None)[0] / scale
    return weights, numpy.linalg.inv(scaled.T @ scaled) / numpy.outer(scale, scale)
