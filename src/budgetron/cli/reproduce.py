"""``budgetron reproduce``: the tables and figures of the papers, run again beside what is printed."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from budgetron import SaveError, papers
from budgetron.cli.arguments import Parser, whole
from budgetron.cli.process import Usage, say

EXAMPLES = """\
  budgetron reproduce lu2016 --table 5 --dataset german --permutations 20
  budgetron reproduce orabona2008 --quick
  budgetron reproduce orabona2008 --figure 1
  budgetron reproduce all --quick --jobs 2 --report papers
"""


def parser() -> Parser:
    """The arguments."""
    made = Parser(
        "reproduce",
        "KEY [--table N | --figure N] [--dataset D] [--permutations P] [--quick] [FLAGS]",
        "Tables and figures as Markdown. Runs are kept as they end: a stopped reproduction goes on there.",
        EXAMPLES,
    )
    made.add_argument("key", metavar="KEY", help=f"{', '.join(papers.KEYS)}, or all")
    made.add_argument("--table", type=whole(1), metavar="N", help="one of the paper's tables; else all")
    made.add_argument("--figure", type=whole(1), metavar="N", help="one of the paper's figures, drawn")
    made.add_argument("--dataset", metavar="D", help="one of the table's data sets; else all at hand")
    made.add_argument(
        "--permutations", type=whole(1), metavar="P", help="at most so many orders; else the paper's"
    )
    made.add_argument(
        "--quick", action="store_true", help="take settings that were found before; else search the grids"
    )
    made.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="threads; -1 is one for each processor"
    )
    made.add_argument(
        "--store",
        metavar="DIR",
        default="reproduction",
        help="where runs are kept; reproduction if not given",
    )
    made.add_argument("--afresh", action="store_true", help="forget the runs that are kept")
    made.add_argument(
        "--report", metavar="DIR", help="write REPORT.md and the figures there, instead of printing"
    )
    return made


def main(argv: list[str]) -> None:
    """Run the command."""
    args = parser().parse_args(argv)
    _check(args)
    if args.figure is not None:
        print(_figure(args))
        return
    tables = list(_tables(args))
    done = []
    for key, number in tables:
        done.append(_reproduce(args, key, number))
        if args.report is None:
            print(papers.markdown.table(done[-1]), end="\n\n", flush=True)
    if args.report is not None:
        complete = args.table is None and args.dataset is None
        papers.report.write(done, Path(args.report), args.jobs, afresh=args.afresh, whole=complete)
    elif len(done) > 1 and any(each.results for each in done):
        print(papers.markdown.summary(done))


def _figure(args: Namespace) -> str:
    """The figure asked for, drawn, as Markdown."""
    if args.key == "all":
        raise Usage(f"--figure needs one paper, got 'all'; there are: {', '.join(papers.KEYS)}.")
    folder = Path(args.report or args.store) / papers.report.FIGURES
    try:
        drawn = papers.figures.draw(args.key, args.figure, folder, args.jobs)
    except papers.UnknownTable as error:
        raise Usage(str(error)) from error
    return papers.markdown.figure(drawn, str(drawn.path))


def _tables(args: Namespace) -> Iterator[tuple[str, int]]:
    """The tables asked for; those without the data set asked for are left out, unless none has it."""
    keys = papers.KEYS if args.key == "all" else (args.key,)
    try:
        chosen = [
            (key, number) for key in keys for number in papers.numbers(key) if args.table in (None, number)
        ]
        if not chosen and args.key == "all":
            raise papers.UnknownTable(f"no paper has a Table {args.table} here.")
        if not chosen:
            papers.table(args.key, args.table)
        having = [each for each in chosen if args.dataset is None or _has(each, args.dataset)]
        if not having:
            papers.table(*chosen[0]).of(args.dataset)
    except papers.UnknownTable as error:
        raise Usage(str(error)) from error
    yield from having


def _has(which: tuple[str, int], dataset: str) -> bool:
    try:
        return bool(papers.table(*which).of(dataset))
    except papers.UnknownTable:
        return False


def _reproduce(args: Namespace, key: str, number: int) -> papers.Reproduction:
    store = papers.Store(Path(args.store) / f"{key}.jsonl")
    if args.afresh:
        names = {cell.dataset for cell in papers.table(key, number).of(args.dataset)}
        store.forget(lambda job: _table(job) == number and job.get("dataset") in names)
    done = papers.reproduce(
        key,
        number,
        dataset=args.dataset,
        permutations=args.permutations,
        quick=args.quick,
        n_jobs=args.jobs,
        store=store,
    )
    if store.taken:
        say(f"{done.table.title}: {store.taken} runs are from {store.path}.")
    if not args.quick and any(done.found.values()):
        path = papers.settings.keep(done.table, done.found, Path(args.store))
        say(f"the settings found are in {path}.")
    for name, why in done.missing.items():
        say(f"{done.table.title}, {name} is left out: {why}")
    return done


def _table(job: Mapping[str, Any]) -> Any:
    """The table that a run, or a search, belongs to."""
    return job["search"].get("table") if "search" in job else job.get("table")


def _check(args: Namespace) -> None:
    if args.jobs == 0 or args.jobs < -1:
        raise Usage(f"--jobs: expected a whole number of at least 1, or -1, got {args.jobs}.")
    if args.figure is not None and (other := _beside_figure(args)):
        raise Usage(f"--figure: {other} does not go with it.")
    for flag in ("figure", "report"):
        if getattr(args, flag) is not None and find_spec("matplotlib") is None:
            raise Usage(f"--{flag} needs matplotlib: pip install 'budgetron[plot]'.")
    for folder in filter(None, (args.store, args.report)):
        _writable(Path(folder))


def _beside_figure(args: Namespace) -> str | None:
    """What else was asked for that only tables have; a store is where the figure goes without a report."""
    flags = [
        flag for flag in ("table", "dataset", "permutations", "quick", "afresh") if getattr(args, flag)
    ]
    if args.report is not None and args.store != parser().get_default("store"):
        flags.append("store")
    return f"--{flags[0]}" if flags else None


def _writable(folder: Path) -> None:
    """Refuse a folder before anything is run for it."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise SaveError(
            f"{folder}: nothing can be written there: {there} is no folder, or is not writable."
        )
