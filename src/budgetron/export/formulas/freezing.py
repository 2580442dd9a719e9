"""From a fitted estimator to its formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from budgetron import _core
from budgetron._util.label_rules import LARGEST  # the clip of a learner that does not clip
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.export.formulas import tree
from budgetron.export.formulas.rounding import not_above, not_below
from budgetron.learners.averaged import Averaged
from budgetron.learners.dated import Dated
from budgetron.learners.double_updating import DoubleUpdating
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.learner import Learner
from budgetron.learners.mapped import Mapped
from budgetron.learners.neighbours import Neighbours
from budgetron.learners.random_iterate import RandomIterate
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.learners.stacked import Stacked
from budgetron.model.fitted import Fitted
from budgetron.model.model import Model
from budgetron.parts.features import pieces
from budgetron.parts.features.cells import Bins, RandomBinning, Tiles
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.features.recruited import Recruited
from budgetron.parts.kernels import Kernel
from budgetron.parts.vector_rules import Kalman

LARGEST_LOGIT = 8.0  # of a mixture; half of it after two classes became several


def checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The type, float64 or float32."""
    try:
        number_type = np.dtype(dtype)
    except TypeError:
        number_type = np.dtype(object)
    if number_type not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {shown(dtype)}.")
    return number_type


def freeze(estimator: Any) -> tuple[tree.Formula, Fitted]:
    """The formula of the scores of a fitted estimator, and a copy of all that it has learned."""
    if not isinstance(estimator, OnlineClassifier | OnlineRegressor):
        raise TypeError(
            f"Expected a fitted OnlineClassifier or OnlineRegressor to export, got {shown(estimator)}."
        )
    check_is_fitted(estimator)
    if getattr(estimator, "costs", None) is not None:
        raise ValueError(
            "An exported model predicts what is most probable, not what costs least: export a copy with "
            "set_params(costs=None), and decide by its probabilities."
        )
    fitted = estimator.fitted_.copy()  # other threads may go on learning
    model = fitted.model.on("cpu")
    if fitted.labels is not None and not fitted.n_labels:
        raise ValueError("The model knows no label yet, so there is nothing to export: learn a row first.")
    return _Freezing(model).formula(model.learner, model.engine), fitted


def freeze_map(features: FeatureMap) -> pieces.Features:
    """The formula of a fitted feature map."""
    if not hasattr(features, "map_"):
        raise ValueError(f"Expected a fitted feature map to export, got {shown(features)}: call fit first.")
    return pieces.features_of(features.map_, features.native_, features.n_features_in_)


