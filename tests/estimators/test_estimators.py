"""The estimators: scikit-learn's contract, and what holds for every algorithm and task."""

import copy
import dataclasses
import inspect
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import budgetron
from budgetron import (
    Forget,
    Gaussian,
    Laplacian,
    Logistic,
    OnlineClassifier,
    OnlineRegressor,
    RemoveRandom,
    algorithms,
    bogd_pp,
    bpa_p,
    forgetron,
    nogd,
    ogd,
    rbp,
)
from budgetron._spec import Spec
from tests.helpers.members import (
    TASKS,
    bits,
    budgeted,
    cases,
    classifiers,
    data,
    estimator,
    expansions,
    filled,
    make,
    multiclass,
    parameters,
    same_state,
    scores,
    start,
)

each_expansion = pytest.mark.parametrize(("task", "name"), expansions())
each_case = pytest.mark.parametrize(("task", "name"), cases())
each_budgeted_case = pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task, name in cases() if name in budgeted()]
)
each_task = pytest.mark.parametrize("task", TASKS)

# ---- scikit-learn's own checks


def expected_failures(_):
    """The two checks that cannot hold, for every one of the estimators."""
    reason = (
        "a weight multiplies the loss of one presentation; it is not the same as repeating or removing "
        "rows for nonlinear online updates"
    )
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        OnlineClassifier(),
        OnlineClassifier(rbp(Gaussian(), budget=50)),
        OnlineClassifier(forgetron(Gaussian(), budget=50), epochs=2, shuffle=True),
        OnlineClassifier(ogd(Gaussian(), loss=Logistic())),
        OnlineClassifier(nogd(Gaussian(), budget=40, rank=20, eta=0.5)),
        OnlineRegressor(),
        OnlineRegressor(rbp(Gaussian(), budget=150, eta=0.2)),
        OnlineRegressor(bogd_pp(Gaussian(), budget=100), epochs=5, shuffle=True),
        OnlineRegressor(bpa_p(Laplacian(), budget=50)),
        OnlineRegressor(nogd(Gaussian(), budget=40, rank=20), epochs=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    """scikit-learn's contract holds, but for what a sample weight means."""
    check(estimator)


# ---- sample weights


@each_case
def test_weight_zero_is_no_row(task, name):
    """A row of weight 0 leaves no trace, bit for bit."""
    X, y = data(task)
    weights = np.random.default_rng(1).choice([0, 0.5, 1, 2.0], len(y))
    kept = weights > 0
    weighted = start(estimator(task, name), task, X, y, sample_weight=weights)
    removed = start(estimator(task, name), task, X[kept], y[kept], sample_weight=weights[kept])
    assert same_state(weighted, removed)


@each_case
def test_batch_of_weight_zero(task, name):
    """A whole batch of weight 0 leaves the model as it was, and is scored all the same."""
    X, y = data(task)
    model = start(estimator(task, name), task, X, y)
    before, expected = bits(model), model.predict(X[:5])
    predicted = model.progressive_predict(X[:5], y[:5], sample_weight=np.zeros(5))
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-12)
    assert bits(model) == before


@each_case
def test_weight_one_is_no_weight(task, name):
    """Weights of 1 are as none."""
    X, y = data(task)
    weighted = start(estimator(task, name), task, X, y, sample_weight=np.ones(len(y)))
    assert same_state(weighted, start(estimator(task, name), task, X, y))


@each_task
def test_all_weights_zero(task):
    """``fit`` refuses weights that leave nothing to fit."""
    X, y = data(task)
    with pytest.raises(ValueError, match="zero"):
        estimator(task, "rbp").fit(X, y, sample_weight=np.zeros(len(y)))


# ---- copies: clone, pickle, deepcopy


@each_case
def test_clone(task, name):
    """A clone has equal parameters in objects of its own, and no model."""
    model = estimator(task, name).fit(*data(task))
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.learner is not model.learner
    assert copied.learner.kernel is not model.learner.kernel
    assert not hasattr(copied, "_model")


