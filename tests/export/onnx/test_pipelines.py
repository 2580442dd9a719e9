"""Pipelines of scikit-learn convert with skl2onnx."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from budgetron import Gaussian, Nystrom, OnlineClassifier, OnlineRegressor, RandomFourier, auto, rbp
from tests.helpers import members

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402

from budgetron.export.onnx import register_converters  # noqa: E402

WITHOUT_ZIPMAP = {"zipmap": False}


@pytest.fixture(autouse=True, scope="module")
def registered():
    register_converters()


def run(model, X, **options):
    graph = skl2onnx.to_onnx(model, X[:1], target_opset=19, **options)
    return ReferenceEvaluator(graph).run(None, {"X": X})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_classifiers(task, dtype):
    X, y = members.data(task, 80)
    X, y = (5 * X + 3).astype(dtype), np.array(["b", "a", "c"])[y]
    model = make_pipeline(StandardScaler(), OnlineClassifier(auto(size=5), random_state=0)).fit(X, y)
    label, shares = run(model, X, options=WITHOUT_ZIPMAP)
    assert (label == model.predict(X)).all()
    assert abs(shares - model.predict_proba(X)).max() <= (1e-12 if dtype is np.float64 else 1e-5)


def test_scores_take_the_place_of_probabilities():
    X, y = members.data("binary", 80)
    model = make_pipeline(StandardScaler(), OnlineClassifier(rbp(Gaussian(0.5), budget=9))).fit(X, y)
    label, scores = run(model, X, options=WITHOUT_ZIPMAP)
    assert (label == model.predict(X)).all()
    assert abs(scores - np.outer(model.decision_function(X), [-1, 1])).max() <= 1e-12


def test_probabilities_by_label():
    X, y = members.data("binary", 80)
    model = make_pipeline(StandardScaler(), OnlineClassifier(auto(size=5), random_state=0)).fit(X, y)
    graph = skl2onnx.to_onnx(model, X[:1], target_opset=19)  # onnx's evaluator has no ZipMap
    [zipped] = [node for node in graph.graph.node if node.op_type == "ZipMap"]
    assert list(zipped.attribute[0].ints) == [0, 1]


def test_regressors():
    X, y = members.data("regression", 80)
    model = make_pipeline(StandardScaler(), OnlineRegressor(auto(size=5), random_state=0)).fit(X, y)
    [predictions] = run(model, X)
    assert predictions.shape == (80, 1)
    assert abs(predictions.ravel() - model.predict(X)).max() <= 1e-12


@pytest.mark.parametrize("features", [RandomFourier(Gaussian(0.1), 9), Nystrom(Gaussian(0.1), 9)])
def test_feature_maps(features):
    X, y = members.data("binary", 80)
    model = make_pipeline(StandardScaler(), features, LogisticRegression()).fit(X, y)
    label, shares = run(model, X, options=WITHOUT_ZIPMAP)
    assert (label == model.predict(X)).all()
    assert abs(shares - model.predict_proba(X)).max() <= 1e-12


def test_models_of_records_are_refused():
    model = OnlineClassifier(auto(size=3)).fit([{"a": 1.0}, {"a": 2.0}], [0, 1])
    with pytest.raises(ValueError, match=r"^A model of records cannot be part of a pipeline of skl2onnx"):
        skl2onnx.to_onnx(model, np.ones((1, 1)))


def test_old_opsets_are_refused():
    X, y = members.data("regression", 20)
    model = OnlineRegressor(auto(size=3), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^target_opset must be at least 13, got 11\.$"):
        skl2onnx.to_onnx(model, X[:1], target_opset=11)
    cells = OnlineRegressor(auto(size=5), random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^target_opset must be at least 18 for a model with cells, got 17\.$"
    ):
        skl2onnx.to_onnx(cells, X[:1], target_opset=17)
