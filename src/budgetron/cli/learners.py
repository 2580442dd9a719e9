"""Build learners from flags. The flags are the parameters of algorithms, kernels and maintenances."""

import dataclasses
import inspect
import re
from argparse import SUPPRESS, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from budgetron._util import check
from budgetron._util.names import classes, find, kebab, unknown
from budgetron._util.spec import Spec
from budgetron._util.text import nearest
from budgetron.cli.arguments import Parser
from budgetron.cli.process import UsageError, usage_errors
from budgetron.learners import algorithms
from budgetron.learners.learner import Learner
from budgetron.parts.budgets.budget import Budget
from budgetron.parts.budgets.maintenance import Maintained
from budgetron.parts.kernels import Gaussian, Kernel, Laplacian
from budgetron.parts.tasks import Task

PREFIX = "flag "  # distinguishes these flags from the other arguments of a command
WIDTHS: dict[str, Callable[[float], Kernel]] = {
    "gaussian": Gaussian.of_width,
    "laplacian": lambda sigma: Laplacian(gamma=1 / sigma),
}
"""The kernels that may have a width sigma instead of gamma, as in papers."""

MEANINGS = {
    "C": "the largest step of one update",
    "U": "the bound on the norm of f, instead of a budget",
    "beta": "step t does maintenance with probability beta/t",
    "budget": "the largest number of support vectors",
    "cap": "the largest coefficient, in multiples of the step (gamma in the paper)",
    "components": "the number of Fourier frequencies",
    "drift": "auto: whether the world may change (yes or no)",
    "epsilon": "regression: errors up to epsilon are ignored",
    "eta": "the step size; for the projectrons the tolerance of a projection",
    "lam": "the weight of the regulariser (lambda)",
    "loss": "the loss",
    "maintenance": "how a support vector is removed when the budget is full",
    "neighbours": "project-smallest: project onto this many neighbours only",
    "nu": "the share of rows outside the tube",
    "rank": "the rank of the Nystrom map",
    "reading": "definition, or program: as in the code that Lu et al. 2016 published",
    "rho": "how strongly two rows must conflict to be updated together",
    "size": "auto: the number of Fourier components and half the support vectors",
    "step": "the step size of projectron",
}


def add_flags(parser: Parser) -> None:
    """Add the flags of all kernels and algorithms."""
    group = parser.add_argument_group("kernel")
    kernels = members(Kernel)
    _add(group, "kernel", f"{', '.join(kernels)}; default gaussian")
    _add(group, "sigma", f"{', '.join(WIDTHS)}: the width, instead of --gamma")
    for name in _kernel_flags()[2:]:
        _add(group, name, ", ".join(k for k, kind in kernels.items() if name in fields(kind)))
    group = parser.add_argument_group("algorithm", "The flags of each algorithm are listed below.")
    for name in sorted({name for algorithm in algorithms.__all__ for name in parameters(algorithm)}):
        _add(group, name, _meaning(name))
    rows = ((name, " ".join(map(as_flag, parameters(name)))) for name in algorithms.__all__)
    listed = "\n".join(f"  {name:<18} {flags}" for name, flags in rows)
    parser.epilog = f"algorithms\n{listed}\n\n{parser.epilog}"


def given_flags(args: Namespace) -> dict[str, str]:
    """The flags of `add_flags` that were given, as strings."""
    return {key.removeprefix(PREFIX): text for key, text in vars(args).items() if key.startswith(PREFIX)}


def algorithm_name(algorithm: str) -> str:
    """The Python name of an algorithm. "projectron++" and hyphens are accepted."""
    name = algorithm.lower().replace("++", "_pp").replace("-", "_")
    if name not in algorithms.__all__:
        raise UsageError(f"there is no algorithm {algorithm!r}; {nearest(name, algorithms.__all__)}")
    return name


def takes(algorithm: str) -> set[str]:
    """The names of the flags that an algorithm has."""
    of_kernel = _kernel_flags() if "kernel" in _signature(algorithm) else ()
    return {*parameters(algorithm), *of_kernel}


def build(names: Sequence[str], flags: Mapping[str, str]) -> dict[str, Learner]:
    """Build each algorithm with the flags that it has. A flag that none of them has is an error."""
    kernel, values = arguments(names, flags)
    kernels = {name: [kernel] if "kernel" in _signature(name) else [] for name in names}
    with usage_errors():
        return {name: getattr(algorithms, name)(*kernels[name], **values[name]) for name in names}


def arguments(names: Sequence[str], flags: Mapping[str, str]) -> tuple[Kernel, dict[str, dict[str, Any]]]:
    """The kernel, and the other arguments of each algorithm, that the flags give."""
    kernel = _kernel({flag: text for flag, text in flags.items() if flag in _kernel_flags()})
    taken = {flag for name in names for flag in parameters(name)}
    if any("kernel" in _signature(name) for name in names):
        taken.update(_kernel_flags())
    for flag in flags:
        if flag not in taken:
            takes = "; ".join(f"{name} takes {as_flags(parameters(name))}" for name in names)
            why = ", which has no kernel to choose" if flag in _kernel_flags() else f": {takes}"
            raise UsageError(f"{as_flag(flag)} is not for {', '.join(names)}{why}.")
    return kernel, {name: _values(name, flags) for name in names}


def check_buildable(learner: Learner, task: Task, columns: int) -> None:
    """Check that the learner can be built, before any row is read."""
    with usage_errors():
        learner.check(task, columns)


