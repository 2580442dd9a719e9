"""A budget by distance: no two support vectors are near each other."""

from dataclasses import dataclass

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext


@dataclass
class Approximate(Budget):
    """Add a term within distance delta of a support vector to the nearest one (AVM; Le et al. 2017).

    The new term is beta k(x,.). If the nearest support vector s_i is within delta of x, alpha_i += beta;
    otherwise x becomes a support vector. The number of support vectors is not fixed. It is at most the
    number of points that fit into the region of the data with all distances above delta.

    Parameters
    ----------
    delta : float
        The largest distance in input space: Euclidean for the Gaussian kernel, L1 for the Laplacian. Other
        kernels are refused.

    Departs from the paper
    ----------------------
    The paper approximates at round t with a probability p_t; here it is always 1, as in the authors'
    experiments with beta = 0. A cell is the ball of radius delta around a support vector (the paper's
    hyperspheres; its hyperrectangles are left out). A row that makes no step opens no cell. The Laplacian
    kernel, with its L1 distance, is ours.

    Examples
    --------
    >>> from budgetron import Approximate, Gaussian, Kernelized, OnlineClassifier, SGD
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), Approximate(delta=0.5)))
    >>> model.fit([[0.0], [1.0], [0.2], [0.7]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([0., 1.])
    """

    is_limited = False
    delta: float

    def build(self, context: BuildContext) -> _core.Budget:
        threshold = context.kernel.at_distance(check.positive(self, "delta", self.delta))
        if threshold is None:
            raise ValueError(
                "Approximate: needs a kernel that falls with the distance (Gaussian or Laplacian), "
                f"got {context.kernel!r}."
            )
        return _core.Approximate(threshold)
