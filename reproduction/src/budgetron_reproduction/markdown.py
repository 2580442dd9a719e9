"""Reproductions as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from budgetron_reproduction import settings
from budgetron_reproduction.claims import Verdict, verdicts
from budgetron_reproduction.figures import Drawn
from budgetron_reproduction.printed import Remark
from budgetron_reproduction.reproduction import Reproduction, Result

FAR = 2.0
"""A result that is worse than print by more deviations than this needs a reason."""


def table(done: Reproduction, others: Sequence[Reproduction] = ()) -> str:
    """The section of a table: results, departures from the paper, reasons for differences, missing data.

    ``others`` are more tables, for claims about two of a paper.
    """
    what = done.table
    parts = [
        f"### {what.title}. {what.caption}",
        f"{what.paper}. {_how(done)}",
        _rows(done.results, what.differs) if done.results else "The files of its data sets are missing.",
        _claims(done, others),
        _remarks("Departs from the paper", what.departs, done.results),
        _remarks("Why results differ", what.differs, done.results, numbered=True),
        _doubts(done),
        _missing(done),
    ]
    return "\n\n".join(part for part in parts if part)


def figure(drawn: Drawn, address: str) -> str:
    """The section of a figure: the picture, departures from the paper, and the claims with our numbers."""
    parts = [
        f"### {drawn.title}",
        drawn.caption,
        f"![{drawn.title}]({address})",
        "\n".join(["**Departs from the paper.**", "", *(f"* {why}" for why in drawn.departs)])
        if drawn.departs
        else "",
        "\n".join(["**What the text says about it.**", "", *map(_verdict, drawn.claims)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _verdict(verdict: Verdict) -> str:
    holds = "Holds" if verdict.holds else "Does not hold"
    in_print = f" (in print {verdict.printed})" if verdict.printed else ""
    return f"* {verdict.claim} **{holds}**{in_print}: {verdict.numbers}."


def claims(done: Sequence[Reproduction], drawn: Iterable[Drawn]) -> str:
    """How many claims of the texts hold, one line for each table and each figure."""
    about = {each.table.title: verdicts(each, done) for each in done}
    about |= {each.title: list(each.claims) for each in drawn}
    lines = [_held(title, those) for title, those in about.items() if those]
    return _lines(["about", "claims of the text", "hold", "hold in print"], lines, left=1)


def _held(title: str, those: Sequence[Verdict]) -> list[str]:
    in_print = [each.in_print for each in those if each.in_print is not None]
    printed = f"{sum(in_print)} of {len(in_print)}" if in_print else ""
    return [title, str(len(those)), str(sum(each.holds for each in those)), printed]


def summary(all_done: Iterable[Reproduction]) -> str:
    """How many cells are close to print, and how much faster they are, one line for each table."""
    head = [
        "table",
        "cells run",
        "within 1 sd",
        "2 sd",
        "3 sd",
        "2 sd or better",
        "far worse",
        "times faster: least",
        "median",
        "most",
    ]
    lines = [_summary(done) for done in all_done if done.results]
    return _lines(head, lines, left=1)


def speed(all_done: Iterable[Reproduction]) -> str:
    """The printed seconds of a pass divided by ours, one line for each data set of each table."""
    head = ["table", "data set", "rows", "least", "algorithm", "median", "most"]
    lines = []
    for done in all_done:
        for name in dict.fromkeys(each.cell.dataset for each in done.results):
            timed = [each for each in done.results if each.cell.dataset == name and each.faster]
            if timed:
                lines.append(_speed(done, name, timed))
    return _lines(head, lines, left=2)


def unexplained(done: Reproduction) -> list[Result]:
    """The results that are far worse than print and have no remark."""
    return [each for each in done.results if far(each) and not _reasons(each, done.table.differs)]


def far(result: Result) -> bool:
    """Whether a result is worse than print by more than two printed deviations.

    If no deviation is printed: by more than two of ours, and by more than 1 % of the printed value.
    """
    if result.deviations is not None:
        return result.deviations > FAR
    if result.cell.value is None:
        return False
    worse = result.value - result.cell.value
    worse = -worse if result.table.more_is_better else worse
    return worse > max(FAR * (result.sd or 0.0), 0.01 * abs(result.cell.value))


def _rows(results: Sequence[Result], differs: Sequence[Remark]) -> str:
    lost = all(each.cell.value is None for each in results)
    support = lost or any(each.cell.support is not None for each in results)
    budget = any(each.cell.budget is not None for each in results)
    head = ["data set", "algorithm", *["B"] * budget, "ours", "paper", "difference, sd"]
    head += ["support vectors", "paper"] * support + ["seconds", "paper", "times faster"]
    tested = any(each.cell.test_seconds is not None for each in results)
    head += ["test, seconds", "paper"] * tested
    lines = [_line(each, differs, support, budget) + _tested(each) * tested for each in results]
    return _lines(head, lines, left=2)


def _line(each: Result, differs: Sequence[Remark], support: bool, budget: bool) -> list[str]:
    cell, digits = each.cell, max(each.table.digits(each.cell), 2)
    reasons = "".join(f" [{number}]" for number in _reasons(each, differs)) if far(each) else ""
    z = each.deviations
    apart = "far" if z is None else f"{z if not each.table.more_is_better else -z:+.1f}"
    apart = "" if z is None and not far(each) else apart
    line = [cell.dataset, cell.name, *[str(cell.budget or "")] * budget]
    line += [_value(each.value, each.sd, digits), _value(cell.value, cell.sd, each.table.digits(cell))]
    line.append(f"**{apart}**{reasons}" if far(each) else apart)
    if support:
        line += [_count(each.support), _count(cell.support)]
    return [*line, _seconds(each.seconds), _seconds(cell.seconds), _times(each.faster)]


def _tested(each: Result) -> list[str]:
    return [_seconds(each.test_seconds), _seconds(each.cell.test_seconds)]


def _reasons(each: Result, differs: Sequence[Remark]) -> list[int]:
    """The numbers of the remarks about a cell."""
    return [number for number, remark in enumerate(differs, 1) if remark.concerns(each.cell)]


def _remarks(
    title: str, remarks: Sequence[Remark], results: Sequence[Result], numbered: bool = False
) -> str:
    """The remarks about cells that were run."""
    lines = []
    for number, remark in enumerate(remarks, 1):
        if any(remark.concerns(each.cell) for each in results):
            about = ", ".join((*remark.datasets, *remark.algorithms))
            lines.append(f"{f'{number}.' if numbered else '*'} {f'{about}: ' if about else ''}{remark.why}")
    return "\n".join([f"**{title}.**", "", *lines]) if lines else ""


def _doubts(done: Reproduction) -> str:
    """The notes on printed values that are doubtful."""
    doubtful = [each.cell for each in done.results if each.cell.note]
    lines = [f"* {cell.dataset}, {settings.label(cell)}: {cell.note}" for cell in doubtful]
    return "\n".join(["**Doubtful in print.**", "", *lines]) if lines else ""


def _claims(done: Reproduction, others: Sequence[Reproduction]) -> str:
    lines = [_verdict(verdict) for verdict in verdicts(done, others)]
    return "\n".join(["**What the text says about it.**", "", *lines]) if lines else ""


def _missing(done: Reproduction) -> str:
    names = ", ".join(done.missing)
    return f"**Not run**, because the data is missing or no settings are stored: {names}." if names else ""


def _how(done: Reproduction) -> str:
    """The measure, the number of orders, the origin of the settings, and the paper's implementation."""
    what = done.table
    sentences = [f"Measure: {what.measure}{_orders(done)}."]
    if what.grid and done.results:
        names = ", ".join(what.grid)
        where = f"stored in `tables/{what.key}/settings.toml`" if done.quick else "found in this run"
        sentences.append(f"Settings of {names}: {where}, by a search over the grids of the table.")
    if what.implementation:
        sentences.append(f"The paper's program: {what.implementation}.")
    return " ".join(sentences)


