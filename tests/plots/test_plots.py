"""Plots show the numbers of the records, and nothing else."""

import builtins
import json
from itertools import pairwise

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402
from matplotlib.contour import ContourSet  # noqa: E402
from PIL import Image  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402
from sklearn.datasets import make_blobs, make_moons  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, bpa_nn, fogd, plots  # noqa: E402
from budgetron.evaluate import Comparison, Coverage, Metrics, Record  # noqa: E402
from budgetron.plots.style import COLOURS  # noqa: E402

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
    """Render the figure to pixels; a figure that cannot be drawn fails here."""
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


def test_learners_without_support_vectors_are_not_drawn_among_the_others():
    runs = {
        "none": run([30, 50, 60], [0, 0, 0], [1, 2, 3]),
        "some": run([30, 50, 60], [0, 5, 9], [1, 2, 3]),
    }
    ax = drawn(plots.support_vectors_against_rows(runs))
    assert [text.get_text() for text in ax.texts] == ["some"]
    assert not len(line(ax, "none").get_xdata())
    assert line(ax, "some").get_color() == COLOURS[1]


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
    by_budget = json.loads(json.dumps(comparison("a", "b").as_dict()))
    path = tmp_path / "picture.png"
    plots.overview(Comparison.from_dict(by_budget)).savefig(path)
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
    with pytest.raises(ImportError, match=r"Drawing needs matplotlib: pip install 'matplotlib>=3\.8'\."):
        plots.error_against_rows(comparison("a"))


