"""Standardised: the scaled rows and targets against the reference, and the contract of every learner."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from budgetron import (
    OGD,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Stacked,
    Standardised,
    auto,
    load,
    ogd,
    rbp,
    streams,
)
from budgetron.estimators.online import progressive
from tests.features.test_kalman import TASKS, assert_close, trajectory
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import everything, refused
from tests.model.test_reference import native_scores, stream
from tests.references import auto as reference
from tests.references import kernelized, maps, step

KALMAN = Mapped(Identity(), Kalman(5.0, 0.001))
STANDARDISED = Standardised(KALMAN)


def raw(task, n=400, seed=0):
    """Rows in units of 1e5 to 1e-6; one column is constant, one is so at first, one has rare values."""
    X, y = stream(task, n, seed)
    late = np.where(np.arange(n) < n // 2, 2.0, X[:, 1])
    rare = np.where(np.arange(n) % 37 == 5, 50.0, 0.0)
    units = [1e5, 1e-6, 1.0, 10.0, 0.1]
    return np.column_stack([X * units + [3e5, 0, 0, -40, 1], np.full(n, 7.25), late, rare]), y


def with_missing(X, share=0.1):
    X = X.copy()
    X[np.random.default_rng(9).random(X.shape) < share] = np.nan
    return X


def weights_of(n):
    return np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], n)


def compare(task, X, y, weights=None, clip=10.0, container=np.asarray, tolerance=1e-9):
    """Against the reference; scores in units of the targets' deviation."""
    unit = np.std(y) if task == "regression" else 1.0
    rows = container(X)
    scores, model = native_scores(task, Standardised(KALMAN, clip), rows, y, weights)
    inner = reference.Kalman(maps.identity(1.0), TASKS[task], 5.0, 0.001)
    oracle = reference.Standardised(inner, clip, TASKS[task], sparse.issparse(rows))
    assert_close(scores / unit, trajectory(oracle, X, y, weights) / unit, tolerance)
    assert_close(model.coef_, inner.W, tolerance)
    probes = np.vstack([X[:9], X[-9:]])
    expected = np.array([oracle.score(x) for x in probes])
    assert_close(model.fitted_.model.scores(container(probes)) / unit, expected / unit, tolerance)
    if task == "regression":
        deviations = model.predict(container(probes), return_std=True)[1]
        assert_close(deviations / unit, [oracle.deviation(x) / unit for x in probes], tolerance)
    return model, oracle


# ---- against the reference


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_trajectories(task, container, missing, weighted):
    X, y = raw(task)
    X = with_missing(X) if missing else X
    compare(task, X, y, weights_of(len(X)) if weighted else None, container=container)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("clip", [0.5, 2.0])
def test_clipped_values(task, container, clip):
    X, y = raw(task)
    _, oracle = compare(task, X, y, clip=clip, container=container)
    assert np.abs([oracle.scaled(x) for x in X]).max() == clip


@each(("unit", "mean"), [(1e5, 0.0), (1e-6, 0.0), (1e5, 3e7), (1e-6, 1e-3), (1.0, -50.0)])
@each("weighted", [False, True])
def test_targets_of_any_unit(unit, mean, weighted):
    X, y = raw("regression")
    compare("regression", X, mean + unit * y, weights_of(len(X)) if weighted else None, tolerance=1e-8)


def test_predictions_follow_the_unit_of_the_targets():
    """Powers of two change no digit."""
    X, y = raw("regression")
    one, other = (OnlineRegressor(STANDARDISED) for _ in range(2))
    np.testing.assert_array_equal(
        one.progressive_predict(X, y) * 2.0**40, other.progressive_predict(X, y * 2.0**40)
    )
    for mine, theirs in zip(
        one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(mine * 2.0**40, theirs)


def test_the_units_of_the_columns_do_not_matter():
    X, y = raw("binary")
    units = 2.0 ** np.array([40, -40, 3, 0, 1, 7, -9, 20])
    one, other = (OnlineClassifier(STANDARDISED) for _ in range(2))
    one.fit(X, y)
    other.fit(X * units, y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X * units))


def test_equal_targets_are_predicted():
    X, _ = raw("regression", 50)
    model = OnlineRegressor(STANDARDISED)
    predictions = model.progressive_predict(X, np.full(50, 1e5))
    assert predictions[0] == 0
    np.testing.assert_array_equal(predictions[1:], 1e5)


