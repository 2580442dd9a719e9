"""The same rows give the same model, however they are divided into batches."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.cases import each
from tests.helpers.members import TASKS, cases, data, estimator, same_state, scores, start

each_case = each(("task", "name"), cases())
each_task = pytest.mark.parametrize("task", TASKS)


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
    """One call for all rows and one call per row give the same model."""
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
    """The division into batches does not change the model."""
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
    """The same for batches longer than the library's internal blocks."""
    X, y = data(task, 1500)
    whole, pieces = start(estimator(task, name), task, X, y), estimator(task, name)
    for first, last in [(0, 1), (1, 1101), (1101, 1500)]:
        start(pieces, task, X[first:last], y[first:last])
    assert same_state(whole, pieces)
    in_pieces = [scores(whole, X[:7]), scores(whole, X[7:1400]), scores(whole, X[1400:])]
    assert scores(whole, X).tobytes() == np.concatenate(in_pieces).tobytes()


@each_case
def test_fit_is_passes_of_partial_fit(task, name):
    """``fit`` equals ``epochs`` calls of ``partial_fit`` on a new model. Parameters are unchanged."""
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
    """Shuffled passes differ from ordered ones, depend only on the seed, and do not change X."""
    X, y = data(task)
    kept = X.copy(), y.copy()
    in_order = estimator(task, "forgetron", epochs=2).fit(X, y)
    one, other = (estimator(task, "forgetron", epochs=2, shuffle=True).fit(X, y) for _ in range(2))
    assert same_state(one, other)
    assert not same_state(one, in_order)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
