"""Write the stubs of all packages that list their public names: `python .ci/stubs.py FOLDER`.

FOLDER stands for that of ``budgetron``. The build writes them beside the installed modules, `make stub`
beside the sources, where mypy and editors look for them. A build has no NumPy: packages are imported, and
none of their modules.
"""

import pkgutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import budgetron  # noqa: E402
from budgetron._util.exports import HOMES, MODULES  # noqa: E402


def stub(package: str) -> str:
    """The text of a stub: an import for each name."""
    homes = sorted((home, name) for name, home in HOMES[package].items())
    lines = [f"from {home} import {name} as {name}" for home, name in homes]
    for name, place in MODULES[package].items():
        folder, _, module = place.rpartition(".")
        lines.append(f"from {folder} import {module} as {name}")
    return "\n".join([*lines, f"__all__ = {sorted(HOMES[package])!r}", ""])


def main(out: Path) -> None:
    """Import all packages, each of which notes its names, and write their stubs."""
    for _ in pkgutil.walk_packages(budgetron.__path__, "budgetron.", onerror=lambda _: None):
        pass  # a package whose extra is not installed notes its names before it says so
    for package in HOMES:
        path = out.joinpath(*package.split(".")[1:], "__init__.pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub(package), encoding="utf-8")


main(Path(sys.argv[1]))
