"""Statistical tests on columns of tables. Missing, infinite and text cells are left out."""

from __future__ import annotations

from typing import Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.samples import finite, groups_of, significance, two_samples
from tools_library.tables import cell_text, column_name, numbers, one_of, read_table, rounded, varied

FIELD = "tables"


@tool
def normality_test(path: str, column: str, alpha: float = 0.05, method: str = "shapiro") -> dict[str, Any]:
    """Test whether a column of a table is normally distributed: Shapiro-Wilk, D'Agostino-Pearson, Kolmogorov-Smirnov
    (Lilliefors), Anderson-Darling or Jarque-Bera normality test with p-value.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column; missing and text cells are left out and counted.
        alpha: The significance level, between 0 and 1.
        method: "shapiro", "dagostino" (at least 20 numbers), "kolmogorov" (against a normal distribution with the mean
            and deviation of the column; p-value by 999 simulated samples), "anderson" (the same way) or "jarque_bera".

    Returns:
        method, statistic, p_value, normal (true when p_value is above alpha: normality is not rejected), count,
        missing, ignored_text, and a note where the p-value is inaccurate.

    Raises:
        ToolError: No such file, column or method, too few numbers, a constant column, or alpha out of range.
    """
    method = one_of(method, ("shapiro", "dagostino", "kolmogorov", "anderson", "jarque_bera"), "method")
    found = numbers(read_table(path), column, at_least=20 if method == "dagostino" else 3)
    varied(found.values, column)
    significance(alpha)
    statistic, p_value = _normality(found.values.to_numpy(), method)
    result: dict[str, Any] = {
        "method": method,
        "statistic": rounded(statistic),
        "p_value": rounded(p_value),
        "normal": bool(p_value > alpha),
        **found.counts(),
    }
    if method == "shapiro" and len(found.values) > 5000:
        result["note"] = "with more than 5000 numbers the p-value may be inaccurate"
    return result


