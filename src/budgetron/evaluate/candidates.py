"""The candidates of `tune`: which parameters of a learner are searched, and how a candidate is written."""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.names import classes, find, kebab
from budgetron._util.rows import Matrix
from budgetron._util.spec import Parts, Spec
from budgetron._util.text import nearest, shown
from budgetron.learners import algorithms
from budgetron.learners.learner import Learner
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.parts.kernels import Gaussian, Kernel

Range = tuple[float, float]
Values = Mapping[str, float]
SCALINGS: dict[str | None, Callable[[Learner], Learner]] = {
    None: lambda learner: learner,
    "standardise": Standardised,
    "min-max": Ranged,
}


@dataclass
class Given:
    """A learner that is tuned. Its parameters have nested names, as ``rule__C``."""

    learner: Learner
    scaling: str | None

    def with_params(self, params: Mapping[str, Any]) -> Learner:
        """The learner with these parameters, scaled as asked."""
        return SCALINGS[self.scaling](copy.deepcopy(self.learner).set_params(**params))

    def argument(self, path: str, probe: float) -> str | None:  # noqa: ARG002
        """The name to print for a parameter of the learner; None if it is not to be searched."""
        return path

    def python(self, values: Values) -> str:
        """The learner with these values as a line of Python."""
        return repr(self.with_params(values))

    def shell(self, values: Values) -> str | None:  # noqa: ARG002
        """The command that runs it, if there is one."""
        return None


@dataclass
class Called(Given):
    """A learner that an algorithm returns. Its parameters are the arguments of the algorithm."""

    function: Callable[..., Learner]
    kernel: Kernel | None
    given: Mapping[str, Any]

    def argument(self, path: str, probe: float) -> str | None:
        """The argument that sets a parameter of the learner, unless it is given."""
        owner, _, last = path.rpartition("__")
        if self.kernel is not None and self.learner.get_params().get(owner) == self.kernel:
            return last if getattr(self.kernel, last) == "scale" else None
        for name in inspect.signature(self.function).parameters:
            if name != "kernel" and name not in self.given and self._sets(name, path, probe):
                return name
        return None

    def _sets(self, name: str, path: str, probe: float) -> bool:
        try:
            learner = self.function(*self._kernels({}), **self.given, **{name: probe})
        except (TypeError, ValueError):  # the argument is not a number
            return False
        return bool(learner.get_params().get(path) == probe)

    def _kernels(self, values: Values) -> list[Kernel]:
        if self.kernel is None:
            return []
        parameters = {name: value for name, value in values.items() if name in self.kernel.ranges}
        return [replace(self.kernel, **parameters)]

    def _arguments(self, values: Values) -> dict[str, Any]:
        of_kernel = () if self.kernel is None else self.kernel.ranges
        return {**self.given, **{n: value for n, value in values.items() if n not in of_kernel}}

    def python(self, values: Values) -> str:
        """The call with these values."""
        kernels = [repr(kernel) for kernel in self._kernels(values)]
        named = [f"{name}={_code(value)}" for name, value in self._arguments(values).items()]
        call = f"{self.function.__name__}({', '.join(kernels + named)})"
        return call if self.scaling is None else f"{SCALINGS[self.scaling].__name__}({call})"

    def shell(self, values: Values) -> str | None:
        """The command that runs the algorithm; None if its flags cannot say it."""
        name = self.function.__name__
        if getattr(algorithms, name, None) is not self.function:
            return None
        flags = [] if self.scaling is None else [f"--{self.scaling}"]
        try:
            for kernel in self._kernels(values):
                flags += [] if type(kernel) is Gaussian else ["--kernel", kebab(type(kernel).__name__)]
                flags += _flags(_changed(kernel))
            flags += _flags(self._arguments(values))
        except ValueError:
            return None
        return " ".join(["budgetron run", name, "FILE", *flags])