@each_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_stop_and_go_on(task, name, container, dtype):
    """A model pickled or copied in mid-stream goes on as if it had never stopped."""
    X, y = data(task)
    X = container(X.astype(dtype))
    model = start(estimator(task, name), task, X[:50], y[:50])
    before = bits(model)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[50:], y[50:])
    for other in copies:
        assert bits(other) == before
        other.partial_fit(X[50:], y[50:])
        assert same_state(model, other)
        assert scores(model, X).tobytes() == scores(other, X).tobytes()


@each_task
def test_pickle_after_set_params(task):
    """Parameters set after fitting do not reach the model: its pickle is the model, not the wish."""
    X, y = data(task)
    model = estimator(task, rbp(Gaussian(0.5), budget=10)).fit(X, y)
    expected, learner = scores(model, X), copy.deepcopy(model.learner_)
    model.set_params(learner__kernel__gamma=5.0, learner__rule__eta=3.0, learner__budget__budget=4)
    assert model.learner_ == learner
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(loaded, X), expected)
    assert same_state(model.partial_fit(X, y), loaded.partial_fit(X, y))


# ---- parameters by name


def test_set_nested_params():
    """Every part of a description is reached by its name, a part before what is inside it."""
    model = OnlineClassifier(ogd(Gaussian(0.5)))
    model.set_params(learner__rule__eta=0.3, learner__kernel__gamma=2.0, learner__budget=Forget(7))
    assert (model.learner.rule.eta, model.learner.kernel.gamma) == (0.3, 2.0)
    model.set_params(learner__budget__budget=5, learner__budget=RemoveRandom(9))
    assert model.learner.budget == RemoveRandom(5)
    assert model.get_params()["learner__budget__budget"] == 5


def test_search_over_a_number():
    """A grid search over a rule's parameter finds that a step of 0 size does not learn."""
    X, y = data("regression", 150)
    grid = {"learner__rule__eta": [1e-9, 0.2]}
    search = GridSearchCV(OnlineRegressor(ogd(Gaussian(0.5))), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"learner__rule__eta": 0.2}
    assert search.best_estimator_.learner_.rule.eta == 0.2


def test_search_over_budgets():
    """A grid search over whole budgets tries each of them."""
    X, y = data("binary")
    grid = {"learner__budget": [RemoveRandom(20), Forget(20), Forget(1)]}
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=5), random_state=0)
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_estimator_.learner_.budget == search.best_params_["learner__budget"]
    assert search.best_params_["learner__budget"] in grid["learner__budget"]
    assert len(set(search.cv_results_["mean_test_score"])) > 1


# ---- descriptions as values


def specs():
    """Every description there is: all algorithms, and every noun with its required parameters filled."""
    found = [make(name) for name in algorithms.__all__]
    for member in (getattr(budgetron, name) for name in budgetron.__all__):
        if dataclasses.is_dataclass(member) and not issubclass(member, budgetron.Learner):
            taken = inspect.signature(member).parameters.values()
            needed = [p.name for p in taken if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
            found.append(member(**{name: filled(member)[name] for name in needed}))
    return found


@pytest.mark.parametrize("spec", specs(), ids=repr)
def test_repr_evaluates_back(spec):
    """What a description prints is the description; equal by value, of its own in a deep copy."""
    assert isinstance(spec, Spec)
    back = eval(repr(spec), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back == spec
    assert back is not spec
    assert repr(back) == repr(spec)
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec)) == clone(spec)


@pytest.mark.parametrize("spec", specs(), ids=repr)
def test_unequal_where_a_parameter_differs(spec):
    """A description with any one parameter changed is another description."""
    for name in spec.get_params(deep=False):
        assert dataclasses.replace(spec, **{name: "other"}) != spec


