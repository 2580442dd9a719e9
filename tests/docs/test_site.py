"""The documentation site: every public name has an entry with an example, links are followed and checked.

The whole site is built by ``make docs``, and here by a slow test. The quick tests read the sources of all
pages as Sphinx does, but run no example of the gallery and write no page.
"""

import importlib
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from budgetron import algorithms
from tests.helpers.cases import each

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
pytestmark = pytest.mark.skipif(not SITE.exists(), reason="needs a checkout")


@pytest.fixture
def part(monkeypatch):
    """A module of docs/site by name."""
    monkeypatch.syspath_prepend(str(SITE))
    for name in ("check", "conf", "formulas", "reference", "sources"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


# ---- the reference


def test_every_public_name_has_an_example(part):
    reference = part("reference")
    names = reference.public_names()
    assert {"budgetron.OnlineClassifier", "budgetron.evaluate.tune", "budgetron.client.Client"} <= {*names}
    texts = {name: inspect.getdoc(reference.member(name)) or "" for name in names}
    assert [name for name, text in texts.items() if ">>> " not in text] == []


def test_every_public_name_has_a_page_and_stands_in_the_index(part):
    reference = part("reference")
    pages = {place.stem: text for place, text in reference.reference().items()}
    names = set(reference.public_names())
    assert names <= set(pages)
    listed = re.findall(r"^   \* - :py:obj:`~(\S+)`$", pages["index"], re.MULTILINE)
    assert sorted(listed) == sorted(names)
    assert all(f":: {name}\n" in pages[name] for name in names)


# ---- the mathematics

PAPERS = [name for name in algorithms.__all__ if name != "auto"]


@each("name", PAPERS)
def test_the_mathematics_of_every_algorithm(name):
    """A page with both notations, the reference and the composition, and a link from the docstring."""
    text = (ROOT / "docs" / "mathematics" / f"{name}.md").read_text()
    assert text.startswith(f"# `{name}`: ")
    for heading in ("In the paper's notation", "In ours", "The reference", "The composition"):
        assert f"## {heading}\n" in text
    assert "\n`tests/references/" in text
    assert re.search(rf"^>>> {name}\(", text, re.MULTILINE)
    assert f"</mathematics/{name}>" in inspect.getdoc(getattr(algorithms, name))
    assert f"({name}.md)" in (ROOT / "docs" / "mathematics" / "index.md").read_text()


# ---- numbers that are said twice


def test_the_landing_page_has_the_numbers_of_the_benchmark():
    rows = re.findall(r"^\| (.+?) \|$", (ROOT / "docs" / "streams_benchmark.md").read_text(), re.MULTILINE)
    summary = {cells[0]: cells for cells in (row.split(" | ") for row in rows) if len(cells) == 12}
    landing = (SITE / "index.md").read_text().split("## Compared with other libraries")[1]
    said = [line.strip("| ").split(" | ") for line in landing.splitlines() if line.startswith("| ")][1:]
    names = ["Hoeffding", "ARF 10", "ARF 30", "KNN", "SGD", "boosting"]
    for name, (_, error, ahead, behind, slower) in zip(names, said, strict=True):
        cells = summary[name]
        assert [error, ahead] == [cells[2], f"{cells[8]} of {cells[1]}"]
        assert [behind, slower] == cells[9:11]


def test_the_page_on_algorithms_has_the_numbers_of_its_table():
    table = (ROOT / "docs" / "concepts" / "which_algorithm.md").read_text()
    text = " ".join(table.split())
    for name, sentence in {
        "`rbp`": "from {0} to",
        "`bpa_p`": "to {0} %, and the time",
        "`fogd`": "`fogd` has {0} % in {1} µs",
        "`OnlineClassifier()`, untuned": "and the default {0} % in {1} µs",
    }.items():
        line = rf"^\| {re.escape(name)} \| \**([\d.]+)\** \| ([\d.]+) \|"
        [(error, time)] = re.findall(line, table, re.MULTILINE)
        assert sentence.format(error, time) in text


def test_the_counts_of_the_papers_are_those_of_the_report():
    report = (ROOT / "reproduction" / "REPORT.md").read_text()
    index = (ROOT / "docs" / "papers" / "index.md").read_text()
    for paper in ("orabona2008", "zhao2012", "zhao2012b", "lu2016", "le2016"):
        line = rf"^\| {paper}, Table \d+ \| (\d+) \|(?:[^|\n]*\|){{3}} ([^|\n]*) \| ([^|\n]*) \|"
        rows = re.findall(line, report, re.MULTILINE)
        told = rf"\({paper}\.md\).*?\| (\d+) \| ([^|]*) \| ([^|]*) \|$"
        [(cells, better, far)] = re.findall(told, index, re.MULTILINE)
        assert int(cells) == sum(int(count) for count, *_ in rows)
        assert better == total([text for _, text, _ in rows], "no deviations printed")
        assert far == total([text for *_, text in rows], "numbers lost")


def total(shares, otherwise):
    """The sum of shares such as "3 of 4"; of empty ones, other words."""
    counts = [tuple(map(int, text.split(" of "))) for text in shares if " of " in text]
    return " of ".join(str(sum(column)) for column in zip(*counts, strict=True)) or otherwise


# ---- links follow their pages


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("docs/index.md", "../CHANGELOG.md", "changelog.md"),
        ("docs/index.md", "evaluation.md#tuning", "evaluation.md#tuning"),
        ("docs/howto/saving.md", "../../SECURITY.md", "../security.md"),
        ("docs/papers/index.md", "../../reproduction/REPORT.md", "report.md"),
        ("docs/site/index.md", "../tutorial.md", "tutorial.md"),
        ("README.md", "docs/evaluation.md#plots", "evaluation.md#plots"),
        ("docs/design.md", "../cpp/simd/README.md", "code/cpp/simd.md"),
        ("cpp/README.md", "simd/README.md", "cpp/simd.md"),
        ("README.md", "CITATION.cff", "../../CITATION.cff"),
        ("README.md", "#install", "#install"),
        ("README.md", "https://example.org/x.md", "https://example.org/x.md"),
    ],
)
def test_links_are_moved(part, page, link, expected):
    sources = part("sources")
    assert sources.moved(ROOT / page, link, sources.pages(), ROOT / "build" / "docs-source") == expected


