"""Stacked: trajectories against the reference, losses of the experts, calibration, experts that abstain.

The constants of the filter are in two places: the parameters of `Stacked`, and the defaults of the
reference.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from budgetron import (
    OGD,
    Gaussian,
    Identity,
    Kalman,
    Logistic,
    Mapped,
    OnlineClassifier,
    RandomFourier,
    Stacked,
    Standardised,
    bpa_p,
    rbp,
)
from budgetron._util.spec import seed_of_part
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets
from tests.helpers import members
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import (
    OUTPUTS,
    TASKS,
    assert_close,
    covariance,
    fourier_and_inputs,
    native_scores,
    stream,
    trajectory,
)
from tests.references import auto as reference
from tests.references import features as plain
from tests.references import kernelized, step

SEED = 7  # of the estimators in test_reference
GAMMA = 0.2
FEATURES, Z = fourier_and_inputs(5)  # with seeds of their own


def gradient_descent(task):
    """On the features, with the logistic loss for labels."""
    loss = None if task == "regression" else Logistic()
    plain_loss = step.squared if task == "regression" else step.logistic
    rule = kernelized._ogd(TASKS[task], 0.3, 0.0, plain_loss, 0.0)
    return Mapped(FEATURES, OGD(0.3, 0.0, loss, 0.0)), lambda _: plain.Mapped(Z, TASKS[task], rule)


def members_of(task):
    """Every kind of member by name: ours, and a maker of the reference's, which gets the seed."""
    kernel, plain_kernel = Gaussian(GAMMA), step.gaussian(GAMMA)
    own = TASKS[task]
    return {
        "kalman": (
            Mapped(FEATURES, Kalman(2.0, 0.001)),
            lambda _: reference.Kalman(Z, OUTPUTS[task], 2.0, 0.001),
        ),
        "rbp": (
            rbp(kernel, budget=15),
            lambda seed: kernelized.rbp(plain_kernel, own, budget=15, seed=seed),
        ),
        "bpa_p": (bpa_p(kernel, budget=12), lambda _: kernelized.bpa_p(plain_kernel, own, budget=12)),
        "descent": gradient_descent(task),
    }


SETS = [["kalman"], ["rbp"], ["bpa_p", "kalman"], ["kalman", "rbp", "bpa_p", "descent"]]


def both(task, names, **parameters):
    """A stack of these members, and the reference's."""
    found = members_of(task)
    learner = Stacked(*(found[name][0] for name in names), **parameters)
    plain_members = [found[name][1](seed_of_part(SEED, i)) for i, name in enumerate(names)]
    logits = [part.probabilistic for part in learner.learners]
    return learner, reference.Stacked(plain_members, OUTPUTS[task], learner.prior, learner.drift, logits)


def weights_of(n):
    return np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], n)


def assert_same_filter(model, oracle):
    assert_close(model.expert_weights_, oracle.w)
    assert_close(model.expert_losses_, oracle.losses)
    state = model.fitted_.model.state()
    n = len(oracle.members)
    P = oracle.filter.P if oracle.task[0] == "targets" else oracle.P
    assert_close(covariance(model, "stacked."), P)
    if oracle.task[0] == "labels":
        assert_close(state["stacked.weights"][n:], oracle.b)
        assert_close(state["stacked.calibration.slopes"], oracle.calibration.slopes)
        assert_close(covariance(model, "stacked.calibration."), oracle.calibration.P)


# ---- against the reference


@pairs
@each("task", OUTPUTS)
@each("names", SETS, ids="-".join)
@each("weighted", [False, True])
def test_trajectories(task, names, weighted, long):
    X, y = stream(task, 400 if long else 200, 1)
    weights = weights_of(len(X)) if weighted else None
    learner, oracle = both(task, names)
    scores, model = native_scores(task, learner, X, y, weights)
    assert_close(scores, trajectory(oracle, X, y, weights))
    assert_same_filter(model, oracle)
    probes = np.vstack([X[:40], X[:40] + 0.1])  # more than a block of rows
    assert_close(model.fitted_.model.scores(probes), [oracle.score(x) for x in probes])
    if task == "regression":
        assert_close(model.predict(probes, return_std=True)[1], [oracle.deviation(x) for x in probes])