def test_estimator_repr():
    """An estimator, too, prints as it is written."""
    model = OnlineClassifier(nogd(Gaussian(0.5), budget=10, rank=4), epochs=2)
    back = eval(repr(model), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back.get_params() == model.get_params()


# ---- the stream: any cut of the same rows is the same model


@each_case
def test_progressive_predict(task, name):
    """progressive_predict is predict, then partial_fit, row by row."""
    X, y = data(task)
    one, other = (start(estimator(task, name), task, X[:1], y[:1]) for _ in range(2))
    predicted = one.progressive_predict(X[1:], y[1:])
    for i in range(1, len(y)):
        assert other.predict(X[i : i + 1])[0] == predicted[i - 1]
        other.partial_fit(X[i : i + 1], y[i : i + 1])
    assert same_state(one, other)


@each_case
def test_row_by_row(task, name):
    """One call and as many calls as rows end in the same model."""
    X, y = data(task)
    whole, single = (start(estimator(task, name), task, X[:1], y[:1]) for _ in range(2))
    whole.partial_fit(X[1:], y[1:])
    for i in range(1, len(y)):
        single.partial_fit(X[i : i + 1], y[i : i + 1])
    assert same_state(whole, single)
    assert scores(whole, X).tobytes() == scores(single, X).tobytes()


@each_case
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(cuts=st.lists(st.integers(1, 69), max_size=6), as_sparse=st.booleans())
def test_any_cut(task, name, cuts, as_sparse):
    """However the rows are cut into batches, the model is the same."""
    X, y = data(task, 70)
    X = sparse.csr_array(X) if as_sparse else X
    whole, pieces = start(estimator(task, name), task, X, y), estimator(task, name)
    edges = [0, *sorted(set(cuts)), 70]
    for first, last in pairwise(edges):
        start(pieces, task, X[first:last], y[first:last])
    assert same_state(whole, pieces)
    assert scores(whole, X).tobytes() == scores(pieces, X).tobytes()


@each_case
def test_cut_of_a_long_batch(task, name):
    """Batches longer than the library's own blocks are cut without a trace, too."""
    X, y = data(task, 1500)
    whole, pieces = start(estimator(task, name), task, X, y), estimator(task, name)
    for first, last in [(0, 1), (1, 1101), (1101, 1500)]:
        start(pieces, task, X[first:last], y[first:last])
    assert same_state(whole, pieces)
    in_pieces = [scores(whole, X[:7]), scores(whole, X[7:1400]), scores(whole, X[1400:])]
    assert scores(whole, X).tobytes() == np.concatenate(in_pieces).tobytes()


@each_case
def test_fit_is_passes_of_partial_fit(task, name):
    """``fit`` starts afresh and is ``epochs`` times ``partial_fit``; the description is not touched."""
    X, y = data(task)
    model = estimator(task, name, epochs=3)
    described = repr(model)
    model.fit(X[:20], y[:20]).fit(X, y)
    passes = estimator(task, name)
    for _ in range(3):
        start(passes, task, X, y)
    assert same_state(model, passes)
    assert repr(model) == described


@each_task
def test_shuffle(task):
    """Shuffled passes differ from those in order, are the same on the same seed, and leave X alone."""
    X, y = data(task)
    kept = X.copy(), y.copy()
    in_order = estimator(task, "forgetron", epochs=2).fit(X, y)
    one, other = (estimator(task, "forgetron", epochs=2, shuffle=True).fit(X, y) for _ in range(2))
    assert same_state(one, other)
    assert not same_state(one, in_order)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


# ---- kinds of input


@each_case
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5)], ids=repr)
def test_dense_and_sparse_agree(task, name, kernel):
    """Dense and sparse rows give the same scores to 1e-12."""
    X, y = data(task)
    dense = start(estimator(task, make(name, kernel)), task, X, y)
    rows = sparse.csr_array(X)
    other = start(estimator(task, make(name, kernel)), task, rows, y)
    expected = scores(dense, X)
    np.testing.assert_allclose(scores(other, rows), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores(other, X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores(dense, rows), expected, rtol=0, atol=1e-12)


def unsorted(X):
    """A CSR array with the columns of every row in reverse."""
    X = sparse.csr_array(X)
    for first, last in pairwise(X.indptr):
        X.indices[first:last] = X.indices[first:last][::-1].copy()
        X.data[first:last] = X.data[first:last][::-1].copy()
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def duplicated(X):
    """A CSR array with every entry v there twice, as v - 1 and 1."""
    X = sparse.csr_array(X)
    entries = np.stack([X.data - 1, np.ones_like(X.data)], axis=1).ravel()
    return sparse.csr_array((entries, X.indices.repeat(2), 2 * X.indptr), shape=X.shape)


def wide_indices(X):
    """A CSR array with indices of 64 bits."""
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


KINDS = {
    "int": lambda X: X.astype(int),
    "uint8": lambda X: X.astype(np.uint8),
    "float32": lambda X: X.astype(np.float32),
    "F-order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed view": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "DataFrame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "nullable DataFrame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]).astype("Float64"),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int": lambda X: sparse.csr_array(X.astype(int)),
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "csr int64 indices": wide_indices,
    "csr unsorted": unsorted,
    "csr duplicates": duplicated,
}