def moons(n=200, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


def three(n=150):
    return make_blobs(n, centers=3, random_state=1)


def rings(ax):
    [found] = [each for each in ax.collections if each.get_label() == "support vectors"]
    return found


def shown(ax):
    """The classes of the regions, found by colour, and the coordinates of the pixels."""
    [image] = ax.images
    picture, (left, right, bottom, top) = np.asarray(image.get_array()), image.get_extent()
    high, wide, _ = picture.shape
    a = left + (np.arange(wide) + 0.5) / wide * (right - left)
    b = bottom + (np.arange(high) + 0.5) / high * (top - bottom)
    ink = 1 - picture.reshape(-1, 3)  # a strength times what the colour takes from white
    inks = 1 - np.array([matplotlib.colors.to_rgb(colour) for colour in COLOURS])
    alike = (ink / np.linalg.norm(ink, axis=1, keepdims=True)) @ (
        inks / np.linalg.norm(inks, axis=1)[:, None]
    ).T
    return alike.argmax(axis=1), np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("data", [moons, three])
def test_regions_are_what_the_model_predicts(data):
    X, y = data()
    model = OnlineClassifier(bpa_nn(Gaussian(0.5), budget=15)).fit(X, y)
    classes, places = shown(drawn(plots.decision_boundary(model, X, y, resolution=60)))
    assert len(places) == 3600
    assert (model.classes_[classes] == model.predict(places)).all()
    assert len(set(classes)) == len(model.classes_)


def test_the_support_vectors_are_ringed_by_their_coefficients():
    X, y = moons()
    model = OnlineClassifier(bpa_nn(Gaussian(2.0), budget=15)).fit(X, y)
    ringed = rings(drawn(plots.decision_boundary(model, X, y)))
    np.testing.assert_array_equal(ringed.get_offsets(), model.support_vectors_)
    weight = model.dual_coef_[0]
    assert (np.argsort(ringed.get_sizes()) == np.argsort(np.abs(weight))).all()
    blue, red = (np.array(matplotlib.colors.to_rgb(colour)) for colour in COLOURS[:2])
    for face, w in zip(ringed.get_facecolors()[:, :3], weight, strict=True):
        np.testing.assert_allclose(face, red if w > 0 else blue)


def test_the_boundary_is_where_the_score_is_zero_and_the_rows_are_all_there():
    X, y = moons()
    model = OnlineClassifier(bpa_nn(Gaussian(2.0), budget=15)).fit(csr_matrix(X), y)
    ax = drawn(plots.decision_boundary(model, csr_matrix(X), y))
    [line] = [each for each in ax.collections if isinstance(each, ContourSet)]
    on_it = np.vstack([path.vertices for path in line.get_paths()])
    assert len(on_it) > 100
    assert np.abs(model.decision_function(on_it)).max() < 0.01 * np.abs(model.decision_function(X)).max()
    for label in (0, 1):
        [rows] = [each for each in ax.collections if each.get_label() == f"class {label}"]
        np.testing.assert_array_equal(rows.get_offsets(), X[y == label])
    assert rings(ax).get_offsets().tolist() == model.support_vectors_.tolist()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["class 0", "class 1", "support vectors"]


def test_explicit_features_have_regions_and_no_rings():
    X, y = moons()
    model = OnlineClassifier(fogd(Gaussian(2.0), components=50), random_state=0).fit(X, y)
    figure, ax = pyplot.subplots()
    assert plots.decision_boundary(model, X, y, ax) is ax
    assert "support vectors" not in [each.get_label() for each in drawn(ax).collections]
    assert pyplot.get_fignums() == [figure.number]


def test_what_has_no_boundary_in_the_plane_is_said_in_a_sentence():
    X, y = moons()
    wide = np.hstack([X, X])
    model = OnlineClassifier().fit(X, y)
    boundary = plots.decision_boundary
    with pytest.raises(NotFittedError, match=r"plots\.decision_boundary: the model is not fitted yet"):
        boundary(OnlineClassifier(), X, y)
    with pytest.raises(ValueError, match="the model must have two features, got 4"):
        boundary(OnlineClassifier().fit(wide, y), X, y)
    with pytest.raises(ValueError, match=r"X must have rows of two features, got shape \(200, 4\)"):
        boundary(model, wide, y)
    for number, said in ((np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan")):
        bad = X.copy()
        bad[7, 1] = bad[9, 0] = number
        with pytest.raises(
            ValueError,
            match=rf"^plots\.decision_boundary: X must be finite, got {said} in row 7, column 1\.$",
        ):
            boundary(model, bad, y)
        with pytest.raises(ValueError, match=rf"^plots\.learning: X must be finite, got {said} in row 7"):
            plots.learning(OnlineClassifier(), bad, y)
    with pytest.raises(ValueError, match="y must have a label for each of 200 rows"):
        boundary(model, X, y[:-1])
    with pytest.raises(ValueError, match="y contains 2, which is not a class of the model"):
        boundary(model, X, y + 1)
    with pytest.raises(TypeError, match=r"plots\.decision_boundary: model must be"):
        boundary(OnlineRegressor().fit(X, y), X, y)
    with pytest.raises(TypeError, match=r"plots\.learning: model must be"):
        plots.learning(OnlineRegressor(), X, y)
    with pytest.raises(ValueError, match=r"plots\.learning: every must be"):
        plots.learning(OnlineClassifier(), X, y, every=0)
    assert not pyplot.get_fignums()


def test_learning_shows_the_model_as_it_was_after_the_rows_of_each_frame(tmp_path):
    X, y = moons()
    learner = bpa_nn(Gaussian(2.0), budget=15)
    model = OnlineClassifier(learner)
    film = plots.learning(model, X, y, every=60, resolution=30)
    path = tmp_path / "learning.gif"
    film.save(path, writer="pillow", fps=5)
    with Image.open(path) as gif:
        assert gif.n_frames == 4
        assert gif.size == (480, 360)
    [ax] = film._fig.axes
    beside = OnlineClassifier(learner)
    for i, (begin, end) in enumerate([(0, 60), (60, 120), (120, 180), (180, 200)]):
        beside.partial_fit(X[begin:end], y[begin:end], classes=[0, 1])
        film._func(i)
        np.testing.assert_array_equal(rings(drawn(ax)).get_offsets(), beside.support_vectors_)
        old_and_new = [
            each.get_offsets() for each in ax.collections if each.get_label().startswith("class")
        ]
        assert sorted(np.vstack(old_and_new).tolist()) == sorted(X[:end].tolist())
        assert len(np.vstack(old_and_new[2:])) == end - begin
    np.testing.assert_array_equal(model.support_vectors_, beside.support_vectors_)
    mistakes = (OnlineClassifier(learner).progressive_predict(X, y) != y).mean()
    assert ax.get_title() == f"200 rows, {mistakes:.1%} mistakes, 15 support vectors"
    assert len(ax.images) == 1


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


def test_a_line_without_points_keeps_its_colour_and_has_no_name():
    none = np.array([])
    lines = [plots.Line(name, np.arange(2.0), np.array([0.0, 1.0]), np.zeros(2)) for name in "abc"]
    lines[1] = plots.Line("b", none, none, none)
    ax = drawn(plots.curves(lines))
    assert [text.get_text() for text in ax.texts] == ["a", "c"]
    assert [text.get_color() for text in ax.texts] == [line(ax, name).get_color() for name in "ac"]
    assert not drawn(plots.curves([lines[1]])).texts


def measured():
    def window(rate, kappa):
        return {"running": {}, "window": {"rows": 100, "rate": rate, "kappa": kappa}}

    runs = []
    for late in ((0.1, None), (0.3, 0.5)):
        steps = zip((100, 200), (0.4, 0.2), late, strict=True)
        runs.append(tuple(Record(n, n // 4, None, 0, 1.0, 8, window(rate, v)) for n, rate, v in steps))
    return Comparison("classification", {"a": "code"}, {"a": tuple(runs)})


def test_window_against_rows_shows_the_last_rows():
    result = measured()
    ax = drawn(plots.window_against_rows(result))
    np.testing.assert_allclose(line(ax, "a").get_ydata(), [40, 20])
    assert ax.get_ylabel() == "mistakes, % of rows, last 100 rows"
    ax = drawn(plots.window_against_rows(result, "kappa"))
    np.testing.assert_allclose(line(ax, "a").get_ydata(), [0.2, np.nan])  # undefined in one run: a gap
    assert ax.get_title("left") == "How much better than chance now?"
    with pytest.raises(ValueError, match="no 'auc' of the last rows"):
        plots.window_against_rows(result, "auc")


def test_an_overview_draws_what_there_is():
    """Support vectors only if there are some, metrics only if the records have them."""
    titles = [ax.get_title("left") for ax in plots.overview(comparison("a")).axes]
    assert titles == [
        "How many mistakes so far?",
        "How large is the model?",
        "What does a lower error cost?",
    ]
    figure = plots.overview(measured())
    figure.canvas.draw()
    assert [ax.get_title("left") for ax in figure.axes] == [
        "How many mistakes so far?",
        "How many mistakes now?",
        "How much better than chance now?",
        "What does a lower error cost?",
    ]


def test_ticks_of_many_rows_do_not_touch():
    ax = pyplot.subplots(figsize=(3.5, 3), layout="constrained")[1]
    records = [Record(n, n // 5, None, 7, 1.0, 8) for n in range(100_000, 9_000_000, 300_000)]
    drawn(plots.error_against_rows(records, ax))
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = [tick.label1.get_window_extent() for tick in ticks]
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_explanation_draws_a_bar_for_each_column():
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    model = OnlineClassifier(random_state=0).partial_fit(data.data, data.target)
    why = model.explain(data.data[:1], samples=8)[0]
    ax = drawn(plots.explanation(why, most=5))
    widths = [patch.get_width() for patch in ax.patches]
    order = why.order
    assert widths[:5] == pytest.approx(why.contributions[order[:5]].tolist())
    assert widths[5] == pytest.approx(why.contributions[order[5:]].sum())
    assert ax.get_yticklabels()[0].get_text().startswith(why.columns[order[0]][:10])
    assert ax.get_xlabel() == "adds to the score of 0"


def test_importances_draw_the_columns_that_mattered_most():
    X = np.random.default_rng(0).normal(size=(600, 12))
    y = np.where(np.arange(600) < 300, X[:, 2], X[:, 7]) > 0
    ax = drawn(plots.importances(OnlineClassifier(random_state=0), (X, y), every=150, most=3))
    assert line(ax, "x2").get_ydata()[1] > 0.5
    assert line(ax, "x7").get_ydata()[-1] > 0.3
    assert len(ax.get_lines()) == 3


def covered(first=10):
    inside = np.arange(600) % 10 != 0
    ends = np.stack([np.zeros(600), np.arange(600.0)], axis=1)
    ends[:20] = [-np.inf, np.inf]
    sizes = ends[:, 1] - ends[:, 0]
    return Coverage(0.8, first, inside, sizes, np.ones(600), np.where(inside, 0.5, -1), ends)


def test_coverage_draws_shares_and_sizes_of_the_last_rows():
    shares, sizes = drawn(plots.coverage({"a": covered()}, window=100).axes[0]).figure.axes
    assert line(shares, "a").get_ydata() == pytest.approx(90)
    assert list(line(shares, "a").get_xdata()[[0, -1]]) == [110, 610]
    assert line(sizes, "a").get_ydata()[0] == np.mean(np.arange(20, 100))  # those without ends are left out
    assert line(sizes, "a").get_ydata()[-1] == np.mean(np.arange(500, 600))
    assert shares.get_lines()[-1].get_ydata() == [80, 80]
    assert sizes.get_ylabel() == "width of an interval"
    for nothing in ({}, {"a": Coverage(0.9, 1, np.ones(3, bool), np.ones(3))}):
        with pytest.raises(
            ValueError, match=r"plots.coverage: (there is nothing|expected at least 500 rows)"
        ):
            plots.coverage(nothing)


def test_intervals_mark_the_targets_outside():
    ax = drawn(plots.intervals(covered(), rows=50))
    assert line(ax, "outside").get_xdata().tolist() == [560, 570, 580, 590, 600]
    assert len(line(ax, "inside").get_xdata()) == 45
    assert ax.get_title() == "Where will it be? 90% inside, 80% asked"
    drawn(plots.intervals(covered(), rows=10_000))
    with pytest.raises(ValueError, match="expected the intervals of a regressor, got sets"):
        plots.intervals(Coverage(0.9, 1, np.ones(3, bool), np.ones(3)))


def test_precision_recall_draws_the_curve():
    random = np.random.default_rng(0)
    y = np.where(random.random(500) < 0.2, "yes", "no")
    share = np.clip(0.3 * (y == "yes") + 0.6 * random.random(500), 0.01, 0.99)
    metrics = Metrics(["average_precision"], window=100)
    metrics.update(y, y, classes=["no", "yes"], proba=np.stack([1 - share, share], axis=1))
    ax = drawn(plots.precision_recall(metrics))
    curve = metrics.precision_recall("yes")
    assert line(ax, "yes").get_ydata().tolist() == curve["precision"].tolist()
    assert line(ax, "yes").get_xdata().tolist() == curve["recall"].tolist()
    ax = drawn(plots.precision_recall(metrics, ["no", "yes"], windowed=True))
    assert line(ax, "yes").get_ydata()[-1] == (y[-100:] == "yes").mean()
    with pytest.raises(ValueError, match="no row has the label 'x'"):
        plots.precision_recall(metrics, ["x"])
