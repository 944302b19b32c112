"""Models that are trained on a part of a table and judged on the rest. The models are those of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from captain.errors import ToolError
from captain.tools import tool
from tools_library.estimators import by_class, classifier, errors, explained, regressor
from tools_library.tables import cell_text, column_name, numbers, numeric_columns, one_of, paired, read_table, rounded

if TYPE_CHECKING:
    import pandas

FIELD = "tables"

MAX_CATEGORIES = 50
_REGRESSORS = ("linear", "ridge", "lasso", "tree", "forest", "boosting", "neighbours")
_CLASSIFIERS = ("logistic", "tree", "forest", "boosting", "neighbours", "bayes")


class Split(NamedTuple):
    """Features and target of the rows a model learns from, and of those it is judged on."""

    x_train: pandas.DataFrame
    x_test: pandas.DataFrame
    y_train: pandas.Series[Any]
    y_test: pandas.Series[Any]
    left_out: int


@tool(needs_packages=("sklearn",))
def train_regression_model(
    path: str, target: str, features: list[str], model: str = "linear", test_share: float = 0.2, seed: int = 42
) -> dict[str, Any]:
    """Machine learning: train a regression model with a train/test split and predict a number: linear, ridge, lasso,
    decision tree, random forest, gradient boosting; MSE, RMSE, MAE and R squared on the test set.

    Text features are one-hot encoded. Rows with a missing cell in a used column are left out.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        target: The numeric column to predict.
        features: The columns to predict it from.
        model: "linear", "ridge", "lasso", "tree", "forest", "boosting" or "neighbours" (5, features scaled).
        test_share: Share of the rows held out for the test, above 0 and below 1.
        seed: Seed of the split and of the model (random_state).

    Returns:
        model, train and test (each: r_squared, mse, rmse, mae, rows), rows_left_out, coefficients or
        feature_importances.

    Raises:
        ToolError: No such file, column or model, too few complete rows, or a feature with too many categories.
    """
    model = one_of(model, _REGRESSORS, "model")
    split = _split(path, target, features, test_share, seed, numeric=True)
    learner = regressor(model, seed).fit(split.x_train, split.y_train)
    return {
        "model": model,
        "train": errors(split.y_train, learner.predict(split.x_train)),
        "test": errors(split.y_test, learner.predict(split.x_test)),
        "rows_left_out": split.left_out,
        **explained(learner, list(split.x_train.columns)),
    }


@tool(needs_packages=("sklearn",))
def train_classifier(
    path: str, target: str, features: list[str], model: str = "logistic", test_share: float = 0.2, seed: int = 42
) -> dict[str, Any]:
    """Machine learning: train a classification model with a train/test split and predict a category: logistic
    regression, decision tree, random forest, boosting; accuracy, precision, recall, F1, confusion matrix.

    Text features are one-hot encoded. Rows with a missing cell in a used column are left out.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        target: The column with the classes to predict, for example "bought"; 2 to 50 classes.
        features: The columns to predict it from.
        model: "logistic" (features scaled), "tree", "forest", "boosting", "neighbours" (5, scaled) or "bayes".
        test_share: Share of the rows held out for the test, above 0 and below 1; each class keeps its share.
        seed: Seed of the split and of the model (random_state).

    Returns:
        model, accuracy (on the test rows), train_accuracy, baseline (accuracy of always saying the commonest class),
        classes (class -> precision, recall, f1, count), confusion (true class -> predicted class -> count), train_rows,
        test_rows, rows_left_out.

    Raises:
        ToolError: No such file, column or model, too few rows, one class only, or too many classes or categories.
    """
    from sklearn.metrics import accuracy_score

    model = one_of(model, _CLASSIFIERS, "model")
    split = _split(path, target, features, test_share, seed, numeric=False)
    learner = classifier(model, seed).fit(split.x_train, split.y_train)
    predicted = learner.predict(split.x_test)
    return {
        "model": model,
        "accuracy": rounded(accuracy_score(split.y_test, predicted)),
        "train_accuracy": rounded(accuracy_score(split.y_train, learner.predict(split.x_train))),
        "baseline": rounded((split.y_test == split.y_train.mode().iloc[0]).mean()),
        **by_class(split.y_test, predicted),
        "train_rows": len(split.y_train),
        "test_rows": len(split.y_test),
        "rows_left_out": split.left_out,
    }


@tool(needs_packages=("sklearn",))
def cluster_rows(
    path: str, features: list[str], clusters: int = 3, scale: bool = True, seed: int = 42
) -> dict[str, Any]:
    """Machine learning without a target: k-means clustering (segmentation) of the rows of a table, with the centre and
    size of each cluster and the silhouette score.

    Args:
        path: The table: a CSV, TSV, Excel or Parquet file.
        features: The numeric columns to cluster by; rows with a missing cell are left out.
        clusters: How many clusters (k), from 2 to 50.
        scale: true to give every feature mean 0 and deviation 1 first.
        seed: Seed of the starting points (random_state).

    Returns:
        clusters (the largest first: rows and centre in the units of the table), inertia, silhouette (-1 to 1, of at
        most 5000 rows), rows_used, rows_left_out.

    Raises:
        ToolError: No such file or column, a number of clusters out of range, or too few different rows.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score
    from sklearn.preprocessing import StandardScaler

    if not features or not 2 <= clusters <= 50:
        raise ToolError("features must name at least one column, and clusters must be from 2 to 50")
    rows, left_out = paired(read_table(path), features, at_least=clusters + 1)
    if len(rows.drop_duplicates()) <= clusters:
        raise ToolError(f"there are only {len(rows.drop_duplicates())} different rows for {clusters} clusters")
    points = StandardScaler().fit_transform(rows) if scale else rows.to_numpy()
    found = KMeans(n_clusters=clusters, n_init=10, random_state=seed).fit(points)
    labels = found.labels_
    sizes = sorted(range(clusters), key=lambda cluster: -int((labels == cluster).sum()))
    silhouette = silhouette_score(points, labels, sample_size=min(len(points), 5000), random_state=seed)
    return {
        "clusters": [
            {
                "rows": int((labels == cluster).sum()),
                "centre": {str(name): rounded(value) for name, value in rows[labels == cluster].mean().items()},
            }
            for cluster in sizes
        ],
        "inertia": rounded(found.inertia_),
        "silhouette": rounded(silhouette),
        "rows_used": len(rows),
        "rows_left_out": left_out,
    }


