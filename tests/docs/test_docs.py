"""The pages: links work, quoted code equals the source, and every public class has a page."""

import re
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import indent

import pytest

import budgetron
from budgetron import algorithms
from budgetron._util import choices
from budgetron._util.exports import exported
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss
from tests.helpers import trajectories
from tests.helpers.cases import each

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("reproduction/*.md")),
    *sorted(path for place in ("benchmarks", "cpp", "src") for path in ROOT.glob(f"{place}/**/README.md")),
]
LONGEST = 25  # lines of C++ that a page shows at once
WALKS = [ROOT / "docs" / "from_paper_to_code.md", ROOT / "docs" / "add_an_algorithm.md"]
NOUNS = {  # whose members stand on which page
    budgetron.Kernel: "kernels.md",
    budgetron.Loss: "losses.md",
    budgetron.Rule: "rules.md",
    budgetron.VectorRule: "rules.md",
    budgetron.Budget: "budgets.md",
    budgetron.FeatureMap: "features.md",
    budgetron.CellMap: "features.md",
    budgetron.Learner: "learners.md",
    budgetron.DualMaintenance: "learners.md",
}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RAW = re.compile(r"^(?:`{3,}|:{3,})\{.*|\{(?:py:)?[a-z]{3,}\}`", re.MULTILINE)  # directives and roles
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

each_page = each("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
SHOWING = [*WALKS, *sorted(ROOT.glob("docs/mathematics/*.md")), *sorted(ROOT.glob("docs/papers/*.md"))]
each_showing = each(
    "page",
    [page for page in SHOWING if page.name not in ("index.md", "items.md")],
    ids=lambda page: page.name,
)


# ---- links


def anchors(page):
    """The anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page, link):
    """Whether a relative link is broken."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@each_page
def test_links_lead_somewhere(page):
    links = LINK.findall(FENCE.sub("", page.read_text()))
    assert [link for link in links if "://" not in link and broken(page, link)] == []


def test_every_page_is_on_the_map():
    links = set(LINK.findall((ROOT / "docs" / "index.md").read_text()))
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"index.md"}
    assert pages <= links, sorted(pages - links)


@pytest.mark.parametrize("link", ["nowhere.md", "design.md#no-such-heading", "#no-such-heading"])
def test_broken_links_are_noticed(link):
    page = ROOT / "docs" / "streams.md"
    assert broken(page, link)
    assert not broken(page, "design.md#the-path-of-one-row")


# ---- commands


