"""Unusual arrays: misaligned, changed by another thread, of the wrong type, too large."""

import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from budgetron import (
    Gaussian,
    OneByOne,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    _core,
    bogd,
    rbp,
    streams,
)
from budgetron._util.rows import canonical

K = Gaussian(0.5)
X = np.random.default_rng(0).standard_normal((40, 3))
Y = (X[:, 0] > 0).astype(int)


def misaligned(a):
    """A copy of the array at an unaligned address."""
    raw = np.empty(a.nbytes + 1, np.uint8)
    b = raw[1:].view(a.dtype).reshape(a.shape)
    b[...] = a
    assert b.flags.c_contiguous
    assert not b.flags.aligned
    return b


def misaligned_csr(A):
    A = sparse.csr_matrix(A)
    parts = [misaligned(part) for part in (A.data, A.indices, A.indptr)]
    B = sparse.csr_matrix(A.shape, dtype=A.dtype)
    B.data, B.indices, B.indptr = parts
    return B


# ---- alignment


@pytest.fixture(autouse=True)
def _only_aligned(monkeypatch):
    """The native core checks its arguments itself."""
    for name in ("dense", "sparse"):
        real = getattr(_core, name)

        def checked(*arrays, real=real):
            assert all(a.flags.aligned for a in arrays if isinstance(a, np.ndarray))
            return real(*arrays)

        monkeypatch.setattr(_core, name, checked)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [misaligned, misaligned_csr])
def test_misaligned_rows_are_copied(make, dtype):
    good = sparse.csr_matrix(X.astype(dtype)) if make is misaligned_csr else X.astype(dtype)
    bad = make(X.astype(dtype))
    model = OnlineClassifier(rbp(K, budget=10), random_state=0).fit(good, Y)
    other = OnlineClassifier(rbp(K, budget=10), random_state=0).fit(bad, Y)
    weights = misaligned(np.ones(40))
    other.partial_fit(bad, Y).partial_fit(bad, misaligned(Y), sample_weight=weights)
    model.partial_fit(good, Y).partial_fit(good, Y)
    np.testing.assert_array_equal(model.decision_function(good), other.decision_function(bad))
    np.testing.assert_array_equal(K(good), K(bad))
    np.testing.assert_array_equal(K(good, good), K(bad, bad))
    features = RandomFourier(K, components=5, random_state=0).fit(good)
    np.testing.assert_array_equal(features.transform(good), features.fit(bad).transform(bad))
    for step in (streams.MinMax, streams.Standardise):
        [a] = streams.from_arrays(good).through(step())
        [b] = streams.from_arrays(bad).through(step())
        assert (a.X != b.X).sum() == 0


