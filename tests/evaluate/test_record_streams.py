"""Runs over records whose columns and classes come and go: no result depends on blocks or on resumes."""

import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetron import (
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    Standardised,
    auto,
    model_files,
    rbp,
    streams,
)
from budgetron.estimators.online import begin
from budgetron.evaluate import Session, compare, prequential
from budgetron.records.reading import to_table
from budgetron.streams import Block
from budgetron.streams.stream import cut
from tests.helpers.cases import each

VALUES = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 3)),
    st.sampled_from(["x", "y", "", None, True]),
)
RECORDS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d"]), VALUES), max_size=4).map(dict),
        st.sampled_from(["p", "q", "r", "s"]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=30,
)
LEARNERS = {
    "auto": auto(size=2),
    "rbp": Standardised(rbp(Gaussian(0.5), budget=4)),
    "scale": Standardised(rbp(Gaussian(), budget=4)),
}


def whole(rows, weighted, targets):
    records, labels, weights = zip(*rows, strict=True)
    y = np.array([float(len(label) + ord(label)) for label in labels]) if targets else np.array(labels)
    n = len(rows)
    ids = np.array([f"row {i}" for i in range(n)], dtype=object)
    return Block(
        to_table(list(records)), y, 0, np.array(weights) if weighted else None, np.arange(n) * 1.0, ids
    )


def blocks(block, cuts):
    ends = sorted({min(each, len(block)) for each in cuts} | {0, len(block)})
    return [block.part(i, j) for i, j in pairwise(ends)]


def ended(make, parts, delay, shuffle, resume_after, folder):
    """The bytes of the saved run and its predictions; if asked, saved and loaded after some block."""
    path, seen = Path(folder) / "model", []

    def note(predicted, ids):
        seen.extend(zip(np.asarray(predicted).tolist(), ids.tolist(), strict=True))

    def session(estimator):
        steps = [streams.ShuffleBuffer(shuffle, seed=1)] if shuffle else []
        return Session(estimator, steps, delay=delay, every=7, predictions=note)

    run = session(make())
    for i, part in enumerate(parts):
        run.feed(part)
        if i == resume_after and run.started:
            run.estimator.save(path, extra={"run": run.state()})
            file = model_files.read(path)
            again = session(file.estimator())
            again.restore(file.extra["run"])
            run = again
    run.finish()
    last = run.record()
    run.estimator.save(path, extra={"run": run.state()})
    return path.read_bytes(), seen, last.time, last.rows


@settings(max_examples=12, deadline=None)
@given(
    rows=RECORDS,
    cuts=st.lists(st.integers(1, 30), max_size=6),
    resume_after=st.integers(0, 6),
    delay=st.sampled_from([0, 0, 1, 3, 40]),
    shuffle=st.sampled_from([0, 0, 2, 9]),
    weighted=st.booleans(),
    targets=st.booleans(),
    learner=st.sampled_from(sorted(LEARNERS)),
)
def test_neither_blocks_nor_resumes_change_a_run(
    rows, cuts, resume_after, delay, shuffle, weighted, targets, learner
):
    block = whole(rows, weighted, targets)

    def make():
        kind = OnlineRegressor if targets else OnlineClassifier
        return kind(LEARNERS[learner], random_state=0)

    with tempfile.TemporaryDirectory() as folder:
        expected = ended(make, [block], delay, shuffle, None, folder)
        assert sorted(name for _, name in expected[1]) == sorted(block.ids.tolist())
        for parts in (blocks(block, cuts), blocks(block, range(len(block)))):
            assert ended(make, parts, delay, shuffle, None, folder) == expected
            assert ended(make, parts, delay, shuffle, resume_after, folder) == expected


@pytest.mark.parametrize("labels", [["p", "qq", "rrr"], ["rrr", "qq", "p"]])
@pytest.mark.parametrize("kind", [str, object])
def test_labels_of_several_lengths_that_wait_when_a_run_is_resumed(labels, kind, tmp_path):
    rows = [({"a": float(i)}, label, 1.0) for i, label in enumerate(labels * 4)]
    block = whole(rows, False, False)
    block = replace(block, y=block.y.astype(kind))

    def make():
        return OnlineClassifier(LEARNERS["rbp"], random_state=0)

    expected = ended(make, [block], 2, 0, None, tmp_path)
    for place in range(len(rows)):
        assert ended(make, blocks(block, range(len(rows))), 2, 0, place, tmp_path) == expected


def test_a_reordered_record_is_the_same_record():
    rows = [({"a": 1.0, "b": "x"}, "p"), ({"b": "y", "a": 2.0}, "q"), ({"c": 1, "b": "x"}, "p")] * 5
    turned = [rows[0], *((dict(reversed(x.items())), y) for x, y in rows[1:])]
    [one], [other] = (
        list(prequential(OnlineClassifier(LEARNERS["auto"], random_state=0), pairs, every=100))
        for pairs in (rows, turned)
    )
    assert one.mistakes == other.mistakes