def template(learner: Any, kernel: Any, scaling: str | None, given: Mapping[str, Any]) -> Given:
    """The learner to tune, from the arguments of `tune`."""
    if scaling not in SCALINGS:
        raise ValueError(f"tune: scaling must be 'standardise', 'min-max' or None, got {shown(scaling)}.")
    if isinstance(learner, Learner):
        if given:
            raise TypeError(
                f"tune: {', '.join(given)} is for an algorithm, but {shown(learner)} is a learner."
            )
        return Given(learner, scaling)
    if isinstance(learner, str):
        if learner not in algorithms.__all__:
            raise ValueError(
                f"tune: there is no algorithm {learner!r}; {nearest(learner, algorithms.__all__)}"
            )
        learner = getattr(algorithms, learner)
    if not inspect.isfunction(learner):
        raise TypeError(f"tune: learner must be a name, a function or a Learner, got {shown(learner)}.")
    if isinstance(kernel, str) and (named := find(kernel, classes(Kernel))) is not None:
        kernel = named()
    kernel = check.instance("tune", "kernel", kernel, Kernel)
    kernel = kernel if "kernel" in inspect.signature(learner).parameters else None
    try:
        called = learner(*([] if kernel is None else [kernel]), **given)
    except TypeError as error:
        raise TypeError(f"tune: {error}.") from error
    called = check.instance("tune", learner.__name__, called, Learner)
    return Called(called, scaling, learner, kernel, given)


class Searched:
    """The parameters that are searched, their ranges, and the learner for given values.

    ``X`` are the first rows, from which gamma="scale" is computed.
    """

    def __init__(self, first: Given, regression: bool, X: Matrix) -> None:
        self.first = first
        self.ranges: dict[str, Range] = {}
        self._paths: dict[str, list[str]] = {}
        ranges = list(_ranges(first.learner, regression))
        scale = self._scale([path for path, _, relative in ranges if relative], X)
        for path, (low, high), relative in ranges:
            if (name := first.argument(path, low)) is not None:
                unit = scale[path] if relative else 1.0
                self.ranges[name] = (low * unit, high * unit)
                self._paths.setdefault(name, []).append(path)
        if not self.ranges:
            raise ValueError(
                f"tune: {first.python({})} has no parameter to search: there is nothing to tune."
            )

    def learner(self, values: Values) -> Learner:
        """The learner with these values, scaled as asked."""
        params = {path: value for name, value in values.items() for path in self._paths[name]}
        return self.first.with_params(params)

    def _scale(self, paths: list[str], X: Matrix) -> dict[str, float]:
        """gamma="scale" of each kernel as a number."""
        resolved: Any = self.first.with_params(dict.fromkeys(paths, "scale")).resolved(X)
        params = (resolved if self.first.scaling is None else resolved.learner).get_params()
        return {path: params[path] for path in paths}


def is_searched(learner: Learner, regression: bool) -> bool:
    """Whether a learner has a parameter with a range."""
    return next(_ranges(learner, regression), None) is not None


def _ranges(part: Spec, regression: bool, before: str = "") -> Iterator[tuple[str, Range, bool]]:
    """The nested name and the range of each parameter; whether the range is in multiples of "scale"."""
    ranges = {**part.ranges, **(getattr(part, "ranges_for_targets", {}) if regression else {})}
    for name, limits in ranges.items():
        yield before + name, limits, isinstance(part, Kernel)
    inner = enumerate(part.members()) if isinstance(part, Parts) else part.get_params(deep=False).items()
    for key, value in inner:
        if isinstance(value, Spec):
            yield from _ranges(value, regression, f"{before}{key}__")


def drawn(ranges: Mapping[str, Range], count: int, seed: int) -> list[dict[str, float]]:
    """Values for the candidates; in each of ``count`` equal parts of log(range) there is one."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, (low, high) in ranges.items():
        places = (random.permutation(count) + random.random(count)) / max(count, 1)
        columns[name] = [float(f"{low * (high / low) ** place:.3g}") for place in places]
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]


# ---- how values are written


def _code(value: Any) -> str:
    if isinstance(value, partial):
        options = [f"{name}={_code(option)}" for name, option in value.keywords.items()]
        return f"partial({', '.join([_code(value.func), *options])})"
    return value.__name__ if isinstance(value, type) else repr(value)


def _flags(values: Mapping[str, Any]) -> list[str]:
    """The values as flags; ValueError if a value cannot be one."""
    flags = []
    for name, value in values.items():
        if isinstance(value, partial):
            flags += _flags({name: value.func, **value.keywords})
        elif value is not None:
            flags += [f"--{name.replace('_', '-')}", _word(value)]
    return flags


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Spec) and not _changed(value):
        return kebab(type(value).__name__)
    if isinstance(value, type):
        return kebab(value.__name__)
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{value!r} cannot be a flag")


def _changed(part: Spec) -> dict[str, Any]:
    """The parameters of a description that are not the defaults."""
    return {f.name: v for f in fields(part) if (v := getattr(part, f.name)) != f.default}