def test_before_the_first_row_all_is_zero():
    X, _ = raw("regression", 20)
    for rows in (X, sparse.csr_array(X)):
        model = OnlineRegressor(STANDARDISED).start(rows)
        np.testing.assert_array_equal(model.predict(rows), 0)
        model.partial_fit(rows, np.ones(20), sample_weight=0.0)
        np.testing.assert_array_equal(model.predict(rows), 0)
        assert model.fitted_.model.state()["scaled.kind"] == 0


def test_a_column_without_values_is_zero():
    X, y = raw("binary", 100)
    X[:, 2] = np.nan
    zero = np.where(np.isnan(X), 0.0, X)
    one, other = OnlineClassifier(STANDARDISED).fit(X, y), OnlineClassifier(STANDARDISED).fit(zero, y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(zero))
    probes = X.copy()
    probes[:, 2] = 1e6  # not one value to scale it by
    np.testing.assert_array_equal(one.decision_function(probes), one.decision_function(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scales_as_the_transform_of_streams(container):
    """To the last bit."""
    X, y = members.data("binary", 300, features=4)
    X = container(np.column_stack([1e3 * X + (1 if container is np.asarray else 0), np.ones(300)]))
    [*blocks] = streams.from_arrays(X, y).through(streams.Standardise())
    scaled = [b.X for b in blocks]
    scaled = sparse.vstack(scaled).tocsr() if sparse.issparse(X) else np.vstack(scaled)
    for learner in (KALMAN, ogd(Gaussian(0.2), eta=0.3), Mapped(RandomFourier(Gaussian(0.2), 9), OGD(0.1))):
        for task, targets in (("binary", y),):
            inside, outside = (members.estimator(task, own) for own in (Standardised(learner), learner))
            _, [(own, _)] = progressive(inside, X, targets, classes=[0, 1])
            _, [(theirs, _)] = progressive(outside, scaled, targets, classes=[0, 1])
            np.testing.assert_array_equal(own, theirs)
            state = inside.fitted_.model.state()
            for name, array in outside.fitted_.model.state().items():
                np.testing.assert_array_equal(state["learner." + name], array)


def test_of_several_passes_the_statistics_are_of_all_rows():
    X, y = raw("binary", 60)
    one = OnlineClassifier(STANDARDISED, epochs=2).fit(X, y)
    other = OnlineClassifier(STANDARDISED).fit(np.vstack([X, X]), np.append(y, y))
    assert members.same_state(one, other)


def test_single_precision_is_close_to_double():
    X, y = members.data("regression", 200)
    one, other = (OnlineRegressor(STANDARDISED).fit(rows, y) for rows in (X, X.astype(np.float32)))
    np.testing.assert_allclose(one.predict(X), other.predict(X.astype(np.float32)), atol=1e-4)


# ---- absurd values, and units that change: the definition is in cpp/input/spread.hpp


def troubled(task, trouble, n=400):
    """A stream with values or targets as they should not be."""
    X, y = raw(task, n)
    y = y.astype(float) if task == "regression" else y
    for name in trouble.split(" and "):
        match name:
            case "early":
                X[5, 0] = 1e15
                X[20, 3] = -1e15
            case "late":
                X[200, 0] = 1e15
                X[[300, 301, 330], 3] = 1e15, -1e15, 2e15
            case "repeated":
                X[np.arange(n) % 19 == 3, 2] = -9999.0
                X[100:180, 4] = -9999.0
            case "varied":
                X[np.arange(n) % 11 == 3, 2] *= 1000.0
            case "unit":
                X[120:, :4] *= 1e4
                X[260:, 0] *= 1e4
            case "targets" if task == "regression":
                y[[5, 60, 61, 70, 150]] = 1e5, 1e5, 1e5, -1e6, 1e9
            case "target unit" if task == "regression":
                y[200:] *= 1e4
    return X, y


@each("task", TASKS)
@each("container", [np.asarray, sparse.csr_array])
@each("trouble", ["early", "late", "repeated", "varied", "unit", "targets", "target unit", "late and unit"])
def test_troubled_streams_are_those_of_the_reference(task, container, trouble):
    X, y = troubled(task, trouble)
    compare(task, with_missing(X, 0.02), y, container=container, tolerance=1e-7)


def root_mean_square(x):
    return np.sqrt(np.mean(x**2))


@each(("container", "scale"), [(np.asarray, np.std), (sparse.csr_array, root_mean_square)])
def test_the_scale_is_that_of_the_last_values_after_an_absurd_start_and_in_a_new_unit(container, scale):
    x = np.random.default_rng(0).normal(3, 1, 1200)
    x[7] = 1e9
    x[1000:] *= 100
    step = streams.Standardise()
    for since, first, last in ((16, 0, 40), (16, 40, 1000), (1000, 1000, 1100)):
        step.learn_transform(streams.Block(container(x[first:last, None]), None, 0))
        scaled = step.transform(container([[1.0], [2.0]]))
        one, two = scaled.toarray().ravel() if sparse.issparse(scaled) else scaled.ravel()
        assert two - one == pytest.approx(1 / scale(x[since:last]), rel=0.1)


# ---- dense rows for a model of sparse ones, and the other way round


@each("first", [np.asarray, sparse.csr_array])
@each("task", TASKS)
def test_rows_of_the_other_kind_are_scaled_alike(first, task):
    X, y = raw(task, 200)
    second = sparse.csr_array if first is np.asarray else np.asarray
    _, one = native_scores(task, STANDARDISED, first(X[:100]), y[:100])
    other = pickle.loads(pickle.dumps(one))
    np.testing.assert_allclose(
        one.fitted_.model.scores(second(X)), one.fitted_.model.scores(first(X)), rtol=1e-12, atol=1e-12
    )
    one.partial_fit(first(X[100:]), y[100:])
    other.partial_fit(second(X[100:]), y[100:])
    np.testing.assert_allclose(
        one.fitted_.model.scores(X), other.fitted_.model.scores(X), rtol=1e-9, atol=1e-9
    )
    for name, array in one.fitted_.model.state().items():
        if name.startswith("standardised"):
            np.testing.assert_array_equal(other.fitted_.model.state()[name], array)


@pytest.mark.parametrize("first", [np.asarray, sparse.csr_array])
def test_missing_values_in_rows_of_the_other_kind(first):
    X, y = raw("binary", 200)
    X = with_missing(X)
    second = sparse.csr_array if first is np.asarray else np.asarray
    _, one = native_scores("binary", STANDARDISED, first(X), y)
    _, other = native_scores("binary", STANDARDISED, first(X[:100]), y[:100])
    other.partial_fit(second(X[100:]), y[100:])
    np.testing.assert_allclose(
        one.fitted_.model.scores(X), other.fitted_.model.scores(X), rtol=1e-9, atol=1e-9
    )


def test_the_first_learned_row_decides():
    """Rows of weight 0 do not."""
    X, y = raw("binary", 100)
    model = OnlineClassifier(STANDARDISED)
    model.partial_fit(sparse.csr_array(X), y, classes=[-1, 1], sample_weight=0.0)
    model.partial_fit(X, y)
    assert members.same_state(model, OnlineClassifier(STANDARDISED).fit(X, y))


# ---- the contract of every learner

LEARNERS = {
    "kalman": STANDARDISED,
    "rbp": Standardised(rbp(Gaussian("1/d"), budget=9), clip=3.0),
    "fourier": Standardised(Mapped(RandomFourier(Gaussian("1/d"), 5), OGD(0.1))),
}
CONTAINERS = {
    "dense": (np.asarray, 4),
    "narrow csr": (sparse.csr_array, 4),
    "wide csr": (sparse.csr_array, 5000),
}


def rows_of(kind, task, n=90):
    container, columns = CONTAINERS[kind]
    X, y = members.data(task, n)
    wide = np.zeros((n, columns))
    wide[:, np.linspace(0, columns - 1, 3).astype(int)] = 100 * X
    r = np.random.default_rng(3)
    wide[55:, 0] *= 1e4  # a new unit
    wide[[5, 40, 41], -1] = 1e9, -9999, 1e6
    wide[r.integers(0, n, 40), r.integers(0, columns, 40)] = np.nan
    return container(wide), y


@pytest.mark.parametrize("task", members.TASKS)
@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("name", LEARNERS)
@given(cuts=st.lists(st.integers(1, 89), max_size=6))
@settings(max_examples=6)
def test_any_cut_of_the_rows_is_the_same_model(name, kind, task, cuts):
    X, y = rows_of(kind, task)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 90)
    whole = members.start(members.estimator(task, LEARNERS[name]), task, X, y, sample_weight=weights)
    # what a first batch decides must not depend on the cut
    parts = members.estimator(task, LEARNERS[name])
    for a, b in pairwise(sorted({0, *cuts, 90})):
        members.start(parts, task, X[a:b], y[a:b], sample_weight=weights[a:b])
    assert members.same_state(parts, whole)
    np.testing.assert_array_equal(members.scores(parts, X), members.scores(whole, X))


@each("task", members.TASKS)
@each("kind", CONTAINERS)
@each("name", LEARNERS)
def test_saved_and_pickled_models_go_on(name, kind, task, path):
    X, y = rows_of(kind, task)
    for stop in (1, 50):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        model.save(path)
        for other in (load(path), pickle.loads(pickle.dumps(model))):
            assert members.same_state(other, model)
            np.testing.assert_array_equal(members.scores(other, X), members.scores(model, X))
            again = pickle.loads(pickle.dumps(model)).partial_fit(X[stop:], y[stop:])
            assert members.same_state(other.partial_fit(X[stop:], y[stop:]), again)


def test_a_model_that_has_learned_nothing_is_saved(path):
    X, y = raw("binary", 30)
    model = OnlineClassifier(STANDARDISED, random_state=0).start(X, classes=[-1, 1])
    model.save(path)
    assert members.same_state(load(path).partial_fit(X, y), model.partial_fit(X, y))


@each("kind", CONTAINERS)
@each("refused_row", [0, 1, 13, 63, 64, 89])
def test_a_refused_row_leaves_the_statistics_of_the_rows_before(kind, refused_row):
    X, y = rows_of(kind, "regression")
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 90)
    weights[0], weights[refused_row] = 1.0, 1e200  # too large a step
    model = members.estimator("regression", STANDARDISED).start(X)
    before = members.bits(model)
    with pytest.raises(ValueError, match=f"Row {refused_row} gives") as caught:
        model.partial_fit(X, y, sample_weight=weights)
    assert caught.value.rows_learned == refused_row
    expected = members.estimator("regression", STANDARDISED).start(X)
    if refused_row:
        expected.partial_fit(X[:refused_row], y[:refused_row], sample_weight=weights[:refused_row])
    else:
        assert members.bits(model) == before
    assert members.same_state(model, expected)
    rest = slice(refused_row + 1, None)
    if refused_row < 89:
        model.partial_fit(X[rest], y[rest])
        assert members.same_state(model, expected.partial_fit(X[rest], y[rest]))


