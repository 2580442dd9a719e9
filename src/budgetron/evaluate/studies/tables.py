"""A study's errors as text, Markdown, LaTeX and CSV; its tests, and how to cite it, as text."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from budgetron._util import check
from budgetron._util.text import aligned
from budgetron.evaluate.studies.statistics import FEWEST, Ranks

if TYPE_CHECKING:
    from budgetron.evaluate.studies.results import Cell, Study

Bold = Literal["best", "tied"]
"""The rule by which cells of a table are bold."""

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SPECIAL |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


@dataclass(frozen=True)
class Value:
    """A number of a table: the mean, its deviation, and whether it is bold. Empty if a learner failed."""

    mean: str = ""
    sd: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of errors: a line for each data set, a column for each learner."""

    learners: Sequence[str]
    lines: Mapping[str, Sequence[Value]]
    ranks: Sequence[Value]
    notes: Sequence[str]


def grid(study: Study, budget: int | None, bold: Bold) -> Grid:
    """The errors at a budget."""
    check.one_of("Study", "bold", bold, get_args(Bold))
    lines = {name: _line(study, name, budget, bold) for name in study.datasets}
    return Grid(study.learners, lines, _ranks(study, budget), _notes(study, budget, bold))


def text(grid: Grid) -> str:
    """As a text table."""
    several = any(value.sd for line in grid.lines.values() for value in line)

    def cell(value: Value) -> str:
        mean = f"{value.mean} ± {value.sd}" if value.sd else value.mean or "-"
        return mean + (" *" if value.bold else "  " if several else "")

    rows = [["data set", *grid.learners]]
    rows += [[name, *map(cell, line)] for name, line in grid.lines.items()]
    rows += [["mean rank", *map(cell, grid.ranks)]] if grid.ranks else []
    head, *lines = aligned(_wide(rows))
    rule = "-" * max(map(len, [head, *lines]))
    return "\n".join([head, rule, *lines, rule, *grid.notes])


def markdown(grid: Grid) -> str:
    """As a Markdown table. The rule for bold is not in it: `Grid.notes` say it."""

    def cell(value: Value) -> str:
        mean = f"{value.mean} ± {value.sd}" if value.sd else value.mean or "-"
        return f"**{mean}**" if value.bold else mean

    rows = [["data set", *map(_escaped_bars, grid.learners)], ["---", *["---:"] * len(grid.learners)]]
    rows += [[_escaped_bars(name), *map(cell, line)] for name, line in grid.lines.items()]
    rows += [["mean rank", *map(cell, grid.ranks)]] if grid.ranks else []
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", " ".join(grid.notes).replace("*", "Bold:")])


def latex(grid: Grid, label: str) -> str:
    """As a LaTeX table that needs the package booktabs."""
    columns = "l" + "r" * len(grid.learners)
    rows = [["data set", *map(escaped, grid.learners)]]
    body = [[escaped(name), *map(_latex_cell, line)] for name, line in grid.lines.items()]
    end = [["mean rank", *map(_latex_cell, grid.ranks)]] if grid.ranks else []
    caption = " ".join(escaped(note) for note in grid.notes).replace("* ", "Bold: ")
    caption = caption.replace("±", r"$\pm$").replace(">=", r"$\geq$")
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{caption}}}",
        f"  \\label{{{label}}}",
        r"  \footnotesize",
        r"  \setlength{\tabcolsep}{3pt}",
        f"  \\begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in body),
        *([r"    \midrule"] if end else []),
        *(f"    {' & '.join(row)} \\\\" for row in end),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def csv_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns as CSV, with an empty cell for None."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def escaped(text: str) -> str:
    """Text for LaTeX: its special characters are printed as they are."""
    return re.sub(r"[\\~^&%$#_{}]", lambda match: SPECIAL[match[0]], text)


