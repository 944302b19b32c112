"""Statistics of columns of CSV files. Missing cells, infinite values and text cells are left out and counted."""

from __future__ import annotations

import math
from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.tables import Numbers, column_name, numbers, one_of, paired, read_table, rounded


@tool
def describe_column(path: str, column: str) -> dict[str, Any]:
    """Describe one column of a CSV file: count, missing cells, mean, median, standard deviation, quartiles, minimum,
    maximum, skewness and kurtosis; for a text column the distinct and most common values.

    Missing cells (empty, NaN, infinite) and cells with text are left out and counted. A value that is not defined, such
    as the standard deviation of one number, is null. Quartiles interpolate linearly.

    Args:
        path: The CSV or TSV file.
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
    return {"type": "number", **_counts(found), **_moments(found)}


@tool
def correlation(path: str, column1: str, column2: str, method: str = "pearson") -> dict[str, Any]:
    """Measure how two columns of a CSV file are correlated (Pearson, Spearman or Kendall), with the p-value.

    Only rows with a number in both columns count.

    Args:
        path: The CSV or TSV file.
        column1: The first column.
        column2: The second column.
        method: "pearson" (linear), "spearman" (ranks) or "kendall" (tau-b).

    Returns:
        method, coefficient, p_value (two-sided), rows_used, rows_left_out.

    Raises:
        ToolError: No such file or column, fewer than 3 complete rows, or a column that is constant.
    """
    from scipy import stats

    method = one_of(method, ("pearson", "spearman", "kendall"), "method")
    rows, left_out = paired(read_table(path), [column1, column2], at_least=3)
    for name in rows.columns:
        _not_constant(rows[name], str(name))
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    outcome = test(rows.iloc[:, 0], rows.iloc[:, 1])
    return {
        "method": method,
        "coefficient": rounded(outcome.statistic),
        "p_value": rounded(outcome.pvalue),
        "rows_used": len(rows),
        "rows_left_out": left_out,
    }


@tool
def normality_test(path: str, column: str, alpha: float = 0.05) -> dict[str, Any]:
    """Test whether a column of a CSV file is normally distributed, by the Shapiro-Wilk test.

    Args:
        path: The CSV or TSV file.
        column: The column; missing and text cells are left out and counted.
        alpha: The significance level, between 0 and 1.

    Returns:
        statistic (W), p_value, normal (true when p_value is above alpha: normality is not rejected), count, missing,
        ignored_text, and a note when there are more than 5000 numbers (the p-value is then less accurate).

    Raises:
        ToolError: No such file or column, fewer than 3 numbers, a constant column, or alpha out of range.
    """
    from scipy import stats

    _share(alpha)
    found = numbers(read_table(path), column, at_least=3)
    _not_constant(found.values, column)
    outcome = stats.shapiro(found.values)
    result: dict[str, Any] = {
        "statistic": rounded(outcome.statistic),
        "p_value": rounded(outcome.pvalue),
        "normal": bool(outcome.pvalue > alpha),
        **_counts(found),
    }
    if len(found.values) > 5000:
        result["note"] = "with more than 5000 numbers the p-value may be inaccurate"
    return result


@tool
def t_test(path: str, column: str, kind: str, against: str, equal_variances: bool = False) -> dict[str, Any]:
    """Compare means with Student's or Welch's t-test: two groups of rows, two columns, paired columns or a fixed mean.

    Args:
        path: The CSV or TSV file.
        column: The column with the numbers; missing and text cells are left out.
        kind: "groups" (against = a column that splits the rows into exactly two groups), "columns" (against = a second,
            independent column), "paired" (against = a second column measured on the same rows) or "mean" (against = a
            number).
        against: What to compare with, as kind says.
        equal_variances: true for Student's t-test, false for Welch's; only for "groups" and "columns".

    Returns:
        test, t, degrees_of_freedom, p_value (two-sided), and the mean and count of each sample.

    Raises:
        ToolError: No such file, column or kind, not exactly two groups, fewer than 2 numbers, or no variation.
    """
    from scipy import stats

    kind = one_of(kind, ("groups", "columns", "paired", "mean"), "kind")
    samples = _samples(path, column, kind, against)
    names, (first, *others) = list(samples), list(samples.values())
    if kind == "mean":
        _not_constant(first, column)
        name, outcome = "one-sample t-test", stats.ttest_1samp(first, _number(against))
    elif kind == "paired":
        _not_constant(first - others[0], f"{column} minus {against}")
        name, outcome = "paired t-test", stats.ttest_rel(first, others[0])
    else:
        if first.nunique() == 1 and others[0].nunique() == 1:
            raise ToolError("both samples are constant; a t-test needs variation")
        name = "Student's t-test" if equal_variances else "Welch's t-test"
        outcome = stats.ttest_ind(first, others[0], equal_var=equal_variances)
    return {
        "test": name,
        "t": rounded(outcome.statistic),
        "degrees_of_freedom": rounded(outcome.df),
        "p_value": rounded(outcome.pvalue),
        "samples": {
            each: {"mean": rounded(sample.mean()), "count": len(sample)}
            for each, sample in zip(names, [first, *others], strict=True)
        },
    }


@tool
def linear_regression(path: str, target: str, features: list[str]) -> dict[str, Any]:
    """Fit a linear regression (ordinary least squares with an intercept) on columns of a CSV file.

    Only rows with a number in every column used count.

    Args:
        path: The CSV or TSV file.
        target: The column to predict.
        features: The columns to predict it from, for example ["age", "weight"].

    Returns:
        coefficients (intercept and each feature with value, standard_error and two-sided p_value), r_squared,
        adjusted_r_squared, rows_used, rows_left_out.

    Raises:
        ToolError: No such file or column, too few complete rows, or features that determine each other.
    """
    import numpy
    from scipy import stats

    if not features:
        raise ToolError("features must name at least one column")
    rows, left_out = paired(read_table(path), [target, *features], at_least=len(features) + 2)
    y = rows.iloc[:, 0].to_numpy()
    x = numpy.column_stack([numpy.ones(len(rows)), rows.iloc[:, 1:].to_numpy()])
    _not_constant(rows.iloc[:, 0], target)
    scale = numpy.abs(x).max(axis=0)
    scale[scale == 0] = 1
    if numpy.linalg.matrix_rank(x / scale) < x.shape[1]:
        raise ToolError("the features determine each other (or one is constant); leave one of them out")
    weights = numpy.linalg.lstsq(x / scale, y, rcond=None)[0] / scale
    residual = float(((y - x @ weights) ** 2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    freedom = len(rows) - x.shape[1]
    errors = numpy.sqrt(numpy.diag(numpy.linalg.inv((x / scale).T @ (x / scale))) * residual / freedom) / scale
    with numpy.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stats.t.sf(numpy.abs(weights / errors), freedom)
    return {
        "coefficients": {
            name: {"value": rounded(weight), "standard_error": rounded(error), "p_value": rounded(p)}
            for name, weight, error, p in zip(
                ["intercept", *map(str, rows.columns[1:])], weights, errors, p_values, strict=True
            )
        },
        "r_squared": rounded(1 - residual / total),
        "adjusted_r_squared": rounded(1 - residual / total * (len(rows) - 1) / freedom),
        "rows_used": len(rows),
        "rows_left_out": left_out,
    }


def _counts(found: Numbers) -> dict[str, int]:
    return {"count": len(found.values), "missing": found.missing, "ignored_text": found.ignored_text}


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


def _samples(path: str, column: str, kind: str, against: str) -> dict[str, Any]:
    table = read_table(path)
    if kind == "paired":
        rows, _ = paired(table, [column, against], at_least=2)
        return {str(name): rows[name] for name in rows.columns}
    values = numbers(table, column, at_least=2).values
    if kind == "mean":
        return {column: values}
    if kind == "columns":
        return {column: values, against: numbers(table, against, at_least=2).values}
    labels = table[column_name(table, against)].loc[values.index]
    groups = {_label(label): values[labels == label] for label in sorted(labels.dropna().unique(), key=str)}
    if len(groups) != 2:
        raise ToolError(
            f"column {against!r} splits the rows into {len(groups)} groups {list(groups)[:8]}; 2 are needed"
        )
    if small := [label for label, group in groups.items() if len(group) < 2]:
        raise ToolError(f"group {small[0]!r} has fewer than 2 numbers in column {column!r}")
    return groups


def _label(value: Any) -> str:
    # whole numbers become 1.0 in a column with missing cells
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _not_constant(values: Any, name: str) -> None:
    if values.nunique() < 2:
        raise ToolError(f"column {name!r} is constant; this needs values that vary")


def _share(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ToolError(f"alpha must be between 0 and 1, not {alpha}")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ToolError(f"with kind 'mean' against must be a number, not {text!r}")
    return number
