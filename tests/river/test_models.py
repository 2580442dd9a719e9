"""What river's checks leave open: exactness, growing models, frames, weights, threads, refusals."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("river")

from river import base

import budgetron
from benchmarks.clock import take_turns
from budgetron import (
    DualProjection,
    Encoder,
    Gaussian,
    Kalman,
    Mapped,
    OnlineClassifier,
    RandomFourier,
    Standardised,
    bduol,
)
from budgetron.river import BudgetClassifier, BudgetRegressor, FourierFeatures
from budgetron.river.frames import values_of
from tests.helpers import forked, members

NAMES = ["rbp", "bduol", "auto", "fogd"]
TWO_CLASSES = bduol(Gaussian(0.5), budget=10, maintenance=DualProjection)
FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def rows(n: int = 60, seed: int = 0) -> tuple[list[dict[Any, float]], list[bool]]:
    """Dicts in which each feature is there three times in four, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    there = rng.random((n, 5)) < 0.75
    dicts = [{f"f{j}": X[i, j].item() for j in rng.permutation(5) if there[i, j]} for i in range(n)]
    return dicts, (X[:, 0] * X[:, 1] > 0).tolist()


def classifier(name: str = "rbp", **more: Any) -> BudgetClassifier:
    return BudgetClassifier(members.make(name), **({"seed": 0} | more))


def bits(model: Any) -> dict[str, bytes]:
    return {name: a.tobytes() for name, a in model._online.fitted_.model.state().items()}


def learned(model: Any, X: Any, y: Any, w: Any = None) -> Any:
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        model.learn_one(x, label) if w is None else model.learn_one(x, label, w=w[i])
    return model


# ---- the same model as everywhere else


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_the_estimators(name: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), rng.random(50) < 0.5
    model = learned(classifier(name), [dict(enumerate(row)) for row in X.tolist()], y.tolist())
    same = OnlineClassifier(members.make(name), random_state=0)
    for i in range(50):
        same.partial_fit(X[i : i + 1], y[i : i + 1])
    assert bits(model) == members.bits(same) or bits(model) == {
        name: a.tobytes() for name, a in same.fitted_.model.state().items()
    }
    assert [model.predict_one(dict(enumerate(row))) for row in X.tolist()] == same.predict(X).tolist()


