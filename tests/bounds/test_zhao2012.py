"""Zhao et al. 2012: the regret of gradient descent, and what sampling adds to it (Theorems 1 to 4)."""

import numpy as np
import pytest

from budgetron import OGD, Hinge, Kernelized, Logistic, RemoveRandom, bogd, bogd_pp, ogd
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.bounds.runs import KERNEL, below, coordinates, descends, fault, run, stream
from tests.helpers.cases import each

ETA, LAM, B = 0.2, 0.5, 8


@each("loss", [Hinge(), Logistic()])
@each("lam", [0.0, 0.5, 2.5])
def test_theorem_1(loss, lam):
    """Gradient descent, up to lam eta = 1/2. A step in the other direction, or of another size, fails."""
    X, y = stream()
    descends(run(ogd(KERNEL, eta=ETA, lam=lam, loss=loss), X, y), ETA, lam, loss)
    fault(descends, run(ogd(KERNEL, eta=4 * ETA, lam=lam / 4, loss=loss), X, y), ETA, lam, loss)


def test_theorem_1_summed():
    X, y = stream()
    r = run(ogd(KERNEL, eta=ETA, lam=LAM), X, y)
    for g in r.competitors():
        below(
            r.losses().sum(),
            (LAM * len(X) + 1 / ETA) / 2 * (g @ g) + r.losses_of(g).sum() + ETA * len(X),
        )


def after_every_draw(learner, t, X, y):
    """The model before row t, its support vectors and coefficients, and f after row t for each removal."""
    before = Model(learner, Labels(2), X.shape[1], np.float64, 0)
    before.learn(X[:t], y[:t])
    S, alpha, state = before.support_vectors(), before.dual_coef()[0], before.state()
    follows = {}
    for seed in range(3000):
        model = before.in_state(state | {"random.seed": np.array([seed], np.uint64)})
        model.learn(X[t : t + 1], y[t : t + 1])
        kept = {s.tobytes() for s in model.support_vectors()}
        gone = [i for i in range(len(S)) if S[i].tobytes() not in kept]
        if len(gone) == 1 and gone[0] not in follows:
            follows[gone[0]] = (model.support_vectors(), model.dual_coef()[0])
        if len(follows) == len(S):
            break
    return before, S, alpha, follows


def uniform(alpha):
    return np.full(len(alpha), 1 / len(alpha))


def by_weight(alpha):
    """Eq. 16 where k(x,x) = 1."""
    return 1 - (len(alpha) - 1) * np.abs(alpha) / np.abs(alpha).sum()


def sampling(learner, p_of, t, X, y):
    """Theorem 2 in round t, in expectation over the draw: sampling costs at most sum p a^2 / (1 - p)^2."""
    before, S, alpha, follows = after_every_draw(learner, t, X, y)
    p = p_of(alpha)
    if not (p > 0).all() or before.scores(X[t : t + 1])[0, 0] * y[t] >= 1:
        return False
    Z = coordinates(KERNEL(X))
    places = {x.tobytes(): i for i, x in enumerate(X)}

    def point(S, alpha):
        return alpha @ Z[[places[s.tobytes()] for s in S]]

    f = point(S, alpha)
    cost = (1 - LAM * ETA) ** 2 / ETA * (p * alpha**2 / (1 - p) ** 2).sum()
    for g in (np.zeros(len(f)), f, -f, Z[0], Z[t] * y[t]):
        after = sum(p[i] * ((point(*follows[i]) - g) ** 2).sum() for i in follows)
        progress = ((f - g) ** 2).sum() - after
        value = Hinge().value
        below(
            value(Z[t] @ f, y[t]) - value(Z[t] @ g, y[t]),
            progress / (2 * ETA) + LAM / 2 * (g @ g) + ETA + cost,
        )
    return True


@pytest.mark.parametrize(("algorithm", "p_of"), [(bogd, uniform), (bogd_pp, by_weight)])
def test_theorem_2_in_expectation_over_every_draw(algorithm, p_of):
    X, y = stream(60)
    learner = algorithm(KERNEL, budget=B, eta=ETA, lam=LAM, cap=1e6)
    checked = sum(sampling(learner, p_of, t, X, y) for t in range(20, 60, 3))
    assert checked > 2