def of_many_classes(n, classes):
    """Rows around a centre for each class, two of a class in a row."""
    rng = np.random.default_rng(3)
    y = np.resize(rng.permutation(classes), n // 2).repeat(2)
    return rng.normal(size=(classes, 5))[y] + 0.1 * rng.normal(size=(n, 5)), y


def stack_of_two():
    return Stacked(Mapped(FEATURES, Kalman(2.0, 0.001)), rbp(Gaussian(GAMMA), budget=15), drift=0.001)


def test_biases_of_many_classes_have_a_variance_each():
    classes = 300
    X, y = of_many_classes(120, classes)
    task, kernel, seed = ("labels", classes), step.gaussian(GAMMA), seed_of_part(SEED, 1)
    experts = [
        reference.Kalman(Z, task, 2.0, 0.001),
        kernelized.rbp(kernel, step.multiclass(classes), budget=15, seed=seed),
    ]
    oracle = reference.Stacked(experts, task, drift=0.001, logits=[True, False])
    model = OnlineClassifier(stack_of_two(), random_state=SEED)
    model.partial_fit(X[:1], y[:1], classes=range(classes)).partial_fit(X[1:], y[1:])
    trajectory(oracle, X, y)
    assert_same_filter(model, oracle)
    assert_close(model.decision_function(X), [oracle.score(x) for x in X])


@each("cuts", [[500], [1, 7, 300, 301, 499], range(1, 500, 8)], ids=["one", "some", "many"])
def test_classes_may_become_many_in_any_call(cuts):
    X, y = of_many_classes(700, 400)
    whole = OnlineClassifier(stack_of_two(), random_state=SEED).partial_fit(X, y)
    model = OnlineClassifier(stack_of_two(), random_state=SEED)
    assert len(whole.classes_) > 256
    for part in np.split(np.arange(700), cuts):
        model = pickle.loads(pickle.dumps(model.partial_fit(X[part], y[part])))
    assert np.array_equal(model.classes_, whole.classes_)
    state, other = (each_model.fitted_.model.state() for each_model in (model, whole))
    assert all(np.array_equal(state[name], other[name]) for name in other)


@pytest.mark.parametrize("task", OUTPUTS)
@pytest.mark.parametrize(
    "parameters", [{"prior": 1.0}, {"drift": 0.0}, {"prior": 0.01, "drift": 0.01}], ids=repr
)
def test_parameters_of_the_filter(task, parameters):
    X, y = stream(task, 300, 2)
    learner, oracle = both(task, ["kalman", "rbp"], **parameters)
    scores, model = native_scores(task, learner, X, y)
    assert_close(scores, trajectory(oracle, X, y))
    assert_same_filter(model, oracle)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_logits_are_clipped(task):
    """A step size of 200 gives logits in the hundreds."""
    X, y = stream(task, 200, 3)
    rule = kernelized._ogd(TASKS[task], 200.0, 0.0, step.logistic, 0.0)
    learner = Stacked(Mapped(FEATURES, OGD(200.0, 0.0, Logistic())))
    member = plain.Mapped(Z, TASKS[task], rule)
    oracle = reference.Stacked([member], OUTPUTS[task], learner.prior, learner.drift)
    scores, model = native_scores(task, learner, X, y)
    expected, largest = [], 0.0
    for x, label in zip(X, y, strict=True):
        expected.append(oracle.score(x))
        largest = max(largest, np.abs(oracle.scores(x)).max())
        oracle.learn(x, label)
    assert largest > 5 * oracle.clip
    assert_close(scores, expected)
    assert_same_filter(model, oracle)


def test_a_label_of_probability_zero_leaves_numbers():
    r = np.random.default_rng(39)
    X = 10 * r.standard_normal((60, 3))
    y = (X @ r.standard_normal((3, 4))).argmax(axis=1)
    certain = OnlineClassifier(Stacked(Mapped(Identity(), Kalman())), random_state=0)
    certain.partial_fit(X[:5], y[:5], classes=range(4))
    X, y = stream("multiclass", 80, 3)
    saturated = OnlineClassifier(Stacked(Mapped(FEATURES, OGD(300.0, 0.0, Logistic()))), random_state=0)
    saturated.partial_fit(X, y, classes=range(4))
    for model in (certain, saturated):
        assert np.isfinite(model.fitted_.model.state()["stacked.posterior.P"]).all()
        pickle.loads(pickle.dumps(model))


def test_at_first_every_expert_counts_alike():
    X, _ = stream("multiclass", 50, 1)
    learner, _ = both("multiclass", SETS[-1])
    model = OnlineClassifier(learner).start(X, classes=range(4))
    np.testing.assert_array_equal(model.expert_weights_, 0.25)
    np.testing.assert_array_equal(model.expert_losses_, 0.0)
    np.testing.assert_array_equal(model.decision_function(X), 0.0)
    np.testing.assert_array_equal(model.predict_proba(X), 0.25)


@pytest.mark.parametrize("task", OUTPUTS)
def test_experts_learn_as_if_alone(task):
    """Bit for bit."""
    X, y = stream(task, 150, 1)
    weights = weights_of(len(X))
    learner, _ = both(task, SETS[-1])
    _, model = native_scores(task, learner, X, y, weights)
    state = model.fitted_.model.state()
    kind = Targets() if task == "regression" else Labels(2 if task == "binary" else 4)
    for i, expert in enumerate(learner.learners):
        alone = Model(expert, kind, X.shape[1], X.dtype, seed_of_part(SEED, i))
        alone.learn(X, y.astype(float), weights)
        for name, array in alone.state().items():
            np.testing.assert_array_equal(state[f"expert.{i}.{name}"], array)


# ---- losses of the experts


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_expert_losses_are_the_log_losses_of_the_experts(task):
    X, y = stream(task, 300, 5)
    weights = weights_of(len(X))
    experts = [Mapped(FEATURES, Kalman(2.0)), gradient_descent(task)[0]]
    _, model = native_scores(task, Stacked(*experts), X, y, weights)
    for expert, loss in zip(experts, model.expert_losses_, strict=True):
        f, _ = native_scores(task, expert, X, y, weights)
        f = np.hstack([0 * f, f]) if task == "binary" else f
        codes = np.searchsorted(np.unique(y), y)
        each = np.log(np.exp(f).sum(axis=1)) - f[range(len(f)), codes]
        assert loss == pytest.approx(np.average(each, weights=weights), rel=1e-9)


def test_expert_losses_are_the_squared_errors_of_the_experts():
    X, y = stream("regression", 300, 5)
    weights = weights_of(len(X))
    experts = [Mapped(FEATURES, Kalman(2.0)), bpa_p(Gaussian(GAMMA), budget=9)]
    _, model = native_scores("regression", Stacked(*experts), X, y, weights)
    for expert, loss in zip(experts, model.expert_losses_, strict=True):
        f, _ = native_scores("regression", expert, X, y, weights)
        assert loss == pytest.approx(np.average((f[:, 0] - y) ** 2, weights=weights), rel=1e-9)


@pytest.mark.parametrize("task", members.TASKS)
def test_experts_are_found_inside_a_standardised_learner(task):
    X, y = members.data(task, 60)
    learner = Standardised(Stacked(Mapped(Identity(), Kalman()), rbp(Gaussian(0.5), budget=5)))
    model = members.start(members.estimator(task, learner), task, X, y)
    assert model.expert_weights_.shape == model.expert_losses_.shape == (2,)
    assert (model.expert_losses_ > 0).all()
    with pytest.raises(AttributeError, match="expert_losses"):
        members.fitted(task).expert_losses_  # noqa: B018


def test_a_useless_expert_loses_its_weight():
    X, y = stream("binary", 3000, 0)
    useless = Mapped(RandomFourier(Gaussian(1e6), 5), Kalman())  # every row is far from every other
    model = OnlineClassifier(Stacked(Mapped(FEATURES, Kalman()), useless), random_state=0).fit(X, y)
    assert model.expert_weights_[0] > 3 * abs(model.expert_weights_[1])


# ---- calibration


@each("task", ["binary", "multiclass"])
@each("make", [rbp, bpa_p])
def test_any_learner_gets_probabilities(task, make):
    X, y = stream(task, 3000, 0)
    expert = make(Gaussian(GAMMA), budget=100)
    assert not hasattr(OnlineClassifier(expert), "predict_proba")
    scores, model = native_scores(task, Stacked(expert), X, y)
    f = np.hstack([0 * scores, scores]) if task == "binary" else scores
    progressive = np.exp(f - np.logaddexp.reduce(f, axis=1)[:, None])
    _, counts = np.unique(y, return_counts=True)
    constant = -np.sum(counts / len(y) * np.log(counts / len(y)))  # even of the right constant
    assert log_loss(y, progressive, labels=model.classes_) < constant
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert log_loss(y, p, labels=model.classes_) < constant
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_probabilities_are_frequencies():
    """Among rows of a predicted probability near q, a share near q has the label."""
    X, y = stream("binary", 12_000, 0)
    scores, _ = native_scores("binary", Stacked(rbp(Gaussian(GAMMA), budget=100)), X, y)
    p = 1 / (1 + np.exp(-scores[2000:, 0]))
    bins = np.digitize(p, [0.2, 0.4, 0.6, 0.8])
    for b in range(5):
        inside = bins == b
        if inside.sum() > 300:
            assert np.mean(y[2000:][inside] == 1) == pytest.approx(p[inside].mean(), abs=0.07)


def test_noisy_labels_bend_the_scores():
    """A logit has no end; what a row deserves ends at 90 %."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12_000, 4))
    chance = 0.1 + 0.8 / (1 + np.exp(-4 * X[:, 0] - 3 * X[:, 1]))
    y = np.where(rng.random(len(X)) < chance, 1.0, -1.0)
    expert, off = Mapped(Identity(), Kalman()), {}
    for learner in (expert, Stacked(expert)):
        scores = Model(learner, Labels(2), 4, X.dtype, 0).learn(X, y)[2000:, 0]
        said, right = 1 / (1 + np.exp(-np.abs(scores))), (scores >= 0) == (y[2000:] > 0)
        bins = np.minimum((10 * said).astype(int), 9)
        off[type(learner)] = np.abs(np.bincount(bins, said - right)).sum() / len(said)
    assert off[Mapped] > 0.04
    assert off[Stacked] < 0.012


@each("task", ["binary", "multiclass"])
def test_calibration_changes_no_prediction(task):
    X, y = stream(task, 400, 8)
    learner, oracle = both(task, SETS[-1])
    _, model = native_scores(task, learner, X, y)
    trajectory(oracle, X, y)
    weighed = np.array([oracle.weighed(x) for x in X])
    scores = model.fitted_.model.scores(X)
    assert np.abs(scores - weighed).max() > 0.01  # but the scores
    codes = (weighed[:, 0] >= 0).astype(int) if task == "binary" else weighed.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[codes])


# ---- experts that abstain


class Abstaining:
    """A member of the reference that has the score 0 for these rows and does not learn them."""

    def __init__(self, inner, rows, outputs):
        self.inner, self.rows, self.outputs = inner, rows, outputs

    def refuses(self, x):
        return any(np.array_equal(x, row) for row in self.rows)

    def score(self, x):
        return np.zeros(self.outputs) if self.refuses(x) else self.inner.score(x)

    def learn(self, x, y, weight):
        if not self.refuses(x):
            self.inner.learn(x, y, weight)


LINEAR = Mapped(Identity(constant=False), Kalman())  # refuses rows of 1e140
REFUSED = [0, 7, 8, 31, 32, 33, 63, 64, 90]


def with_huge_rows(task, rows=REFUSED):
    X, y = stream(task, 120, 6)
    X[rows] = 1e140 * (1 + np.arange(len(rows))[:, None])
    return X, y


@pairs
@each("task", OUTPUTS)
@each("order", [["linear", "bpa_p"], ["bpa_p", "linear"], ["linear", "bpa_p", "linear"]])
@each("weighted", [False, True])
def test_an_expert_that_refuses_a_row_abstains(task, order, weighted):
    X, y = with_huge_rows(task)
    weights = weights_of(len(X)) if weighted else None
    if weighted:
        weights[REFUSED] = 1.0  # a row of weight 0 is not learned, so nobody refuses it
    outputs = reference.outputs(OUTPUTS[task])

    def plain_member(name):
        if name == "bpa_p":
            return kernelized.bpa_p(step.gaussian(GAMMA), TASKS[task], budget=12)
        return Abstaining(reference.Kalman(lambda x: x, OUTPUTS[task], 10.0, 0.0), X[REFUSED], outputs)

    ours = {"linear": LINEAR, "bpa_p": bpa_p(Gaussian(GAMMA), budget=12)}
    learner = Stacked(*(ours[name] for name in order))
    logits = [part.probabilistic for part in learner.learners]
    oracle = reference.Stacked(
        [plain_member(name) for name in order], OUTPUTS[task], learner.prior, learner.drift, logits
    )
    scores, model = native_scores(task, learner, X, y, weights)
    assert_close(scores, trajectory(oracle, X, y, weights))
    assert_same_filter(model, oracle)
    rows = clone(model)
    for i in range(len(X)):
        cut = slice(i, i + 1)
        own = {} if weights is None else {"sample_weight": weights[cut]}
        classes = {} if task == "regression" else {"classes": model.classes_}
        rows.partial_fit(X[cut], y[cut], **classes, **own)
    assert members.same_state(rows, model)


@each("task", OUTPUTS)
@each("row", [0, 1, 31, 32, 40])
def test_a_row_that_all_experts_refuse_is_refused(task, row):
    X, y = with_huge_rows(task, [row])
    learner = Stacked(LINEAR, Mapped(Identity(scale=2.0, constant=False), Kalman(drift=0.1)))
    _, model = native_scores(task, learner, X[row + 1 :], y[row + 1 :])
    expected = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=f"Row {row} gives a score that is not finite") as caught:
        model.partial_fit(X, y)
    assert caught.value.rows_learned == row
    if row:
        expected.partial_fit(X[:row], y[:row])
    assert members.same_state(model, expected)
    rest = slice(row + 1, None)
    assert members.same_state(model.partial_fit(X[rest], y[rest]), expected.partial_fit(X[rest], y[rest]))


def test_rows_that_an_expert_refused_are_predicted():
    X, y = with_huge_rows("binary")
    learner = Stacked(LINEAR, bpa_p(Gaussian(GAMMA), budget=12))
    _, model = native_scores("binary", learner, X, y)
    assert np.isfinite(model.decision_function(X)).all()
