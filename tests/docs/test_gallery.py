"""The gallery: every example is short, has a title and a lesson, runs, and its lesson is true.

A lesson is checked with what the script leaves behind: the numbers that its picture was drawn from.
"""

import ast
import re
import runpy
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from budgetron import Merge, OnlineClassifier, RemoveOldest, Stop, SwapProject, evaluate
from tests.helpers.cases import each

FOLDER = Path(__file__).parents[2] / "examples" / "gallery"
SCRIPTS = {path.stem[len("plot_00_") :]: path for path in sorted(FOLDER.glob("plot_*.py"))}
ALLOWED = {"numpy", "sklearn", "matplotlib", "budgetron"}
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs a checkout")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs an example by name and returns its variables."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)  # where a script that wrote a file would leave it
    yield lambda name: runpy.run_path(str(SCRIPTS[name]))
    pyplot.close("all")
    assert not list(tmp_path.iterdir())


def drawn(ax):
    """The lines of a plot: label to x and y."""
    return {line.get_label(): (line.get_xdata(), line.get_ydata()) for line in ax.get_lines()}


# ---- the form


def test_there_are_thirteen_in_order():
    assert [path.stem.split("_")[1] for path in SCRIPTS.values()] == [f"{i:02}" for i in range(1, 14)]
    tested = {name[len("test_") :] for name in globals() if name.startswith("test_")}
    assert set(SCRIPTS) <= tested


@each("name", SCRIPTS)
def test_form(name):
    """At most 60 lines, a title, a lesson of one sentence at the end, and imports that everybody has."""
    text = SCRIPTS[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    tree = ast.parse(text)
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert line == "=" * len(title)
    [lesson] = re.findall(
        r"\*\*Lesson:\*\* (.*)\.\Z", text.split("# %%\n")[-1].replace("\n# ", " ").strip()
    )
    assert ". " not in lesson
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    assert {module.split(".")[0] for module in modules} <= ALLOWED | sys.stdlib_module_names


def test_pages_of_scripts_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parents[1] / "docs" / "site"))
    monkeypatch.delitem(sys.modules, "sources", raising=False)
    import sources

    (tmp_path / "gallery").mkdir()
    kept = {"index.rst", *(path.with_suffix(".rst").name for path in SCRIPTS.values())}
    for name in kept | {"plot_99_gone.rst", "plot_99_gone.py.md5"}:
        (tmp_path / "gallery" / name).touch()
    sources.collect(tmp_path)
    assert {path.name for path in (tmp_path / "gallery").iterdir()} == kept


# ---- the lessons


def test_two_moons(run):
    left = run("two_moons")
    assert left["model"].n_support_ == 20
    model = OnlineClassifier(left["model"].learner, random_state=0)
    full, last = list(evaluate.prequential(model, (left["X"], left["y"]), every=40))[::14]
    assert full.support_vectors == 20
    assert 0.04 < (last.mistakes - full.mistakes) / (last.rows - full.rows) < 0.06
    left["film"]._draw_was_started = True  # or matplotlib warns that nobody has seen it


def test_error_against_budget(run):
    left = run("error_against_budget")
    first = {name: errors[0] for name, (_, errors) in left["runs"].items()}
    last = {name: errors[-1] for name, (_, errors) in left["runs"].items()}
    merging = first.pop("bsgd, merging")
    assert merging < min(first.values()) / 2
    for family, names in left["FAMILIES"].items():
        for name in names:
            assert (last[name] < left["floor"][family] + 1.5) == (name != "fogd"), name


def test_drift(run):
    lines = {line.name: line.mean for line in run("drift")["lines"]}
    calm = {name: mean[2:15].mean() for name, mean in lines.items()}
    at_once = {name: mean[15:18].mean() for name, mean in lines.items()}
    settled = {name: mean[20:].mean() for name, mean in lines.items()}
    default, forgets = "the default", "PA, removes the oldest"
    assert at_once[default] < 1.1 * at_once[forgets]
    assert calm[default] < 0.8 * calm[forgets]
    assert settled[default] < 0.8 * settled[forgets]
    assert at_once["Kalman, never forgets"] > 2 * at_once[default]
    assert settled["stoptron"] > 40


