"""Feature maps: explicit z(x) in place of a kernel, for learners and as scikit-learn transformers."""

from budgetron.features._map import FeatureMap
from budgetron.features.fourier import HadamardFourier, OrthogonalFourier, RandomFourier, SobolFourier
from budgetron.features.nystrom import Nystrom
from budgetron.features.spectrum import Law, Spectrum
from budgetron.features.stack import Identity, Stack

__all__ = [
    "FeatureMap",
    "HadamardFourier",
    "Identity",
    "Law",
    "Nystrom",
    "OrthogonalFourier",
    "RandomFourier",
    "SobolFourier",
    "Spectrum",
    "Stack",
]
