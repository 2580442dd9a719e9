"""Plots of studies are drawn from their numbers."""

import numpy as np
import pytest

from budgetron import DualProjection, Gaussian, bduol, evaluate, ogd, plots, rbp
from budgetron.evaluate import Ranks
from tests.helpers.cases import each
from tests.helpers.trajectories import stream

K = Gaussian(0.2)


def ranks(k, n=8):
    errors = np.random.default_rng(0).normal(size=(n, k)) + np.arange(k)
    return Ranks([f"learner {i}" for i in range(k)], [f"{i}" for i in range(n)], errors)


@each("k", [2, 3, 8, 15])
def test_the_diagram_has_every_rank_and_group(k):
    given = ranks(k)
    ax = plots.critical_difference(given)
    texts = [text.get_text() for text in ax.texts]
    for name, rank in given.mean.items():
        assert f"{name} {rank:.2f}" in texts
    bars = [line for line in ax.lines if line.get_linewidth() == 4]
    assert len(bars) == len(given.groups())
    for bar, group in zip(bars, given.groups(), strict=True):
        low, high = bar.get_xdata()
        assert low <= given.mean[group[0]] <= given.mean[group[-1]] <= high
    (cd,) = (line for line in ax.lines if line.get_linewidth() == 1.5)
    assert np.ptp(cd.get_xdata()) == pytest.approx(given.critical_difference())
    low, high = ax.get_xlim()
    assert all(low <= x <= high for line in ax.lines for x in line.get_xdata())


def test_names_do_not_touch():
    ax = plots.critical_difference(ranks(8))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])


def test_curves_have_the_numbers_of_the_study():
    data = {"labels": stream("multiclass", 300, seed=0), "targets": stream("regression", 300, seed=0)}
    learners = {
        "rbp": rbp(K, budget=20),
        "bduol": bduol(K, budget=9, maintenance=DualProjection),
        "ogd": ogd(K, eta=0.2),
    }
    result = evaluate.study(learners, data, 3)
    figure = plots.study_curves(result)
    labels, targets = figure.axes
    assert labels.get_title(loc="left") == "labels"
    assert (labels.get_ylabel(), targets.get_ylabel()) == ("mistakes, % of rows", "mean squared error")
    (first, failed, last) = labels.lines
    assert first.get_ydata()[-1] == pytest.approx(100 * result.cell("labels", "rbp").mean)
    assert last.get_ydata()[-1] == pytest.approx(100 * result.cell("labels", "ogd").mean)
    assert not len(failed.get_xdata())
    assert last.get_color() == plots.style.COLOURS[2]
    assert [text.get_text() for text in figure.legends[0].texts] == ["rbp", "bduol", "ogd"]


def test_a_study_of_failures_has_no_curves():
    result = evaluate.study(
        {"bduol": bduol(K, budget=9, maintenance=DualProjection)},
        {"a": stream("multiclass", 60, seed=0)},
        1,
    )
    with pytest.raises(ValueError, match="no runs to draw"):
        plots.study_curves(result)
