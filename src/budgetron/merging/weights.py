"""Merge learners on explicit features: their weights, averages and the state of their rule."""

from __future__ import annotations

import numpy as np

from budgetron.learners.averaged import Averaged
from budgetron.learners.learner import Floats
from budgetron.learners.mapped import Mapped
from budgetron.merging import gaussian
from budgetron.merging.fields import Parts, State
from budgetron.parts.vector_rules import AROW, CoinBetting, Kalman, OnlineNewton


def merged(parts: Parts) -> State:
    """The merged fields of `Mapped`, or of `Averaged` around it."""
    learner = parts.learner
    mapped = learner.learner if isinstance(learner, Averaged) else learner
    assert isinstance(mapped, Mapped)
    assert not mapped.features.learns
    state = parts.declared() | _weights(parts)
    rule = mapped.rule
    if isinstance(rule, Kalman):
        state |= _kalman(parts, rule)
    elif isinstance(rule, AROW | OnlineNewton):
        start = 1.0 if isinstance(rule, AROW) else 1 / rule.delta
        state |= (_full if rule.covariance == "full" else _diagonal)(parts, start)
    elif isinstance(rule, CoinBetting):
        state |= _bets(parts, state, rule)
    return parts.complete(state)


def common_divisor(parts: Parts, name: str) -> float:
    """The divisor of the merged coefficients: the sum for SGD, whose divisor counts rows; else 1."""
    divisors = np.concatenate(parts.get(name))
    return 1.0 if (divisors == 1).all() else float(divisors.sum())


def _weights(parts: Parts) -> State:
    """The average of the weights, by rounds."""
    divisor = common_divisor(parts, "weights.divisor")
    shares = parts.shares / np.concatenate(parts.get("weights.divisor")) * divisor
    state = {name: np.asarray(shares @ np.array(parts.get(name))) for name in parts.names("weights")}
    return state | {"weights.divisor": np.array([divisor])}


def _all_weights(parts: Parts) -> list[Floats]:
    """The weights of each model, outputs x features."""
    return [np.array([state[name] for name in parts.names("weights")]) for state in parts.states]


def _kalman(parts: Parts, rule: Kalman) -> State:
    means, full = _all_weights(parts), [gaussian.covariance(state) for state in parts.states]
    variances, m = parts.get("posterior.variance"), len(full[0])
    blocks, rest = [each[:, :m] for each in means], [each[:, m:] for each in means]
    shares = parts.shares if rule.drift > 0 else None
    P, w = gaussian.combined(full, blocks, rule.prior, shares) if m else (full[0], blocks[0])
    v, others = gaussian.combined_diagonal(variances, rest, rule.prior, shares)
    weights = np.hstack([w, others])
    state = gaussian.fields(P) | {"posterior.variance": v}
    state |= dict(zip(parts.names("weights"), weights, strict=True))
    if "kalman.noise" in parts.states[0]:
        exact = rule.drift == 0 and not v.size
        state |= _noise(parts, [each[0] for each in means], full, (weights[0], P), exact)
    return state


def _noise(
    parts: Parts, means: list[Floats], full: list[Floats], merged: tuple[Floats, Floats], exact: bool
) -> State:
    """The mean of e^2 / (1 + S).

    Of rows without weights its sum is the least of |y - Zw|^2 + |w|^2 / prior, which is y'y - w'P^-1 w. So
    the y'y of every model is known, and with it the sum of a single pass.
    """
    weights = np.concatenate(parts.get("kalman.weight"))
    sums = weights * np.concatenate(parts.get("kalman.noise"))
    total, noise = weights.sum(), sums.sum()
    if exact and all(t[0] == c for t, c in zip(parts.get("t"), weights, strict=True)):
        squares = [float(w @ gaussian.inverse(P) @ w) for w, P in [*zip(means, full, strict=True), merged]]
        least = noise + sum(squares[:-1]) - squares[-1]
        noise = least if least > 0 else noise
    mean = noise / total if total > 0 else 0.0
    return {"kalman.noise": np.array([mean]), "kalman.weight": np.array([total])}


def _full(parts: Parts, start: float) -> State:
    state: State = {}
    for c, name in enumerate(parts.names("weights")):
        of = [f"covariance.U.{c}", f"covariance.D.{c}"]
        means = [each[name][None, :] for each in parts.states]
        if not any(each[of[1]].size for each in parts.states):
            state |= {each: parts.states[0][each] for each in of}
            continue
        m = means[0].shape[1]
        covariances = [
            gaussian.from_factors(each[of[0]], each[of[1]]) if each[of[1]].size else start * np.eye(m)
            for each in parts.states
        ]
        P, w = gaussian.combined(covariances, means, start)
        state |= dict(zip(of, gaussian.to_factors(P), strict=True)) | {name: w[0]}
    return state


def _diagonal(parts: Parts, start: float) -> State:
    state: State = {}
    for c, name in enumerate(parts.names("weights")):
        means, of = parts.get(name), f"covariance.{c}"
        variances = [v if v.size else np.full(len(means[0]), start) for v in parts.get(of)]
        if any(v.size for v in parts.get(of)):
            state[of], state[name] = gaussian.combined_diagonal(variances, means, start)
        else:
            state[of] = parts.states[0][of]
    return state


def _bets(parts: Parts, merged_weights: State, rule: CoinBetting) -> State:
    """Gains and gradients are averaged; betting starts where it leads to the averaged weights."""
    state: State = {}
    for c, name in enumerate(parts.names("weights")):
        L = np.max(parts.get(f"coin.L.{c}"), axis=0)
        G, reward, theta = (
            np.asarray(parts.shares @ np.array(parts.get(f"coin.{what}.{c}")))
            for what in ("G", "reward", "theta")
        )
        unit = np.where(L > 0, L, 1)
        bet = theta / unit / np.maximum(G / unit + 1, rule.alpha) * (1 + reward / unit)
        start = merged_weights[name] - np.where(L > 0, bet, 0)
        values = {"L": L, "G": G, "reward": reward, "theta": theta, "start": start}
        state |= {f"coin.{what}.{c}": value for what, value in values.items()}
    return state
