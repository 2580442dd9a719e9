"""Gaussian beliefs about weights, of models that started with the same prior and saw different rows.

With the mean w_k and the precision L_k of model k, and the prior (w_0, L_0), of which all but one count are
taken out again::

    L = sum_k L_k - (K - 1) L_0;    L w = sum_k L_k w_k

A filter that forgets is as precise after a thousand rows as after a million, so the precisions of several
do not add up. They are averaged, with the share s_k of the rows that each has learned::

    L = sum_k s_k L_k;    L w = sum_k s_k L_k w_k
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from budgetron.learners.learner import Floats

_LEAST = 1e-300  # variances below this count as this


def combined(
    covariances: Sequence[Floats], means: Sequence[Floats], prior: float, shares: Floats | None = None
) -> tuple[Floats, Floats]:
    """The merged covariance and means (outputs x weights).

    Models that forget nothing, and began at 0, add up. Models that forget are averaged by their ``shares``.
    """
    counts, more_priors = _counts(len(covariances), shares)
    precisions = [count * inverse(P) for count, P in zip(counts, covariances, strict=True)]
    total = np.sum(precisions, axis=0) - np.eye(len(covariances[0])) * (more_priors / prior)
    return _posterior(total, precisions, means, prior)


def combined_diagonal(
    variances: Sequence[Floats], means: Sequence[Floats], prior: float, shares: Floats | None = None
) -> tuple[Floats, Floats]:
    """`combined` for weights that have a variance each."""
    counts, more_priors = _counts(len(variances), shares)
    precisions = [count / np.maximum(v, _LEAST) for count, v in zip(counts, variances, strict=True)]
    total = np.sum(precisions, axis=0) - more_priors / prior
    if more_priors:
        total = np.maximum(total, 1 / prior)
    shift = sum(w * L for w, L in zip(means, precisions, strict=True))
    return np.minimum(1 / total, prior), np.asarray(shift / total)


def _counts(models: int, shares: Floats | None) -> tuple[Floats, int]:
    """How much each precision counts, and how many priors their sum has more than one."""
    return (np.ones(models), models - 1) if shares is None else (shares, 0)


def _posterior(
    total: Floats, precisions: Sequence[Floats], means: Sequence[Floats], prior: float
) -> tuple[Floats, Floats]:
    """The covariance, with variances up to the prior, and the means."""
    P = inverse(total)
    shift = np.sum([w @ L for w, L in zip(means, precisions, strict=True)], axis=0)
    w = np.asarray(shift @ P)
    shrink = np.minimum(1.0, np.sqrt(prior / np.diag(P)))
    P = P * shrink[:, None] * shrink
    np.fill_diagonal(P, np.minimum(np.diag(P), prior))
    return P, w


def inverse(P: Floats) -> Floats:
    """The inverse of a covariance."""
    scale = 1 / np.sqrt(np.maximum(np.diag(P), _LEAST))
    unit = P * scale[:, None] * scale
    try:
        inverted = linalg.cho_solve(linalg.cho_factor(unit, lower=True), np.eye(len(P)))
    except linalg.LinAlgError:  # rounding has made it indefinite
        values, vectors = linalg.eigh(unit)
        inverted = (vectors / np.maximum(values, 1e-15 * values[-1])) @ vectors.T
    inverted *= scale[:, None] * scale
    return np.asarray((inverted + inverted.T) / 2)


def covariance(state: Mapping[str, Any], name: str = "posterior") -> Floats:
    """The covariance that the fields of a filter describe.

    They have its lower triangle, row by row, and the rows U of changes that wait: U'U is still to be
    subtracted outside of the diagonal.
    """
    lower, pending = state[f"{name}.P"], state[f"{name}.pending"]
    m = int((np.sqrt(8 * len(lower) + 1) - 1) / 2 + 0.5)
    P = np.zeros((m, m))
    P[np.tril_indices(m)] = lower
    if len(pending):
        U = pending.reshape(-1, m)
        P -= np.tril(U.T @ U, -1)
    return np.asarray(P + np.tril(P, -1).T)


def fields(P: Floats, name: str = "posterior") -> dict[str, Floats]:
    """The fields of a filter with this covariance; nothing waits."""
    return {f"{name}.P": packed(P), f"{name}.pending": np.empty(0)}


def packed(P: Floats) -> Floats:
    """The lower triangle of a symmetric matrix, row by row."""
    return np.ascontiguousarray(P[np.tril_indices(len(P))])


def from_factors(U: Floats, D: Floats) -> Floats:
    """U diag(D) U', with U unit upper triangular, stored column by column without its diagonal."""
    full = np.eye(len(D))
    full.T[np.tril_indices(len(D), -1)] = U
    return np.asarray((full * D) @ full.T)


def to_factors(P: Floats) -> tuple[Floats, Floats]:
    """U and D of a covariance, as `from_factors` takes them."""
    lower = linalg.cholesky(P[::-1, ::-1], lower=True)
    upper, root = lower[::-1, ::-1], np.diag(lower)[::-1]
    return np.ascontiguousarray((upper / root).T[np.tril_indices(len(P), -1)]), np.square(root)
