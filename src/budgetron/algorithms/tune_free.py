"""The learner that needs no tuning."""

from __future__ import annotations

__all__ = ["auto"]

from budgetron import _check
from budgetron.algorithms.passive_aggressive import bpa_p
from budgetron.features._map import FeatureMap
from budgetron.features.fourier import RandomFourier, SparseFourier
from budgetron.features.hashing import Hashed
from budgetron.features.stack import Identity, Stack
from budgetron.kernels import Gaussian
from budgetron.mapped import Mapped
from budgetron.stacked import Stacked
from budgetron.standardised import Standardised
from budgetron.vector_rules import Kalman


def auto(size: int = 100, drift: bool = True) -> Standardised:
    """x"""
    size = _check.count("auto", "size", size)

    inputs = Identity(scale="1/sqrt(d)")

    def beside_inputs(features: FeatureMap) -> Stack:
        return Stack(Hashed(features), inputs)

    narrow = beside_inputs(RandomFourier(Gaussian("4/d"), size))
    medium = beside_inputs(RandomFourier(Gaussian("1/d"), size))
    wide = beside_inputs(RandomFourier(Gaussian("0.25/d"), size))
    sparse = beside_inputs(SparseFourier(size))
    return Standardised(
        Stacked(
            Mapped(inputs, Kalman(prior=1)),
            Mapped(inputs, Kalman(drift=0.05)),
            Mapped(narrow, Kalman()),
            Mapped(medium, Kalman(drift=0.001)),
            Mapped(wide, Kalman()),
            Mapped(sparse, Kalman()),
            bpa_p(Gaussian("1/d"), budget=2 * size),
        )
    )