@pytest.mark.parametrize("name", [*NAMES, "nogd", "avm"])
def test_the_order_of_keys_changes_no_bit(name: str) -> None:
    X, y = rows()
    one = learned(classifier(name), X, y)
    other = learned(classifier(name), [dict(reversed(x.items())) for x in X], y)
    assert bits(one) == bits(other)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_frames_are_rows_one_by_one(name: str, library: str) -> None:
    """Columns come and go between the batches, and labels in the middle of one."""
    rng = np.random.default_rng(2)
    one, many = classifier(name), classifier(name)
    labels = ["b", "a", "c", "d"]
    for batch, columns in enumerate([["z", "b"], ["b", "a", "z"], ["a"], ["z", "q", "b", "a"]]):
        X = {column: rng.normal(size=9).tolist() for column in columns}
        y = [labels[(i // 3 + batch) % len(labels)] for i in range(9)]
        learned(one, [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)], y)
        series = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}[library](y)
        many.learn_many(FRAMES[library](X), series)
        assert bits(one) == bits(many)
    records = [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]
    predicted = many.predict_many(FRAMES[library](X))
    assert type(predicted).__module__.startswith(library)
    assert values_of(predicted) == [*map(one.predict_one, records)]
    table = many.predict_proba_many(FRAMES[library](X))
    assert type(table) is type(FRAMES[library](X))
    columns = {
        str(column): np.asarray(table[column]) for column in getattr(table, "column_names", table.columns)
    }
    for i, record in enumerate(records):
        for label, p in one.predict_proba_one(record).items():
            assert columns[str(label)][i] == pytest.approx(p, rel=1e-12)


def test_pandas_keeps_its_index_and_its_names() -> None:
    X = pd.DataFrame({3: [1.0, 2.0], "b": [0.0, 1.0]}, index=["p", "q"])
    model = classifier()
    model.learn_many(X, pd.Series([True, False], index=[7, 8]))
    assert list(model.predict_many(X).index) == ["p", "q"]
    assert list(model.predict_proba_many(X).index) == ["p", "q"]
    assert list(model.predict_proba_many(X).columns) == [False, True]
    assert model.predict_proba_one({3: 1.0, "b": 0.0}) == model.predict_proba_one({"3": 1.0, "b": 0.0})


@pytest.mark.parametrize("library", FRAMES)
def test_a_regressor_on_frames(library: str) -> None:
    X = {"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]}
    frame, model = FRAMES[library](X), BudgetRegressor(seed=0)
    assert list(np.asarray(model.predict_many(frame))) == [0.0, 0.0, 0.0]
    model.learn_many(frame, [1.0, 2.0, 3.0])
    expected = [model.predict_one({"a": a, "b": b}) for a, b in zip(*X.values(), strict=True)]
    np.testing.assert_allclose(np.asarray(model.predict_many(frame)), expected, rtol=1e-12)


@pytest.mark.parametrize("library", FRAMES)
def test_frames_without_rows_and_models_without_labels(library: str) -> None:
    empty, model = FRAMES[library]({"a": np.empty(0)}), classifier()
    full = FRAMES[library]({"a": [1.0, 2.0]})
    model.learn_many(empty, [])
    assert len(model.predict_many(empty)) == 0
    assert values_of(model.predict_many(full)) == [None, None]
    assert (
        len(getattr(model.predict_proba_many(full), "column_names", model.predict_proba_many(full).columns))
        == 0
    )
    model.learn_many(full, [True, False])
    assert len(model.predict_many(empty)) == 0
    assert len(model.predict_proba_many(empty)) == 0
    assert len(FourierFeatures(components=2).transform_many(full)) == 2


# ---- features that come and go


def test_new_names_of_a_row_are_sorted() -> None:
    model = classifier()
    model.learn_one({"b": 1.0, 10: 2.0, 9: 0.0}, "x")
    model.learn_one({"z": 1.0, "a": 2.0}, "y")
    assert model._online.encoding_.columns == ["10", "9", "b", "a", "z"]


def test_a_feature_that_is_not_there_is_zero_or_missing() -> None:
    X, y = rows()
    zero = [{f"f{j}": x.get(f"f{j}", 0.0) for j in range(5)} for x in X]
    i = next(i for i, x in enumerate(X) if len(x) == 3)
    model = learned(classifier("rbp"), zero, y)
    assert model.predict_proba_one(X[i]) == model.predict_proba_one(zero[i])
    assert bits(learned(classifier("rbp"), [zero[0], *X], [True, *y])) == bits(
        learned(classifier("rbp"), [zero[0], *zero], [True, *y])
    )
    model = learned(classifier("auto"), X, y)
    assert model.predict_proba_one(X[i]) != model.predict_proba_one(zero[i])
    missing = {f"f{j}": X[i].get(f"f{j}") for j in range(5)}
    assert model.predict_proba_one(X[i]) == model.predict_proba_one(missing)


def test_unknown_features_and_values_are_ignored_in_predictions() -> None:
    model = learned(classifier(), *rows())
    x = {"f0": 1.0, "f1": -1.0}
    before = bits(model)
    assert model.predict_proba_one(x | {"new": 3.0, "text": "a"}) == model.predict_proba_one(x)
    assert model.predict_one({}) in (True, False)
    assert bits(model) == before


def test_texts_and_dates() -> None:
    model = classifier("auto")
    for i in range(40):
        x = {"country": "DE" if i % 2 else "FR", "at": datetime(2026, 1, 1 + i % 20), "n": np.float32(0.5)}
        model.learn_one(x | {"late": i % 2}, "odd" if i % 2 else "even")
    names = ["country=FR", "late", "n", "country=DE", "at (sine of week)", "at (cosine of week)"]
    assert model._online.encoding_.columns == names
    x = {"country": "DE", "at": datetime(2026, 1, 2), "n": 0.5, "late": 1}
    assert model.predict_one(x) == "odd"
    assert model.predict_proba_one(x) == model.predict_proba_one(x | {"at": "2026-01-02"})
    assert model.predict_proba_one(x) != model.predict_proba_one(x | {"at": "2026-01-05"})


def test_the_number_of_columns_is_bounded() -> None:
    model = classifier(encoder=Encoder(most_columns=40))
    for i in range(200):
        model.learn_one({f"word {i}": 1.0, f"word {i + 1}": 1.0}, i % 2 == 0)
    assert model._online.n_features_in_ == 40
    small = model._raw_memory_usage
    for i in range(200, 400):
        model.learn_one({f"word {i}": 1.0}, i % 2 == 0)
    assert model._raw_memory_usage <= small + 1000


def test_memory_is_that_of_the_native_model() -> None:
    model = classifier()
    empty = model._raw_memory_usage
    learned(model, *rows())
    native = model._online.fitted_.model.memory_bytes
    assert native < model._raw_memory_usage < empty + native + 4000
    assert model._memory_usage.endswith("KiB")


# ---- labels


def test_labels_appear_one_by_one() -> None:
    model = classifier()
    assert (model.predict_one({"a": 1.0}), model.predict_proba_one({"a": 1.0})) == (None, {})
    for label in ["a", "b", "c"]:
        model.learn_one({"a": float(ord(label))}, label)
        assert label in model.predict_proba_one({"a": 1.0})
        assert sum(model.predict_proba_one({"a": 1.0}).values()) == pytest.approx(1)
    assert list(model.predict_proba_one({})) == ["a", "b", "c"]


def test_numpy_labels_are_the_same_labels() -> None:
    model = classifier()
    for label in (np.bool_(True), True, np.False_, False):
        model.learn_one({"a": 1.0}, label)
    assert [type(label) for label in model.predict_proba_one({"a": 1.0})] == [bool, bool]
    whole = classifier()
    for label in (np.int64(3), 3, np.int64(5)):
        whole.learn_one({"a": 1.0}, label)
    assert list(whole.predict_proba_one({"a": 1.0})) == [3, 5]
    assert type(whole.predict_one({"a": 1.0})) is int


def test_labels_that_are_tuples() -> None:
    model, labels = classifier(), [("DE", 1), ("FR", 2), ("DE", 1)]
    learned(model, [{"a": 1.0}, {"a": -1.0}, {"a": 1.0}], labels)
    assert list(model.predict_proba_one({"a": 1.0})) == [("DE", 1), ("FR", 2)]
    assert model.predict_one({"a": -1.0}) == ("FR", 2)
    many = classifier()
    many.learn_many(pd.DataFrame({"a": [1.0, -1.0, 1.0]}), labels)
    assert bits(many) == bits(model)


def test_a_learner_of_two_classes() -> None:
    model = BudgetClassifier(TWO_CLASSES, seed=0)
    assert not model._multiclass
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1.0}, True)
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.0, True: 1.0}
    model.learn_one({"a": -1.0}, False)
    before = bits(model)
    with pytest.raises(ValueError, match="the labels are True and False"):
        model.learn_one({"a": -1.0}, 7)
    assert bits(model) == before
    texts = BudgetClassifier(TWO_CLASSES, seed=0)
    learned(texts, [{"a": 1.0}, {"a": -1.0}], ["yes", "no"])
    assert set(texts.predict_proba_one({"a": 1.0})) == {"yes", "no"}
    assert not BudgetClassifier(Standardised(TWO_CLASSES))._multiclass


