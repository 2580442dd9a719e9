"""The learner that needs no tuning."""

__all__ = ["auto"]

from budgetron import _check
from budgetron.algorithms.passive_aggressive import bpa_nn
from budgetron.features._map import FeatureMap
from budgetron.features.fourier import RandomFourier, SparseFourier
from budgetron.features.hashing import Hashed
from budgetron.features.stack import Identity, Stack
from budgetron.kernels import Gaussian
from budgetron.mapped import Mapped
from budgetron.scaled import Standardised
from budgetron.stacked import Stacked
from budgetron.vector_rules import Kalman


def auto(size: int = 100, drift: bool = True) -> Standardised:
    """The default learner: raw rows in, calibrated probabilities out, nothing to tune.

    Six experts learn side by side from rows that are standardised along the stream. A filter on top learns
    how far to trust each (:class:`~budgetron.Stacked`). What would be tuned, the width of a kernel and the
    speed of forgetting, is covered by experts that differ in it:

    * the inputs alone, with a :class:`~budgetron.Kalman` filter that never forgets, and one that forgets
      fast;
    * Fourier features of three widths, never forgetting;
    * Fourier features of one width, forgetting slowly;
    * :class:`~budgetron.SparseFourier` features, for rules over few of many columns;
    * :func:`~budgetron.bpa_nn`, a kernel machine on a budget, which moves at once.

    Widths need no data: standardised rows are sqrt(2 d) apart on average, d the number of columns. In
    regression the targets are standardised as well. Rows may have NaN for missing values.

    Parameters
    ----------
    size : int
        The one knob for memory and time against error: the number of Fourier components of each map, and
        half the number of support vectors, at most 5000. The page "The default" has figures.
    drift : bool
        Whether the world may change. False takes the experts that never forget only, and a filter that does
        not forget either: a little better where nothing changes.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import OnlineClassifier, auto
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OnlineClassifier(auto(size=50), random_state=0)  # OnlineClassifier() has size=100
    >>> int((clf.progressive_predict(X, y) != y).sum())
    26
    """
    size = _check.count("auto", "size", size)
    if size > 5000:
        raise ValueError(f"auto: size must be at most 5000, got {size}: memory grows with its square.")
    drift = _check.instance("auto", "drift", drift, bool)

    def beside_inputs(*maps: FeatureMap) -> Stack:
        return Stack(*map(Hashed, maps), inputs())

    third = max(1, size // 3)
    widths = {"4/d": third + size % 3, "1/d": third, "0.25/d": third}
    three_widths = [RandomFourier(Gaussian(gamma), components) for gamma, components in widths.items()]
    steady = [
        Mapped(inputs(), Kalman(prior=1)),
        Mapped(beside_inputs(*three_widths), Kalman(prior=10)),
        Mapped(beside_inputs(SparseFourier(size)), Kalman(prior=3)),
        bpa_nn(Gaussian("1/d"), budget=2 * size, C=0.1),
    ]
    if not drift:
        return Standardised(Stacked(*steady, drift=0.0))
    moving = [
        Mapped(inputs(), Kalman(prior=10, drift=0.02)),
        Mapped(beside_inputs(RandomFourier(Gaussian("1/d"), size)), Kalman(prior=10, drift=0.001)),
    ]
    return Standardised(Stacked(*steady, *moving))


def inputs() -> Identity:
    """The inputs, of length about 1, and a constant."""
    return Identity(scale="1/sqrt(d)")
