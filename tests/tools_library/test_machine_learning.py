"""Data whose right model is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import machine_learning as learning

Table = Callable[[str], str]

LINE = (
    "x,g,y\n"
    + "".join(f"{x},{g},{3 * x + 2 + (5 if g == 'b' else 0)}\n" for x in range(20) for g in ("a", "b"))
    + ",a,1\n3,,1\n4,a,\n"
)
SIDES = "x,z,side\n" + "".join(f"{x},{x % 3},{'left' if x < 50 else 'right'}\n" for x in range(100)) + ",1,left\n"


def test_a_linear_model_is_found_and_tested(table: Table) -> None:
    found = learning.train_regression_model(table(LINE), "y", ["x", "g"])
    assert found["coefficients"] == {
        "intercept": pytest.approx(2),
        "x": pytest.approx(3),
        "g_b": pytest.approx(5),
    }
    assert (found["train"]["rows"], found["test"]["rows"], found["rows_left_out"]) == (32, 8, 3)
    assert found["test"]["r_squared"] == pytest.approx(1)
    assert found["test"]["rmse"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("model", ["ridge", "lasso", "tree", "forest", "boosting", "neighbours"])
def test_other_regression_models(table: Table, model: str) -> None:
    found = learning.train_regression_model(table(LINE), "y", ["x"], model, 0.25)
    assert found["model"] == model and found["test"]["rows"] == 11
    assert found["test"]["r_squared"] > 0.85
    assert found["test"]["mse"] == pytest.approx(found["test"]["rmse"] ** 2)
    if model in ("tree", "forest", "boosting"):
        assert found["feature_importances"] == {"x": 1}


def test_the_seed_decides_the_split(table: Table) -> None:
    path = table(LINE)
    first = learning.train_regression_model(path, "y", ["x"], seed=1)
    assert learning.train_regression_model(path, "y", ["x"], seed=1) == first
    assert learning.train_regression_model(path, "y", ["x"], seed=2) != first


@pytest.mark.parametrize("model", ["logistic", "tree", "forest", "boosting", "neighbours", "bayes"])
def test_classes_are_learnt(table: Table, model: str) -> None:
    found = learning.train_classifier(table(SIDES), "side", ["x", "z"], model)
    assert found["accuracy"] >= 0.9 and found["baseline"] == 0.5
    assert (found["train_rows"], found["test_rows"], found["rows_left_out"]) == (80, 20, 1)
    assert found["classes"]["left"]["count"] == found["classes"]["right"]["count"] == 10  # each class keeps its share
    right = sum(found["confusion"][name].get(name, 0) for name in ("left", "right"))
    assert found["accuracy"] == right / 20


@pytest.mark.filterwarnings("ignore:Could not find the number of physical cores")
def test_clusters_are_found(table: Table) -> None:
    rows = [(0, 0), (0, 2), (2, 0), (2, 2), (100, 1000), (102, 1000)]
    path = table("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows) + ",5\n")
    found = learning.cluster_rows(path, ["a", "b"], clusters=2, scale=False)
    assert found["clusters"] == [
        {"rows": 4, "centre": {"a": 1, "b": 1}},
        {"rows": 2, "centre": {"a": 101, "b": 1000}},
    ]
    assert found["inertia"] == pytest.approx(4 * 2 + 2)  # squared distances to the centres
    assert (found["rows_used"], found["rows_left_out"]) == (6, 1)
    assert learning.cluster_rows(path, ["a", "b"], clusters=2)["silhouette"] > 0.9


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda path: learning.train_regression_model(path, "y", []), "at least one"),
        (lambda path: learning.train_regression_model(path, "y", ["y"]), "no feature"),
        (lambda path: learning.train_regression_model(path, "y", ["x", "X"]), "given once"),
        (lambda path: learning.train_regression_model(path, "y", ["x"], "svm"), "model must be"),
        (lambda path: learning.train_regression_model(path, "y", ["x"], test_share=1), "between 0 and 1"),
        (lambda path: learning.train_regression_model(path, "g", ["x"]), "0 numbers"),
        (lambda path: learning.train_classifier(path, "y", ["x"]), "classes"),
        (lambda path: learning.cluster_rows(path, ["x"], 1), "from 2 to 50"),
        (lambda path: learning.cluster_rows(path, ["g"], 2), "0 numbers"),
        (lambda path: learning.cluster_rows(path, ["x"], 30), "20 different rows"),
    ],
)
def test_what_cannot_be_learnt(table: Table, call: Callable[[str], object], problem: str) -> None:
    many = "x,g,y\n" + "".join(f"{n % 20},{'ab'[n % 2]},{n}\n" for n in range(60))
    with pytest.raises(ToolError, match=problem):
        call(table(many))