def _split(path: str, target: str, features: list[str], share: float, seed: int, *, numeric: bool) -> Split:
    import pandas
    from sklearn.model_selection import train_test_split

    if not features or not 0 < share < 1:
        raise ToolError("features must name at least one column, and test_share must be between 0 and 1")
    table = read_table(path)
    wanted, names = column_name(table, target), [column_name(table, name) for name in features]
    if wanted in names or len(set(names)) < len(names):
        raise ToolError("every feature must be given once, and the target is no feature")
    x = _encoded(table, names)
    y = numbers(table, wanted).values if numeric else table[wanted].dropna().map(cell_text)
    rows = pandas.concat([x, y.rename("\0target")], axis=1, join="inner").dropna()
    if len(rows) < 5:
        raise ToolError(f"only {len(rows)} rows are complete in the target and the features; at least 5 are needed")
    x, y = rows.iloc[:, :-1], rows.iloc[:, -1]
    if not numeric and not 2 <= y.nunique() <= MAX_CATEGORIES:
        raise ToolError(f"column {wanted!r} has {y.nunique()} classes; 2 to {MAX_CATEGORIES} can be learnt")
    alike = y if not numeric and y.value_counts().min() > 1 else None
    try:
        parts = train_test_split(x, y, test_size=share, random_state=seed, stratify=alike)
    except ValueError as error:
        raise ToolError(f"{len(x)} rows cannot be split with test_share {share}: {error}") from error
    return Split(parts[0], parts[1], parts[2], parts[3], len(table) - len(x))


def _encoded(table: pandas.DataFrame, names: list[str]) -> pandas.DataFrame:
    """The features as numbers; a text column becomes one column for each of its values but the first."""
    import pandas

    numeric = set(numeric_columns(table))
    parts = []
    for name in names:
        if name in numeric:
            parts.append(numbers(table, name).values.rename(name).to_frame())
            continue
        cells = table[name].dropna().map(cell_text)
        if not 2 <= cells.nunique() <= MAX_CATEGORIES:
            raise ToolError(f"feature {name!r} has {cells.nunique()} categories; 2 to {MAX_CATEGORIES} can be encoded")
        parts.append(pandas.get_dummies(cells, prefix=name, drop_first=True, dtype=float))
    return pandas.concat(parts, axis=1, join="inner")
