"""Model files: everything that a fitted estimator holds, as data, so that it can continue to learn.

The layout is that of safetensors (``tensors.py``), so other programs can read the arrays. No code in a
file is run, and all data are checked before use.
"""

import errno
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier

from budgetron._util import check
from budgetron._util.errors import ModelFileError
from budgetron._util.exports import exported
from budgetron._util.version import __version__
from budgetron.learners.learner import Learner
from budgetron.model.class_weights import ClassCounts
from budgetron.model.conformal import Conformal, checked_coverage
from budgetron.model.decisions import checked_costs
from budgetron.model.files import durable, tensors
from budgetron.model.files.described import describe, plain, revive
from budgetron.model.files.extra import describe_extra, revive_extra
from budgetron.model.fitted import Fitted
from budgetron.model.labels import KnownLabels
from budgetron.model.model import DEVICES, Model
from budgetron.parts.in_python import by_name
from budgetron.parts.tasks import Labels, Targets
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding

T = TypeVar("T")
Path = str | os.PathLike[str]

FORMAT = "budgetron model"
FORMAT_VERSION = 1

_STATE, _CLASSES, _COUNTS = "state/", "classes", "class_counts"
_LEVEL, _MISFITS = "coverage_level", "misfits"
_FITTED = {"learner", "dtype", "seed", "n_features_in", "feature_names_in", "classes"}
_SOMETIMES = {"labels", "encoding"}
_LEARNED = "fitted_"  # the one attribute of an estimator that is no parameter
_OF_THE_MACHINE = {"n_jobs", "device"}  # parameters that say nothing of the model
_LABELS = (bool, int, float, str)
_MOST_FEATURES = 2**31 - 1  # columns of sparse rows are counted in 32 bits


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file; ``budgetron_version`` wrote it, and the arrays are read-only."""

    path: str
    budgetron_version: str
    description: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]

    @property
    def extra(self) -> dict[str, Any]:
        """The extra data that were saved with the model."""
        extra: dict[str, Any] = self._checked(lambda: revive_extra(self.description["extra"], self.arrays))
        return extra

    def estimator(self, python_parts: Iterable[type] = (), device: str = "cpu") -> Any:
        """The estimator, ready to continue; ``python_parts`` and ``device`` as for `load`."""
        known = by_name("load", python_parts)
        estimator = self._checked(lambda: _revive_estimator(self.description, self.arrays, known))
        estimator.set_params(device=check.one_of(estimator, "device", device, DEVICES))
        fitted = estimator.fitted_
        estimator.fitted_ = replace(fitted, model=fitted.model.on(device))
        return estimator

    def _checked(self, build: Callable[[], T]) -> T:
        try:
            return build()
        except Exception as error:
            why = str(error).rstrip(".") or type(error).__name__
            raise ModelFileError(f"{self.path}: holds no model that can be built: {why}.") from error


def save(estimator: Any, path: Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator and extra data; see ``OnlineClassifier.save``."""
    durable.write(_place(path), encoded(estimator, extra))


def encoded(estimator: Any, extra: Mapping[str, Any] | None = None) -> list[bytes | memoryview]:
    """The bytes of the model file that `save` writes, in pieces."""
    description, arrays = content(estimator, extra)
    texts = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "budgetron_version": __version__,
        "description": json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False),
    }
    return list(tensors.encode(arrays, texts))