def test_weights_reach_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.choice(["u", "v"], 200)
    weights = rng.random(200) * (rng.random(200) < 0.7)
    for delay in (0, 5):
        mine, session = OnlineClassifier(LEARNERS["rbp"], random_state=0), None
        session = Session(mine, delay=delay)
        for block in cut([Block(X, y, 0, weights)], 0, 33):
            session.feed(block)
        session.finish()
        direct = OnlineClassifier(LEARNERS["rbp"], random_state=0).start(X[:1])
        begin(direct, X[:1], y[:1])
        direct.partial_fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(mine.decision_function(X), direct.decision_function(X))


# ---- baselines


class Majority:
    """A model as river has them."""

    def __init__(self):
        self.counts = {}

    def learn_one(self, x, y):
        assert isinstance(x, dict)
        self.counts[y] = self.counts.get(y, 0) + 1

    def predict_one(self, _):
        return max(self.counts, key=self.counts.get, default=None)


class Logistic:
    """A binary model as river has them: labels are True and False, or 1 and 0."""

    def __init__(self):
        self.weights = {}

    def predict_one(self, x):
        return sum(self.weights.get(name, 0.0) * value for name, value in x.items()) > 0

    def learn_one(self, x, y):
        for name, value in x.items():
            self.weights[name] = self.weights.get(name, 0.0) + (int(y) - self.predict_one(x)) * value


class Mean:
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def learn_one(self, _, y):
        self.sum, self.n = self.sum + y, self.n + 1

    def predict_one(self, _):
        return self.sum / self.n if self.n else None


def test_baselines_of_other_libraries():
    from sklearn.linear_model import SGDClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, "right", "left")
    models = {"auto": LEARNERS["auto"], "sgd": SGDClassifier(random_state=0), "most": Majority()}
    found = compare(models, (X, y), permutations=2, every=100)
    rates = {row.name: row.mean for row in found.rows}
    assert rates["sgd"] < 0.15
    assert 0.3 < rates["most"] < 0.7
    assert [record.rows for record in found.records["most"][0]] == [100, 200, 300]
    assert found.table(["kappa"]).count("\n") == 7
    # one row at a time, in the same order as ours
    order = np.random.default_rng(0).permutation(300)
    model, wrong = SGDClassifier(random_state=0), 1
    for i, row in enumerate(order):
        wrong += 0 if i == 0 else int(model.predict(X[row : row + 1])[0] != y[row])
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=["left", "right"])
    assert found.records["sgd"][0][-1].mistakes == wrong


def test_baselines_take_records_weights_and_targets():
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    rows = [{"a": float(i % 5), "b": "xy"[i % 2]} | ({"c": 1.0} if i > 50 else {}) for i in range(120)]
    y = np.array(["u" if row["b"] == "x" else "v" for row in rows])
    found = compare([SGDClassifier(random_state=0)], (rows, y), permutations=1, sample_weight=np.ones(120))
    assert found.rows[0].mean < 0.3
    targets = np.array([row["a"] for row in rows])
    models = {"sgd": SGDRegressor(random_state=0), "mean": Mean(), "auto": LEARNERS["auto"]}
    means = {
        row.name: row.mean for row in compare(models, (rows, targets), task="regression", delay=2).rows
    }
    assert means["auto"] < means["sgd"] < means["mean"] + 1
    with pytest.raises(TypeError, match="compare"):
        compare({"what": object()}, (rows, y))


@each("labels", [("left", "right"), (-1, 1), (1.0, 2.0), (False, True)])
def test_a_binary_baseline_gets_true_and_false(labels):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    [row] = compare({"logistic": Logistic()}, (X, y), permutations=1).rows
    assert row.mean < 0.1


def test_baselines_that_fail_are_named():
    from sklearn.linear_model import LogisticRegression, SGDRegressor

    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.array(["u", "v"] * 25)
    with pytest.raises(ValueError, match=r"compare, sgd on permutation 0: TypeError: .*classes"):
        compare({"sgd": SGDRegressor()}, (X, y), permutations=1)
    with pytest.raises(
        TypeError, match="compare: batch must be a Learner, or a model with partial_fit, or"
    ):
        compare({"batch": LogisticRegression()}, (X, y), permutations=1)
    texts = [{"a": "x"}, {"a": "y"}] * 25
    with pytest.raises(ValueError, match="compare, logistic on permutation 0: TypeError: "):
        compare({"logistic": Logistic()}, (texts, y), permutations=1)