@each("learner", [*LEARNERS.values(), auto(5), Stacked(*LEARNERS.values())], ids=repr)
@each("estimator", [OnlineClassifier, OnlineRegressor])
def test_the_tag_says_that_nan_is_accepted(estimator, learner):
    assert get_tags(estimator(learner)).input_tags.allow_nan
    assert get_tags(estimator()).input_tags.allow_nan


@pytest.mark.parametrize(
    "learner", [KALMAN, rbp(Gaussian(0.5), budget=5), Stacked(STANDARDISED, KALMAN)], ids=repr
)
def test_other_learners_refuse_nan(learner):
    X, y = members.data("binary", 20)
    assert not get_tags(OnlineClassifier(learner)).input_tags.allow_nan
    model = OnlineClassifier(learner, random_state=0).fit(X, y)
    X[3, 1] = np.nan
    for call in (lambda: model.partial_fit(X, y), lambda: model.predict(X), lambda: model.fit(X, y)):
        before = everything(model)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            call()
        assert everything(model) == before


@each("container", [np.asarray, sparse.csr_array])
@each("value", [np.inf, -np.inf, 1e200])
def test_infinity_and_values_that_are_too_large_are_refused(container, value):
    X, y = raw("binary", 20)
    model = OnlineClassifier(STANDARDISED).fit(container(with_missing(X)), y)
    X[3] = [np.nan, value, *X[3, 2:]]
    before = everything(model)
    for call in (
        lambda: model.partial_fit(container(X), y),
        lambda: model.decision_function(container(X)),
        lambda: model.fit(container(X), y),
    ):
        with pytest.raises(ValueError, match="infinity" if np.isinf(value) else "too large"):
            call()
        assert everything(model) == before