def content(
    estimator: Any, extra: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What a model file holds: a description and arrays, of which a `ModelFile` can be made."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    fitted: Fitted = estimator.fitted_
    model = fitted.model
    with fitted.held():
        state, counts = fitted.state()
        misfits = None if fitted.conformal is None else fitted.conformal.state()
    description = {
        "estimator": _describe_estimator(estimator),
        "fitted": {
            "learner": describe(model.learner, "learner_"),
            "dtype": model.dtype.name,
            "seed": model.seed,
            "n_features_in": model.n_features,
            "feature_names_in": _names(fitted.names),
            "classes": _describe_classes(fitted.labels, arrays),
        }
        | _describe_labels(fitted.labels)
        | ({} if fitted.encoding is None else {"encoding": _describe_encoding(fitted.encoding)}),
        "extra": describe_extra({} if extra is None else extra, "extra", arrays),
    }
    if counts is not None:
        arrays[_COUNTS] = counts
    if misfits is not None:
        arrays[_LEVEL], arrays[_MISFITS] = misfits
    return description, arrays | {_STATE + name: values for name, values in state.items()}


def read(path: Path) -> ModelFile:
    """The content of a model file, checked as far as possible without building the model.

    Examples
    --------
    >>> import os, tempfile
    >>> from budgetron.model.files import model_files
    >>> from budgetron import Gaussian, OnlineClassifier, perceptron
    >>> model = OnlineClassifier(perceptron(Gaussian(0.5))).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path, extra={"rows": 2})
    ...     file = model_files.read(path)
    >>> file.extra
    {'rows': 2}
    >>> file.arrays["state/expansion.alpha.0"]
    array([-1.,  1.])
    """
    path = _place(path)
    if not os.path.lexists(path):
        raise FileNotFoundError(errno.ENOENT, "there is no model file of that name", path)
    with open(path, "rb") as file:
        texts, arrays = tensors.decode(file, path, _refuse_other_formats)
    try:
        description = tensors.parse_json(texts.get("description", ""))
    except ValueError as error:
        raise ModelFileError(f"{path}: has a description that cannot be read: {error}.") from None
    if not isinstance(description, dict) or set(description) != {"estimator", "fitted", "extra"}:
        raise ModelFileError(f"{path}: has a description without an estimator.")
    return ModelFile(path, texts.get("budgetron_version", ""), description, arrays)


def load(path: Path, *, python_parts: Iterable[type] = (), device: str = "cpu") -> Any:
    """The estimator in a model file; it continues to learn where it stopped, on the ``device``.

    A file has only the names of parts that were written in Python. ``python_parts`` are their classes,
    which load does not look for anywhere else.

    Raises :class:`ModelFileError` if the file is damaged or is not a model file.

    Examples
    --------
    >>> import os, tempfile
    >>> import budgetron
    >>> from budgetron import Gaussian, OnlineClassifier, perceptron
    >>> model = OnlineClassifier(perceptron(Gaussian(0.5))).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path)
    ...     same = budgetron.load(path)
    >>> same.predict([[0.9]])
    array([1])
    """
    return read(path).estimator(python_parts, device)


def _place(path: Any) -> str:
    place = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(place, str):
        raise TypeError(f"path must be a str, or an os.PathLike that gives one, got {path!r}.")
    if "\0" in place:
        raise ValueError(f"path must not contain a null character, got {place!r}.")
    return place


def _refuse_other_formats(texts: dict[str, str]) -> str | None:
    """Why a file with these texts is refused, or None."""
    if texts.get("format") != FORMAT:
        return "is not a model file of budgetron"
    number = texts.get("format_version", "")
    if number != str(FORMAT_VERSION):
        written = texts.get("budgetron_version", "?")[:50]
        return (
            f"has model file format {number[:20]!r}, written by budgetron {written}; "
            f"this is budgetron {__version__}, which reads format {FORMAT_VERSION}: update it"
        )
    return None


# ---- the estimator


def _describe_estimator(estimator: Any) -> dict[str, Any]:
    kind = type(estimator)
    if exported(BaseEstimator, "estimators").get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__name__} is not one of budgetron's estimators: no model file can name it.")
    params = estimator.get_params(deep=False)
    for name in vars(estimator):
        if name != _LEARNED and name not in params:
            raise TypeError(
                f"{kind.__name__}: attribute {name!r} has no place in a model file; "
                "delete it, or pass it in extra."
            )
    for name in _OF_THE_MACHINE:
        params.pop(name)
    weight, encoder = params.pop("class_weight", None), params.pop("encoder", None)
    costs, coverage, dtype = params.pop("costs", None), params.pop("coverage"), params.pop("dtype")
    described = {name: describe(value, name) for name, value in params.items()}
    if weight is not None:  # a file without class weights does not mention them
        described["class_weight"] = _describe_weight(weight)
    if coverage is not None:
        described["coverage"] = describe(coverage, "coverage")
    if dtype is not None:
        described["dtype"] = describe(dtype, "dtype")
    if costs is not None:
        described["costs"] = _describe_costs(costs)
    if encoder is not None:
        described["encoder"] = describe(encoder, "encoder")
    return {"type": kind.__name__} | described