def targets():
    """The targets of the Makefile that have a name, each with the rest of its line."""
    return dict(re.findall(r"^([a-z][a-z-]*):(?!=)(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_target_says_what_it_does():
    assert {name for name, line in targets().items() if " ## " not in line} == set()


@each_page
def test_targets_that_a_page_names_are_there(page):
    named = re.findall(r"(?:`|^    )make ([a-z][a-z-]+)", page.read_text(), re.MULTILINE)
    assert set(named) <= set(targets())


@each("folder", sorted({p.parent for p in ROOT.glob("benchmarks/**/*.py")}), ids=lambda folder: folder.name)
def test_every_measurement_has_a_line(folder):
    text = (ROOT / "benchmarks" / "README.md").read_text()
    names = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert {name for name in names if f"| `{name}` |" not in text} == set()


@each_page
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"`((?:\.ci|benchmarks|cpp|docs|examples|fuzz|reproduction|src|tests)/[a-z_0-9./]+)`",
        page.read_text(),
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


# ---- rooms

ROOMS = sorted(path.parent for path in ROOT.glob("src/budgetron/*/README.md"))


@each("room", ROOMS, ids=lambda room: room.name)
def test_the_files_of_a_room_are_those_there_are(room):
    """A README with a table of files has all of them, and no other. It is short."""
    text = (room / "README.md").read_text()
    assert len(text.splitlines()) <= 60
    if "\n| file | holds |" not in text:
        return
    rows = text.split("\n| file | holds |")[1].split("\n\n")[0].splitlines()[2:]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}
    files = {path.name for path in room.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.name}/" for path in room.iterdir() if (path / "__init__.py").exists()}
    assert named - folders == files
    assert {folder for folder in folders if f"`{folder}`" not in text} == set()


# ---- code shown is code there is


def missing(block, text):
    """The first piece of a block that the file does not contain in this order. "..." separates pieces."""
    place = 0
    for part in re.split(r"^ *\.\.\.\n", block, flags=re.MULTILINE):
        piece = part.strip("\n") + "\n"  # blank lines around "..." are those of the page
        found = f"\n{text}".find(f"\n{piece}", place)
        if found < 0:
            return piece
        place = found + len(piece)
    return None


@each_showing
def test_code_is_that_of_the_file(page):
    """A block that stands deeper in its file may be shown without that indentation."""
    shown = SHOWN.findall(page.read_text())
    assert shown
    for path, block in shown:
        text = (ROOT / path).read_text()
        assert None in [missing(indent(block, blanks), text) for blanks in ("", "  ", "    ")], path


@each_showing
def test_cpp_that_is_shown_is_short_and_whole(page):
    for path, block in SHOWN.findall(page.read_text()):
        if path.endswith(".hpp") and page not in WALKS:
            assert len(block.splitlines()) <= LONGEST
            assert block.count("{") == block.count("}")


@each_page
def test_no_page_needs_the_site_to_be_read(page):
    """On a forge, a directive or a role of Sphinx is raw text. What only the site needs is a comment."""
    if "site" not in page.parts:
        assert RAW.findall(page.read_text()) == []


@each_showing
def test_all_code_says_where_it_is_from(page):
    """A block is code of a file, a runnable example, or a command."""
    text = page.read_text()
    named = [block for _, block in SHOWN.findall(text)]
    for language, block in FENCE.findall(text):
        assert block in named or ">>> " in block or language == "sh", block


def test_drift_is_noticed():
    text = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert missing("def f():\n    ...\n    return 2\n", text) is None
    assert missing("def g():\n    ...\ndef f():\n", text) == "def f():\n"
    assert missing("return 1\n", text) == "return 1\n"  # not as it stands there
    assert missing("    return 3\n", text) == "    return 3\n"


def test_the_count_of_lines_is_right():
    text = WALKS[1].read_text()
    [said] = re.findall(r"\*\*(\d+) lines\*\*", text)
    lines = [line.strip() for _, block in SHOWN.findall(text) for line in block.splitlines()]
    assert int(said) == sum(line not in ("", "...") for line in lines)


def test_every_file_of_the_example_is_named():
    """Those that name the algorithm or have its budget, where each algorithm must be; others compare."""
    text = WALKS[1].read_text()
    places = [
        "cpp/budgets",
        "cpp/python",
        "src/budgetron/learners/algorithms",
        "src/budgetron/parts/budgets",
    ]
    places += ["tests/references", "docs/mathematics"]
    files = [path for place in places for path in (ROOT / place).glob("*.*") if path.suffix != ".pyi"]
    files = [path for path in files if path.suffix != ".md" or path.stem in ("avm", "index")]
    found = [path for path in files if re.search(r"\bavm\b|class[ _<]+Approximate\b", path.read_text())]
    assert len(found) == 7
    assert [path for path in found if f"`{path.relative_to(ROOT).as_posix()}`" not in text] == []


# ---- every member has its place


def members():
    """Every member of a noun (bases apart) and every named algorithm, with the pages it may be on."""
    for name in budgetron.__all__:
        member = getattr(budgetron, name)
        if name in algorithms.__all__:
            yield name, "learners.md budgets.md"  # an algorithm may be in the row of its budget
        elif is_dataclass(member):
            yield from ((name, page) for noun, page in NOUNS.items() if issubclass(member, noun))


@each(("name", "pages"), list(members()))
def test_every_member_is_documented(name, pages):
    text = "\n".join((ROOT / "docs" / page).read_text() for page in pages.split())
    assert re.search(rf"^\|.*`{name}\b", text, re.MULTILINE), f"No table of {pages} has `{name}`."


def test_every_loss_and_kernel_is_compared_with_its_reference():
    """Tests with references go through these tables; sigmoid kernels have tests of their own."""
    for kind, table in ((Loss, trajectories.LOSSES), (Kernel, trajectories.KERNELS)):
        compared = {type(member).__name__ for member, _ in table.values()}
        assert {n for n, member in exported(kind).items() if is_dataclass(member)} - compared <= {"Sigmoid"}


def test_metrics_and_endpoints_are_on_their_pages():
    pytest.importorskip("starlette", reason="needs budgetron[serve]")
    from budgetron.serve import app

    paths = {path for endpoint in app.ENDPOINTS for path in endpoint.paths if "{" not in path}
    for page, words in {"evaluation.md": {*choices.LABELS, *choices.TARGETS}, "service.md": paths}.items():
        text = (ROOT / "docs" / page).read_text()
        assert sorted(word for word in words if word not in text) == []
