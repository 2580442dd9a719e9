"""Inside river's pipelines, ensembles and wrappers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

pytest.importorskip("river")

from river import (
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    imblearn,
    linear_model,
    metrics,
    multiclass,
    optim,
    preprocessing,
)

from budgetron import Gaussian, rbp
from budgetron.river import BudgetClassifier, BudgetRegressor, FourierFeatures
from tests.helpers import members

SMALL = rbp(Gaussian("1/d"), budget=30)


def small(name: str = "auto") -> BudgetClassifier:
    return BudgetClassifier(members.make(name), seed=0)


TWO_CLASSES: dict[str, Any] = {
    "a pipeline": preprocessing.StandardScaler() | BudgetClassifier(SMALL, seed=0),
    "ADWINBagging": ensemble.ADWINBaggingClassifier(small(), n_models=3, seed=1),
    "SRP": ensemble.SRPClassifier(small(), n_models=3, seed=1),
    "LeveragingBagging": ensemble.LeveragingBaggingClassifier(small(), n_models=3, seed=1),
    "AdaBoost": ensemble.AdaBoostClassifier(small(), n_models=3, seed=1),
    "DriftRetraining": drift.DriftRetrainingClassifier(small()),
    "RandomUnderSampler": imblearn.RandomUnderSampler(small(), {False: 0.5, True: 0.5}, seed=1),
    "Fourier features": preprocessing.StandardScaler()
    | FourierFeatures(components=30, seed=0)
    | linear_model.LogisticRegression(optim.SGD(0.5)),
    "a union": (preprocessing.StandardScaler() + FourierFeatures(components=5, seed=0)) | small(),
    "selected": compose.Select("empty_server_form_handler", "popup_window", "https") | small(),
}


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_two_classes(name: str) -> None:
    model = TWO_CLASSES[name].clone()
    stream = datasets.Phishing().take(250)
    assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.7
    copied = pickle.loads(pickle.dumps(model))
    for x, y in datasets.Phishing().take(20):
        assert copied.predict_proba_one(x) == model.predict_proba_one(x)
        for each in (copied, model):
            each.learn_one(x, y)


@pytest.mark.parametrize(
    "model",
    [
        BudgetClassifier(members.make("auto"), seed=0),
        multiclass.OneVsRestClassifier(BudgetClassifier(members.make("bduol"), seed=0)),
        multiclass.OneVsRestClassifier(small()),
        multiclass.OneVsOneClassifier(small()),
    ],
    ids=["as it is", "OneVsRest of two-class learners", "OneVsRest", "OneVsOne"],
)
def test_seven_classes(model: Any) -> None:
    model = preprocessing.StandardScaler() | model.clone()
    stream = datasets.ImageSegments().take(200)
    assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.3


def test_regression() -> None:
    for model in (
        preprocessing.TargetStandardScaler(BudgetRegressor(members.make("rbp"), seed=0)),
        ensemble.BaggingRegressor(BudgetRegressor(members.make("auto"), seed=0), n_models=3, seed=1),
    ):
        score = evaluate.progressive_val_score(datasets.TrumpApproval().take(200), model, metrics.MAE())
        assert score.get() < 3


def test_weights_reach_the_learner_through_a_pipeline() -> None:
    one, other = (
        preprocessing.StandardScaler() | BudgetClassifier(members.make("fogd"), seed=0) for _ in "ab"
    )
    for x, y in datasets.Phishing().take(30):
        one.learn_one(x, y, w=3.0)
        other.learn_one(x, y)
    assert one.predict_proba_one(x) != other.predict_proba_one(x)


def test_a_pipeline_of_mini_batches() -> None:
    import pandas as pd

    model = preprocessing.StandardScaler() | FourierFeatures(components=5, seed=0) | small("rbp")
    rows = list(datasets.Phishing().take(60))
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    model.learn_many(X[:40], y[:40])
    assert model.predict_many(X[40:]).tolist() == [model.predict_one(x) for x, _ in rows[40:]]
    assert model.predict_proba_many(X[40:]).shape == (20, 2)


def test_compare_takes_it_as_a_baseline() -> None:
    from budgetron.evaluate import compare

    X, y = members.data("binary", 60)
    result = compare({"river": small("rbp"), "rbp": members.make("rbp")}, (X, y), permutations=1)
    assert {row.name for row in result.rows} == {"river", "rbp"}