def test_code_is_left_alone_and_missing_pages_are_left_out(part, tmp_path):
    sources = part("sources")
    docs = tmp_path / "docs"
    (docs / "howto").mkdir(parents=True)
    code, tree = (
        "`[a](../../X.md)`\n\n```\n[a](../../X.md)\nb?\n```\n",
        "```{toctree}\n:hidden:\n:glob:\n\n../b?\nb?\n```\n",
    )
    comment = "<!-- toctree\n../b?\nb?\n-->\n"  # which a forge does not show
    (docs / "howto" / "a.md").write_text(f"[a](../../README.md)\n{code}{comment}")
    (docs / "b.md").write_text("# b\n")
    (tmp_path / "README.md").write_text("# r\n")
    sources.collect(tmp_path / "out", root=tmp_path)
    found = (tmp_path / "out" / "howto" / "a.md").read_text()
    assert found == f"[a](../readme.md)\n{code}" + tree.replace("../b?\nb?", "../b")
    (docs / "b.md").unlink()
    sources.collect(tmp_path / "out", root=tmp_path)
    assert not (tmp_path / "out" / "b.md").exists()


# ---- what was built


def test_dead_links_and_other_hosts_are_noticed(part, tmp_path):
    check = part("check")
    page = '<h1 id="top">x</h1><a href="{}">a</a><img src="{}">'
    (tmp_path / "picture.png").touch()
    (tmp_path / "good.html").write_text(page.format("#top", "picture.png"))
    assert list(check.problems(tmp_path)) == []
    for link, picture, said in [
        ("nowhere.html", "picture.png", "leads nowhere"),
        ("good.html#bottom", "picture.png", "has no anchor"),
        ("https://example.org/", "picture.png", None),
        ("#top", "https://example.org/p.png", "asks another host"),
        ("#top", "//example.org/p.png", "asks another host"),
        ("#top", "gone.png", "leads nowhere"),
    ]:
        (tmp_path / "page.html").write_text(page.format(link, picture))
        found = list(check.problems(tmp_path))
        assert len(found) == (said is not None)
        assert said is None or said in found[0]
    (tmp_path / "page.html").unlink()
    (tmp_path / "style.css").write_text("@import 'https://example.org/a.css'; a {background: url(b.png)}")
    assert len(list(check.problems(tmp_path))) == 1


