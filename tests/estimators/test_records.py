"""Estimators that learn records: columns known by name, labels that come later, one row at a time."""

import pickle
from datetime import datetime

import numpy as np
import pytest

import budgetron
from budgetron import (
    DivergedError,
    Encoder,
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    Standardised,
    auto,
    perceptron,
    rbp,
)
from tests.helpers.cases import each

COUNTRIES = ["DE", "FR", "IT", "ES"]


def records(n=150, seed=0):
    """A column and values that come late, blanks, and records whose columns are in another order."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        row = {
            "amount": float(random.normal(50, 20)),
            "country": COUNTRIES[random.integers(1 + i // 40)],
            "night": bool(random.integers(2)),
            "when": datetime(2026, 1, 1 + i % 28, i % 24),
        }
        if i > 60:
            row["late"] = float(random.normal())
        if i % 7 == 3:
            row["amount"] = None
        rows.append(dict(reversed(row.items())) if i % 2 else row)
    return rows


def labels(n=150):
    """One label at first, then two, then three; in an order that is not sorted."""
    return ["b" if i < 12 else "ba"[i % 2] if i < 70 else "bac"[i % 3] for i in range(n)]


X, Y = records(), labels()
LEARNERS = {
    "auto": auto(size=12),
    "standardised rbp": Standardised(rbp(Gaussian("1/d"), budget=15)),
    "standardised perceptron": Standardised(perceptron(Gaussian("1/d"))),
}


def in_batches(model, size, X=X, y=Y):
    for i in range(0, len(X), size):
        model.partial_fit(X[i : i + size], y[i : i + size])
    return model


def bits(model):
    state = {name: array.tobytes() for name, array in model.fitted_.model.state().items()}
    return state, model.classes_.tolist(), model.encoding_.state(), pickle.dumps(model.fitted_.labels)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_any_batches_give_the_same_model(learner):
    one_by_one = OnlineClassifier(learner, random_state=0)
    for x, y in zip(X, Y, strict=True):
        one_by_one.learn_one(x, y)
    for size in (1, 7, 40, len(X)):
        assert bits(in_batches(OnlineClassifier(learner, random_state=0), size)) == bits(one_by_one)
    assert one_by_one.classes_.tolist() == ["a", "b", "c"]
    assert {"amount", "country=ES", "late", "night", "when (sine of day)"} <= set(
        one_by_one.encoding_.columns
    )


@pytest.mark.parametrize("at", [1, 11, 13, 61, 71, 149])
def test_saved_at_any_row(at, tmp_path):
    whole = in_batches(OnlineClassifier(LEARNERS["auto"], random_state=0), 50)
    first = in_batches(OnlineClassifier(LEARNERS["auto"], random_state=0), 50, X[:at], Y[:at])
    first.save(tmp_path / "model")
    for again in (budgetron.load(tmp_path / "model"), pickle.loads(pickle.dumps(first))):
        assert bits(in_batches(again, 50, X[at:], Y[at:])) == bits(whole)


def test_frames_and_dicts_are_the_same_records():
    pandas = pytest.importorskip("pandas")
    by_dicts = in_batches(OnlineClassifier(LEARNERS["auto"], random_state=0), 150)
    frame = pandas.DataFrame(X, columns=["when", "late", "country", "night", "amount"])
    by_frame = OnlineClassifier(LEARNERS["auto"], random_state=0).partial_fit(frame, pandas.Series(Y))
    one = {name: value for name, value in X[100].items() if name != "late"}
    assert by_frame.predict(frame).tolist() == by_frame.predict(X).tolist()
    assert sorted(by_frame.encoding_.columns) == sorted(by_dicts.encoding_.columns)
    assert by_frame.predict_one(one) == by_frame.predict(frame.drop(columns="late").iloc[100:101])[0]


def test_frames_of_numbers_follow_scikit_learn_unless_there_is_an_encoder():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0] * 9, "b": [1.0, 2.0] * 9})
    strict = OnlineClassifier().fit(frame, [0, 1] * 9)
    with pytest.raises(ValueError, match="feature names should match"):
        strict.predict(frame[["b", "a"]])
    by_name = OnlineClassifier(encoder=Encoder()).fit(frame, [0, 1] * 9)
    assert by_name.predict(frame[["b", "a"]]).tolist() == by_name.predict(frame).tolist()
    wider = by_name.partial_fit(frame.assign(c=1.0), [0, 1] * 9)
    assert wider.encoding_.columns == ["a", "b", "c"]


def test_unknown_columns_and_values_are_ignored_by_predict():
    model = in_batches(OnlineClassifier(LEARNERS["auto"], random_state=0), 150)
    before = bits(model)
    known = {"amount": 3.0, "country": "DE"}
    assert (
        model.predict_proba([known | {"new": 1.0, "night": None}]) == model.predict_proba([known])
    ).all()
    assert model.predict_proba_one(known | {"new": "x"}) == pytest.approx(model.predict_proba_one(known))
    assert bits(model) == before


def test_one_row_is_as_many():
    model = in_batches(OnlineClassifier(LEARNERS["auto"], random_state=0), 150)
    for x in X[::13]:
        assert model.predict_one(x) == model.predict([x])[0]
        got = model.predict_proba_one(x)
        assert list(got) == model.classes_.tolist()
        np.testing.assert_allclose(list(got.values()), model.predict_proba([x])[0], rtol=1e-12)
    numbers = OnlineRegressor(random_state=0).fit([[0.0, 1.0], [2.0, 3.0]] * 9, [1.0, 2.0] * 9)
    assert numbers.predict_one([2.0, 3.0]) == numbers.predict([[2.0, 3.0]])[0]
    learned = pickle.loads(pickle.dumps(numbers)).learn_one((2, 3), 5)
    many = numbers.partial_fit([[2.0, 3.0]], [5.0])
    assert learned.predict_one([1, 1]) == many.predict_one([1, 1])


def test_targets_of_records():
    y = np.array([0.0 if row["amount"] is None else row["amount"] for row in X])
    whole = OnlineRegressor(LEARNERS["auto"], random_state=0).partial_fit(X, y)
    single = OnlineRegressor(LEARNERS["auto"], random_state=0)
    for x, target in zip(X, y, strict=True):
        single.learn_one(x, target)
    assert (whole.predict(X) == single.predict(X)).all()


def test_one_label_so_far():
    model = OnlineClassifier(auto(size=5)).partial_fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert model.predict_proba_one([5.0]) == {"only": 1.0}
    model.partial_fit([[9.0]] * 5, ["a"] * 5)
    assert model.classes_.tolist() == ["a", "only"]
    assert model.predict([[0.5], [9.0]]).tolist() == ["only", "a"]


def test_a_row_that_brings_a_label_is_predicted_without_it():
    model = OnlineClassifier(auto(size=5), random_state=0).partial_fit([[0.0], [1.0]] * 20, ["x", "y"] * 20)
    got = model.progressive_predict([[0.0], [5.0], [5.0]], ["x", "new", "new"])
    assert got[1] in ("x", "y")
    assert model.classes_.tolist() == ["new", "x", "y"]
    assert model.predict_proba([[0.0]]).shape == (1, 3)


def test_rows_of_weight_0_bring_nothing():
    model = OnlineClassifier(auto(size=5)).partial_fit(
        [{"a": 1.0}, {"b": 2.0}], ["x", "y"], sample_weight=[1, 0]
    )
    assert (model.encoding_.columns, model.classes_.tolist()) == (["a"], ["x"])


def test_a_refused_record_leaves_what_was_before():
    """The refused record brings a column and a label; neither is kept."""
    learner = perceptron(budgetron.Linear())
    model = OnlineClassifier(learner).partial_fit([{"a": 1.0}, {"a": -1.0}], ["x", "y"])
    with pytest.raises(DivergedError) as caught:
        model.partial_fit([{"a": 0.5}, {"a": 1e77, "b": 1.0}, {"a": 1.0, "b": 2.0, "c": 1.0}], [*"yzw"])
    assert caught.value.rows_learned == 1
    same = OnlineClassifier(learner).partial_fit([{"a": 1.0}, {"a": -1.0}, {"a": 0.5}], ["x", "y", "y"])
    assert bits(model) == bits(same)


BAD = {
    "no value for 'late'.*Standardised": lambda: OnlineClassifier(rbp(Gaussian(1.0), budget=5)).fit(X, Y),
    "column 'tags', row 0.*got a list": lambda: OnlineClassifier().fit([{"tags": [1]}], ["a"]),
    "X has 2 records, but y has 1 labels": lambda: OnlineClassifier().partial_fit(X[:2], Y[:1]),
    "must hold records": lambda: in_batches(OnlineClassifier(), 150).predict([[1.0, 2.0]]),
    "learned arrays of numbers": lambda: OnlineClassifier().fit([[0.0], [1.0]], [0, 1]).predict([{"a": 1}]),
    "array, got records: a model with encoder=Encoder\\(\\) knows columns by name": lambda: (
        OnlineClassifier().fit([[0.0], [1.0]], [0, 1]).predict_one({"a": 1})
    ),
    "X must be a list of records or a frame, got one dict, {'a': 1}: put it into a list": lambda: (
        OnlineClassifier().partial_fit({"a": 1}, ["x"])
    ),
    "X must be a list of rows, got an iterator, <.*>: make a list of it": lambda: (
        OnlineClassifier().partial_fit(({"a": i} for i in range(2)), ["x", "y"])
    ),
    "encoder must be an Encoder": lambda: OnlineClassifier(encoder=3).partial_fit(X, Y),
}


@each("sentence", BAD)
def test_a_sentence_for(sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        BAD[sentence]()


def test_the_rows_of_a_pandas_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X)
    model, same = OnlineClassifier(random_state=0), OnlineClassifier(random_state=0)
    for (_, row), record, label in zip(frame.iterrows(), X, Y, strict=True):
        model.learn_one(row, label)
        same.learn_one(record, label)
    assert model.encoding_.names == same.encoding_.names
    assert model.predict_one(frame.iloc[7]) == same.predict_one(X[7])
    amounts = OnlineRegressor().learn_one(frame.iloc[0], 1.0)
    assert amounts.predict_one(frame.iloc[0]) == amounts.predict_one(X[0])


def test_a_lazy_frame_is_collected_first():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"got a polars LazyFrame: call its collect\(\)"):
        OnlineClassifier().partial_fit(polars.DataFrame({"a": ["x", "y"]}).lazy(), ["u", "v"])