@tool
def t_test(path: str, column: str, kind: str, against: str, equal_variances: bool = False) -> dict[str, Any]:
    """Compare means with a Student's or Welch's t-test: two groups of rows, two columns, paired columns (before and
    after) or one sample against a fixed mean.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
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
    samples = two_samples(path, column, kind, against)
    names, (first, *others) = list(samples), list(samples.values())
    if kind == "mean":
        varied(first, column)
        name = "one-sample t-test"
        outcome = stats.ttest_1samp(first, finite(against, "with kind 'mean' against"))
    elif kind == "paired":
        varied(first - others[0], f"{column} minus {against}")
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
def rank_test(path: str, column: str, kind: str, against: str) -> dict[str, Any]:
    """Compare two samples without assuming normality: Mann-Whitney U test of two groups or columns, Wilcoxon
    signed-rank test of paired columns; nonparametric, on medians and ranks.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column with the numbers; missing and text cells are left out.
        kind: "groups" (against = a column that splits the rows into exactly two groups), "columns" (against = a second,
            independent column) or "paired" (against = a second column measured on the same rows).
        against: What to compare with, as kind says.

    Returns:
        test, statistic (U of the first sample; for pairs the smaller rank sum), p_value (two-sided), and the median and
        count of each sample.

    Raises:
        ToolError: No such file, column or kind, not exactly two groups, too few numbers, or equal pairs only.
    """
    from scipy import stats

    kind = one_of(kind, ("groups", "columns", "paired"), "kind")
    samples = two_samples(path, column, kind, against)
    first, second = samples.values()
    if kind == "paired":
        if (first == second).all():
            raise ToolError("the two columns are equal in every row; there is nothing to test")
        name, outcome = "Wilcoxon signed-rank test", stats.wilcoxon(first, second)
    else:
        name, outcome = "Mann-Whitney U test", stats.mannwhitneyu(first, second, alternative="two-sided")
    return {
        "test": name,
        "statistic": rounded(outcome.statistic),
        "p_value": rounded(outcome.pvalue),
        "samples": {
            each: {"median": rounded(sample.median()), "count": len(sample)} for each, sample in samples.items()
        },
    }


@tool
def compare_groups(path: str, column: str, group_by: str, test: str = "anova") -> dict[str, Any]:
    """Compare two or more groups of rows: one-way ANOVA (F-test of means), Kruskal-Wallis (ranks), Levene or Bartlett
    (equal variances, homoscedasticity), with p-value.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column: The column with the numbers; missing and text cells are left out.
        group_by: The column that splits the rows into groups, at most 50.
        test: "anova", "kruskal", "levene" (around the median, as Brown and Forsythe) or "bartlett".

    Returns:
        test, statistic (F, H or W), p_value, and mean, std (sample) and count of each group.

    Raises:
        ToolError: No such file, column or test, fewer than two groups, a group with fewer than 2 numbers, no variation.
    """
    from scipy import stats

    test = one_of(test, ("anova", "kruskal", "levene", "bartlett"), "test")
    groups = groups_of(read_table(path), column, group_by)
    if len(groups) < 2:
        raise ToolError(f"column {group_by!r} makes {len(groups)} groups; at least 2 are needed")
    if all(group.nunique() == 1 for group in groups.values()):
        raise ToolError("every group is constant; this test needs variation")
    tests = {"anova": stats.f_oneway, "kruskal": stats.kruskal, "levene": stats.levene, "bartlett": stats.bartlett}
    outcome = tests[test](*(group.to_numpy() for group in groups.values()))
    return {
        "test": test,
        "statistic": rounded(outcome.statistic),
        "p_value": rounded(outcome.pvalue),
        "groups": {
            name: {"mean": rounded(group.mean()), "std": rounded(group.std()), "count": len(group)}
            for name, group in groups.items()
        },
    }


@tool
def chi_square_test(path: str, column1: str, column2: str, yates: bool = False) -> dict[str, Any]:
    """Chi-square test of independence of two categorical columns, with their contingency table (crosstab) and
    Cramer's V as the strength of association.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        column1: The first column; rows with a missing cell in either column are left out.
        column2: The second column.
        yates: true for Yates' correction of a 2 x 2 table.

    Returns:
        chi_square, degrees_of_freedom, p_value, cramers_v, smallest_expected (below 5 the test is inaccurate),
        rows_used, rows_left_out, table (counts: value of column1 -> value of column2 -> count).

    Raises:
        ToolError: No such file or column, or fewer than 2 or more than 50 values in a column.
    """
    import pandas
    from scipy import stats

    table = read_table(path)
    names = [column_name(table, column1), column_name(table, column2)]
    if names[0] == names[1]:
        raise ToolError(f"column {names[0]!r} is given twice; give different columns")
    rows = table[names].dropna().map(cell_text)
    for name in names:
        if not 2 <= rows[name].nunique() <= 50:
            raise ToolError(f"column {name!r} has {rows[name].nunique()} different values; 2 to 50 are needed")
    counts = pandas.crosstab(rows[names[0]], rows[names[1]])
    outcome = stats.chi2_contingency(counts, correction=yates)
    return {
        "chi_square": rounded(outcome.statistic),
        "degrees_of_freedom": int(outcome.dof),
        "p_value": rounded(outcome.pvalue),
        "cramers_v": rounded((outcome.statistic / len(rows) / (min(counts.shape) - 1)) ** 0.5),
        "smallest_expected": rounded(outcome.expected_freq.min()),
        "rows_used": len(rows),
        "rows_left_out": len(table) - len(rows),
        "table": {str(value): {str(k): int(n) for k, n in row.items()} for value, row in counts.iterrows()},
    }


def _normality(values: Any, method: str) -> tuple[float, float]:
    """Statistic and p-value of one test of normality."""
    import numpy
    from scipy import stats

    if method in ("kolmogorov", "anderson"):
        # the parameters are estimated from the same numbers, which the usual tables of p-values do not allow for
        fitted = stats.goodness_of_fit(
            stats.norm,
            values,
            statistic="ks" if method == "kolmogorov" else "ad",
            n_mc_samples=999,
            rng=numpy.random.default_rng(0),
        )
        return float(fitted.statistic), float(fitted.pvalue)
    test = {"shapiro": stats.shapiro, "dagostino": stats.normaltest, "jarque_bera": stats.jarque_bera}[method]
    outcome = test(values)
    return float(outcome.statistic), float(outcome.pvalue)