def test_a_formula_that_stretches_without_end_is_refused(part):
    pytest.importorskip("ziamath")
    formulas = part("formulas")
    assert formulas.formula(r"\sum_i \alpha_i", inline=True).startswith("<svg")
    with pytest.raises(ValueError, match="em high"):
        formulas.formula(r"\left| \sum_{i \ne j} b_i \right|^2", inline=False)


def needs_sphinx():
    """Skip a test where the extra docs is not installed."""
    for name in (
        "sphinx",
        "myst_parser",
        "pydata_sphinx_theme",
        "sphinx_design",
        "sphinx_gallery",
        "ziamath",
    ):
        pytest.importorskip(name)


def read_by_sphinx(source, trees):
    """What Sphinx says to the sources when it only reads them; no example of the gallery is run."""
    flags = ["-q", "-W", "--keep-going", "-b", "dummy", "-D", "plot_gallery=0"]
    words = [*flags, "-c", SITE, "-d", trees, source, trees.parent / "nothing"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words)],
        env={**os.environ, "MPLBACKEND": "agg", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_the_sources_of_all_pages(part, tmp_path):
    """Sphinx reads them without a warning, and formulas can be drawn."""
    needs_sphinx()
    from docutils import nodes

    reference, sources, formulas = part("reference"), part("sources"), part("formulas")
    sources.collect(tmp_path / "source", reference.reference)
    assert read_by_sphinx(tmp_path / "source", tmp_path / "trees") == ""
    pages = {path.stem: pickle.loads(path.read_bytes()) for path in tmp_path.glob("trees/**/*.doctree")}
    assert {"projectron", "orabona2008", "budgetron.OnlineClassifier"} <= set(pages)
    for inline, kind in ((True, nodes.math), (False, nodes.math_block)):
        for text in {node.astext() for page in pages.values() for node in page.findall(kind)}:
            assert formulas.formula(text, inline=inline).startswith("<svg")


def built(source, folder):
    """Run Sphinx with the configuration of the site, warnings as errors."""
    needs_sphinx()
    from sphinx.application import Sphinx

    app = Sphinx(source, SITE, folder, folder / ".doctrees", "html", warningiserror=True, status=None)
    app.build()
    assert app.statuscode == 0
    return {path.stem: path.read_text() for path in folder.glob("**/*.html")}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_our_own_sections_and_formulas_appear(part, tmp_path, monkeypatch):
    """A docstring parser may drop a section that it does not know, without a word, as numpydoc does."""
    reference = part("reference")
    monkeypatch.setattr(part("sources"), "GALLERY", tmp_path / "none")
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# Title\n\n$\\alpha < 1$\n\n```{toctree}\nentry\n```\n")
    (source / "entry.rst").write_text(reference.page("budgetron.SampleByWeight"))
    pages = built(source, tmp_path / "out")
    assert "Departs from the paper" in pages["entry"]
    assert 'aria-label="\\alpha &lt; 1"' in pages["index"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_whole_site(part, tmp_path):
    reference, sources, check = part("reference"), part("sources"), part("check")
    sources.collect(tmp_path / "source", reference.reference)
    pages = built(tmp_path / "source", tmp_path / "out")
    assert list(check.problems(tmp_path / "out")) == []
    for name in reference.public_names():
        assert f'id="{name}"' in pages[name], name
    assert list(reference.lost(tmp_path / "out")) == []
    assert (tmp_path / "out" / "searchindex.js").stat().st_size > 100_000