# ---- weights


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_sample_weights(name: str) -> None:
    X, y = rows(50)
    w = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], 50).tolist()
    one = learned(classifier(name), X, y, w)
    encoder = one._online.encoder
    same = OnlineClassifier(members.make(name), random_state=0, encoder=encoder)
    same.partial_fit([dict(sorted(x.items())) for x in X], y, sample_weight=w)
    assert bits(one) == {name: a.tobytes() for name, a in same.fitted_.model.state().items()}
    many = classifier(name)
    frame = pd.DataFrame(X).fillna(0.0).sort_index(axis=1)
    full = learned(classifier(name), frame.to_dict("records"), y, w)
    many.learn_many(frame, y, w=pd.Series(w))
    assert bits(many) == bits(full)


def test_a_row_of_weight_zero_brings_nothing() -> None:
    model = classifier()
    model.learn_one({"a": 1.0}, "a", w=0)
    model.learn_many(pd.DataFrame({"a": [1.0]}), ["a"], w=0)
    model.learn_many(pl.DataFrame({"a": [1.0, 2.0]}), ["a", "b"], w=[0.0, 0])
    assert model.predict_one({"a": 1.0}) is None
    model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), ["a", "b"], w=[0, 2])
    model.learn_many(pd.DataFrame({"c": [1.0]}), ["c"], w=[0])
    assert model.predict_proba_one({"a": 1.0}) == {"b": 1.0}
    assert model._online.encoding_.columns == ["a"]
    regressor = BudgetRegressor(seed=0)
    regressor.learn_one({"a": 1.0}, 1.0, w=0)
    assert regressor.predict_one({"a": 1.0}) == 0.0