def test_misaligned_targets_are_copied():
    y = X[:, 1].copy()
    for target in (y, misaligned(y)):
        model = OnlineRegressor(bogd(K, budget=10), random_state=0).fit(X, target)
        model.partial_fit(X, target)
        model.partial_fit(misaligned(X), target)
    np.testing.assert_array_equal(
        model.predict(X),
        OnlineRegressor(bogd(K, budget=10), random_state=0)
        .fit(X, y)
        .partial_fit(X, y)
        .partial_fit(X, y)
        .predict(X),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_misaligned_single_rows_are_copied(dtype):
    one, other = (OneByOne(rbp(K, budget=10), 3, dtype=dtype) for _ in range(2))
    for x, y in zip(X.astype(dtype), 2 * Y - 1, strict=True):
        assert one.learn_one(x, y) == other.learn_one(misaligned(x), y)
        assert one.score_one(x) == other.score_one(misaligned(x))


def test_the_core_refuses_what_is_not_aligned(monkeypatch):
    """The native core is safe even if Python did not copy an array."""
    monkeypatch.undo()
    native = OneByOne(rbp(K, budget=10), 3).engine
    for call in (
        lambda: _core.dense(misaligned(X)),
        lambda: _core.sparse(np.ones(1), np.zeros(1, np.int32), misaligned(np.array([0, 1])), 3),
        lambda: native.learn_one(misaligned(X[0]), 1.0, np.empty(1)),
        lambda: native.score_one(X[0], misaligned(np.empty(1))),
        lambda: native.run(_core.dense(X), misaligned(np.ones(40)), None, np.empty((40, 1))),
        lambda: _core.Moments(3).scale(misaligned(X)),
    ):
        with pytest.raises(ValueError, match="aligned in memory"):
            call()


def test_a_state_need_not_be_aligned():
    one = OneByOne(rbp(K, budget=10), 3)
    for x, y in zip(X, 2 * Y - 1, strict=True):
        one.learn_one(x, y)
    other = OneByOne(rbp(K, budget=10), 3)
    other.restore({name: misaligned(part) for name, part in one.state().items()})
    assert other.score_one(X[0]) == one.score_one(X[0])


# ---- other threads


def test_the_structure_of_sparse_rows_is_our_own():
    """The checked copy is the one in use: a caller who changes the indices has no effect."""
    A = sparse.csr_matrix(X)
    ours = canonical(A)
    for theirs, own in ((A.indices, ours.indices), (A.indptr, ours.indptr)):
        assert not np.shares_memory(theirs, own)
    assert np.shares_memory(A.data, ours.data)
    A.indices[:] = 10**9
    A.indptr[1:] = 10**9
    assert ours.has_canonical_format
    ours.check_format(full_check=True)
    with pytest.raises(ValueError, match="ind"):
        canonical(A)


def test_rows_that_another_thread_spoils_are_learned_or_refused():
    """Another thread writes invalid indices while models learn: no call uses them."""
    A = sparse.random_array((3000, 50), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(3000) % 2
    model = OnlineClassifier(rbp(K, budget=50)).fit(A, y)
    kept, over = A.indices.copy(), threading.Event()

    def spoil():
        while not over.is_set():
            A.indices[::7] = 2**31 - 1
            A.indices[:] = kept

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        for _ in range(30):
            try:
                assert np.isfinite(model.partial_fit(A, y).decision_function(A)).all()
            except (ValueError, IndexError) as error:
                assert "ind" in str(error)  # noqa: PT017
    finally:
        over.set()
        thread.join()
    assert np.isfinite(model.partial_fit(A, y).decision_function(A)).all()


# ---- labels


def fits(y):
    """All calls that take labels."""
    rows = np.eye(len(y))
    new = OnlineClassifier(rbp(K, budget=5))
    taught = OnlineClassifier(rbp(K, budget=5)).partial_fit(rows, [0, 1] * (len(y) // 2), [0, 1])
    return {
        "fit": lambda: new.fit(rows, y),
        "partial_fit": lambda: taught.partial_fit(rows, y),
        "progressive_predict": lambda: new.progressive_predict(rows, y),
        "classes": lambda: new.partial_fit(rows, [0, 1] * (len(y) // 2), classes=y),
        "EncodeLabels": lambda: streams.EncodeLabels(classes=list(dict.fromkeys(y))),
        "from_arrays": lambda: list(streams.from_arrays(rows, y).through(streams.EncodeLabels())),
    }


@pytest.mark.parametrize("call", fits([0, 1]))
@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (["a", 1], "int, str"),
        ([1.5, "a"], "float, str"),
        ([b"a", "a"], "bytes, str"),
    ],
)
@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object)], ids=["list", "objects"])
def test_labels_of_mixed_types_are_one_sentence(call, labels, got, kind):
    with pytest.raises(
        ValueError, match=rf"must hold labels that are all texts or all numbers, got {got}\."
    ):
        fits(kind(labels * 2))[call]()


@pytest.mark.parametrize("call", fits([0, 1]))
@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=str)
def test_missing_labels_among_texts(call, missing):
    with pytest.raises(
        ValueError, match=r"must hold a label for every row, got (None|nan|<NA>) in row 1\."
    ):
        fits(["a", missing, "b", missing])[call]()