def test_missing_targets_and_labels_are_refused():
    X, y = raw("regression", 20)
    y[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OnlineRegressor(STANDARDISED).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        OnlineClassifier(STANDARDISED).fit(X, np.where(np.isnan(y), np.nan, 1.0))


@each(
    ("learner", "message"),
    [
        (Standardised(KALMAN, clip=0), "Standardised: clip must be above 0"),
        (Standardised(KALMAN, clip=-1.0), "Standardised: clip must be above 0"),
        (Standardised(KALMAN, clip=np.nan), "Standardised: clip must be a finite number"),
        (Standardised(Gaussian(0.5)), "Standardised: learner must be a Learner"),
        (Standardised(None), "Standardised: learner must be a Learner"),
    ],
    ids=repr,
)
def test_bad_parameters_are_one_sentence(learner, message):
    with refused(message):
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])


def test_parameters_are_reached_by_name():
    model = clone(OnlineClassifier(STANDARDISED)).set_params(
        learner__learner__rule__drift=0.5, learner__clip=3
    )
    assert model.learner == Standardised(Mapped(Identity(), Kalman(5.0, 0.5)), clip=3)
    assert eval(repr(STANDARDISED)) == STANDARDISED


def test_open_parameters_are_those_of_columns_of_variance_one():
    X, y = raw("binary", 30)
    for gamma, expected in (("scale", 1 / 8), ("auto", 1 / 8), ("4/d", 0.5), (0.3, 0.3)):
        learner = Standardised(rbp(Gaussian(gamma), budget=5))
        assert OnlineClassifier(learner).fit(X, y).learner_.learner.kernel.gamma == expected


