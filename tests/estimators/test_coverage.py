"""Sets and intervals that cover, along a stream."""

import copy
import pickle

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, auto, load, ogd, rbp
from budgetron.model.conformal import Conformal
from tests.helpers.cases import each
from tests.references import conformal as reference


def labelled(n=1500, seed=0):
    """Three classes that overlap; after half of the rows the rule is another."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    place = X[:, 0] + random.normal(size=n)
    place[n // 2 :] = X[n // 2 :, 1] + 2 * random.normal(size=n - n // 2)
    return X, np.array(["a", "b", "c"])[np.digitize(place, [-0.7, 0.7])]


def targets(n=1500, seed=0):
    """Noise that depends on the row, and is three times as large after half of the rows."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    noise = random.normal(size=n) * np.where(X[:, 1] > 0, 1.0, 0.1)
    noise[n // 2 :] *= 3
    return X, X[:, 0] + noise


def parts(n, cut):
    return [slice(i, min(n, i + cut)) for i in range(0, n, cut)]


def noted(misfits, coverage):
    """The limits before each row."""
    known, found = Conformal(coverage), []
    for misfit in misfits:
        found.append(known.limit)
        known.add(np.array([misfit]))
    return np.array(found)


def streams_of_misfits():
    random = np.random.default_rng(0)
    n = 3000
    alike = np.abs(random.normal(size=n))
    yield "of one kind", alike
    yield "a drift", alike * np.where(np.arange(n) < 1500, 1, 100)
    yield "in turns", alike * np.where(np.arange(n) // 400 % 2, 20, 1)
    yield "growing", alike * np.exp(np.arange(n) / 100)
    yield "sure, then not", np.where(np.arange(n) < 1500, 0, alike)
    yield "labels that come", np.where(random.random(n) < 0.05, np.inf, np.minimum(alike / 4, 1))


@each("coverage", [0.05, 0.5, 0.9, 0.99])
def test_limits_follow_the_equations(coverage):
    for name, misfits in streams_of_misfits():
        expected = reference.limits(misfits, coverage)
        np.testing.assert_allclose(noted(misfits, coverage), expected, rtol=1e-12, err_msg=name)


@each("coverage", [0.5, 0.9, 0.98])
def test_every_window_is_covered_as_asked(coverage):
    """Also of misfits that come in turns, which a small step is too slow for; and no limit is infinite."""
    for name, misfits in streams_of_misfits():
        limits = noted(misfits, coverage)[20:]
        inside = misfits[20:] <= limits
        for start in range(0 if name != "sure, then not" else 1480, len(inside) - 1000, 250):
            assert abs(inside[start : start + 1000].mean() - coverage) < 0.025, (name, start)
        assert np.isfinite(limits).all() or name == "labels that come"


@each("coverage", [0.8, 0.9])
def test_sets_cover(coverage):
    X, y = labelled(3000)
    model, inside, sizes = OnlineClassifier(auto(10), random_state=0, coverage=coverage), [], []
    for part in parts(3000, 10):
        if part.start:
            sets = model.predict_set(X[part])
            inside += [label in found for label, found in zip(y[part], sets, strict=True)]
            sizes += list(map(len, sets))
        model.partial_fit(X[part], y[part])
    for window in np.split(np.array(inside[-2500:]), 5):
        assert abs(window.mean() - coverage) < 0.035
    assert 1 <= np.mean(sizes) < 2.6
    assert model.covered_ == pytest.approx(coverage, abs=0.03)


def test_a_set_may_be_empty():
    """Where the model is right more often than asked: so the coverage is as asked, and covered_ says it."""
    X, y = labelled(2400)
    y = np.where(X[:, 0] > 0, "a", "b")
    model, inside, sizes = OnlineClassifier(auto(10), random_state=0, coverage=0.8), [], []
    for x, label in zip(X, y, strict=True):
        if model.__sklearn_is_fitted__():
            [labels] = model.predict_set([x])
            inside.append(label in labels)
            sizes.append(len(labels))
        model.partial_fit([x], [label])
    assert model.covered_ == np.mean(inside[-500:]) == pytest.approx(0.8, abs=0.02)
    assert set(sizes[-500:]) == {0, 1}
    assert labels.dtype == model.classes_.dtype


def test_labels_that_no_set_could_have_are_not_covered():
    """A new label in every row: sets have all labels that are known, and never that of the row."""
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = OnlineClassifier(auto(5), random_state=0, coverage=0.9)
    for i in range(60):
        model.partial_fit(X[i : i + 1], [i])
    assert model.covered_ == 0
    assert len(model.predict_set(X[:1])[0]) == 60


def test_a_label_without_doubt_is_in_its_set():
    """One class so far: its probability is 1, whatever share may be left out."""
    model = OnlineClassifier(auto(5), random_state=0, coverage=0.5)
    model.partial_fit(np.random.default_rng(0).normal(size=(1200, 1)), np.full(1200, "a"))
    assert [labels.tolist() for labels in model.predict_set([[0.0], [99.0]])] == [["a"], ["a"]]
    assert model.covered_ == 1
    assert model.partial_fit([[0.0]], ["b"]).covered_ == 499 / 500


def test_sets_need_probabilities():
    X, y = labelled(20)
    with pytest.raises(ValueError, match="coverage needs a learner with probabilities"):
        OnlineClassifier(rbp(Gaussian(0.5), budget=5), coverage=0.9).partial_fit(X, y)


@each("learner", [auto(10), ogd(Gaussian(0.5), eta=0.1)], ids=["auto", "ogd"])
def test_intervals_cover(learner):
    X, y = targets(3000)
    model, inside, widths = OnlineRegressor(learner, random_state=0, coverage=0.9), [], []
    for part in parts(3000, 10):
        if part.start:
            low, high = model.predict_interval(X[part]).T
            inside += ((low <= y[part]) & (y[part] <= high)).tolist()
            widths += (high - low).tolist()
        model.partial_fit(X[part], y[part])
    for window in np.split(np.array(inside[-2500:]), 5):
        assert abs(window.mean() - 0.9) < 0.035
    if learner == auto(10):
        noisy, widths = X[10:, 1] > 0, np.array(widths)
        assert np.median(widths[500:1400][noisy[500:1400]]) > 2 * np.median(
            widths[500:1400][~noisy[500:1400]]
        )


@each("cut", [1, 7, 400])
@each("task", ["labels", "targets"])
def test_any_cut_gives_the_same(cut, task, tmp_path):
    kind, (X, y) = (
        (OnlineClassifier, labelled(400)) if task == "labels" else (OnlineRegressor, targets(400))
    )
    files = []
    for size in (150, cut):
        model = kind(auto(5), random_state=0, coverage=0.9)
        for part in parts(400, size):
            weights = (np.arange(400) % 9 > 0).astype(float)[part]
            model.partial_fit(X[part], y[part], sample_weight=weights)
        model.save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1]
    by_one = kind(auto(5), random_state=0, coverage=0.9)
    for x, answer in zip(X[:30], y[:30], strict=True):
        by_one.learn_one(x, answer)
    at_once = kind(auto(5), random_state=0, coverage=0.9).partial_fit(X[:30], y[:30])
    assert by_one.fitted_.conformal.limit == at_once.fitted_.conformal.limit


@each("task", ["labels", "targets"])
def test_it_travels(task, tmp_path):
    kind, (X, y) = (
        (OnlineClassifier, labelled(300)) if task == "labels" else (OnlineRegressor, targets(300))
    )
    model = kind(auto(5), random_state=0, coverage=0.9).partial_fit(X[:200], y[:200])
    model.save(tmp_path / "model")
    copies = [load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    model.partial_fit(X[200:], y[200:])
    model.save(tmp_path / "whole")
    for again in copies:
        assert again.fitted_.conformal.limit != model.fitted_.conformal.limit
        again.partial_fit(X[200:], y[200:]).save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
    assert model.set_params(coverage=0.5).partial_fit(X[:1], y[:1]).fitted_.conformal.coverage == 0.5


def test_fit_is_a_pass():
    X, y = labelled(300)
    one = OnlineClassifier(auto(5), random_state=0, coverage=0.9).fit(X, y)
    other = OnlineClassifier(auto(5), random_state=0, coverage=0.9).partial_fit(
        X, y, classes=["a", "b", "c"]
    )
    assert one.fitted_.conformal.limit == other.fitted_.conformal.limit
    with pytest.raises(ValueError, match="coverage needs one pass"):
        OnlineClassifier(auto(5), coverage=0.9, epochs=2).fit(X, y)


def test_records_and_labels_that_come():
    rows = [{"a": i % 3, "b": "x" if i % 2 else "y"} | ({"c": i} if i > 40 else {}) for i in range(100)]
    y = ["u" if i < 50 else "v" for i in range(100)]
    one = OnlineClassifier(auto(5), random_state=0, coverage=0.9).partial_fit(rows, y)
    other = OnlineClassifier(auto(5), random_state=0, coverage=0.9)
    for row, label in zip(rows, y, strict=True):
        other.learn_one(row, label)
    assert one.fitted_.conformal.state()[1].tolist() == other.fitted_.conformal.state()[1].tolist()
    assert one.fitted_.conformal.state()[1][50, 0] == np.inf


def test_without_it_nothing_changes(tmp_path):
    X, y = labelled(100)
    model = OnlineClassifier(auto(5), random_state=0).partial_fit(X, y)
    model.save(tmp_path / "model")
    assert b"coverage" not in (tmp_path / "model").read_bytes()
    with pytest.raises(AttributeError, match=r"predict_set needs misfits.*coverage=0.9"):
        model.predict_set(X)


@each(
    "level, rows",
    [
        ([np.nan], [[0.5, 1]]),
        ([-1e308], [[0.5, 1]]),
        ([0.9, 0.9], [[0.5, 1]]),
        ([0.9], [[-0.5, 1]]),
        ([0.9], [[np.nan, 1]]),
        ([0.9], [[0.5, 2]]),
        ([0.9], [[0.5, 1]] * 501),
    ],
)
def test_forged_misfits_are_refused(level, rows):
    with pytest.raises(ValueError, match="its misfits have"):
        Conformal.restored(0.9, np.array(level), np.array(rows, dtype=float))


def test_a_forged_level_and_huge_misfits_do_no_harm():
    known = Conformal.restored(0.9, np.array([1e308]), np.array([[1e300, 1.0]] * 500))
    assert known.limit == np.inf
    known.add(np.array([1.0, np.inf, 0.0]))
    assert known.limit == np.inf


@each("coverage", [0, 1, 2.0, "x", np.nan])
def test_bad_coverage(coverage):
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        OnlineClassifier(coverage=coverage).partial_fit([[0.0]], [1])