# ---- copies, pickles, threads


@pytest.mark.parametrize("model", [classifier("auto"), BudgetRegressor(seed=0)], ids=["labels", "targets"])
def test_pickles_and_copies_go_on_with_the_same_bits(model: Any) -> None:
    X, y = rows(80)
    model = learned(model.clone(), X[:40], y[:40])
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.clone(include_attributes=True)]
    assert pickle.dumps(model) == pickle.dumps(model)
    for each in [model, *copies]:
        learned(each, X[40:], y[40:])
    assert all(bits(each) == bits(model) for each in copies)
    fresh = model.clone()
    assert fresh._online is None
    assert fresh.learner == model.learner
    assert fresh.learner is not model.learner or model.learner is None


def test_fourier_features_survive_a_pickle() -> None:
    model = FourierFeatures(components=3)
    model.learn_one({"a": 1.0, "b": "text"})
    before = model.transform_one({"a": 0.5})
    copied = pickle.loads(pickle.dumps(model))
    assert copied.transform_one({"a": 0.5}) == before
    for each in (model, copied):
        each.learn_one({"c": 1.0})
        assert each.transform_one({"a": 0.5}) == before
    assert model.transform_one({"a": 0.5, "c": 2.0}) == copied.transform_one({"a": 0.5, "c": 2.0}) != before


