"""What a model is: task, learner, seed, encoder, costs, coverage. Chosen when its folder is created."""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import Any

from budgetron._util.errors import DataError
from budgetron._util.text import nearest, shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.evaluate.progressive import Estimator
from budgetron.learners import algorithms
from budgetron.learners.learner import Learner
from budgetron.model.conformal import checked_coverage
from budgetron.model.decisions import checked_costs
from budgetron.model.files import durable
from budgetron.model.files.described import describe, revive
from budgetron.parts.tasks import Labels, Targets
from budgetron.records.encoder import Encoder

FILE = "model.json"
FORMAT = 1
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Settings:
    """The settings of a model; ``learner`` and ``encoder`` are descriptions as in model files.

    Each of ``costs`` has a ``label``, its ``cost``, and the label ``predicted`` if that mistake is meant.
    """

    task: str
    learner: dict[str, Any]
    seed: int = 0
    encoder: dict[str, Any] | None = None
    costs: list[dict[str, Any]] | None = None
    coverage: float | None = None

    @classmethod
    def of(cls, task: str, learner: Learner, seed: int = 0, encoder: Encoder | None = None) -> "Settings":
        """The settings for a learner, and for an encoder if it is not the default."""
        encoded = None if encoder is None else describe(encoder, "encoder")
        return cls(task, describe(learner, "learner"), seed, encoded)

    def estimator(self) -> Estimator:
        """A new estimator, which has learned nothing. A ValueError says what is wrong with the settings."""
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {shown(self.task)}.")
        if type(self.seed) is not int or not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be a whole number from 0 to 2^32 - 1, got {shown(self.seed)}.")
        learner = revive(self.learner)
        if not isinstance(learner, Learner):
            raise ValueError(f"learner must describe a learner, got {shown(self.learner)}.")
        if learner.needs_rows:
            raise ValueError(
                "a parameter would be computed from the first rows (gamma='scale'): give it a number."
            )
        regression = self.task == "regression"
        learner.check(Targets() if regression else Labels(2))
        kind = OnlineRegressor if regression else OnlineClassifier
        estimator = kind(learner, random_state=self.seed, encoder=self._encoder(), coverage=self.coverage)
        if self.coverage is not None:
            checked_coverage(self.coverage)
        if not regression and not learner.probabilistic and (self.costs or self.coverage is not None):
            raise ValueError("costs and coverage need a learner with probabilities, such as auto.")
        if self.costs is not None:
            if isinstance(estimator, OnlineRegressor):
                raise ValueError("costs are those of labels, and regression has targets.")
            estimator.costs = checked_costs(_by_label(self.costs))
        return estimator

    def deciding(self, costs: Mapping[Any, float] | None, coverage: float | None) -> "Settings":
        """With costs of mistakes as an estimator takes them, and with a coverage."""
        described = None if costs is None else [_described(of, cost) for of, cost in costs.items()]
        return replace(self, costs=described, coverage=coverage)

    def deciding_like(self, other: "Settings", *, costs: bool, coverage: bool) -> "Settings":
        """With the costs and the coverage of another model, if the learner can have them."""
        names = [name for name, wanted in (("costs", costs), ("coverage", coverage)) if wanted]
        like = replace(self, **{name: getattr(other, name) for name in names})
        try:
            like.estimator()
        except (ValueError, TypeError):
            return self
        return like

    def _encoder(self) -> Encoder | None:
        """The encoder, checked."""
        if self.encoder is None:
            return None
        encoder = revive(self.encoder)
        if type(encoder) is not Encoder:
            raise ValueError(f"encoder must describe an Encoder, got {shown(self.encoder)}.")
        encoder.build()
        return encoder

    @property
    def crc(self) -> int:
        """A checksum: another learner, encoder or seed would replay the log to another model."""
        return zlib.crc32(json.dumps(self._document(), sort_keys=True).encode())

    def _document(self) -> dict[str, Any]:
        """The settings as plain data, without costs and coverage where there are none."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None or name not in ("costs", "coverage")
        }

    def write(self, folder: Path) -> None:
        """Write them to the folder of the model."""
        document = {"format": FORMAT, "budgetron_version": version("budgetron")}
        document |= self._document()
        document |= {"crc32": self.crc}
        durable.write(str(folder / FILE), [json.dumps(document, indent=1).encode() + b"\n"])


def named(algorithm: str, parameters: dict[str, Any]) -> Learner:
    """The learner of an algorithm; a parameter may be the description of a kernel or another part."""
    if algorithm not in algorithms.__all__:
        raise ValueError(
            f"there is no algorithm {algorithm[:50]!r}; {nearest(algorithm, algorithms.__all__)}"
        )
    function = getattr(algorithms, algorithm)
    for name in parameters:
        if name not in signature(function).parameters:
            raise ValueError(f"{algorithm} has no parameter {name[:50]!r}.")
    try:
        learner: Learner = function(**{name: revive(value) for name, value in parameters.items()})
    except TypeError as error:
        raise ValueError(f"{error}.") from None
    return learner


def settings_of(document: Mapping[str, Any]) -> Settings:
    """The settings that a document has, which may have more."""
    task, learner, seed, encoder = (document[name] for name in ("task", "learner", "seed", "encoder"))
    return Settings(task, learner, seed, encoder, document.get("costs"), document.get("coverage"))


def _described(of: Any, cost: float) -> dict[str, Any]:
    label, *predicted = of if isinstance(of, tuple) else (of,)
    return {"label": label, "cost": cost} | ({"predicted": predicted[0]} if predicted else {})


def _by_label(costs: Any) -> dict[Any, float]:
    """The costs as an estimator takes them."""
    try:
        pairs = [
            ((each["label"], each["predicted"]) if "predicted" in each else each["label"], each["cost"])
            for each in costs
        ]
        by_label = dict(pairs)
    except (KeyError, TypeError):
        what = "a list with a label and a cost each"
        raise ValueError(f"costs must be {what}, got {shown(costs)}.") from None
    if len(by_label) < len(pairs):
        raise ValueError("costs has two costs for the same label: give one.")
    return by_label


def read(folder: Path) -> Settings:
    """The settings in the folder of a model."""
    path = folder / FILE
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        raise DataError(f"{path}: cannot be read: {error}.") from None
    if document.get("format") != FORMAT:
        raise DataError(
            f"{path}: has format {document.get('format')!r}, written by budgetron "
            f"{document.get('budgetron_version')!r}; this version reads format {FORMAT}: update budgetron."
        )
    try:
        settings = settings_of(document)
        settings.estimator()
        if document.get("crc32") != settings.crc:
            raise ValueError("it was changed or damaged since it was written")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: does not describe a model: {error}.") from None
    return settings