def parts(X):
    """The numbers a container is made of, to see whether someone changed them."""
    if isinstance(X, sparse.coo_array):
        return [X.data.copy(), X.row.copy(), X.col.copy()]
    if sparse.issparse(X):
        return [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    return [np.array(X)]


@each_task
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_rows(task, kind):
    """Rows that hold the same numbers give the same model, whatever holds them; nobody's are changed."""
    X, y = data(task)
    X = np.abs((3 * X).round())
    rows = KINDS[kind](X)
    before = parts(rows)
    expected = start(estimator(task, "forgetron"), task, X, y)
    model = start(estimator(task, "forgetron"), task, rows, y)
    atol = 1e-6 if "float32" in kind else 1e-12  # kernels are computed in the precision of the rows
    np.testing.assert_allclose(scores(model, rows), scores(expected, X), rtol=0, atol=atol)
    score = expected.fit(X, y).score(X, y)
    assert model.fit(rows, y).score(rows, y) == (
        pytest.approx(score, abs=1e-6) if "float32" in kind else score
    )
    for now, then in zip(parts(rows), before, strict=True):
        np.testing.assert_array_equal(now, then)
        assert now.dtype == then.dtype


@each_task
def test_read_only_memmap(task, tmp_path):
    """Rows, labels and weights that may not be written are read in place."""
    X, y = data(task)
    mapped = []
    for name, array in {"X": X, "y": y, "w": np.full(len(y), 0.5)}.items():
        np.save(tmp_path / name, array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    model = estimator(task, "nogd").fit(mapped[0], mapped[1], mapped[2])
    expected = estimator(task, "nogd").fit(X, y, np.full(len(y), 0.5))
    assert same_state(model, expected)
    np.testing.assert_array_equal(model.predict(mapped[0]), expected.predict(X))


@each_task
def test_feature_names(task):
    """A DataFrame's columns are remembered, and other ones refused."""
    X, y = data(task)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator(task, "rbp").fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    before = bits(model)
    for call in (model.predict, lambda rows: model.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(frame[["c", "a", "b"]])
    assert bits(model) == before


@each_task
def test_single_precision_is_kept(task):
    """A model of float32 rows keeps float32 support vectors and reads later rows as such."""
    X, y = data(task)
    narrow = X.astype(np.float32)
    model = start(estimator(task, "forgetron"), task, narrow, y)
    assert model.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(scores(model, X), scores(model, narrow))
    other = copy.deepcopy(model)
    assert same_state(model.partial_fit(X, y), other.partial_fit(narrow, y))


# ---- gamma


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_scale_is_that_of_scikit_learn(container):
    """gamma="scale" and "auto" are scikit-learn's."""
    X, y = data("binary")
    X = container(X)
    for gamma in ("scale", "auto"):
        ours = OnlineClassifier(rbp(Gaussian(gamma), budget=10)).fit(X, y).gamma_
        assert ours == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma, rel=1e-12)


@each_task
def test_scale_is_frozen(task):
    """gamma="scale" is taken from the first batch and stays; the description keeps the word."""
    X, y = data(task)
    model = start(estimator(task, rbp(Gaussian(), budget=10)), task, X[:20], y[:20])
    gamma = model.gamma_
    assert gamma == pytest.approx(1 / (3 * X[:20].var()), rel=1e-12)
    model.partial_fit(100 * X[20:], y[20:])
    assert model.gamma_ == model.learner_.kernel.gamma == gamma
    assert model.learner.kernel.gamma == "scale"
    assert pickle.loads(pickle.dumps(model)).gamma_ == gamma
    model.fit(100 * X, y)
    assert model.gamma_ == pytest.approx(gamma / 1e4, rel=0.5)


def test_gamma_is_of_the_model():
    """A model whose kernel has no gamma has no ``gamma_``, whatever was fitted before."""
    X, y = data("binary")
    model = OnlineClassifier(rbp(Gaussian(), budget=10)).fit(X, y)
    model.set_params(learner__kernel=budgetron.Linear()).fit(X, y)
    assert not hasattr(model, "gamma_")


# ---- labels


LABELS = {
    "strings": np.array(["ham", "more ham", "spam"]),
    "objects": np.array(["ham", "more ham", "spam"], dtype=object),
    "negative": np.array([-7, -1, 3]),
    "whole floats": np.array([1.0, 2.0, 5.0]),
    "truth": np.array([False, True]),
}


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels(task, kind):
    """Labels of any kind come back as they went in, sorted in ``classes_``."""
    X, y = data(task)
    y = np.minimum(y, len(LABELS[kind]) - 1)
    named = LABELS[kind][: max(y) + 1]
    expected = estimator(task, "forgetron").fit(X, y)
    fitted = estimator(task, "forgetron").fit(X, named[y])
    told = estimator(task, "forgetron").partial_fit(X, named[y].tolist(), classes=named[::-1].tolist())
    for model in (fitted, told):
        assert model.classes_.tolist() == named.tolist()
        assert model.predict(X).tolist() == named[expected.predict(X)].tolist()
        assert same_state(model, expected)
        assert kind == "objects" or model.predict(X).dtype == named.dtype


def test_labels_from_the_first_batch():
    """progressive_predict without classes takes the labels of its y."""
    X, y = data("multiclass")
    model = estimator("multiclass", "rbp")
    assert set(model.progressive_predict(X, y)) <= {0, 1, 2}
    assert list(model.classes_) == [0, 1, 2]


@pytest.mark.parametrize("name", multiclass())
def test_two_of_three_labels_seen(name):
    """Labels that were announced may come late, or never."""
    X, y = data("multiclass")
    model = estimator("multiclass", name).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.decision_function(X).shape == (len(y), 3)
    assert model.partial_fit(X, y).predict(X).max() <= 2


# ---- probabilities


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("name", [name for name in classifiers() if "loss" in parameters(name)])
def test_probabilities(task, name):
    """Of the logistic loss, and of no other: they sum to 1 and say what the scores say."""
    X, y = data(task)
    assert not hasattr(estimator(task, name), "predict_proba")
    model = estimator(task, make(name, loss=Logistic())).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    if task == "binary":
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-f)), rtol=1e-12)
    else:
        logarithms = model.predict_log_proba(X)
        differences = logarithms[:, 1:] - logarithms[:, :1]
        np.testing.assert_allclose(differences, f[:, 1:] - f[:, :1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)


def test_no_probabilities_without_logistic():
    """An estimator without the logistic loss has no predict_proba, and says why."""
    X, y = data("binary")
    for model in (OnlineClassifier(), OnlineClassifier(make("pa"))):
        assert not hasattr(model.fit(X, y), "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)


def test_probabilities_are_of_the_model():
    """Whether there are probabilities is told by the loss that was learned with."""
    X, y = data("binary")
    model = OnlineClassifier(ogd(Gaussian(0.5))).fit(X, y)
    model.set_params(learner__rule__loss=Logistic())
    assert not hasattr(model, "predict_proba")


def test_extreme_probabilities():
    """Scores far from 0 give probabilities of 0 and 1, with no warning."""
    X = np.array([[-1e3], [1e3]])
    model = OnlineClassifier(ogd(budgetron.Linear(), eta=1.0, loss=Logistic())).fit(X, [0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), [[1, 0], [0, 1]])
    assert model.predict_log_proba(X).max() == 0


# ---- memory and the budget


@each_expansion
def test_memory(task, name):
    """memory_bytes_ counts what the core holds: at least the support vectors and their coefficients."""
    model = estimator(task, name).fit(*data(task))
    held = model.support_vectors_.nbytes + model.dual_coef_.nbytes
    assert model.n_support_ > 0
    assert held <= model.memory_bytes_ < held + 100_000
    assert sys.getsizeof(model._model) >= model.memory_bytes_
    loaded = pickle.loads(pickle.dumps(model))
    assert held <= loaded.memory_bytes_ <= model.memory_bytes_


@each_budgeted_case
def test_memory_grows_with_the_budget(task, name):
    """A larger budget that is made use of takes more memory; a stream in a budget that is full does not."""
    X, y = data(task, 1000)
    small, large = (estimator(task, make(name, budget=b)).fit(X, y) for b in (10, 100))
    assert small.memory_bytes_ < large.memory_bytes_
    full = small.memory_bytes_
    assert small.partial_fit(X, y).memory_bytes_ == full


@each_budgeted_case
def test_never_over_budget(task, name):
    """The support vectors are within the budget after every single example."""
    X, y = data(task, 60)
    model, sizes = estimator(task, make(name, budget=6)), []
    for i in range(len(y)):
        start(model, task, X[i : i + 1], y[i : i + 1])
        sizes.append(model.n_support_)
        assert model.support_vectors_.shape == (model.n_support_, 3)
        assert model.dual_coef_.shape == (3 if task == "multiclass" else 1, model.n_support_)
    assert max(sizes) == 6


@each_budgeted_case
def test_budget_of_one(task, name):
    """A budget of one is a budget."""
    rank = {"rank": 1} if "rank" in parameters(name) else {}
    model = estimator(task, make(name, budget=1, **rank)).fit(*data(task))
    assert model.n_support_ == 1
    assert np.isfinite(model.dual_coef_).all()


@each_expansion
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5), budgetron.Polynomial(0.3)], ids=repr)
def test_the_model_in_the_open(task, name, container, kernel):
    """Support vectors are rows of X, and with their coefficients and the kernel they are f."""
    X, y = data(task)
    rate = {"eta": 0.001} if {"eta", "loss"} <= parameters(name) else {}
    model = estimator(task, make(name, kernel, **rate)).fit(container(X), y)
    S, alpha = model.support_vectors_, model.dual_coef_
    assert {row.tobytes() for row in S + 0.0} <= {row.tobytes() for row in X + 0.0}
    f = kernel(X, S) @ alpha.T
    expected = scores(model, X).reshape(f.shape)
    np.testing.assert_allclose(f, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(alpha).max()))