@pytest.mark.parametrize("call", fits([0, 1]))
@pytest.mark.parametrize("labels", [["a", None], [1, None], [None, None]])
def test_missing_labels_are_one_sentence(call, labels):
    with pytest.raises(ValueError, match=r"must hold a label for every row, got None in row [01]\."):
        fits(labels * 2)[call]()


@pytest.mark.parametrize("call", [name for name in fits([0, 1]) if name != "EncodeLabels"])
@pytest.mark.parametrize("label", [2.0**53, -(2.0**53), 1e300])
def test_float_labels_that_may_be_rounded_are_one_sentence(call, label):
    with pytest.raises(
        ValueError, match=r"must hold labels below 2\^53 in size if they are floats, got -?[\d.e+]+\."
    ):
        fits([0.0, label] * 2)[call]()


def test_labels_just_below_and_whole_numbers_are_taken():
    for labels in ([0.0, 2.0**53 - 1], [0, 2**53 + 1]):
        for name, call in fits(labels * 2).items():
            if name not in ("partial_fit", "classes"):
                call()


# ---- numbers that no double holds


@pytest.mark.parametrize(
    "large", [10**400, 10**5000, Fraction(10**400, 3)], ids=["400", "5000", "fraction"]
)
def test_numbers_too_large_for_a_double_are_one_sentence(large):
    rows, y = np.eye(4), [0, 1, 0, 1]
    model = OnlineClassifier(rbp(K, budget=5)).fit(rows, y)
    one, other = OneByOne(rbp(K, budget=5), 4, 3), OneByOne(bogd(K, budget=5), 4, None)
    for call in (
        lambda: OnlineClassifier(rbp(Gaussian(large), budget=5)).fit(rows, y),
        lambda: OnlineClassifier(rbp(K, budget=large)).fit(rows, y),
        lambda: OnlineClassifier(rbp(K, budget=5), epochs=large).fit(rows, y),
        lambda: Gaussian.of_width(large),
        lambda: model.partial_fit(rows, y, sample_weight=large),
        lambda: model.partial_fit(rows, y, sample_weight=[large] * 4),
        lambda: model.predict([[large] * 4]),
        lambda: OnlineClassifier().fit([[large]] * 4, y),
        lambda: OnlineRegressor(bogd(K, budget=5)).fit(rows, [large] * 4),
        lambda: K([[large]]),
        lambda: RandomFourier(K, components=3).fit([[large]]),
        lambda: list(streams.from_arrays([[large]]).through(streams.MinMax())),
        lambda: streams.from_arrays(rows).skip(large).__iter__().__next__(),
        lambda: streams.ShuffleBuffer(4, seed=large),
        lambda: one.learn_one(rows[0], large),
        lambda: other.learn_one(rows[0], large),
    ):
        with pytest.raises(ValueError, match=r"^[^\n]{1,400}$"):
            call()


@pytest.mark.parametrize("y", ["a", None, [1], b"1", 1j], ids=repr)
def test_a_label_that_is_no_number_is_one_sentence(y):
    one, two = OneByOne(rbp(K, budget=5), 3, 3), OneByOne(rbp(K, budget=5), 3)
    target = OneByOne(bogd(K, budget=5), 3, None)
    for model, sentence in (
        (one, "The label y must be a whole number from 0 to 2, got"),
        (two, "The label y must be -1 or 1, got"),
        (target, "The target y must be a finite number, got"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.learn_one(X[0], y)
        assert model.size == 0


def test_a_missing_target_is_one_sentence():
    model = OnlineRegressor(bogd(K, budget=5))
    for call in (model.fit, model.partial_fit, model.progressive_predict):
        with pytest.raises(
            ValueError, match=r"y must have a finite number in every row, got nan in row 1\."
        ):
            call(np.eye(2), [1.0, None])
        assert not hasattr(model, "fitted_")
