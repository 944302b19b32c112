"""The models of scikit-learn that the tools offer, and the measures of what they predict."""

from __future__ import annotations

from typing import Any

from tools_library.tables import rounded


def regressor(model: str, seed: int) -> Any:
    """An untrained regression model."""
    from sklearn import ensemble, linear_model, neighbors, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "linear": lambda: linear_model.LinearRegression(),
        "ridge": lambda: linear_model.Ridge(random_state=seed),
        "lasso": lambda: linear_model.Lasso(random_state=seed, max_iter=20000),
        "tree": lambda: tree.DecisionTreeRegressor(random_state=seed),
        "forest": lambda: ensemble.RandomForestRegressor(random_state=seed),
        "boosting": lambda: ensemble.GradientBoostingRegressor(random_state=seed),
        "neighbours": lambda: make_pipeline(StandardScaler(), neighbors.KNeighborsRegressor()),
    }[model]()


def classifier(model: str, seed: int) -> Any:
    """An untrained classification model."""
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "logistic": lambda: make_pipeline(StandardScaler(), linear_model.LogisticRegression(max_iter=5000)),
        "tree": lambda: tree.DecisionTreeClassifier(random_state=seed),
        "forest": lambda: ensemble.RandomForestClassifier(random_state=seed),
        "boosting": lambda: ensemble.GradientBoostingClassifier(random_state=seed),
        "neighbours": lambda: make_pipeline(StandardScaler(), neighbors.KNeighborsClassifier()),
        "bayes": lambda: naive_bayes.GaussianNB(),
    }[model]()


def errors(true: Any, predicted: Any) -> dict[str, float | int | None]:
    """How far predicted numbers are from the true ones."""
    from sklearn import metrics

    squared = metrics.mean_squared_error(true, predicted)
    return {
        "r_squared": rounded(metrics.r2_score(true, predicted)) if len(true) > 1 else None,
        "mse": rounded(squared),
        "rmse": rounded(squared**0.5),
        "mae": rounded(metrics.mean_absolute_error(true, predicted)),
        "rows": len(true),
    }


def by_class(true: Any, predicted: Any) -> dict[str, Any]:
    """Precision, recall, F1 and count of each class, and the confusion matrix."""
    from sklearn import metrics

    names = sorted({*true, *predicted})
    scores = zip(*metrics.precision_recall_fscore_support(true, predicted, labels=names, zero_division=0), strict=True)
    counts = metrics.confusion_matrix(true, predicted, labels=names)
    return {
        "classes": {
            name: {"precision": rounded(p), "recall": rounded(r), "f1": rounded(f), "count": int(n)}
            for name, (p, r, f, n) in zip(names, scores, strict=True)
        },
        "confusion": {
            name: {other: int(n) for other, n in zip(names, row, strict=True) if n}
            for name, row in zip(names, counts, strict=True)
        },
    }


def explained(learner: Any, names: list[str]) -> dict[str, Any]:
    """The coefficients or importances of the features, where the model has them."""
    if hasattr(learner, "coef_"):
        weights = {name: rounded(value) for name, value in zip(names, learner.coef_, strict=True)}
        return {"coefficients": {"intercept": rounded(learner.intercept_), **weights}}
    if hasattr(learner, "feature_importances_"):
        shares = zip(names, learner.feature_importances_, strict=True)
        return {"feature_importances": {name: rounded(value) for name, value in shares}}
    return {}