# ---- seeds


def draws(task, name):
    """Whether the algorithm draws at random."""
    return "random.drawn" in estimator(task, name).fit(*data(task))._model.state()


@pytest.mark.parametrize(("task", "name"), [case for case in cases() if draws(*case)])
def test_seeds(task, name):
    """A seed fixes the draws, another seed draws otherwise; a RandomState and None are seeds as well."""
    X, y = data(task, 200)
    one, same, other = (estimator(task, name, random_state=seed).fit(X, y) for seed in (7, 7, 8))
    assert same_state(one, same)
    assert not np.array_equal(one.support_vectors_, other.support_vectors_)
    drawn = [estimator(task, name, random_state=np.random.RandomState(3)).fit(X, y) for _ in range(2)]
    assert same_state(*drawn)
    free = [estimator(task, name, random_state=None).fit(X, y) for _ in range(2)]
    assert not same_state(*free)


def test_seed_of_numpy():
    """An integer of NumPy is an integer."""
    X, y = data("binary")
    one, other = (estimator("binary", "rbp", random_state=s).fit(X, y) for s in (5, np.int64(5)))
    assert same_state(one, other)


# ---- at work with the rest of scikit-learn


def test_calibration():
    """A fitted model can be calibrated as it stands."""
    X, y = data("binary", 200)
    model = estimator("binary", "nogd").fit(X[:100], y[:100])
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X[100:], y[100:])
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@each_case
def test_pipeline_and_cross_validation(task, name):
    """A pipeline with a scaler, scored by cross-validation."""
    X, y = data(task)
    values = cross_val_score(make_pipeline(StandardScaler(), estimator(task, name)), X, y, cv=3)
    assert np.isfinite(values).all()


