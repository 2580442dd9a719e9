"""Learners from flags. What an algorithm, a kernel or a maintenance takes is read off its signature."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from argparse import SUPPRESS, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from budgetron import _check, algorithms
from budgetron._exports import exported
from budgetron._spec import Spec
from budgetron._tasks import Task
from budgetron.budgets._budget import Budget
from budgetron.budgets.maintenance import Maintained
from budgetron.cli.arguments import Parser
from budgetron.cli.process import Usage
from budgetron.kernels import Gaussian, Kernel, Laplacian
from budgetron.learners import Learner, Model

PREFIX = "flag "  # keeps them apart from the other arguments of a command
WIDTHS: dict[str, Callable[[float], Kernel]] = {
    "gaussian": Gaussian.of_width,
    "laplacian": lambda sigma: Laplacian(gamma=1 / sigma),
}
"""The kernels that papers give a width sigma."""

MEANINGS = {
    "C": "the largest step of one update",
    "U": "the bound on the norm of f that stands in for a budget",
    "beta": "maintenance happens with probability beta/t",
    "budget": "the largest number of support vectors",
    "cap": "the largest coefficient, in steps (gamma in the paper)",
    "components": "the number of Fourier frequencies",
    "epsilon": "regression: errors up to epsilon are ignored",
    "eta": "the step size; the projectrons: the tolerance of a projection",
    "lam": "the weight of the regulariser",
    "loss": "the loss",
    "maintenance": "what makes room when the budget is full",
    "neighbours": "project-smallest: on so many neighbours only",
    "nu": "the share of rows outside the tube",
    "rank": "the rank of the Nystrom map",
    "reading": "definition, or program: as in the program that Lu et al. 2016 published",
    "rho": "how much two rows must contradict each other to be updated together",
    "step": "the step size of projectron",
}


def add_flags(parser: Parser) -> None:
    """The flags of all kernels and all algorithms."""
    group = parser.add_argument_group("kernel")
    kernels = members(Kernel)
    _add(group, "kernel", f"{', '.join(kernels)}; gaussian if not given")
    _add(group, "sigma", f"of {', '.join(WIDTHS)}: the width that papers give")
    for name in _kernel_flags()[2:]:
        _add(group, name, f"of {', '.join(k for k, kind in kernels.items() if name in fields(kind))}")
    group = parser.add_argument_group("algorithm", "Which algorithm takes which is listed below.")
    for name in sorted({name for algorithm in algorithms.__all__ for name in taken(algorithm)}):
        _add(group, name, _meaning(name))
    rows = ((name, " ".join(map(spelt, taken(name)))) for name in algorithms.__all__)
    listed = "\n".join(f"  {name:<18} {flags}" for name, flags in rows)
    parser.epilog = f"algorithms\n{listed}\n\n{parser.epilog}"


def given(args: Namespace) -> dict[str, str]:
    """The flags of `add_flags` that were given, as texts."""
    return {key.removeprefix(PREFIX): text for key, text in vars(args).items() if key.startswith(PREFIX)}


def named(algorithm: str) -> str:
    """The algorithm's name as Python has it; "projectron++" and hyphens are understood."""
    name = algorithm.lower().replace("++", "_pp").replace("-", "_")
    if name not in algorithms.__all__:
        near = difflib.get_close_matches(name, algorithms.__all__, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(algorithms.__all__)}."
        raise Usage(f"there is no algorithm {algorithm!r}; {hint}")
    return name


def learners(names: Sequence[str], flags: Mapping[str, str]) -> dict[str, Learner]:
    """Each algorithm with those of the flags that it takes; each flag must be taken by one of them."""
    kernel = _kernel({name: text for name, text in flags.items() if name in _kernel_flags()})
    own = {name: text for name, text in flags.items() if name not in _kernel_flags()}
    for name in own:
        if not any(name in taken(algorithm) for algorithm in names):
            takes = "; ".join(f"{algorithm} takes {spelt_all(taken(algorithm))}" for algorithm in names)
            raise Usage(f"{spelt(name)} is not for {', '.join(names)}: {takes}.")
    return {name: _learner(name, kernel, own) for name in names}


def check(learner: Learner, task: Task, columns: int, seed: int) -> None:
    """Whether the learner can be built, found out before the first row is learned."""
    try:
        Model(learner.resolved(sparse.csr_matrix((1, columns))), task, columns, "float64", seed)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from error


def taken(algorithm: str) -> dict[str, Any]:
    """What an algorithm takes beside the kernel: the type of each parameter."""
    hints = _types(algorithm)
    for kind in members(hints["maintenance"]).values() if "maintenance" in hints else ():
        hints = hints | {name: hint for name, hint in fields(kind).items() if name != "budget"}
    return hints


@cache
def _types(algorithm: str) -> dict[str, Any]:
    hints = get_type_hints(getattr(algorithms, algorithm))
    return {name: hint for name, hint in hints.items() if name not in ("kernel", "return")}


