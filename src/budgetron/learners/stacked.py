"""Several learners on the same rows, and a filter that learns how far to trust each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Parts, Spec, seed_of_part
from budgetron.learners.learner import Learner
from budgetron.learners.mapped import Mapped
from budgetron.parts.features.cells import CellMap
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.tasks import Labels, Task


@dataclass(init=False, repr=False)
class Stacked(Parts, Learner):
    """Several learners (experts) on the same rows, and a filter on top that learns how far to trust each.

    Every expert learns every row as if it were alone. With l_ic the logit of expert i for class c, P the
    covariance of the weights w and the biases b, and y the label::

        p = softmax_c(sum_i w_i l_ic + b_c);  v = d log p_y / d(w, b);  h = p_y / (1 - p_y);  g = P v
        (w, b) += g / (1 + max(h, 1/4) v'g);  P -= h g g' / (1 + h v'g);  P_ii = min(P_ii + drift, prior)

    The weights start as 1 / (number of experts), the biases at 0. Logits are centred over the classes and
    clipped at -8 and 8; scores of an expert without probabilities are divided by their root mean square so
    far. The scores are then calibrated: each goes through an odd, rising function with four slopes, which
    are learned in the same way and change no prediction. For targets the filter is that of
    :class:`~budgetron.Kalman`, on the predictions of the experts.
    Deviations of predictions are learned from the errors and depend on the row; columns should be scaled,
    as in :class:`~budgetron.Standardised`. The page "The default" says how.

    The stack of a single learner has its predictions, calibrated: every algorithm has ``predict_proba`` in
    this way. Learners with equal feature maps share the map and its work. An expert that would refuse a row
    (see :class:`~budgetron.DivergedError`) abstains; a row is refused if all experts refuse it.

    Parameters
    ----------
    *learners : Learner
        The experts, one after the other (or as a sequence under the name ``learners``). To ``set_params``
        they are known by their numbers: ``0__rule__drift``.
    prior : float
        The variance of the weights at first, and at most.
    drift : float
        The variance that a weight gains with every row.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, Stacked, rbp
    >>> model = OnlineClassifier(Stacked(rbp(Gaussian(1.0), budget=10)), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict_proba([[0.0], [1.0]]).round(2)
    array([[0.93, 0.07],
           [0.1 , 0.9 ]])
    """

    learners: Sequence[Learner]
    prior: float
    drift: float
    _kind = Learner
    probabilistic = True  # scores are logits

    def __init__(
        self,
        *each: Learner,
        learners: Sequence[Learner] = (),
        prior: float = 0.1,
        drift: float = 3e-5,
    ) -> None:
        self.learners = self._given(each, learners)
        self.prior = prior
        self.drift = drift

    @property
    def accepts_missing(self) -> bool:
        """Whether all experts accept NaN."""
        learners = self.learners if isinstance(self.learners, (list, tuple)) else ()
        return all(getattr(learner, "accepts_missing", False) for learner in learners)

    def check_parts(self, task: Task, n_features: int) -> None:
        self._filter()
        for learner in self.members():
            learner.check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        experts = self._experts(task, n_features, dtype, seed)
        logits = [learner.probabilistic for learner in self.members()]
        return self._on(experts, logits, task, n_features)

    def build_beside(
        self,
        first: _core.Learner,
        logits: bool,
        task: Task,
        n_features: int,
        dtype: npt.DTypeLike,
        seed: int,
    ) -> _core.Stacked:
        """The native stack with one more expert before the others, which is built already."""
        experts = [first, *self._experts(task, n_features, dtype, seed_of_part(seed, 0))]
        are_logits = [logits, *(learner.probabilistic for learner in self.members())]
        return self._on(experts, are_logits, task, n_features)

    def _experts(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> list[_core.Learner]:
        maps, experts = _Maps(), list[_core.Learner]()
        for i, learner in enumerate(self.members()):
            part_seed = seed_of_part(seed, i)
            if isinstance(learner, Mapped) and learner.cells is None:
                features = maps.shared(learner, n_features, dtype, part_seed)
                experts.append(learner.build_on(features, task))
            else:
                experts.append(learner.build(task, n_features, dtype, part_seed))
        return experts

    def _on(
        self, experts: list[_core.Learner], logits: list[bool], task: Task, n_features: int
    ) -> _core.Stacked:
        """The native stack of these experts."""
        prior, drift = self._filter()
        if not isinstance(task, Labels):
            return _core.StackedTargets(experts, n_features, prior, drift)
        return _core.StackedLabels(experts, logits, task.n_classes, prior, drift)

    def _filter(self) -> tuple[float, float]:
        """The variances of the filter, checked."""
        return check.moderate(self, "prior", self.prior), check.non_negative(self, "drift", self.drift)


class _Maps:
    """Native maps by their descriptions. One that does not learn is shared by equal descriptions."""

    def __init__(self) -> None:
        self._known: list[tuple[FeatureMap | CellMap, _core.SharedMap]] = []

    def shared(self, learner: Mapped, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        for features, native in self._known:
            if features == learner.features:
                native.add_learner()
                return native
        native_map = learner.build_map(n_features, dtype, seed)
        if native_map.learns or native_map.recruits:
            return native_map
        shared = _core.SharedMap(native_map)
        shared.add_learner()
        self._known.append((learner.features, shared))
        return shared


def short_name(expert: Spec) -> str:
    parts = expert.get_params(deep=False)
    rule, features = parts.get("rule"), parts.get("features")
    if rule is None or features is None:
        named = [type(part).__name__ for part in (rule, parts.get("budget")) if part is not None]
        return ", ".join(named or [type(expert).__name__])
    maps = [features, *getattr(features, "maps", ())]
    maps = [getattr(each, "features", each) for each in maps]
    kind = next((type(each).__name__ for each in maps if type(each).__name__ != "Stack"), "Stack")
    drift = getattr(rule, "drift", 0)
    return f"{kind}, {type(rule).__name__}" + (f" drift {drift:g}" if drift else "")