def test_theorem_2_fails_for_another_step():
    X, y = stream(60)
    wrong = bogd(KERNEL, budget=B, eta=ETA / 10, lam=10 * LAM, cap=1e6)
    fault(sampling, wrong, uniform, 24, X, y)


def unbiased(learner, p_of, t, X, y):
    """Eq. 6, on which Theorem 2 rests: the mean over all draws is the gradient step without a budget."""
    before, S, alpha, follows = after_every_draw(learner, t, X, y)
    p, step = p_of(alpha), ETA * y[t] * KERNEL(X, X[t : t + 1])[:, 0]
    mean = sum(p[i] * KERNEL(X, follows[i][0]) @ follows[i][1] for i in follows)
    assert before.scores(X[t : t + 1])[0, 0] * y[t] < 1
    np.testing.assert_allclose(mean, (1 - LAM * ETA) * KERNEL(X, S) @ alpha + step, atol=1e-9)


def test_sampling_is_unbiased_and_removal_is_not():
    X, y = stream(60)
    unbiased(bogd(KERNEL, budget=B, eta=ETA, lam=LAM, cap=1e6), uniform, 24, X, y)
    removal = Kernelized(KERNEL, OGD(ETA, LAM), RemoveRandom(B))
    fault(unbiased, removal, uniform, 24, X, y)


def skewness(alpha):
    """H(f) where k(x,x) = 1."""
    return len(alpha) * (alpha**2).sum() - np.abs(alpha).sum() ** 2


@each("seed", range(20))
def test_theorem_4_is_theorem_2_less_the_skewness(seed):
    """With Eq. 16, sum p a^2 / (1 - p)^2 = (B sum a^2 - H) / (B - 1)^2, less than for uniform p."""
    alpha = 1 + 0.2 * np.random.default_rng(seed).random(B)
    p, q = by_weight(alpha), uniform(alpha)
    added = (p * alpha**2 / (1 - p) ** 2).sum()
    assert (p > 0).all()
    assert p.sum() == pytest.approx(1)
    assert added == pytest.approx((B * (alpha**2).sum() - skewness(alpha)) / (B - 1) ** 2)
    assert skewness(alpha) > 0
    assert added < (q * alpha**2 / (1 - q) ** 2).sum()
    assert skewness(np.ones(B)) == pytest.approx(0)


def test_the_cap_is_not_a_projection():
    """Theorem 3 takes the clip of Eq. 10 for a projection, but it may move f away from g."""
    rho = 0.9
    K = np.array([[1, rho], [rho, 1]])
    f, g, clipped = np.array([2.0, -1.0]), np.array([1.0, 0.0]), np.array([1.0, -1.0])
    before, after = (f - g) @ K @ (f - g), (clipped - g) @ K @ (clipped - g)
    assert before == pytest.approx(2 - 2 * rho)
    assert after == pytest.approx(1)


def mean_loss(learner, X, y, orders=20):
    return np.mean([run(learner, X, y, seed).losses().sum() for seed in range(orders)])


@each("algorithm", [bogd, bogd_pp])
def test_theorem_3_summed(algorithm):
    """The mean over draws, against coefficients up to gamma eta; gamma = L = 1, lam eta = 1/B."""
    X, y = stream(150)
    eta = len(X) ** -0.5
    lam = 1 / (20 * eta)
    mean = mean_loss(algorithm(KERNEL, budget=20, eta=eta, lam=lam, cap=1.0), X, y)
    r = run(ogd(KERNEL, eta=eta), X, y)
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 1.0):
        g = share * eta * (rng.random(len(X)) * y) @ r.Z
        bound = ((20 / 19) ** 2 + 1) * eta * len(X) + (1 / eta + lam * len(X)) / 2 * (g @ g)
        below(mean, bound + r.losses_of(g).sum())