class _Freezing:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.columns = model.n_features  # of the rows that the learner sees
        self._maps: dict[int, tuple[Any, pieces.Features]] = {}  # learners may share a map

    def formula(self, learner: Learner, native: Any) -> tree.Formula:
        if isinstance(learner, Averaged):
            return self.formula(learner.learner, native)
        if isinstance(learner, RandomIterate):
            return self.formula(learner.learner, native.inner)
        if isinstance(learner, Kernelized) and not learner.budget.is_expansion:
            return self._dual_space(learner, native)
        if isinstance(learner, Kernelized | DoubleUpdating):
            return self._expansion(learner.kernel, native)
        if isinstance(learner, Mapped) and learner.cells is not None:
            return self._celled(learner, native)
        if isinstance(learner, Neighbours):
            return self._nearest(learner, native)
        if isinstance(learner, Mapped):
            return self._weighted(learner, native)
        if isinstance(learner, Standardised | Ranged):
            return self._scaled(learner, native)
        if isinstance(learner, Dated) and not native.awake:
            return self.formula(learner.learner, native.inner)
        if isinstance(learner, Dated):
            return self._mixture([learner.learner, *learner.beside.learners], native.inner)
        if isinstance(learner, Stacked):
            return self._mixture(learner.learners, native)
        raise ValueError(f"The learner {type(learner).__name__} cannot be exported.")

    def _expansion(self, kernel: Kernel, native: Any) -> tree.Expansion:
        vectors, coef = native.support_vectors(self.columns), native.dual_coef()
        if not len(vectors):
            vectors, coef = np.zeros((1, self.columns)), np.zeros((len(coef), 1))
        return tree.Expansion(pieces.known_kernel(kernel), vectors, coef)

    def _dual_space(self, learner: Kernelized, native: Any) -> tree.Mixture:
        frequencies = _core.moved_frequencies(native, self.columns)
        moved = tree.Weighted(pieces.Features((pieces.Fourier(frequencies),)), _core.moved_coef(native))
        return tree.Mixture((self._expansion(learner.kernel, native), moved), np.ones(2))

    def _weighted(self, learner: Mapped, native: Any) -> tree.Weighted:
        assert isinstance(learner.features, FeatureMap)
        features, coef = self._features(learner.features, native.map), native.coef()
        if not features.size:  # a Nystrom map before its first landmark
            return tree.Weighted(pieces.Features((pieces.Constant(),)), np.zeros((len(coef), 1)))
        if not isinstance(learner.rule, Kalman) or not hasattr(self.model.task, "n_classes"):
            return tree.Weighted(features, coef)
        return tree.Weighted(features, coef, *native.covariance())

    def _celled(self, learner: Mapped, native: Any) -> tree.Celled:
        table, outputs = native.entries(), self.model.task.outputs
        moderated = isinstance(learner.rule, Kalman) and self._classes() > 0
        table, unit = table[:, : outputs + moderated], native.scale * native.value
        constant = table[0].astype(np.float64)
        constant[:outputs] *= native.scale
        cells = self._cells(learner.features, native.map)
        return tree.Celled(cells, table[1:], constant, unit, native.value**2, moderated, *native.places)

    def _nearest(self, learner: Neighbours, native: Any) -> tree.Formula:
        classes, labels, first = self._classes(), native.labels(), native.first()
        if not len(labels):
            return tree.Weighted(
                pieces.Features((pieces.Constant(),)), np.zeros((self.model.task.outputs, 1))
            )
        k, rows, weights = min(learner.k, len(labels)), native.rows(), native.weights()
        if not classes:
            return tree.Nearest(k, rows, labels[:, None], weights, 0.05, unscaled=learner.raw)
        built: Any = self.model.built_for[1]
        two = None if not len(first) else (int(np.argmax(first)), classes - 1 - int(np.argmax(first[::-1])))
        codes = np.eye(classes)[labels.astype(int)]
        return tree.Nearest(k, rows, codes, weights, 0.1, 0.5 / built.n_classes, two, learner.raw)

    def _cells(self, description: Any, native: Any) -> tree.CellNumbers:
        """The numbers of the cells of a native map."""
        dtype = self.model.dtype
        if isinstance(description, Recruited):
            description = description.features
        if isinstance(description, Tiles):
            first = np.array(native.first_cells(), dtype=np.int64)
            return tree.Ferns(native.tested(), not_above(native.thresholds(), dtype), first)
        if isinstance(description, Bins):
            columns, codes = map(np.array, native.edges), tuple(map(bool, native.by_value))
            both = zip(columns, codes, strict=True)
            edges = tuple(each if code else not_below(each, dtype) for each, code in both)
            sides, shape = np.array(native.sides, dtype=np.int64), (description.columns, description.side)
            return tree.Quantiles(edges, codes, sides, tuple(native.pairs), *shape, native.first)
        if isinstance(description, RandomBinning):
            pitches, shifts = np.moveaxis(native.grids(), 2, 0)
            return tree.Grids(pitches, shifts)
        raise ValueError(f"The map {type(description).__name__} cannot be exported.")

    def _classes(self) -> int:
        """The number of classes; 0 for targets."""
        return getattr(self.model.task, "n_classes", 0)

    def _features(self, description: Any, native: Any) -> pieces.Features:
        if id(native) not in self._maps:
            features = pieces.features_of(description, native, self.columns)
            self._maps[id(native)] = native, features
        return self._maps[id(native)][1]

    def _scaled(self, learner: Standardised | Ranged, native: Any) -> tree.Scaled:
        state = {
            name.removeprefix("scaled."): v
            for name, v in native.state().items()
            if name.startswith("scaled.")
        }
        shift, factor = _scales(state, self.columns)
        clip, missing = getattr(learner, "clip", LARGEST), isinstance(learner, Standardised)
        inner = self.formula(learner.learner, native.inner)
        if "target.count" not in state:
            return tree.Scaled(inner, shift, factor, clip, missing)
        [mean], [squares], [count] = (state[f"target.{name}"] for name in ("mean", "squares", "count"))
        deviation = float(np.sqrt(squares / count)) if squares > 0 else 1.0
        return tree.Scaled(inner, shift, factor, clip, missing, float(mean), deviation)

    def _narrow(self, learner: Learner, native: Any) -> tree.Narrow:
        outer, self.columns = self.columns, len(native.kept)
        inner = self.formula(learner, native.inner)
        self.columns = outer
        return tree.Narrow(inner, np.array(native.kept, dtype=np.int64))

    def _mixture(self, learners: Sequence[Learner], native: Any) -> tree.Mixture:
        parts = zip(learners, native.experts, strict=True)
        experts = tuple(
            self._narrow(part, expert) if isinstance(expert, _core.Narrowed) else self.formula(part, expert)
            for part, expert in parts
        )
        state, task = native.state(), self.model.task
        weights, biases = np.split(state["stacked.weights"], [len(experts)])
        if not hasattr(task, "n_classes"):
            return tree.Mixture(experts, weights)
        first: Any = self.model.built_for[1]
        halved = first.n_classes == 2 < task.n_classes
        [rows] = state["stacked.rows"]
        roots = np.sqrt(state["stacked.squares"] / max(rows, 1))
        factors = np.divide(1, roots, out=np.zeros(len(experts)), where=roots > 0)
        factors[[part.probabilistic for part in learners]] = 1
        clip = LARGEST_LOGIT / 2 if halved else LARGEST_LOGIT
        bends, slopes = tuple(native.bends().tolist()), tuple(native.slopes().tolist())
        return tree.Mixture(experts, weights, biases, factors, first.n_classes, clip, bends, slopes)


