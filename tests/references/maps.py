"""Feature maps z(x) written plainly: random Fourier features, the identity, Nystrom's, and stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

import numpy as np
from scipy.special import ndtri

from tests.references.step import TINY, Array, Kernel, gram

# ---- frequencies: column j's i-th depends on the seed, j and i only


Law = Callable[[Array], Array]  # p in (0, 1) -> frequency: the inverse of its distribution function


def gaussian_law(gamma: float) -> Law:
    """For k(x, z) = exp(-gamma |x - z|^2): normal, of variance 2 gamma."""
    return lambda p: np.asarray(sqrt(2 * gamma) * ndtri(p))


def laplacian_law(gamma: float) -> Law:
    """For k(x, z) = exp(-gamma |x - z|_1): Cauchy, of scale gamma."""
    return lambda p: np.asarray(gamma * np.tan(pi * (p - 1 / 2)))


def uniforms(seed: int, column: int, D: int) -> Array:
    """The p_ij of one column j, i = 0 .. D - 1."""
    random = np.random.Generator(np.random.Philox(key=seed + ((column + 1) << 64)))
    return np.minimum(random.random(D) + 2.0**-54, 1 - 2.0**-53)


def frequencies(law: Law, seed: int, columns: Sequence[int], D: int) -> Array:
    """u_ij, one row per column j, one column per component i."""
    return np.array([law(uniforms(seed, j, D)) for j in columns]).reshape(len(columns), D)


# ---- maps


Map = Callable[[Array], Array]  # x -> z(x)


def fourier(U: Array) -> Map:
    """z(x) = (sin u_1'x, .., sin u_D'x, cos u_1'x, .., cos u_D'x) / sqrt(D), u_i the columns of U."""

    def z(x: Array) -> Array:
        angles = np.asarray(x, float) @ U
        return np.asarray(np.concatenate([np.sin(angles), np.cos(angles)]) / sqrt(U.shape[1]))

    return z


def identity(scale: float = 1.0, constant: bool = True) -> Map:
    """z(x) = (scale x_1, .., scale x_d, 1), the 1 only if constant."""

    def z(x: Array) -> Array:
        return np.append(scale * np.asarray(x, float), [1.0] if constant else [])

    return z


def stack(*maps: Map) -> Map:
    """z(x) = (z_1(x), z_2(x), ..)."""
    return lambda x: np.concatenate([z(x) for z in maps])


def nystrom(kernel: Kernel, landmarks: list[Array], rank: int) -> Map:
    """z(x) = D_r^(-1/2) V_r' k(x), of the leading eigenpairs of K = V D V' that are not zero."""
    D, V = np.linalg.eigh(gram(kernel, landmarks))  # ascending
    keep = [i for i in range(len(D))[::-1][:rank] if D[i] > TINY * D[-1]]
    D, V = D[keep], V[:, keep]
    return lambda x: np.asarray(V.T @ kernel(np.array(landmarks), np.asarray(x, float)) / np.sqrt(D))