@each_task
@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_parallel_cross_validation(task, prefer):
    """The folds may be fitted side by side."""
    X, y = data(task)
    model = estimator(task, "rbp")
    with joblib.parallel_config(backend="threading" if prefer == "threads" else "loky", n_jobs=2):
        side_by_side = cross_val_score(model, X, y, cv=3)
    np.testing.assert_array_equal(side_by_side, cross_val_score(model, X, y, cv=3))


# ---- the defaults are good


def shuffled(X, y):
    """Standardised features, in an order that tells nothing."""
    order = np.random.default_rng(0).permutation(len(y))
    return scale(X)[order], y[order]


@pytest.mark.parametrize(
    ("load", "most"), [(load_breast_cancer, 0.09), (load_wine, 0.16), (load_digits, 0.15)]
)
def test_default_classifier(load, most):
    """Without an argument, one pass over standardised data makes few mistakes, within 200 vectors."""
    X, y = shuffled(*load(return_X_y=True))
    model = OnlineClassifier()
    assert np.mean(model.progressive_predict(X, y) != y) < most
    assert model.n_support_ <= 200


@pytest.mark.parametrize(
    ("load", "most"),
    [
        (lambda: load_diabetes(return_X_y=True), 0.8),
        (lambda: make_friedman1(1000, random_state=0), 0.5),
    ],
    ids=["diabetes", "friedman1"],
)
def test_default_regressor(load, most):
    """Without an argument, one pass over standardised data beats the mean, within 200 vectors."""
    X, y = shuffled(*load())
    y = scale(y)
    model = OnlineRegressor()
    assert np.mean((model.progressive_predict(X, y) - y) ** 2) < most
    assert model.n_support_ <= 200