def plain_labels(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The labels as int64, truth values, float64, or Python texts."""
    kind = labels.dtype.kind
    if kind == "U" or (kind == "O" and all(type(label) is str for label in labels)):
        return labels.astype(object)
    if kind in "iu" and labels.max() < 2**63:
        return labels.astype(np.int64)
    if kind in "bf":
        return labels.astype(np.bool_ if kind == "b" else np.float64)
    what = "beyond 2^63" if kind == "u" else f"of type {type(labels.tolist()[0]).__name__}"
    raise ValueError(f"Labels {what} cannot be exported: use texts, or numbers of 64 bits.")


def _scales(state: dict[str, Any], n_features: int) -> tuple[tree.Floats, tree.Floats]:
    """Shift and factor of every column; 0 and 0 for a column that has no scale."""
    if "rows" not in state:  # no row was learned
        return np.zeros(n_features), np.zeros(n_features)
    if "squares" in state:
        counted = state["count"] if "count" in state else state["rows"] - state["missing"]
        shift, width = state.get("mean", 0.0), np.sqrt(state["squares"] / np.maximum(counted, 1))
    elif "least" in state:
        shift, width = state["least"], np.maximum(state["largest"] - state["least"], 0)
    else:
        shift, width = 0.0, state["largest"]
    scaled = width > 0
    factor = np.divide(1, width, out=np.zeros(n_features), where=scaled)
    return np.where(scaled, shift, 0.0), factor