def test_fourier_features_are_those_of_the_map() -> None:
    model = FourierFeatures(Gaussian(0.5), components=3, seed=7)
    before = model.transform_one({"a": 1.0})
    model.learn_one({"b": -2.0, "a": 1.0})
    expected = RandomFourier(Gaussian(0.5), 3, random_state=7).fit_transform([[1.0, -2.0], [0.0, 0.0]])
    assert list(model.transform_one({"a": 1.0, "b": -2.0}).values()) == expected[0].tolist()
    assert before == pytest.approx(model.transform_one({}))
    assert list(before.values()) == pytest.approx(expected[1].tolist())
    for bad, sentence in [("x", "seed must be"), (-1, "seed must be")]:
        with pytest.raises(ValueError, match=sentence):
            FourierFeatures(seed=bad).learn_one({"a": 1.0})  # type: ignore[arg-type]
    for x, sentence in [
        ({"a": None}, "x has None"),
        ({"a": np.inf}, "'a' of row 0 is inf"),
        (3, "be a dict"),
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.transform_one(x)  # type: ignore[arg-type]


def test_threads_share_a_model() -> None:
    """Readers see the old model or the new one while it grows; every row is learned once."""
    model, wrong, stop = (
        BudgetClassifier(Mapped(RandomFourier(Gaussian(0.5), 5), Kalman()), seed=0),
        [],
        threading.Event(),
    )
    model.learn_one({"f0": 1.0}, 0)

    def read() -> None:
        while not stop.is_set():
            try:
                p = model.predict_proba_one({"f0": 1.0, "f3": 2.0})
                if abs(sum(p.values()) - 1) > 1e-9 or model.predict_one({"f0": 1.0}) not in range(6):
                    wrong.append(p)
            except Exception as error:
                wrong.append(error)

    def write(first: int) -> None:
        try:
            for i in range(first, 120, 2):
                model.learn_one({f"f{i % 30}": 1.0, "f0": 0.5}, i % 6)
        except Exception as error:
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(i,)) for i in range(2)]
    for thread in [*readers, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not wrong
    assert model._online.n_features_in_ == 30
    assert len(model.predict_proba_one({})) == 6


# ---- what is refused


REFUSED: list[tuple[Any, Any, Any, str]] = [
    (
        {"a": None, "b": 1.0},
        True,
        1.0,
        r"^x has None for the feature 'a', and the learner needs all values: .*\.$",
    ),
    ({"a": float("nan"), "b": 1.0}, True, 1.0, r"^x has nan for the feature 'a', and .*StatImputer.*\.$"),
    ({"a": float("inf"), "b": 1.0}, True, 1.0, r"inf|too large"),
    ({"a": 10**400, "b": 1.0}, True, 1.0, r"column 'a', row 0: expected a number that a double can hold"),
    (
        {"a": [1.0], "b": 1.0},
        True,
        1.0,
        r"column 'a', row 0: expected a number, a text or a date, got a list",
    ),
    ({1: 1.0, "1": 2.0}, True, 1.0, r"more than one column '1'"),
    ([1.0, 2.0], True, 1.0, r"must be a dict"),
    ({"a": 1.0, "b": 1.0}, None, 1.0, r"^y must hold a label for every row, got None"),
    ({"a": 1.0, "b": 1.0}, [], 1.0, r"^y must be a label, such as .* got \[\]\.$"),
    ({"a": 1.0, "b": 1.0}, "text", 1.0, r"known labels are numbers"),
    ({"a": 1.0, "b": 1.0}, True, -1.0, r"^BudgetClassifier: w must be at least 0, got -1\.0\.$"),
    ({"a": 1.0, "b": 1.0}, True, float("nan"), r"^BudgetClassifier: w must be a finite number, got nan\.$"),
    ({"a": 1.0, "b": 1.0}, True, "heavy", r"^BudgetClassifier: w must be a finite number, got 'heavy'\.$"),
]


@pytest.mark.parametrize(("x", "y", "w", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_changes_nothing(x: Any, y: Any, w: Any, sentence: str) -> None:
    model = classifier()
    learned(model, [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0}], [True, False])
    before = bits(model)
    with pytest.raises((TypeError, ValueError), match=sentence):
        model.learn_one(x, y, w=w)
    assert bits(model) == before
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    assert bits(model) != before


def test_what_is_refused_in_predictions() -> None:
    model = learned(classifier(), [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0}], [True, False])
    for x, sentence in [
        ({"a": None, "b": 1.0}, "x has None for the feature 'a'"),
        ({"a": float("inf"), "b": 1.0}, "The feature 'a' of x is not finite"),
        ({"a": 1e300, "b": 1.0}, "scale the features"),
        (7, "must be a dict"),
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.predict_one(x)
    for X, sentence in [
        (pd.DataFrame({"a": [1.0, None]}), "Row 1 of X has no value for the feature 'a'"),
        (pl.DataFrame({"b": [None, None]}), "Row 0 of X has no value for the feature 'b'"),
        (np.zeros((2, 2)), "must be a frame of pandas, polars or pyarrow"),
        (pd.Series([1.0]), "must be a frame of pandas, polars or pyarrow, got a pandas Series"),
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.predict_many(X)
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.learn_many(X, [True, False])
    with pytest.raises(ValueError, match="X has 1 rows, but y has 2 values"):
        model.learn_many(pd.DataFrame({"a": [1.0]}), [True, False])
    with pytest.raises(ValueError, match="X has 1 rows, but w has 2 values"):
        model.learn_many(pd.DataFrame({"a": [1.0]}), [True], w=[0, 0])
    for missing in (pd.NA, None, np.nan):
        with pytest.raises(ValueError, match=r"y must hold a label for every row, got .* in row 1\.$"):
            classifier().learn_many(
                pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["u", missing], dtype="string")
            )


def test_parameters_are_checked_when_learning_begins() -> None:
    x = {"a": 1.0}
    for model, sentence in [
        (BudgetClassifier("rbp"), "BudgetClassifier: learner must be a Learner, got 'rbp'"),  # type: ignore[arg-type]
        (BudgetClassifier(budgetron.rbp(Gaussian(), budget=5)), 'gamma="scale" is computed from rows'),
        (BudgetClassifier(encoder=3), "BudgetClassifier: encoder must be an Encoder, got 3"),  # type: ignore[arg-type]
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.learn_one(x, True)
    with pytest.raises(ValueError, match=r"target|finite"):
        BudgetRegressor(members.make("rbp")).learn_one(x, float("nan"))
    features = FourierFeatures(components=0)
    for call in (features.learn_one, features.transform_one):
        with pytest.raises(ValueError, match="components must be"):
            call(x)


def test_a_regressor_refuses_and_goes_on() -> None:
    model = BudgetRegressor(members.make("rbp"), seed=0)
    learned(model, [{"a": 0.0}, {"a": 1.0}], [1.0, 2.0])
    before = bits(model)
    for y in (None, "two", float("inf"), 10**400):
        with pytest.raises((TypeError, ValueError)):
            model.learn_one({"a": 1.0}, y)
        assert bits(model) == before
    assert isinstance(model, base.MiniBatchRegressor)


def test_without_river_there_is_a_sentence() -> None:
    code = (
        "import sys; sys.modules['river'] = None; import budgetron; dir(budgetron); import budgetron.river"
    )
    done = forked.run([sys.executable, "-c", code], capture_output=True, text=True, libraries=True)
    assert "ImportError: budgetron.river needs river: pip install 'river>=0.24'." in done.stderr


def test_budgetron_does_not_import_river() -> None:
    code = "import budgetron, sys; budgetron.OnlineClassifier; print('river' in sys.modules)"
    done = forked.run([sys.executable, "-c", code], capture_output=True, text=True, libraries=True)
    assert done.stdout == "False\n"


@pytest.mark.timing
def test_the_way_to_the_native_model_is_short() -> None:
    """At most 8 microseconds to predict and learn, beside the native calls."""
    rng, n = np.random.default_rng(0), 500
    X, learner = rng.normal(size=(n, 20)), budgetron.rbp(Gaussian(0.05), budget=100)
    y = X[:, 0] * X[:, 1] > 0
    dicts, labels, codes = [dict(enumerate(row)) for row in X.tolist()], y.tolist(), (2.0 * y - 1).tolist()
    native, scores = budgetron.OneByOne(learner, 20).engine, np.empty(1)
    model = BudgetClassifier(learner, seed=0)

    def of_arrays() -> None:
        for x, code in zip(X, codes, strict=True):
            native.score_one(x, scores)
            native.learn_one(x, code, scores)

    def of_dicts() -> None:
        for x, label in zip(dicts, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    def microseconds_beside() -> float:
        times = take_turns({"native": of_arrays, "ours": of_dicts}, seconds=0.2).seconds
        return 1e6 * (times["ours"] - times["native"]) / n

    assert any(microseconds_beside() < 8 for _ in range(10))  # a busy machine may need several