def _learner(algorithm: str, kernel: Kernel, flags: Mapping[str, str]) -> Learner:
    function, hints = getattr(algorithms, algorithm), _types(algorithm)
    defaults = {p.name: p.default for p in inspect.signature(function).parameters.values()}
    values = {name: read(name, hints[name], text) for name, text in flags.items() if name in hints}
    for name in hints:
        if defaults[name] is inspect.Parameter.empty and name not in values:
            raise Usage(f"{algorithm} needs {spelt(name)}.")
    inner = {name: text for name, text in flags.items() if name in taken(algorithm) and name not in hints}
    if inner:
        kind = values.get("maintenance", defaults["maintenance"])
        values["maintenance"] = partial(kind, **_options(kind, inner))
    try:
        made: Learner = function(kernel, **values)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from error
    return made


def _options(kind: Any, flags: Mapping[str, str]) -> dict[str, Any]:
    """What belongs to the maintenance itself."""
    own = fields(kind)
    for name in flags:
        if name not in own:
            raise Usage(f"{spelt(name)} is not for the maintenance {kebab(kind.__name__)}.")
    return {name: read(name, own[name], text) for name, text in flags.items()}


@cache
def _kernel_flags() -> tuple[str, ...]:
    kinds = members(Kernel).values()
    return tuple(dict.fromkeys(["kernel", "sigma", *(name for kind in kinds for name in fields(kind))]))


def _kernel(flags: Mapping[str, str]) -> Kernel:
    name = flags.get("kernel", "gaussian")
    kind = choice("kernel", name, members(Kernel))
    name = kebab(kind.__name__)
    takes = fields(kind) | ({"sigma": float} if name in WIDTHS else {})
    values = {key: text for key, text in flags.items() if key != "kernel"}
    for key in values:
        if key not in takes:
            raise Usage(f"{spelt(key)} is not for the kernel {name}, which takes {spelt_all(takes)}.")
    if {"sigma", "gamma"} <= set(values):
        raise Usage("--sigma and --gamma are two ways to say one thing: give one of them.")
    numbers = {key: read(key, takes[key], text) for key, text in values.items()}
    try:
        if "sigma" in numbers:
            kernel: Kernel = WIDTHS[name](_check.positive(name, "sigma", numbers["sigma"]))
        else:
            kernel = kind(**numbers)
        kernel.resolved(np.zeros((1, 1))).build()
    except ValueError as error:
        raise Usage(str(error)) from error
    return kernel


def _meaning(name: str) -> str:
    """What a flag is, and what it can be where that is a name."""
    about = MEANINGS.get(name) or _documented(name)
    hints = {taken(algorithm)[name] for algorithm in algorithms.__all__ if name in taken(algorithm)}
    names = sorted({member for hint in hints for member in members(hint)})
    return f"{about}{': ' if about and names else ''}{', '.join(names)}"


def _documented(name: str) -> str:
    """The first clause about a parameter in the docstring of an algorithm."""
    texts = (inspect.getdoc(getattr(algorithms, algorithm)) or "" for algorithm in algorithms.__all__)
    found = (re.search(rf"^{name} : .*\n((?:    .*\n)+)", text, re.MULTILINE) for text in texts)
    said = next((match[1] for match in found if match), "")
    return re.split(r"[.;](?:\s|$)", " ".join(said.split()))[0].replace("%", "%%")


def _add(group: Any, name: str, about: str) -> None:
    group.add_argument(spelt(name), dest=f"{PREFIX}{name}", metavar="X", default=SUPPRESS, help=about)


# ---- values from the texts of flags, by the types that signatures give them


def spelt(name: str) -> str:
    """A parameter as a flag."""
    return f"--{name.replace('_', '-')}"


def spelt_all(names: Iterable[str]) -> str:
    """Parameters as flags."""
    return ", ".join(map(spelt, names)) or "none"


def kebab(name: str) -> str:
    """The name of a class as flags have it: ``SquaredHinge`` is squared-hinge."""
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


@cache
def members(hint: Any) -> dict[str, type]:
    """The descriptions that a parameter of this type can be, by the names that flags have for them."""
    if get_origin(hint) is Callable:
        hint = Maintained  # Callable[[int], Budget], which makes one
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Spec) and kind is not Budget:
            found = exported(kind).items()
            return {kebab(name): member for name, member in found if dataclasses.is_dataclass(member)}
    return {}


@cache
def fields(kind: type) -> dict[str, Any]:
    """The parameters of a description, and their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def read(name: str, hint: Any, text: str) -> Any:
    """The value of a flag; a class for what makes a description, a description for what is one."""
    if kinds := members(hint):
        kind = choice(name, text, kinds)
        return kind if get_origin(hint) is not None and _makes(hint) else kind()
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise Usage(f"{spelt(name)}: expected {' or '.join(get_args(hint))}, got {text!r}.")
        return text
    words = [word for part in get_args(hint) for word in get_args(part)]
    if text in words:
        return text
    whole = hint is int or int in get_args(hint)
    try:
        return int(text) if whole else float(text)
    except ValueError:
        expected = " or ".join(["a whole number" if whole else "a number", *words])
        raise Usage(f"{spelt(name)}: expected {expected}, got {text!r}.") from None


def choice(name: str, text: str, kinds: Mapping[str, type]) -> type:
    """The member of that name, as flags or as Python spells it."""
    key = kebab(text).replace("_", "-")
    if key not in kinds:
        near = difflib.get_close_matches(key, kinds, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(kinds)}."
        raise Usage(f"{spelt(name)}: there is no {text!r}; {hint}")
    return kinds[key]


def _makes(hint: Any) -> bool:
    return get_origin(hint) in (type, Callable)
