"""``budgetron-reproduce``: the tables and figures of the papers, run again beside what is printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from budgetron import SaveError
from budgetron.streams import DataError
from budgetron_reproduction import costs, figures, markdown, report, settings
from budgetron_reproduction.printed import KEYS, UnknownTable, numbers, table
from budgetron_reproduction.reproduction import Reproduction, reproduce
from budgetron_reproduction.store import Store

EXAMPLES = """\
examples
  budgetron-reproduce lu2016 --table 5 --dataset german --permutations 20
  budgetron-reproduce orabona2008 --quick
  budgetron-reproduce orabona2008 --figure 1
  budgetron-reproduce all --quick --jobs 2 --report reproduction
  budgetron-reproduce all --saved --report reproduction

With --report, a part of the tables replaces its results in DIR, and the report keeps the others.
The data sets are read from the folder that BUDGETRON_DATA names, else from the user's cache.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 data not found, 130 interrupted.
"""
FAILED, USAGE, NO_DATA, INTERRUPTED = 1, 2, 3, 130


class Usage(Exception):
    """The command was called wrongly; the message says how."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Usage` instead of printing pages."""

    def error(self, message: str) -> NoReturn:
        """Raise the complaint as one sentence."""
        raise Usage(f"{message}.")


def parser() -> Parser:
    """The arguments of the command."""
    made = Parser(
        prog="budgetron-reproduce",
        usage="budgetron-reproduce KEY [--table N | --figure N] [--dataset D] [FLAGS]",
        description="Print tables and figures as Markdown. Every run is saved when it ends, so an "
        "interrupted reproduction continues from there.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("key", metavar="KEY", help=f"{', '.join(KEYS)}, or all")
    add("--table", type=_count, metavar="N", help="one table of the paper; default all")
    add("--figure", type=_count, metavar="N", help="draw one figure of the paper")
    add("--dataset", metavar="D", help="one data set of the table; default all that are there")
    add("--permutations", type=_count, metavar="P", help="at most P orders; default as in the paper")
    add("--quick", action="store_true", help="use the settings found before; default search the grids")
    add("--jobs", type=int, default=1, metavar="N", help="threads; -1 is one for each processor")
    add("--store", metavar="DIR", default="runs", help="where runs are saved; default runs")
    add("--afresh", action="store_true", help="ignore the saved runs")
    add("--report", metavar="DIR", help="add the results to REPORT.md in DIR instead of printing them")
    add("--costs", action="store_true", help="measure the costs and the memory that lu2016 speaks of")
    add("--saved", action="store_true", help="run nothing: write REPORT.md again from the results in DIR")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    try:
        _run(parser().parse_args(argv))
        sys.stdout.flush()
    except SystemExit as done:  # argparse, after --help
        return int(done.code or 0)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Usage as error:
        _say(f"{error} See budgetron-reproduce --help.")
        return USAGE
    except KeyboardInterrupt:
        _say("interrupted.")
        return INTERRUPTED
    except DataError as error:
        _say(str(error))
        return NO_DATA
    except (OSError, ValueError, ImportError, MemoryError) as error:
        _say(str(error))
        return FAILED
    return 0


def _run(args: argparse.Namespace) -> None:
    _check(args)
    if args.figure is not None:
        print(_figure(args))
        return
    if args.costs:
        costs.measure(Path(args.report))
        args.saved = True
    if args.saved:
        empty = [Reproduction(table(key, number), (), {}, {}) for key, number in _tables(args)]
        report.write(empty, Path(args.report), args.jobs, whole=False)
        return
    done = []
    for key, number in _tables(args):
        done.append(_reproduce(args, key, number))
        if args.report is None:
            print(markdown.table(done[-1]), end="\n\n", flush=True)
    if args.report is not None:
        complete = args.table is None and args.dataset is None
        report.write(done, Path(args.report), args.jobs, afresh=args.afresh, whole=complete)
    elif len(done) > 1 and any(each.results for each in done):
        print(markdown.summary(done))


def _figure(args: argparse.Namespace) -> str:
    """Draw the figure; its section of the report."""
    if args.key == "all":
        raise Usage(f"--figure needs one paper, got 'all'; there are: {', '.join(KEYS)}.")
    folder = Path(args.report or args.store) / report.FIGURES
    try:
        drawn = figures.draw(args.key, args.figure, folder, args.jobs)
    except UnknownTable as error:
        raise Usage(str(error)) from error
    return markdown.figure(drawn, str(drawn.path))


def _tables(args: argparse.Namespace) -> list[tuple[str, int]]:
    """The tables to run. With ``--dataset``, those that have it; if none has it, that is an error."""
    try:
        chosen = list(_chosen(args))
        having = [each for each in chosen if args.dataset is None or _has(each, args.dataset)]
        if not having:
            table(*chosen[0]).of(args.dataset)
    except UnknownTable as error:
        raise Usage(str(error)) from error
    return having


def _chosen(args: argparse.Namespace) -> Iterator[tuple[str, int]]:
    keys = KEYS if args.key == "all" else (args.key,)
    chosen = [(key, number) for key in keys for number in numbers(key) if args.table in (None, number)]
    if not chosen and args.key == "all":
        raise UnknownTable(f"no paper has a Table {args.table} here.")
    if not chosen:
        table(args.key, args.table)
    yield from chosen


def _has(which: tuple[str, int], dataset: str) -> bool:
    try:
        return bool(table(*which).of(dataset))
    except UnknownTable:
        return False


def _reproduce(args: argparse.Namespace, key: str, number: int) -> Reproduction:
    store = Store(Path(args.store) / f"{key}.jsonl")
    if args.afresh:
        names = {cell.dataset for cell in table(key, number).of(args.dataset)}
        store.forget(lambda job: _table_of(job) == number and job.get("dataset") in names)
    done = reproduce(
        key,
        number,
        dataset=args.dataset,
        permutations=args.permutations,
        quick=args.quick,
        n_jobs=args.jobs,
        store=store,
    )
    if store.taken:
        _say(f"{done.table.title}: {store.taken} runs are from {store.path}.")
    if not args.quick and any(done.found.values()):
        path = settings.keep(done.table, done.found, Path(args.store))
        _say(f"the settings found are in {path}.")
    for name, why in done.missing.items():
        _say(f"{done.table.title}, {name} is left out: {why}")
    return done


def _table_of(job: Mapping[str, Any]) -> Any:
    """The table that a run, or a search, belongs to."""
    return job["search"].get("table") if "search" in job else job.get("table")


def _check(args: argparse.Namespace) -> None:
    if args.jobs == 0 or args.jobs < -1:
        raise Usage(f"--jobs: expected a whole number of at least 1, or -1, got {args.jobs}.")
    for flag in ("saved", "costs"):
        if getattr(args, flag) and args.report is None:
            raise Usage(f"--{flag} needs --report DIR, the folder of the results.")
    if args.figure is not None and (other := _only_for_tables(args)):
        raise Usage(f"--figure and {other} cannot be combined.")
    for folder in filter(None, (args.store, args.report)):
        _writable(Path(folder))


def _only_for_tables(args: argparse.Namespace) -> str | None:
    """A flag that was given and means nothing for a figure."""
    flags = [
        flag
        for flag in ("table", "dataset", "permutations", "quick", "afresh", "saved", "costs")
        if getattr(args, flag)
    ]
    if args.report is not None and args.store != parser().get_default("store"):
        flags.append("store")  # it is where a figure goes without a report
    return f"--{flags[0]}" if flags else None


def _writable(folder: Path) -> None:
    """Refuse a folder before anything runs for it."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise SaveError(f"{folder} cannot be written: {there} is not a folder, or not writable.")


def _count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or not 1 <= int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _say(sentence: str) -> None:
    print(f"budgetron-reproduce: {' '.join(sentence.splitlines())}", file=sys.stderr)
