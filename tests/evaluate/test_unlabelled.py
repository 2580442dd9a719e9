"""Rows without a label: predicted, but neither learned nor counted."""

import numpy as np

from budgetron import OnlineClassifier, OnlineRegressor, auto, streams
from budgetron.evaluate import Session
from tests.helpers.cases import each


def rows(n=400, texts=True):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    y = X[:, 0] - X[:, 1]
    if texts:
        y = np.where(y > 0, "yes", "no").astype(object)
    y = y.copy()
    y[random.random(n) < 0.3] = "" if texts else np.nan
    y[:5] = "" if texts else np.nan
    return X, y


def fed(X, y, texts, cut, **more):
    kind, told = OnlineClassifier if texts else OnlineRegressor, []
    session = Session(kind(auto(5), random_state=0), every=50, predictions=told.append, **more)
    records = [r for block in streams.from_arrays(X, y, rows=cut) for r in session.feed(block)]
    records += session.finish()
    return session, records, np.concatenate(told)


@each("texts", [True, False])
@each("delay", [0, 7])
@each("cut", [1, 33, 400])
def test_they_are_predicted_and_counted_apart(texts, delay, cut):
    X, y = rows(texts=texts)
    without = y == "" if texts else np.isnan(y)
    session, records, told = fed(X, y, texts, cut, delay=delay)
    assert (session.rows, session.unlabelled) == ((~without).sum(), without.sum())
    assert [record.rows for record in records] == [*range(50, session.rows, 50), session.rows]
    assert len(told) == 400
    assert set(told[:5].tolist()) == {""} if texts else np.isnan(told[:5]).all()
    only, of_only, _ = fed(X[~without], y[~without], texts, cut)
    if not delay:
        assert session.metrics.running() == only.metrics.running()
        assert [r.mistakes for r in records] == [r.mistakes for r in of_only]
        np.testing.assert_array_equal(session.estimator.predict(X), only.estimator.predict(X))


def test_a_session_goes_on_after_them():
    X, y = rows()
    whole, _, _ = fed(X, y, True, 100)
    session = Session(OnlineClassifier(auto(5), random_state=0), every=50)
    for block in streams.from_arrays(X[:150], y[:150], rows=100):
        session.feed(block)
    again = Session(session.estimator, every=50)
    again.restore(session.state())
    assert again.unlabelled == session.unlabelled > 0
    for block in streams.from_arrays(X[150:], y[150:], rows=100):
        again.feed(block)
    assert (again.rows, again.unlabelled) == (whole.rows, whole.unlabelled)
    np.testing.assert_array_equal(
        again.estimator.decision_function(X), whole.estimator.decision_function(X)
    )


def test_no_label_at_all():
    session, records, told = fed(np.zeros((7, 2)), np.array([""] * 7), True, 3)
    assert (session.rows, session.unlabelled, session.started, records) == (0, 7, False, [])
    assert told.tolist() == [""] * 7


def test_weights_of_some_blocks():
    """Blocks with weights wait beside blocks without."""
    X, y = rows()
    y[:100] = "yes"
    a, _, _ = fed(X, y, True, 100, delay=130)
    b, _, _ = fed(X, y, True, 1, delay=130)
    np.testing.assert_array_equal(a.estimator.decision_function(X), b.estimator.decision_function(X))
