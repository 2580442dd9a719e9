"""Writes the pages of the reference: one for every public name, and an index by kind.

The public names are those of ``budgetron``, and those of the modules that it shows, such as
``budgetron.evaluate``. There is no list to keep: a new name gets its page with the next build.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from budgetron._util.exports import HOMES, MODULES

HIDDEN = {"executors", "model_files"}  # for those who extend the package
KINDS = {  # titles of the index, and the modules whose names stand there; the first that fits counts
    "Algorithms": ("learners.algorithms",),
    "Estimators": ("estimators", "model.one_by_one", "evaluate.parallel", "merging"),
    "Learners": ("learners",),
    "Kernels": ("parts.kernels",),
    "Losses": ("parts.losses",),
    "Rules": ("parts.rules", "parts.vector_rules"),
    "Budgets": ("parts.budgets",),
    "Feature maps": ("parts.features",),
    "Export": ("export",),
}
SECTION = "Departs from the paper"
OTHER = "Records, files and errors"
BASES = (
    "BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, Exception, tuple, str, object, "
    "MiniBatchClassifier, MiniBatchRegressor, Transformer, Base"
)


def top_level() -> dict[str, str]:
    """The names of ``budgetron``, each with the title it stands under."""
    homes = {name: home for name, home in sorted(HOMES["budgetron"].items()) if name != "__version__"}
    return {name: _title(home.removeprefix("budgetron.")) for name, home in homes.items()}


def _title(home: str) -> str:
    titles = ((title, module) for title, modules in KINDS.items() for module in modules)
    return next((title for title, module in titles if f"{home}.".startswith(f"{module}.")), OTHER)


def of_modules() -> dict[str, list[str]]:
    """The modules that ``budgetron`` shows and that have names of their own, each with its public names."""
    places = {name: place for name, place in sorted(MODULES["budgetron"].items()) if name not in HIDDEN}
    modules = {name: _public(import_module(place)) for name, place in places.items()}
    return {name: names for name, names in modules.items() if not set(names) <= set(HOMES["budgetron"])}


def _public(module: object) -> list[str]:
    """The names of ``__all__``, or of the classes and functions that are defined in the module."""
    if listed := getattr(module, "__all__", None):
        return sorted(listed)
    return sorted(
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(member) or inspect.isfunction(member))
        and member.__module__ == module.__name__  # type: ignore[attr-defined]
    )


def public_names() -> list[str]:
    """Every public name with its full path."""
    inside = [f"budgetron.{module}.{name}" for module, names in of_modules().items() for name in names]
    return [*(f"budgetron.{name}" for name in top_level()), *inside]


def member(path: str) -> object:
    """What a full path names."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def page(path: str) -> str:
    """The page of one name, as reStructuredText."""
    module, _, name = path.rpartition(".")
    directive, options = "autofunction", ""
    if inspect.isclass(member(path)):
        directive, options = "autoclass", f"   :members:\n   :inherited-members: {BASES}\n"
    elif not callable(member(path)):
        directive = "autodata"
    return f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: {module}\n\n.. {directive}:: {path}\n{options}"


def kinds() -> dict[str, list[str]]:
    """The titles of the index, each with the full paths that stand under it."""
    found: dict[str, list[str]] = {title: [] for title in (*KINDS, OTHER)}
    for name, title in top_level().items():
        found[title].append(f"budgetron.{name}")
    for module, names in of_modules().items():
        found[f"budgetron.{module}"] = [f"budgetron.{module}.{name}" for name in names]
    return {title: paths for title, paths in found.items() if paths}


def table(paths: list[str]) -> list[str]:
    """The names, each with the first line of its docstring."""
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for path in paths:
        summary = (inspect.getdoc(member(path)) or "").partition("\n")[0]
        lines += [f"   * - :py:obj:`~{path}`", f"     - {summary}"]
    return [*lines, ""]


def heading(title: str, line: str) -> list[str]:
    """A title and the line under it."""
    return [title, line * len(title), ""]


def kind(title: str, paths: list[str]) -> str:
    """The page of one kind: the docstring of the module if it is one, and a table."""
    lines = heading(title, "=")
    if title.startswith("budgetron."):
        lines += [f".. automodule:: {title}", "   :no-members:", ""]
    entries = [f"   {path}" for path in paths]
    return "\n".join([*lines, *table(paths), ".. toctree::", "   :hidden:", "", *entries, ""])


def slug(title: str) -> str:
    """The file name of a kind."""
    return title.lower().replace(" ", "_").replace(",", "")


def index() -> str:
    """The index of the reference."""
    lines = [*heading("Reference", "="), "Every public name, by kind.", ""]
    for title, paths in kinds().items():
        lines += [*heading(title, "-"), *table(paths)]
    entries = [f"   {slug(title)}" for title in kinds()]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *entries, ""])


def reference() -> dict[Path, str]:
    """All pages, by their places on the site."""
    texts = {Path("reference") / f"{path}.rst": page(path) for path in public_names()}
    texts |= {
        Path("reference") / f"{slug(title)}.rst": kind(title, paths) for title, paths in kinds().items()
    }
    return texts | {Path("reference/index.rst"): index()}


def lost(site: Path) -> Iterator[str]:
    """Names whose built page lacks the section that their docstring has: a parser may drop it silently."""
    for path in public_names():
        built = site / "reference" / f"{path}.html"
        if SECTION in (inspect.getdoc(member(path)) or "") and SECTION not in built.read_text(
            encoding="utf-8"
        ):
            yield f"reference/{path}.html: the section {SECTION!r} is lost."
