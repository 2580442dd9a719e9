"""The walks over the rows of a block, in NumPy: the definition of what the kernels in ``walks.cu`` do.

All products with the features Z of a block are known before it: the scores W Z', and for steps along z
the products Z Z', for filters the products P Z'. A walk decides the step of each row, and corrects what the
rows behind it have been promised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda.questions import Rule, ask, step_of

Floats = npt.NDArray[Any]


def walk_rule(rule: Rule, block: Any, y: Floats, weights: Floats, first: int) -> None:
    """Steps along z. Writes the scores, and the coefficients A with which ``w <- total w + A Z``.

    ``block`` has the products G = Z Z', the numerators F of the scores, |z|^2 of the rows, and the state of
    the rule: its round t, the divisor of w, |w|^2, the largest target so far.
    """
    F, G, A, counts = block.F, block.G, block.A, block.counts
    n, norm2 = len(y), float(block.norm2[0])
    t, divisor, y_max = (float(count) for count in counts)
    shrink, pulled = np.ones(n), np.ones(n)
    A[:] = 0
    for i in range(n if block.stopped[0] < 0 else 0):
        f, weight = F[:, i] / divisor, float(weights[i])
        if not (np.abs(f) <= rule.largest).all():
            block.stopped[0] = first + i
            break
        if weight == 0:
            block.scores[i] = f
            continue
        question = ask(rule, f, float(y[i]), float(block.kxx[i]), weight)
        beta, own_divisor, radius = step_of(rule, question, t + 1, max(y_max, abs(question.y)))
        if not (abs(beta) <= rule.largest and beta * beta * question.kxx <= rule.largest_square):
            block.stopped[0] = first + i
            break
        block.scores[i] = f
        t, shrink[i] = t + 1, rule.shrink
        if rule.ball:
            y_max = max(y_max, abs(question.y))
        if rule.shrink != 1:
            F[:, i:] *= rule.shrink
            norm2 *= rule.shrink**2
        divisor = own_divisor
        if beta == 0:
            continue
        for c, v in question.outputs:
            norm2 += 2 * beta * v * float(F[c, i]) + beta * beta * float(G[i, i])
            F[c, i:] += beta * v * G[i, i:]
            A[c, i] = beta * v
        if (norm := np.sqrt(max(norm2, 0)) / divisor) > radius:
            pulled[i] = radius / norm
            F[:, i:] *= pulled[i]
            norm2 *= pulled[i] ** 2
    after = np.append(np.cumprod((shrink * pulled)[::-1])[::-1], 1.0)
    A[:, :n] *= pulled * after[1:]
    block.total[0] = after[0]
    counts[:] = t, divisor, y_max


def walk_filter(block: Any, y: Floats, weights: Floats, first: int) -> None:
    """Steps of a Kalman filter. Writes the scores, and G and U, D with ``W += D G``, ``P -= U'U``.

    ``block`` has V = P Z' of the weights with a full block of P, Z', the scores F = W Z', the variances of
    all weights, which are the diagonal of P as the filter keeps it, and its counts.
    """
    Z, V, F, var = block.Z, block.V, block.F, block.variance
    full, limits = block.full, block.limits
    taken = np.zeros(full)  # of the diagonal of P, by the steps of this block
    before = var[:full].copy()
    block.G[:] = block.U[:] = block.D[:] = 0
    for i in range(len(y) if block.stopped[0] < 0 else 0):
        f, weight = F[:, i].astype(np.float64), float(weights[i])
        if not (np.abs(f) <= limits.largest).all():
            block.stopped[0] = first + i
            break
        z = Z[:, i]
        g = var * z
        g[:full] = V[:, i] + (var[:full] - (before - taken)) * z[:full]
        S = max(float(z @ g), limits.least * float(var[:full] @ (z[:full] ** 2)))
        moderation = 1 / np.sqrt(1 + np.pi / 8 * S) if block.labels else 1.0
        block.scores[i] = f * moderation
        if weight == 0:
            continue
        d, precision = step_of_filter(block, f, float(y[i]), weight, S)
        precision = min(precision, limits.most / S) if precision * S > limits.most else precision
        root = np.sqrt(precision / (1 + precision * S))
        u = np.clip(root * g, -np.sqrt(var), np.sqrt(var))
        block.G[i], block.U[i], block.D[:, i] = g, u[:full], d
        var[:] = np.clip(var - u * u + block.drift, 0, block.prior)
        taken += u[:full] ** 2
        s = Z[:, i + 1 :].T @ g
        F[:, i + 1 :] += np.outer(d, s)
        V[:, i + 1 :] -= np.outer(u[:full], root * s)
        block.observed[0] += 1
        if block.observed[0] % 1024 == 0 or precision * S > limits.told:
            var[:full] = np.clip(var[:full] * limits.repair, 0, block.prior)


def walk_plain(block: Any, y: Floats, weights: Floats, first: int) -> None:
    """The same for a filter with all of P and no drift, from S = Z P Z' and the scores alone.

    Writes T and R, with which the gains are ``G = T V'``, and ``U = R V'``.
    """
    S, F, limits = block.S, block.F, block.limits
    roots = np.zeros(len(S))
    block.D[:] = 0
    for i in range(len(y) if block.stopped[0] < 0 else 0):
        f, weight = F[:, i].astype(np.float64), float(weights[i])
        if not (np.abs(f) <= limits.largest).all():
            block.stopped[0] = first + i
            break
        known = max(float(S[i, i]), 0.0)
        block.scores[i] = f / np.sqrt(1 + np.pi / 8 * known) if block.labels else f
        if weight == 0:
            continue
        d, precision = step_of_filter(block, f, float(y[i]), weight, known)
        precision = min(precision, limits.most / known) if precision * known > limits.most else precision
        roots[i] = np.sqrt(precision / (1 + precision * known))
        block.D[:, i] = d
        F[:, i + 1 :] += np.outer(d, S[i, i + 1 : F.shape[1]])
        S[i + 1 :, i + 1 :] -= roots[i] ** 2 * np.outer(S[i, i + 1 :], S[i, i + 1 :])
        block.observed[0] += 1
        if block.observed[0] % 1024 == 0 or precision * known > limits.told:
            block.observed[1] += 1  # P is repaired behind the block
    T = np.eye(len(S))
    for i in range(1, len(S)):
        T[i, :i] = -(roots[:i] ** 2 * S[:i, i]) @ T[:i, :i]
    block.T[:], block.R[:] = T, roots[:, None] * T


def step_of_filter(block: Any, f: Floats, y: float, c: float, S: float) -> tuple[Floats, float]:
    """The factors of g in every output's step, and the precision of the observation."""
    if not block.labels:
        error = y - float(f[0])
        noise, seen = block.noise
        seen += c
        block.noise[:] = noise + c / seen * (error * error / (1 + S) - noise), seen
        return np.array([c * error / (1 + c * S)]), c
    if len(f) == 1:
        p = 1 / (1 + np.exp(-f[0]))
        h = p * (1 - p)
        return np.array([2 * c * ((y + 1) / 2 - p) / (1 + c * h * S)]), float(c * h)
    p = np.exp(f - f.max())
    p /= p.sum()
    h = p.max() * (1 - p.max())
    p[int(y)] -= 1
    return -c * p / (1 + c * h * S), float(c * h)
