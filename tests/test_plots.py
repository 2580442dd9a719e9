"""Pictures: that they show the records, and nothing that is not there."""

import builtins
import json
from itertools import pairwise

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402

from budgetron import plots  # noqa: E402
from budgetron.evaluate import Comparison, Record  # noqa: E402

ROWS = (100, 200, 300)


def run(mistakes, size, seconds):
    steps = zip(ROWS, mistakes, size, seconds, strict=True)
    return tuple(Record(n, m, None, s, t, 8 * s) for n, m, s, t in steps)


def comparison(*names, worse=0, slower=1.0):
    records = {}
    seconds = [slower, 2 * slower, 3 * slower]
    for k, name in enumerate(names):
        more = [k + worse + i for i in range(3)]
        records[name] = tuple(run([30 + m, 50 + m, 60 + 3 * m], [10, 20, 20], seconds) for m in more)
    return Comparison("classification", dict.fromkeys(names, "code"), records)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def line(ax, name):
    [found] = [each for each in ax.get_lines() if each.get_label() == name]
    return found


def drawn(ax):
    """The picture as it would be saved; what cannot be drawn fails here."""
    ax.figure.canvas.draw()
    return ax


def test_error_against_rows_shows_mean_and_deviation():
    result = comparison("a", "b")
    ax = drawn(plots.error_against_rows(result))
    rates = np.array([[100 * r.rate for r in run] for run in result.records["a"]])
    np.testing.assert_allclose(line(ax, "a").get_xdata(), ROWS)
    np.testing.assert_allclose(line(ax, "a").get_ydata(), rates.mean(axis=0))
    band = next(c for c in ax.collections if isinstance(c, PolyCollection))
    corners = band.get_paths()[0].vertices
    mean, sd = rates.mean(axis=0), rates.std(axis=0, ddof=1)
    assert corners[:, 1].min() == pytest.approx((mean - sd).min())
    assert corners[:, 1].max() == pytest.approx((mean + sd).max())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rows", "mistakes, % of rows")
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


def test_support_vectors_against_rows():
    ax = drawn(plots.support_vectors_against_rows(comparison("a")))
    assert line(ax, "a").get_ydata().tolist() == [10, 20, 20]
    assert ax.get_ylim()[0] == 0


def test_records_of_one_run_or_of_several_by_name():
    records = run([30, 50, 60], [10, 20, 20], [1, 2, 3])
    ax = drawn(plots.error_against_rows(iter(records)))
    assert not ax.texts
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [30, 25, 20])
    ax = drawn(plots.error_against_rows({"x": records, "y": records[:2]}))
    assert line(ax, "y").get_xdata().tolist() == [100, 200]
    targets = [Record(n, None, loss, 5, 1.0, 8) for n, loss in ((10, 5.0), (20, 6.0))]
    ax = drawn(plots.error_against_rows(targets))
    assert ax.get_lines()[0].get_ydata().tolist() == [0.5, 0.3]
    assert ax.get_ylabel() == "mean squared error"


def test_error_against_budget():
    results = {200: comparison("a"), 50: comparison("a", "free", worse=9), 100: comparison("a", worse=5)}
    ax = drawn(plots.error_against_budget(results))
    assert line(ax, "a").get_xdata().tolist() == [50, 100, 200]
    expected = [100 * results[budget].rows[0].mean for budget in (50, 100, 200)]
    np.testing.assert_allclose(line(ax, "a").get_ydata(), expected)
    assert line(ax, "free").get_xdata().tolist() == [50, 100, 200]  # a line across
    assert len(set(line(ax, "free").get_ydata())) == 1
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["50", "100", "200"]


def test_error_against_time():
    ax = drawn(plots.error_against_time(comparison("a", "b")))
    [a, b] = ax.containers
    assert a.lines[0].get_xdata().tolist() == [3]
    assert b.lines[0].get_ydata()[0] > a.lines[0].get_ydata()[0]
    assert ax.get_xscale() == "linear"
    results = {50: comparison("a"), 100: comparison("a", slower=100)}
    ax = drawn(plots.error_against_time(results))
    assert ax.containers[0].lines[0].get_xdata().tolist() == [3, 300]
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a"]


def test_a_given_ax_is_drawn_on_and_returned():
    figure, axes = pyplot.subplots(1, 4)
    result = comparison("a")
    assert plots.error_against_rows(result, ax=axes[0]) is axes[0]
    assert plots.support_vectors_against_rows(result, ax=axes[1]) is axes[1]
    assert plots.error_against_budget({5: result}, ax=axes[2]) is axes[2]
    assert plots.error_against_time(result, ax=axes[3]) is axes[3]
    assert pyplot.get_fignums() == [figure.number]


def test_pictures_come_from_what_was_kept_of_a_comparison(tmp_path):
    kept = json.loads(json.dumps(comparison("a", "b").as_dict()))
    path = tmp_path / "picture.png"
    plots.overview(Comparison.from_dict(kept)).savefig(path)
    assert pyplot.imread(path).std() > 0.05


def test_many_learners_differ_in_colour_or_dashes_and_are_in_a_legend():
    names = [f"learner {i}" for i in range(18)]
    ax = drawn(plots.error_against_rows(comparison(*names)))
    assert len({(each.get_color(), str(each._unscaled_dash_pattern)) for each in ax.get_lines()}) == 18
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    points = drawn(plots.error_against_time(comparison(*names))).containers
    assert len({(p.lines[0].get_color(), p.lines[0].get_marker()) for p in points}) == 18


def test_labels_of_lines_that_end_together_do_not_touch():
    names = [f"learner {i}" for i in range(7)]
    ax = drawn(plots.support_vectors_against_rows(comparison(*names)))
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 7
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    inside = ax.figure.bbox
    assert all(box.x1 <= inside.x1 and box.y0 >= inside.y0 for box in boxes)


def test_nothing_to_draw_is_said():
    for nothing in ([], {}, {"a": []}):
        with pytest.raises(ValueError, match="plots: there are no records to draw"):
            plots.error_against_rows(nothing)
    with pytest.raises(ValueError, match="expected a dict of budget to Comparison"):
        plots.error_against_budget({})


def test_a_missing_matplotlib_is_said(monkeypatch):
    real = builtins.__import__

    def without(name, *more, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Drawing needs matplotlib: pip install 'budgetron\[plot\]'"):
        plots.error_against_rows(comparison("a"))


def test_names_stand_at_the_ends_of_lines():
    ends = [1.0, 50.0, 100.0]
    lines = [plots.Line(str(y), np.arange(2.0), np.array([0.0, y]), np.zeros(2)) for y in ends]
    for more in ({}, {"from_zero": True}):
        ax = drawn(plots.curves(lines, **more))
        to_axes = ax.transData + ax.transAxes.inverted()
        places = [to_axes.transform((1, y))[1] for y in ends]
        np.testing.assert_allclose([text.xy[1] for text in ax.texts], places, atol=1e-9)
    assert ax.get_ylim()[0] == 0
    assert not plots.curves(lines, named=False).texts