def _orders(done: Reproduction) -> str:
    counts = sorted({each.permutations for each in done.results})
    if not counts:
        return ""
    orders = " or ".join(map(str, counts)) + (" random orders" if counts[-1] > 1 else " random order")
    return f"; means over {orders} of " + (
        f"{done.table.draws} draws of the rows" if done.table.draws > 1 else "the rows"
    )


def _summary(done: Reproduction) -> list[str]:
    near = [done.count(most) for most in (1, 2, 3)]
    shares = [f"{within} of {of}" if of else "" for within, of in [*near, done.count(2, or_better=True)]]
    times = [each.faster for each in done.results if each.faster]
    spread = [_times(float(f(times))) for f in (np.min, np.median, np.max)] if times else [""] * 3
    known = [far(each) for each in done.results if each.cell.value is not None]
    worse = f"{sum(known)} of {len(known)}" if known else ""
    return [done.table.title, str(len(done.results)), *shares, worse, *spread]


def _speed(done: Reproduction, name: str, timed: Sequence[Result]) -> list[str]:
    times = [each.faster or 0.0 for each in timed]
    least = timed[int(np.argmin(times))]
    slowest = settings.label(least.cell)
    spread = [_times(float(f(times))) for f in (np.min, np.median, np.max)]
    return [done.table.title, name, f"{least.rows:,}", spread[0], slowest, *spread[1:]]


def _value(value: float | None, sd: float | None, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}f}" + (f" ± {sd:.{digits}f}" if sd is not None else "")


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _lines(head: Sequence[str], lines: Iterable[Sequence[str]], left: int) -> str:
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