@cache
def parameters(algorithm: str) -> dict[str, Any]:
    """The parameters of an algorithm but the kernel, and their types; with those of its maintenances."""
    hints = {name: each.annotation for name, each in _signature(algorithm).items() if name != "kernel"}
    for kind in members(hints.get("maintenance")).values():
        hints = hints | {name: hint for name, hint in fields(kind).items() if name != "budget"}
    return hints


@cache
def _signature(algorithm: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(getattr(algorithms, algorithm), eval_str=True).parameters


def _values(algorithm: str, flags: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of an algorithm but the kernel. Flags of the maintenance become its options."""
    values, options = dict[str, Any](), dict[str, str]()
    for name, hint in parameters(algorithm).items():
        parameter = _signature(algorithm).get(name)
        if name in flags and parameter is None:
            options[name] = flags[name]
        elif name in flags:
            values[name] = read(name, hint, flags[name])
        elif parameter is not None and parameter.default is parameter.empty:
            raise UsageError(f"{algorithm} needs {as_flag(name)}.")
    if options:
        kind = values.get("maintenance", _signature(algorithm)["maintenance"].default)
        for name in options:
            if name not in fields(kind):
                raise UsageError(f"{as_flag(name)} is not for the maintenance {kebab(kind.__name__)}.")
        read_options = {name: read(name, fields(kind)[name], text) for name, text in options.items()}
        values["maintenance"] = partial(kind, **read_options)
    return values


@cache
def _kernel_flags() -> tuple[str, ...]:
    kinds = members(Kernel).values()
    return tuple(dict.fromkeys(["kernel", "sigma", *(name for kind in kinds for name in fields(kind))]))


def _kernel(flags: Mapping[str, str]) -> Kernel:
    kind = choice("kernel", flags.get("kernel", "gaussian"), members(Kernel))
    name = kebab(kind.__name__)
    takes = fields(kind) | ({"sigma": float} if name in WIDTHS else {})
    values = {key: text for key, text in flags.items() if key != "kernel"}
    for key in values:
        if key not in takes:
            raise UsageError(f"{as_flag(key)} is not for the kernel {name}, which takes {as_flags(takes)}.")
    if {"sigma", "gamma"} <= set(values):
        raise UsageError("--sigma and --gamma exclude each other: give one of them.")
    numbers = {key: read(key, takes[key], text) for key, text in values.items()}
    with usage_errors():
        if "sigma" in numbers:
            kernel = WIDTHS[name](check.positive(name, "sigma", numbers["sigma"]))
        else:
            kernel = kind(**numbers)
        kernel.resolved(np.zeros((1, 1))).build()
    return kernel


def _meaning(name: str) -> str:
    """The help text of a flag, with the names that its types allow."""
    about = MEANINGS.get(name) or _documented(name)
    hints = (parameters(algorithm).get(name) for algorithm in algorithms.__all__)
    names = sorted({member for hint in hints for member in members(hint)})
    return f"{about}{': ' if about and names else ''}{', '.join(names)}"


def _documented(name: str) -> str:
    """The first clause about a parameter in the docstring of an algorithm."""
    texts = (inspect.getdoc(getattr(algorithms, algorithm)) or "" for algorithm in algorithms.__all__)
    matches = (re.search(rf"^{name} : .*\n((?:    .*\n)+)", text, re.MULTILINE) for text in texts)
    about = next((match[1] for match in matches if match), "")
    return re.split(r"[.;](?:\s|$)", " ".join(about.split()))[0].replace("%", "%%")


def _add(group: Any, name: str, about: str) -> None:
    group.add_argument(as_flag(name), dest=f"{PREFIX}{name}", metavar="X", default=SUPPRESS, help=about)


# ---- read the values of flags, by the types in the signatures


def as_flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def as_flags(names: Iterable[str]) -> str:
    return ", ".join(map(as_flag, names)) or "none"


@cache
def members(hint: Any) -> dict[str, type]:
    """The classes that a parameter of this type accepts, by their names as flag values."""
    if get_origin(hint) is Callable:
        hint = Maintained  # the type is Callable[[int], Budget]
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Spec) and kind is not Budget:
            return classes(kind)
    return {}


@cache
def fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def read(name: str, hint: Any, text: str) -> Any:
    """The value of a flag. A named class is instantiated, unless the parameter is a factory."""
    if kinds := members(hint):
        kind = choice(name, text, kinds)
        return kind if get_origin(hint) in (type, Callable) else kind()
    allowed = ("yes", "no") if hint is bool else get_args(hint) if get_origin(hint) is Literal else ()
    if allowed:
        if text not in allowed:
            raise UsageError(f"{as_flag(name)}: expected {' or '.join(allowed)}, got {text!r}.")
        return text == "yes" if hint is bool else text
    words = [word for part in get_args(hint) for word in get_args(part)]
    if text in words or (str in get_args(hint) and text.endswith("/d")):
        return text
    whole = hint is int or int in get_args(hint)
    try:
        return int(text) if whole else float(text)
    except ValueError:
        expected = " or ".join(["a whole number" if whole else "a number", *words])
        raise UsageError(f"{as_flag(name)}: expected {expected}, got {text!r}.") from None


def choice(name: str, text: str, kinds: Mapping[str, type]) -> type:
    """The class of that name, spelled as a flag value or as in Python."""
    kind = find(text, kinds)
    if kind is None:
        raise UsageError(f"{as_flag(name)}: there is no {text!r}; {unknown(text, kinds)}")
    return kind
