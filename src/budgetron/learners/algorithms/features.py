"""Gradient descent on explicit features."""

from budgetron.learners.learner import Learner
from budgetron.parts.features.spectrum import Spectrum
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss
from budgetron.parts.rules import OGD


def fogd(
    kernel: Kernel | Spectrum,
    *,
    components: int = 400,
    eta: float = 0.1,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Learner:
    """Fourier online gradient descent (Lu et al. 2016, Algorithm 1).

    :doc:`The mathematics beside the code </mathematics/fogd>`.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Spectrum
        The kernel that the features stand for.
    components : int
        The number of frequencies, D; there are 2 D features.
    eta, lam, loss, epsilon
        See :class:`~budgetron.OGD`.

    Departs from the paper
    ----------------------
    The features are divided by sqrt(D), which the paper leaves out: its eta is ours divided by D.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, fogd
    >>> model = OnlineClassifier(fogd(Gaussian(1.0), components=50, eta=0.5), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """
    from budgetron.learners.mapped import Mapped
    from budgetron.parts.features.fourier import (
        RandomFourier,  # not above: feature maps import scikit-learn
    )

    return Mapped(RandomFourier(kernel, components), OGD(eta, lam, loss, epsilon))