# ---- threads


@each_task
def test_readers_beside_a_writer(task):
    """Threads may predict from a model while one of them teaches it."""
    X, y = data(task, 300)
    model = start(estimator(task, make("nogd", budget=30, rank=10)), task, X[:10], y[:10])
    alone = copy.deepcopy(model)

    def teach():
        for i in range(10, len(y), 10):
            model.partial_fit(X[i : i + 10], y[i : i + 10])

    def ask():
        for _ in range(30):
            assert np.isfinite(scores(model, X)).all()
            assert np.isfinite(model.dual_coef_).all()
            assert model.support_vectors_.shape[0] <= 30
            assert model.memory_bytes_ > 0
            assert np.isfinite(scores(pickle.loads(pickle.dumps(model)), X[:5])).all()

    with ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(teach), *(pool.submit(ask) for _ in range(4))]:
            done.result(timeout=300)
    assert same_state(model, alone.partial_fit(X[10:], y[10:]))


@pytest.mark.timing
def test_readers_do_not_shut_out_a_writer():
    """However busily threads predict, the one that teaches gets its turn."""
    X, y = data("binary", 3000, features=300)
    model = estimator("binary", make("rbp", Gaussian(0.01), budget=1000)).fit(X, y)
    taught, end = threading.Event(), time.monotonic() + 60  # long, since the machine may be busy

    def ask():
        while not taught.is_set() and time.monotonic() < end:
            model.predict(X)

    def teach():
        for i in range(10):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        taught.set()
        return time.monotonic()

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(ask) for _ in range(4)]
        time.sleep(0.2)
        assert pool.submit(teach).result() < end
        for done in readers:
            done.result()
