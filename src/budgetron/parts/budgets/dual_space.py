"""A budget that moves what it removes into random Fourier features."""

from dataclasses import dataclass
from typing import ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext


@dataclass
class MoveToFeatures(Budget):
    """When full, the smallest terms go on in random Fourier features (DualSGD; Le et al. 2016b).

    f(x) = sum_i alpha_i k(s_i,x) + w'z(x), where z(x)'z(s) is about k(x,s). When full, the ``at_once``
    support vectors with the smallest alpha_i^2 k(s_i,s_i) are removed, and w += alpha_i z(s_i) for each:
    what is removed is not forgotten, only approximated. The paper calls it k-merging.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.
    components : int
        The number of frequencies, D; z has 2 D features.
    at_once : int
        How many are moved at once, at most B; the paper's k.

    Departs from the paper
    ----------------------
    Rows whose loss has no slope are not stored; the authors' program stores them with coefficient 0, and
    they are the first to go. The frequencies have the deviation sqrt(2 gamma) of the Gaussian kernel, where
    the program has 2 gamma. With the squared loss f is kept in the ball of :class:`~budgetron.SGD`, where
    abs(f)^2 is the sum of those of the two parts; the program has none, and diverges for small lam. The
    Laplacian kernel is ours.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, MoveToFeatures, OnlineClassifier, SGD
    >>> learner = Kernelized(Gaussian(1.0), SGD(lam=0.1), MoveToFeatures(2, components=20, at_once=1))
    >>> model = OnlineClassifier(learner, random_state=0)
    >>> model.fit([[0.0], [1.0], [0.2], [0.8]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances: ClassVar[bool] = True
    takes_terms: ClassVar[bool] = False
    is_expansion: ClassVar[bool] = False

    budget: int
    components: int = 100
    at_once: int = 10

    def build(self, context: BuildContext) -> _core.Budget:
        components = check.count(self, "components", self.components)
        if components > 10_000_000:
            raise ValueError(f"MoveToFeatures: components must be at most 10000000, got {components}.")
        frequencies = context.kernel.native_frequencies(components, context.seed)
        if frequencies is None:
            raise ValueError(
                "MoveToFeatures: needs a kernel that has random frequencies (Gaussian or Laplacian), "
                f"got {context.kernel!r}."
            )
        features = _core.fourier(context.n_features, frequencies, _core.Precision.Double, _CACHE_BYTES)
        return _core.MoveToFeatures(self.size_limit(), check.count(self, "at_once", self.at_once), features)


_CACHE_BYTES = 64 << 20  # as for the feature maps