def test_against_a_kernel_learner_of_the_reference():
    X, y = raw("multiclass", 300)
    X = with_missing(X)
    scores, _ = native_scores("multiclass", Standardised(ogd(Gaussian("1/d"), eta=0.3)), X, y)

    class Inner:
        def __init__(self):
            self.model = kernelized.ogd(step.gaussian(1 / 8), step.multiclass(4), eta=0.3)

        def score(self, x):
            return self.model.score(x)

        def learn(self, x, y, weight):
            self.model.learn(x, int(y), weight)

    assert_close(scores, trajectory(reference.Standardised(Inner(), 10.0, TASKS["multiclass"]), X, y))


FORGED = {
    "kind": lambda _: np.array([3], np.uint64),
    "mean": lambda mean: mean[:-1],
    "squares": lambda squares: np.append(squares, 1.0),
    "count": lambda _: np.zeros(0),
    "later.squares": lambda squares: squares[1:],
}
FORGED_NUMBERS = {
    "squares": lambda squares: -1 - squares,
    "mean": lambda mean: mean * np.nan,
    "count": lambda count: -1 - count,
    "last": lambda last: last + np.nan,
    "evidence": lambda evidence: evidence - 1,
    "rows": lambda rows: -rows,
    "target.mean": lambda mean: mean + np.inf,
    "target.squares": lambda squares: -1 - squares,
    "target.count": lambda count: -count,
}


@each(
    ("name", "forge"),
    [*FORGED.items(), *FORGED_NUMBERS.items()],
)
def test_forged_states_are_refused(name, forge):
    X, y = raw("regression", 30)
    model = OnlineRegressor(STANDARDISED).fit(X, y)
    state = model.fitted_.model.state()
    name = f"scaled.{name}"
    with pytest.raises(ValueError, match=r"do not fit together|is unknown"):
        model.fitted_.model.restore(state | {name: forge(state[name])})


def test_a_huge_target_leaves_numbers():
    X, y = raw("regression", 60)
    y[30] = 1e140
    model = OnlineRegressor(STANDARDISED)
    assert np.isfinite(model.progressive_predict(X, y)).all()
    assert np.isfinite(model.predict(X, return_std=True)).all()


@pytest.mark.parametrize("target", [1e300, -1e308])
def test_a_target_too_large_to_square_is_refused(target):
    X, y = raw("regression", 60)
    expected = OnlineRegressor(STANDARDISED).fit(X[:30], y[:30])
    y[30] = target
    model = OnlineRegressor(STANDARDISED)
    with pytest.raises(ValueError, match="Row 30 gives"):
        model.partial_fit(X, y)
    assert members.same_state(model, expected)