def _revive_estimator(
    description: dict[str, Any], arrays: tensors.Arrays, python_parts: Mapping[str, type]
) -> Any:
    data, fitted = description["estimator"], description["fitted"]
    if not isinstance(data, dict) or not isinstance(fitted, dict) or set(fitted) - _SOMETIMES != _FITTED:
        raise ValueError("its description has the wrong form")
    name, params = data.get("type"), {key: value for key, value in data.items() if key != "type"}
    kind: Any = exported(BaseEstimator, "estimators").get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"there is no estimator {str(name)[:100]!r}")
    estimator = kind()
    known = estimator.get_params(deep=False).keys() - _OF_THE_MACHINE
    for param in params:
        if param not in known:
            raise ValueError(f"{name} has no parameter {param[:100]!r}")
    revived = {param: revive(value, python_parts) for param, value in params.items()}
    if "class_weight" in revived:
        revived["class_weight"] = _revive_weight(revived["class_weight"])
    if "costs" in revived:
        revived["costs"] = _revive_costs(revived["costs"])
    estimator.set_params(**revived)
    n_features = _natural(fitted, "n_features_in", 1, _MOST_FEATURES)
    names = _revive_names(fitted["feature_names_in"], n_features)
    classes = _revive_classes(fitted["classes"], arrays, 0 if "labels" in fitted else 2)
    if is_classifier(estimator) != (classes is not None):
        raise ValueError(f"{name} has the wrong kind of labels")
    state = {key.removeprefix(_STATE): a for key, a in arrays.items() if key.startswith(_STATE)}
    model = _revive_model(fitted, classes, n_features, state, python_parts)
    labels = counts = None
    if classes is not None:
        labels = _revive_labels(classes, fitted.get("labels"))
        counts = _revive_counts(arrays[_COUNTS], len(classes)) if _COUNTS in arrays else None
    encoding = _revive_encoding(fitted["encoding"], n_features) if "encoding" in fitted else None
    conformal = None
    if _MISFITS in arrays and _LEVEL in arrays:
        conformal = Conformal.restored(
            checked_coverage(estimator.coverage), arrays[_LEVEL], arrays[_MISFITS]
        )
    estimator.fitted_ = Fitted(model, labels, encoding, names, counts, conformal)
    return estimator


def _revive_model(
    fitted: dict[str, Any],
    classes: npt.NDArray[Any] | None,
    n_features: int,
    state: tensors.Arrays,
    python_parts: Mapping[str, type],
) -> Model:
    learner = revive(fitted["learner"], python_parts)
    if not isinstance(learner, Learner):
        raise ValueError("there is no learner")
    if fitted["dtype"] not in ("float32", "float64"):
        raise ValueError("features are neither float32 nor float64")
    if classes is not None and len(classes) > max(2, len(state)):
        raise ValueError("there are more classes than arrays")  # before memory is allocated for each class
    task = Targets() if classes is None else Labels(max(2, len(classes)))
    seed = _natural(fitted, "seed", 0, 2**64 - 1)
    return Model.restored(learner, task, n_features, fitted["dtype"], seed, state)


def _natural(data: dict[str, Any], name: str, least: int, most: int) -> int:
    value = data[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}")
    return value


# ---- records, and labels that come later


def _describe_encoding(encoding: Encoding) -> dict[str, Any]:
    return {"encoder": describe(Encoder.of(encoding), "encoder"), "state": encoding.state()}


def _revive_encoding(data: Any, n_features: int) -> Encoding:
    encoding = revived_encoding(data)
    if max(encoding.width, 1) != n_features:
        raise ValueError("its encoding does not have as many columns as the model")
    return encoding


def revived_encoding(data: Any) -> Encoding:
    """The encoding of a file; ValueError if it is invalid."""
    if not isinstance(data, dict) or set(data) != {"encoder", "state"}:
        raise ValueError("its encoding has the wrong form")
    encoder = revive(data["encoder"])
    if type(encoder) is not Encoder:
        raise ValueError("its encoding has no encoder")
    encoding = encoder.build()
    encoding.restore(data["state"])
    return encoding


def _describe_labels(labels: KnownLabels | None) -> dict[str, Any]:
    """Nothing for labels that are fixed and have codes in their order."""
    if labels is None or (labels.fixed and labels.is_sorted):
        return {}
    return {"labels": {"fixed": labels.fixed, "codes": labels.order.tolist()}}


def _revive_labels(classes: npt.NDArray[Any], data: Any) -> KnownLabels:
    """The sorted labels in the order of their codes."""
    if data is None:
        return KnownLabels(classes)
    if not isinstance(data, dict) or set(data) != {"fixed", "codes"} or type(data["fixed"]) is not bool:
        raise ValueError("its labels have the wrong form")
    codes = data["codes"]
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        raise ValueError("its labels have no codes")
    if sorted(codes) != list(range(len(classes))):
        raise ValueError("its labels do not have one code each")
    return KnownLabels(classes[np.argsort(np.array(codes, dtype=np.intp))], data["fixed"])