def tests(ranks: Ranks, level: float) -> str:
    """The ranks, and the tests over data sets."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        friedman, holm, pairs = ranks.friedman(), ranks.holm(), ranks.wilcoxon()
    k, n = len(ranks.learners), len(ranks.datasets)
    names = sorted(ranks.learners, key=lambda name: ranks.mean[name])
    rows = [["learner", "mean rank"], *([name, f"{ranks.mean[name]:.2f}"] for name in names)]
    against = [[f"against {holm[0].first}", "z", "p", "p (Holm)"]] if holm else []
    against += [[p.second, f"{p.statistic:.2f}", _p(p.p_value), _p(p.adjusted)] for p in holm]
    signed = [["pair", "W", "p", "p (Holm)"]]
    signed += [
        [f"{p.first}, {p.second}", f"{p.statistic:g}", _p(p.p_value), _p(p.adjusted)] for p in pairs[:10]
    ]
    groups = [", ".join(group) for group in ranks.groups(level)] or ["none"]
    lines = [
        f"{k} learners on {n} data sets.",
        *(["Few data sets: these tests say little."] if caught else []),
        "",
        *aligned(rows),
        "",
        f"Friedman: chi2({k - 1}) = {friedman.chi2:.2f} (p {_p(friedman.p_value)}), "
        f"F({k - 1}, {(k - 1) * (n - 1)}) = {friedman.F:.2f} (p {_p(friedman.F_p_value)}).",
        f"Nemenyi: mean ranks that differ by more than {ranks.critical_difference(level):.2f} are "
        f"significantly different at {level:g}.",
        *(f"Not significantly different: {group}." for group in groups),
        "",
        *aligned(against),
        "",
        *aligned(signed),
        *([f"(the 10 smallest of {len(pairs)})"] if len(pairs) > 10 else []),
    ]
    return "\n".join(lines)


def cite(study: Study) -> str:
    """How the results were made, and what to cite."""
    s = study.settings
    tuned = (
        f" Parameters were chosen by successive halving over {s['candidates']} candidates on at most "
        f"{s['tune_rows']:,} rows of each data set, which no order has."
        if s.get("tune_rows")
        else ""
    )
    return (
        f"{len(study.learners)} learners on {len(study.datasets)} data sets, {s.get('orders')} random "
        f"orders each (seeds {s.get('seed')} and following), predicted before learned, with Budgetron "
        f"{s.get('budgetron')}.{tuned} Tests over data sets: Demšar, Statistical Comparisons of "
        "Classifiers over Multiple Data Sets, JMLR 7, 2006."
    )


def _line(study: Study, dataset: str, budget: int | None, bold: Bold) -> list[Value]:
    cells = {c.learner: c for c in study.cells if (c.dataset, c.budget) == (dataset, budget)}
    if not any(cell.runs for cell in cells.values()):
        return [Value() for _ in study.learners]
    rows = {row.name: row for row in study.comparison(dataset, budget).rows}
    best = min(row.mean for row in rows.values())
    tied = bold == "tied" and study.settings.get("orders", 1) > 1
    marked = {n for n, row in rows.items() if row.mean == best or (tied and not row.significant)}
    return [_value(cells[name], name in marked) for name in study.learners]


def _value(cell: Cell, bold: bool) -> Value:
    if not cell.runs:
        return Value()
    scale, digits = (100.0, 2) if cell.task == "classification" else (1.0, 0)
    sd = "" if cell.sd is None else _number(scale * cell.sd, digits)
    return Value(_number(scale * cell.mean, digits), sd, bold)


def _number(value: float, digits: int) -> str:
    """With that many digits behind the point, or if it is 0 with four significant digits."""
    return f"{value:.{digits}f}" if digits else f"{value:.4g}"


def _ranks(study: Study, budget: int | None) -> list[Value]:
    try:
        mean = study.ranks(budget).mean
    except ValueError:  # too few data sets or learners
        return []
    return [Value(f"{mean[name]:.2f}") for name in study.learners]


def _notes(study: Study, budget: int | None, bold: Bold) -> list[str]:
    orders = int(study.settings.get("orders", 1))
    kinds = {cell.task for cell in study.cells}
    what = " and ".join(
        ["mistakes in percent of the rows"] * ("classification" in kinds)
        + ["mean squared errors"] * ("regression" in kinds)
    ).capitalize()
    over = "one order" if orders == 1 else f"mean ± standard deviation over {orders} orders"
    notes = [f"{what}: {over}." if budget is None else f"{what}, budget {budget}: {over}."]
    tied = bold == "tied" and orders > 1
    more = (
        ", and what is not significantly worse (paired t-test over the orders, p >= 0.05)" if tied else ""
    )
    notes.append(f"* the best of the data set{more}.")
    if 1 < orders < FEWEST and tied:
        notes.append(f"{orders} orders are few for that test.")
    failed = sum(b == budget for _, _, b in study.failures)
    return [*notes, f"Cells without a result: {failed}; failures says why."] if failed else notes


def _latex_cell(value: Value) -> str:
    if not value.mean:
        return "--"
    text = f"{value.mean} $\\pm$ {value.sd}" if value.sd else value.mean
    return f"\\textbf{{{text}}}" if value.bold else text


def _escaped_bars(name: str) -> str:
    return name.replace("|", "\\|")


def _wide(rows: list[list[str]]) -> list[list[str]]:
    """Cells of columns of one width, at least 13."""
    width = max(13, *(len(cell) for row in rows for cell in row[1:]))
    return [[row[0], *(f"{cell:>{width}}" for cell in row[1:])] for row in rows]


def _p(p: float) -> str:
    return "<1e-4" if p < 1e-4 else f"{p:.4f}" if np.isfinite(p) else "-"
