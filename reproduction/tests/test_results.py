"""Results beside print: how far, how much faster, and how that is shown."""

from dataclasses import replace

import pytest

import budgetron_reproduction as papers
from budgetron_reproduction import markdown
from budgetron_reproduction.printed import Cell, Remark, Source
from made_up import example, result


def test_deviations_are_printed_ones_and_worse_is_above_zero():
    cell = Cell("synthetic", "perceptron", 20.0, 2.0)
    assert result(23.0, cell).deviations == pytest.approx(1.5)
    assert result(23.0, cell, more_is_better=True).deviations == pytest.approx(-1.5)
    assert result(20.1, replace(cell, sd=0.0)).deviations == pytest.approx(2.0)  # 0.0 is below 0.05
    assert result(20.1, replace(cell, sd=None)).deviations is None
    assert result(20.1, replace(cell, value=None)).deviations is None


def test_far_without_a_printed_deviation_is_by_ours():
    """Our deviation is 0.1: far is more than 0.2 worse, and more than 1 % of the printed value."""
    cell = Cell("synthetic", "perceptron", 20.0)
    assert markdown.far(result(20.21, cell))
    assert not markdown.far(result(20.19, cell))
    assert not markdown.far(result(19.0, cell))
    assert markdown.far(result(19.0, cell, more_is_better=True))
    assert not markdown.far(result(20.25, replace(cell, value=30.0)))
    assert not markdown.far(result(99.0, replace(cell, value=None)))


def test_times_are_compared_by_the_row_where_ours_are_a_part():
    cell = Cell("synthetic", "perceptron", 20.0, 1.0, seconds=10.0)
    assert result(20.0, cell).faster == pytest.approx(1000)
    part = {"synthetic": Source("synthetic", "synthetic", part_of=400)}
    assert result(20.0, cell, sources=part).faster == pytest.approx(250)
    assert result(20.0, replace(cell, seconds=None)).faster is None


def test_counts_of_near_cells():
    cell = Cell("synthetic", "perceptron", 20.0, 1.0)
    results = tuple(result(value, cell) for value in (10.0, 19.5, 21.5, 22.5))
    done = papers.Reproduction(example(), results, {}, {})
    assert [done.count(most) for most in (1, 2, 3)] == [(1, 4), (2, 4), (3, 4)]
    assert done.count(2, or_better=True) == (3, 4)


def test_markdown_says_what_is_far_and_why():
    cell = Cell("synthetic", "perceptron", 20.0, 1.0, seconds=1.0)
    far = result(23.0, cell, differs=(Remark("The moon.", (), ("perceptron",)),))
    done = papers.Reproduction(far.table, (far,), {"vehicle": "no file"}, {})
    text = markdown.table(done)
    assert "| synthetic | perceptron | 23.00 ± 0.10 | 20.0 ± 1.0 | **+3.0** [1] | 0.01 | 1 | 100 |" in text
    assert "1. perceptron: The moon." in text
    assert "no settings are stored: vehicle." in text
    assert not markdown.unexplained(done)
    assert "Doubtful" not in text
    doubtful = replace(far, cell=replace(cell, note="A smudge."))
    text = markdown.table(papers.Reproduction(far.table, (doubtful,), {}, {}))
    assert "**Doubtful in print.**\n\n* synthetic, perceptron: A smudge." in text
    alone = papers.Reproduction(example(), (result(23.0, cell),), {}, {})
    assert markdown.unexplained(alone) == [alone.results[0]]
    assert not markdown.unexplained(papers.Reproduction(example(), (result(21.9, cell),), {}, {}))