# ---- class weights


def _describe_weight(weight: Any) -> Any:
    """A text, or for a dict the pairs of label and weight."""
    if not isinstance(weight, Mapping):
        return plain(weight, "class_weight")
    return [[plain(part, "class_weight") for part in pair] for pair in weight.items()]


def _revive_weight(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    if not all(isinstance(pair, list) and len(pair) == 2 and type(pair[0]) in _LABELS for pair in data):
        raise ValueError("its class weights are not pairs of label and weight")
    return dict(data)


def _revive_counts(counts: npt.NDArray[Any], classes: int) -> ClassCounts:
    if counts.dtype != np.float64 or counts.shape != (classes,):
        raise ValueError("it does not have a count for each class")
    if not ((counts >= 0) & (counts < 2.0**53) & (counts == np.floor(counts))).all():
        raise ValueError("its counts of the classes are not whole numbers")
    return ClassCounts(counts.copy())


# ---- costs


def _describe_costs(costs: Mapping[Any, float]) -> Any:
    """Pairs of a cost and the labels that it is for: one, or a label and its prediction."""
    names = ((key if isinstance(key, tuple) else (key,), cost) for key, cost in costs.items())
    return [[plain(cost, "costs"), *(plain(label, "costs") for label in labels)] for labels, cost in names]


def _revive_costs(data: Any) -> Any:
    if not isinstance(data, list) or not all(isinstance(row, list) and 2 <= len(row) <= 3 for row in data):
        raise ValueError("its costs are not a list of costs with their labels")
    if not all(type(part) in _LABELS for row in data for part in row):
        raise ValueError("its costs are not for labels")
    return checked_costs({labels[0] if len(labels) == 1 else tuple(labels): cost for cost, *labels in data})


# ---- labels and names of features


def _names(names: npt.NDArray[Any] | None) -> list[str] | None:
    return None if names is None else [str(plain(name, "feature_names_in_")) for name in names]


def _revive_names(data: Any, n_features: int) -> npt.NDArray[Any] | None:
    if data is None:
        return None
    if not _texts(data) or len(data) != n_features:
        raise ValueError("there are not as many names of features as features")
    return np.array(data, dtype=object)


def _describe_classes(labels: KnownLabels | None, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    """Numbers are stored as an array, texts of one width as code points, other texts as a list."""
    if labels is None:
        return None
    classes = labels.classes
    if classes.dtype == object and _texts(classes.tolist()):
        return classes.tolist()
    text = classes.dtype.kind == "U"
    kept = np.ascontiguousarray(classes).view(np.uint32).reshape(len(classes), -1) if text else classes
    if not tensors.storable(kept):
        kind = type(classes.tolist()[0]).__name__ if classes.dtype == object else classes.dtype
        raise TypeError(f"Labels of type {kind} have no place in a model file: use texts or numbers.")
    arrays[_CLASSES] = kept
    return "text" if text else "numbers"


def _revive_classes(data: Any, arrays: tensors.Arrays, least: int) -> npt.NDArray[Any] | None:
    if data is None:
        return None
    if _texts(data):
        classes = np.array(data, dtype=object)
    elif data not in ("numbers", "text") or _CLASSES not in arrays:
        raise ValueError("its labels are of no known kind, or missing")
    else:
        classes = arrays[_CLASSES].copy() if data == "numbers" else from_code_points(arrays[_CLASSES])
    if classes.ndim != 1 or len(classes) < least or not (classes[:-1] < classes[1:]).all():
        raise ValueError(f"its labels must be at least {least}, sorted, each one once")
    if classes.dtype.kind == "f" and not ((classes == np.floor(classes)) & (abs(classes) < 2.0**63)).all():
        raise ValueError("its labels are not whole numbers that scikit-learn takes for labels")
    return classes


def from_code_points(points: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The texts that are stored as rows of code points."""
    if points.dtype != np.uint32 or points.ndim != 2 or points.shape[1] == 0 or (points > 0x10FFFF).any():
        raise ValueError("its labels are not code points")
    return np.ascontiguousarray(points).view(f"<U{points.shape[1]}").ravel().astype(f"=U{points.shape[1]}")


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is str for value in values)
