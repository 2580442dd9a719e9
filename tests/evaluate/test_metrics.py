"""Metrics: scikit-learn's values, for any blocks, after a save in the middle, and at the edges."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from budgetron import Gaussian, Logistic, OnlineClassifier, OnlineRegressor, evaluate, model_files, ogd, rbp
from budgetron.evaluate import Metrics, Record, Session
from budgetron.evaluate.metrics.ranking import BINS, bins_of
from budgetron.streams import from_arrays
from tests.helpers.cases import each, pairs

RNG = np.random.default_rng(5)
N, WINDOW = 3000, 400
LABELS = [
    "accuracy",
    "balanced_accuracy",
    "f1",
    "kappa",
    "kappa_temporal",
    "auc",
    "log_loss",
    "brier",
    "ece",
]
TARGETS = ["mae", "rmse", "r2", "pinball", "pinball:0.9"]
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "owl", "pig"])


def stream(k, texts=False):
    """Labels that stay a while, probabilities and predictions."""
    rng, phase = np.random.default_rng(k), np.arange(N)[:, None] / 150 + np.arange(k) / k
    scores = np.sin(2 * np.pi * phase) + rng.standard_normal((N, k))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    proba = np.exp(scores - scores.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    predicted, classes = proba.argmax(axis=1), np.arange(k)
    if texts:
        return NAMES[y].astype(object), NAMES[predicted], proba, NAMES[:k]
    return y, predicted, proba, classes


def expected_labels(y, predicted, proba, classes, weights, before):
    """The values of scikit-learn, and NumPy where it has none; ``before`` is the label before the first."""
    w = {"sample_weight": weights}
    y, two = np.asarray(y).astype(classes.dtype), len(classes) == 2
    previous = np.concatenate([[before], y[:-1].astype(object)])
    chance, right = (
        np.average(previous == y.astype(object), weights=weights),
        sk.accuracy_score(y, predicted, **w),
    )
    places = np.ceil(proba.max(axis=1) * 15) - 1
    gaps = [
        abs(((predicted == y) - proba.max(axis=1))[places == b] @ weights[places == b]) for b in range(15)
    ]
    averaged = {"average": "binary", "pos_label": classes[1]} if two else {"average": "macro"}
    auc = sk.roc_auc_score(
        y, proba[:, 1] if two else proba, **({} if two else {"multi_class": "ovr"}), labels=classes, **w
    )
    hot = y[:, None] == classes
    return {
        "rate": 1 - right,
        "accuracy": right,
        "balanced_accuracy": sk.balanced_accuracy_score(y, predicted, **w),
        "f1": sk.f1_score(y, predicted, **averaged, **w),
        "kappa": sk.cohen_kappa_score(y, predicted, **w),
        "kappa_temporal": (right - chance) / (1 - chance),
        "auc": auc,
        "log_loss": sk.log_loss(y, proba, labels=classes, **w),
        "brier": np.average(((proba - hot) ** 2).sum(axis=1), weights=weights) / (2 if two else 1),
        "ece": sum(gaps) / weights.sum(),
    }


def expected_targets(y, predicted, weights):
    w = {"sample_weight": weights}
    return {
        "rate": sk.mean_squared_error(y, predicted, **w),
        "mae": sk.mean_absolute_error(y, predicted, **w),
        "rmse": sk.mean_squared_error(y, predicted, **w) ** 0.5,
        "r2": sk.r2_score(y, predicted, **w),
        "pinball": sk.mean_pinball_loss(y, predicted, alpha=0.5, **w),
        "pinball:0.9": sk.mean_pinball_loss(y, predicted, alpha=0.9, **w),
    }


def close(found, expected):
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-3 if name == "auc" else 1e-12), name


def weights_of(kind):
    if kind == "none":
        return np.ones(N)
    return RNG.integers(0, 3, N) * 1.0 if kind == "whole" else RNG.uniform(0.1, 3, N)


@pairs
@each("weighted", ["none", "whole", "real"])
@each("texts", [False, True])
@each("k", [2, 3, 10])
def test_labels_as_scikit_learn(k, texts, weighted):
    y, predicted, proba, classes = stream(k, texts)
    weights, metrics = weights_of(weighted), Metrics(LABELS, window=WINDOW)
    given = {} if weighted == "none" else {"weights": weights}
    metrics.update(y, predicted, classes=classes, proba=proba, **given)
    counted = np.flatnonzero(weights)
    for found, rows in ((metrics.running(), counted), (metrics.windowed(), counted[-WINDOW:])):
        before = None if rows is counted else y[counted[-WINDOW - 1]]
        close(found, expected_labels(y[rows], predicted[rows], proba[rows], classes, weights[rows], before))
    recalls = sk.recall_score(y.astype(classes.dtype), predicted, average=None, sample_weight=weights)
    np.testing.assert_allclose(list(metrics.recall().values()), recalls)
    assert list(metrics.recall()) == classes.tolist()
    matrix = sk.confusion_matrix(y.astype(classes.dtype), predicted, sample_weight=weights)
    np.testing.assert_allclose(metrics.confusion(), matrix)
    assert metrics.rows == len(counted)


def test_the_brier_score_is_that_of_scikit_learn():
    y, predicted, proba, _ = stream(2)
    metrics = Metrics(["brier"])
    metrics.update(y, predicted, classes=[0, 1], proba=proba)
    assert metrics.running()["brier"] == pytest.approx(sk.brier_score_loss(y, proba[:, 1]))


@each("weighted", ["none", "real"])
@each("offset", [0.0, 1e6])
def test_targets_as_scikit_learn(weighted, offset):
    y = RNG.standard_normal(N) + offset
    predicted, weights = y + RNG.standard_normal(N) / 2 + 0.1, weights_of(weighted)
    metrics = Metrics(TARGETS, targets=True, window=WINDOW)
    metrics.update(y, predicted, weights=weights)
    close(metrics.running(), expected_targets(y, predicted, weights))
    last = slice(-WINDOW, None)
    close(metrics.windowed(), expected_targets(y[last], predicted[last], weights[last]))


# ---- blocks, states, new classes


def fed(metrics, y, predicted, weights, cuts, **tables):
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        cut = slice(start, stop)
        parts = {name: table[cut] for name, table in tables.items() if name != "classes"}
        known = {name: table for name, table in tables.items() if name == "classes"}
        metrics.update(y[cut], predicted[cut], weights=weights[cut], **parts, **known)
    return metrics


def copied(metrics, targets):
    """Restored from a state that went through a file."""
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=2)).fit([[0.0], [1.0]], [0, 1])
    model.save("model", extra={"metrics": metrics.state()})
    other = Metrics(metrics.names, targets=targets, window=metrics.window)
    other.restore(model_files.read("model").extra["metrics"])
    assert repr(other.state()) == repr(metrics.state())
    return other


@pytest.mark.parametrize("case", ["two", "ten", "texts", "targets"])
def test_blocks_and_a_stop_change_no_bit(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    targets, tables = case == "targets", {}
    if targets:
        y, weights = RNG.standard_normal(N) * 1e3, weights_of("real")
        predicted = y + RNG.standard_normal(N)
    else:
        y, predicted, proba, classes = stream({"two": 2, "ten": 10, "texts": 3}[case], case == "texts")
        tables, weights = {"proba": proba, "classes": classes}, weights_of("real") * weights_of("whole")

    def new():
        return Metrics(TARGETS if targets else LABELS, targets=targets, window=WINDOW)

    whole = fed(new(), y, predicted, weights, [], **tables)
    for cuts in (np.sort(RNG.integers(0, N, 40)), np.arange(1, N)[:700], [N - 1]):
        other = fed(new(), y, predicted, weights, list(cuts), **tables)
        assert pickle.dumps(other.state()) == pickle.dumps(whole.state())
        assert (other.running(), other.windowed()) == (whole.running(), whole.windowed())
    half = {name: table if name == "classes" else table[:1234] for name, table in tables.items()}
    rest = {name: table if name == "classes" else table[1234:] for name, table in tables.items()}
    stopped = copied(fed(new(), y[:1234], predicted[:1234], weights[:1234], [600], **half), targets)
    stopped = fed(stopped, y[1234:], predicted[1234:], weights[1234:], [7, 800], **rest)
    assert repr(stopped.state()) == repr(whole.state())
    assert (stopped.running(), stopped.windowed()) == (whole.running(), whole.windowed())


def test_classes_that_appear_later():
    """As if all had been known: without a column a class has probability 0."""
    y, _, proba, classes = stream(4, texts=True)
    order = ["dog", "ant", "cat", "bee"]  # the order of appearance
    y = np.array([label if order.index(label) <= i // 700 else "dog" for i, label in enumerate(y)])
    known = np.array([[order.index(c) <= i // 700 for c in classes] for i in range(N)])
    proba = proba * known
    proba /= proba.sum(axis=1, keepdims=True)
    predicted = classes[proba.argmax(axis=1)]
    grown, cut = Metrics(LABELS, window=1000), 350
    for i in range(0, N, cut):
        now, rows = known[i], slice(i, i + cut)
        grown.update(y[rows], predicted[rows], classes=classes[now], proba=proba[rows][:, now])
    assert list(grown.recall()) == classes.tolist()
    whole = Metrics(LABELS, window=1000)
    whole.update(y, predicted, classes=classes, proba=proba)
    assert pickle.dumps(grown.state()) == pickle.dumps(whole.state())
    assert grown.windowed() == whole.windowed()
    close(grown.running(), expected_labels(y, predicted, proba, classes, np.ones(N), None))


def test_a_label_that_no_column_has_costs_as_much_as_probability_zero():
    metrics = Metrics(["log_loss", "auc"])
    metrics.update(
        ["a", "b", "c"], ["a", "b", "a"], classes=["a", "b"], proba=[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]
    )
    eps = np.finfo(float).eps
    assert metrics.running()["log_loss"] == pytest.approx(-np.log([0.9, 0.8, eps]).mean())
    assert list(metrics.recall()) == ["a", "b", "c"]


# ---- the histogram of scores


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_auc_of_scores_of_any_scale(scale):
    y = RNG.integers(0, 2, N)
    scores = scale * (RNG.standard_normal(N) + y)
    metrics = Metrics(["auc", "log_loss"])
    metrics.update(y, (scores >= 0) * 1, classes=[0, 1], scores=scores)
    assert metrics.running()["auc"] == pytest.approx(sk.roc_auc_score(y, scores), abs=5e-4)
    assert metrics.running()["log_loss"] is None


def test_bins_keep_the_order_and_the_resolution():
    scores = np.sort(
        np.concatenate(
            [RNG.standard_normal(5000) * 10.0 ** RNG.integers(-8, 6, 5000), [0, -np.inf, np.inf]]
        )
    )
    bins = bins_of(scores)
    assert (np.diff(bins) >= 0).all()
    assert (bins[0], bins[-1]) == (0, BINS - 1)
    for place in np.unique(bins[(np.abs(scores) > 1e-9) & (np.abs(scores) < 1e6)])[1:-1]:
        inside = np.abs(scores[bins == place])
        assert inside.max() - inside.min() <= inside.max() / 16 or place == BINS // 2


# ---- the edges


def test_before_the_first_row_nothing_is_defined():
    assert set(Metrics(LABELS).running().values()) == {None}
    assert set(Metrics(LABELS).windowed().values()) == {None}
    assert set(Metrics(TARGETS, targets=True).windowed().values()) == {None}
    assert Metrics().recall() == {}


def test_one_class_so_far():
    metrics = Metrics(LABELS)
    metrics.update([1, 1, 1], [1, 1, 1], classes=[0, 1], proba=[[0.1, 0.9]] * 3)
    found = metrics.running()
    assert found["accuracy"] == found["balanced_accuracy"] == found["f1"] == 1
    assert found["kappa"] is None
    assert found["auc"] is None
    assert found["kappa_temporal"] == 1  # the first row has no row before it
    assert metrics.recall() == {0: None, 1: 1.0}


def test_constant_targets_as_scikit_learn():
    for predicted in ([2.0, 2.0], [2.0, 3.0]):
        metrics = Metrics(["r2"], targets=True)
        metrics.update([2.0, 2.0], predicted)
        assert metrics.running()["r2"] == sk.r2_score([2.0, 2.0], predicted)
    metrics = Metrics(["r2", "mae"], targets=True)
    metrics.update([2.0], [1.0])
    assert metrics.running() == {"rate": 1.0, "r2": None, "mae": 1.0}


def test_huge_targets_give_none_and_no_warning():
    metrics = Metrics(TARGETS, targets=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics.update([1e200, -1e200, 0.0], [-1e200, 1e200, 0.0])
        found = metrics.running()
    assert found["rmse"] is None
    assert found["mae"] == pytest.approx(4e200 / 3)


def test_many_classes_have_no_confusion_matrix():
    metrics = Metrics(["kappa"])
    y = np.arange(200) % 60
    metrics.update(y, np.roll(y, 1))
    assert metrics.confusion() is None
    assert metrics.running()["kappa"] == pytest.approx(sk.cohen_kappa_score(y, np.roll(y, 1)))


@each(
    ("arguments", "message"),
    [
        ({"y": [0, 1], "predicted": [0]}, "shape"),
        ({"y": [0, None], "predicted": [0, 1]}, "label"),
        ({"y": [0.0, np.nan], "predicted": [0, 1]}, "label"),
        ({"y": [0, "a"], "predicted": [0, 1]}, "numbers"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"weights": [1.0, np.nan]}, "weights"),
        ({"weights": [1.0]}, "weights"),
        ({"proba": [[0.5, 0.5]], "classes": [0, 1]}, "proba has shape"),
        ({"proba": [[0.5, 1.5]] * 2, "classes": [0, 1]}, "proba has a value"),
        ({"proba": [[0.5, np.nan]] * 2, "classes": [0, 1]}, "proba has a value"),
        ({"proba": [[0.5, 0.5]] * 2}, "proba has shape"),
    ],
)
def test_bad_rows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Metrics().update(
            **(
                {"y": np.array([0, 1]), "predicted": [0, 1]}
                | {k: np.array(v, dtype=object) if k == "y" else v for k, v in arguments.items()}
            )
        )


def test_bad_names_are_refused():
    for names in (["kapa"], ["mae"], [3]):
        with pytest.raises(ValueError, match="is no metric of labels"):
            Metrics(names)
    for names in (["auc"], ["pinball:1"], ["pinball:x"]):
        with pytest.raises(ValueError, match="is no metric of targets"):
            Metrics(names, targets=True)
    with pytest.raises(TypeError, match="a list of names"):
        Metrics("auc")
    metrics = Metrics()
    metrics.update([0, 1], [0, 1])
    with pytest.raises(ValueError, match="all rows or none"):
        metrics.update([0], [0], classes=[0, 1], proba=[[1.0, 0.0]])


def test_a_forged_state_is_refused():
    y, predicted, proba, classes = stream(3)
    metrics = Metrics(LABELS, window=50)
    metrics.update(y, predicted, classes=classes, proba=proba)
    forged = [
        {"names": ["auc"]},
        {"rows": -1},
        {"classes": [2, 1, 0]},
        {"classes": [0, 1]},
        {"last": 3},
        {"given": [1]},
        {"sums": {}},
        {"window": {}},
        {"window": metrics.state()["window"] | {"y": np.full(50, 3)}},
        {"window": metrics.state()["window"] | {"bins": np.full((50, 3), -1, dtype=np.int16)}},
        {"window": metrics.state()["window"] | {"weight": np.ones(49)}},
    ]
    for change in forged:
        other = Metrics(LABELS, window=50)
        with pytest.raises((ValueError, KeyError)):
            other.restore(metrics.state() | change)
        assert other.rows == 0


# ---- sessions


def rows_and_labels(kind):
    X = np.random.default_rng(1).standard_normal((N, 3))
    if kind == "targets":
        return X, np.sin(X[:, 0]), OnlineRegressor(ogd(Gaussian(0.5)))
    labels = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5]) if kind == "three" else (X[:, 0] > X[:, 1]) * 1
    loss = {} if kind == "scores" else {"loss": Logistic()}
    return X, labels, OnlineClassifier(ogd(Gaussian(0.5), **loss), random_state=0)


@pytest.mark.parametrize("kind", ["two", "three", "scores", "targets"])
@pytest.mark.parametrize("delay", [0, 60])
def test_sessions_measure_what_was_predicted(kind, delay):
    X, y, model = rows_and_labels(kind)
    names = TARGETS if kind == "targets" else LABELS
    ends = []
    for cut in (N, 7, 640):
        _, _, model = rows_and_labels(kind)
        got = []
        options = {} if kind == "targets" else {"classes": np.unique(y)}
        session = Session(
            model, every=1000, delay=delay, metrics=names, window=WINDOW, predictions=got.append, **options
        )
        records = [record for block in from_arrays(X, y, rows=cut) for record in session.feed(block)]
        records += session.finish()
        ends.append([record.metrics for record in records])
        assert pickle.dumps(records[-1].metrics) == pickle.dumps(session.record().metrics)
    assert ends[1:] == ends[:1] * 2
    last, predicted = records[-1].metrics, np.concatenate(got)
    assert last["window"]["rows"] == WINDOW
    assert last["running"]["rate"] == pytest.approx(records[-1].rate)
    if kind == "targets":
        close(last["running"], expected_targets(y, predicted, np.ones(N)))
    else:
        assert last["window"]["accuracy"] == np.mean(predicted[-WINDOW:] == y[-WINDOW:])
        assert (last["running"]["log_loss"] is None) == (kind == "scores")
        assert last["running"]["auc"] > 0.8
    assert Record(**json.loads(json.dumps(records[-1].as_dict()))) == records[-1]


def test_probabilities_are_those_before_learning():
    X, y, model = rows_and_labels("two")
    reference, found = OnlineClassifier(model.learner, random_state=0).start(X[:1], [0, 1]), []
    for x, label in zip(X[:200], y[:200], strict=True):
        found.append(reference.predict_proba([x])[0])
        reference.partial_fit([x], [label])
    *_, last = evaluate.prequential(model, (X[:200], y[:200]), metrics=["log_loss", "auc"])
    assert last.metrics["running"]["log_loss"] == pytest.approx(sk.log_loss(y[:200], found))


def test_a_session_takes_the_metrics_of_its_state():
    X, y, model = rows_and_labels("two")
    session = Session(model, classes=[0, 1], metrics=["ece"])
    session.feed(next(iter(from_arrays(X, y, rows=500))))
    again = Session(model)
    again.restore(session.state())
    assert again.record().metrics == session.record().metrics
    with pytest.raises(ValueError, match="names"):
        Session(model, metrics=["auc"]).restore(session.state())


def test_comparisons_carry_metrics():
    X, y, model = rows_and_labels("two")
    learners = {"a": model.learner, "b": rbp(Gaussian(0.5), budget=20)}
    result = evaluate.compare(learners, (X[:400], y[:400]), permutations=2, metrics=["kappa", "log_loss"])
    again = evaluate.Comparison.from_dict(json.loads(json.dumps(result.as_dict())))
    assert again == result
    a, b = result.rows
    runs = [run[-1].metrics["running"]["kappa"] for run in result.records["a"]]
    assert a.metrics["kappa"] == pytest.approx(np.mean(runs))
    assert b.metrics["log_loss"] is None
    head, _, first, second, *_ = result.table(["kappa", "log_loss"]).splitlines()
    assert head.split()[:5] == ["learner", "mistakes", "%", "p", "kappa"]
    assert f"{a.metrics['kappa']:.4f}" in first
    assert " - " in second
    assert "kappa" in result.markdown(["kappa"])
    with pytest.raises(ValueError, match="no metric 'auc'"):
        result.table(["auc"])
    with pytest.raises(ValueError, match="is no metric"):
        evaluate.compare(learners, (X, y), metrics=["mae"])
