"""Collects the pages of the site in one folder, as Sphinx wants them.

The Markdown pages are also read where they are, on a forge and by pytest, so their links lead from file to
file of the repository. Here every page gets its place on the site, and every link follows it. A link to a
file that is no page leads to the file itself, and Sphinx copies it. What only the site needs stands in the
pages as a comment, which a forge does not show: ``<!-- toctree``, and ``<!-- tables of PAPER -->``.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "gallery"  # scripts, from which sphinx-gallery makes gallery/index

ELSEWHERE = {  # pages that are not under docs/, or not where the site has them
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "reproduction/REPORT.md": "papers/report.md",
    "reproduction/README.md": "papers/package.md",
    "docs/index.md": "pages.md",
    "benchmarks/README.md": "code/benchmarks.md",
    "tests/README.md": "code/tests.md",
}
ROOMS = ("cpp", "src/budgetron")  # each folder in them may have a README, which is a page in code/
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
PERHAPS = re.compile(r"^(\S+)\?\n", re.MULTILINE)
TABLES = re.compile(r"^<!-- tables of (\w+) -->$", re.MULTILINE)
TREE = re.compile(r"^<!-- toctree\n(.*?)^-->$", re.DOTALL | re.MULTILINE)
SEE_ALSO = re.compile(r"^See also: (`budgetron\.\w+`)", re.MULTILINE)


def pages(root: Path = ROOT) -> dict[Path, Path]:
    """The Markdown files of the site, each with its place there."""
    found = {root / path: Path(place) for path, place in ELSEWHERE.items() if (root / path).exists()}
    for room in ROOMS:
        for path in sorted((root / room).rglob("README.md")):
            found[path] = Path("code", path.parent.relative_to((root / room).parent).with_suffix(".md"))
    for path in sorted((root / "docs").rglob("*.md")):
        place = path.relative_to(root / "docs")
        found.setdefault(path, Path(*place.parts[1:]) if place.parts[0] == "site" else place)
    return found


def moved(page: Path, link: str, places: dict[Path, Path], folder: Path) -> str:
    """A relative link of a page, as it must be when all pages have their places in the folder."""
    path, mark, anchor = link.partition("#")
    if not path or ":" in path or path.startswith("/"):
        return link
    target = Path(os.path.normpath(page.parent / path))
    target = folder / places[target] if target in places else target
    return os.path.relpath(target, (folder / places[page]).parent).replace(os.sep, "/") + mark + anchor


def on_the_site(page: Path, places: dict[Path, Path], folder: Path) -> str:
    """The text of a page with all links moved; links in code are no links."""

    def follow(match: re.Match[str]) -> str:
        return match[1] + moved(page, match[2], places, folder) + match[3]

    text = TREE.sub(r"```{toctree}\n:hidden:\n:glob:\n\n\1```", page.read_text(encoding="utf-8"))
    parts = CODE.split(SEE_ALSO.sub(r"See also: {py:func}\1", text))
    parts[::2] = [LINK.sub(follow, text) for text in parts[::2]]
    parts[1::2] = [_without_missing(code, page, places) for code in parts[1::2]]
    text = "".join(part.replace("\n\n```", "\n```") if part.startswith("```") else part for part in parts)
    return TABLES.sub(lambda match: sections_of(match[1], places, folder), text)


def _without_missing(code: str, page: Path, places: dict[Path, Path]) -> str:
    """A toctree without its entries ``name?`` for which there is no page; other code as it is."""
    if not code.startswith("```{toctree}"):
        return code
    there = {place.with_suffix("").as_posix() for place in places.values()}
    there |= {"gallery/index"} if GALLERY.is_dir() else set()

    def kept(match: re.Match[str]) -> str:
        entry = os.path.normpath(places[page].parent / match[1]).replace(os.sep, "/")
        return f"{match[1]}\n" if entry in there else ""

    return PERHAPS.sub(kept, code)


def sections_of(paper: str, places: dict[Path, Path], folder: Path) -> str:
    """The tables and figures of a paper, from the report, which stands in the same folder of the site."""
    report = next(page for page in places if page.name == "REPORT.md")
    _, *sections = re.split(r"^(?=### )", on_the_site(report, places, folder), flags=re.MULTILINE)
    return "".join(section for section in sections if section.startswith(f"### {paper}, "))


def collect(folder: Path, more: Callable[[], dict[Path, str]] = dict, root: Path = ROOT) -> None:
    """Write all pages to the folder. Unchanged pages keep their time; pages that are gone are removed."""
    places = pages(root)
    texts = {place: on_the_site(page, places, folder) for page, place in places.items()} | more()
    for old in [*folder.rglob("*.md"), *(folder / "reference").rglob("*.rst")]:
        if old.relative_to(folder) not in texts:
            old.unlink()
    if not GALLERY.is_dir():
        shutil.rmtree(folder / "gallery", ignore_errors=True)
    for old in (folder / "gallery").glob(
        "plot_*"
    ):  # sphinx-gallery keeps the pages of scripts that are gone
        if not (GALLERY / f"{old.name.partition('.')[0]}.py").exists():
            old.unlink()
    for place, text in texts.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
