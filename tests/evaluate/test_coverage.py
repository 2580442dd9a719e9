"""Sets and intervals of a stream, each made before its row was learned."""

import numpy as np
import pytest

from budgetron import OnlineClassifier, OnlineRegressor, auto, evaluate
from budgetron.streams import DataError, from_arrays, from_pairs
from tests.helpers.cases import each


def rows(n=300):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    return X, X[:, 0] + random.normal(size=n)


def classifier():
    return OnlineClassifier(auto(5), random_state=0, coverage=0.8)


@each("step", [1, 7, 50])
@each("block", [40, 300])
def test_sets(step, block):
    X, y = rows()
    y = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.8])]
    [whole] = from_arrays(X, y)
    blocks = [whole.part(i, min(i + block, 300)) for i in range(0, 300, block)]
    found = evaluate.coverage(classifier(), blocks, step=step)
    step = min(step, block)
    model, inside, sizes = classifier(), [], []
    starts = [i for begin in range(0, 300, block) for i in range(begin, min(begin + block, 300), step)]
    for start, stop in zip(starts, [*starts[1:], 300], strict=True):
        if start:
            sets = model.predict_set(X[start:stop])
            inside += [label in labels for label, labels in zip(y[start:stop], sets, strict=True)]
            sizes += map(len, sets)
        model.partial_fit(X[start:stop], y[start:stop])
    assert (found.asked, found.first) == (0.8, step)
    assert found.inside.tolist() == inside
    assert found.sizes.tolist() == sizes
    assert found.ends is None


def test_intervals_and_windows():
    X, y = rows()
    found = evaluate.coverage(OnlineRegressor(auto(5), random_state=0, coverage=0.8), (X, y))
    assert (found.inside == ((found.ends[:, 0] <= y[1:]) & (y[1:] <= found.ends[:, 1]))).all()
    assert (found.sizes == found.ends[:, 1] - found.ends[:, 0]).all()
    assert found.y.tolist() == y[1:].tolist()
    model = OnlineRegressor(auto(5), random_state=0)
    assert found.predicted.tolist() == model.progressive_predict(X, y)[1:].tolist()
    first, second = found.windows(140)
    assert first == (141, found.inside[:140].mean(), np.inf)
    assert second == (281, found.inside[140:280].mean(), found.sizes[140:280].mean())


def test_records_of_any_form():
    pairs = [({"a": float(i % 7), "b": "xyz"[i % 3]}, i % 2) for i in range(60)]
    found = evaluate.coverage(classifier(), from_pairs(pairs))
    assert len(found.inside) == 59
    assert evaluate.coverage(classifier(), pairs).sizes.tolist() == found.sizes.tolist()
    again = classifier().partial_fit([x for x, _ in pairs], [y for _, y in pairs])
    assert evaluate.coverage(again, pairs).first == 0


def test_what_cannot_be():
    with pytest.raises(ValueError, match=r"give OnlineClassifier\(coverage=0.9\), got one without"):
        evaluate.coverage(OnlineClassifier(), rows())
    with pytest.raises(DataError, match="no rows after the first"):
        evaluate.coverage(OnlineRegressor(auto(5), coverage=0.9), rows(5), step=5)
    with pytest.raises(ValueError, match="step"):
        evaluate.coverage(OnlineRegressor(auto(5), coverage=0.9), rows(5), step=0)