def test_calibration(run):
    texts = [text.get_text() for text in run("calibration")["ax"].get_legend().get_texts()]
    default, stacked, squeezed = (float(text.split(": ")[1]) for text in texts)
    assert default < stacked < squeezed / 2
    assert default < 0.02


def test_faces(run):
    errors = run("faces")["errors"]
    assert 0.2 < errors[Stop] < errors[RemoveOldest] < 0.3
    assert 1 / 12 < errors[SwapProject] < 1 / 10
    assert 1 / 22 < errors[Merge] < 1 / 18


def test_new_classes(run):
    lines = {line.name: line.mean for line in run("new_classes")["lines"]}
    assert list(lines) == ["kitchen", "cellar", "bath", "loft"]
    assert all(70 < lines[name][0] < 80 for name in ("bath", "loft"))
    assert all(mean[1:].min() > 80 for mean in lines.values())
    assert all(mean[-3:].mean() > 90 for mean in lines.values())


def test_tuning(run, capsys):
    candidates = run("tuning")["found"].candidates
    assert [each.rows for each in candidates].count(125) == len(candidates) / 2 == 16
    passes, default, tuned = map(
        float, re.findall(r"^(?:\w+: )?([\d.]+)[% ]", capsys.readouterr().out, re.M)
    )
    assert passes <= 6
    assert tuned < default - 1


def test_merging(run):
    left = run("merging")
    filters, vectors = (drawn(ax) for ax in left["axes"])
    part, merged = "one part, on average", "all parts, merged"
    assert np.ptp(filters[merged][1]) < 1e-9
    assert filters[part][1][-1] > 2 * filters[merged][1][-1]
    parts, errors = vectors[merged]
    enough = 4096 / np.array(parts) >= 1000
    assert (np.array(errors)[enough] < 1.05 * errors[0]).all()
    assert (np.array(errors)[~enough] > 1.3 * errors[0]).all()


def test_the_lines_for_a_cluster(run):
    """The lines that `merging` shows and does not run."""
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    left = run("merging")
    shown = re.findall(r"^#     (.*)$", SCRIPTS["merging"].read_text(encoding="utf-8"), re.MULTILINE)
    with dask.config.set(scheduler="synchronous"):
        exec(dedent("\n".join(shown)), left)
    assert left["model"].n_features_in_ == 2


def test_intervals(run):
    left = run("intervals")
    assert (np.array(left["held"]) > left["promised"] - 0.01).all()
    assert left["held"][-1] > 0.97
    before, after = (np.ptp(ax.collections[1].get_paths()[0].vertices[:, 1]) for ax in left["axes"][:2])
    assert after < 0.85 * before


def test_your_own_budget(run):
    errors = {row.name: row.mean for row in run("your_own_budget")["rows"]}
    ours = errors.pop("Successor")
    better = {name for name, error in errors.items() if error < ours}
    assert better == {"SwapNearest", "Project", "Merge"}


def test_projectron_span(run):
    left = run("projectron_span")
    counts = [int(re.search(r"(\d+) support", ax.get_title())[1]) for ax in left["axes"]]
    assert counts[0] < counts[1] <= counts[2] < 1.5 * counts[1]
    assert left["model"].n_support_ == counts[2] < 20


def test_equal_memory(run):
    runs = run("equal_memory")["runs"]
    sizes = np.geomspace(16, 100, 9)
    error = {name: np.interp(np.log(sizes), np.log(size), errors) for name, (size, errors) in runs.items()}
    features = np.minimum(error["fogd"], error["fogd, Hadamard"])
    assert (error["PA, merging"] < features).all()
    assert (features < error["rbp"]).all()
    assert (error["bpa_nn"] < error["rbp"]).all()


@pytest.mark.timing
def test_time_per_row(run):
    runs = run("time_per_row")["runs"]
    assert runs["bpa_p"][-1] > 10 * runs["rbp"][-1]
    for name in ("rbp", "forgetron", "bpa_s", "bogd", "bsgd", "bsgd, merging"):
        assert runs[name][-1] < 16 * runs[name][0], name
    for name in ("bpa_p", "bsgd, projecting"):
        assert runs[name][-1] > 4 * runs[name][2], name
