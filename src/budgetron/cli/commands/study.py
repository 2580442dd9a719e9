"""``budgetron study``: learners on many data sets, with the tables, tests and figures of a paper."""

import os
import warnings
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from budgetron import SaveError
from budgetron.cli import output, study_file
from budgetron.cli.arguments import JOBS, JSON, Parser, add
from budgetron.cli.process import UsageError, say, usage_errors
from budgetron.evaluate import Study, study

EXAMPLES = """\
  budgetron study study.toml
  budgetron study study.toml --jobs -1 --to results
"""

FILE = {"FILE.toml": "the learners, data sets and settings"}
RESULTS = {
    "--to DIR": "the folder of the results; default the name of the file without .toml",
    **JOBS,
    "--no-figures": "do not draw",
    **JSON,
}


def parser() -> Parser:
    command = Parser(
        "study",
        "FILE.toml [FLAGS]",
        "Run learners on many data sets, as a file says, and write tables (LaTeX, Markdown, CSV), tests "
        "and\nfigures into a folder. Finished runs are in runs.jsonl there: the same command goes on where "
        "a\nstudy was stopped, and runs nothing twice.",
        EXAMPLES,
    )
    command.add_argument("file", metavar="FILE.toml", help=FILE["FILE.toml"])
    add(command.add_argument_group("results"), RESULTS, jobs=1)
    return command


def main(argv: list[str]) -> None:
    args = parser().parse_args(argv)
    path = Path(args.file)
    if not path.is_file():
        raise UsageError(f"{path}: there is no file of that name.")
    what, folder = study_file.read(path), _folder(args, path)
    with usage_errors():
        done = study(
            what.learners,
            what.datasets,
            tasks=what.tasks,
            n_jobs=args.jobs,
            store=folder / "runs.jsonl",
            say=say,
            **what.settings,
        )
    done.save(folder / "study.json")
    (folder / "cells.csv").write_text(done.csv(), encoding="utf-8")
    for (dataset, learner, _), why in done.failures.items():
        say(f"{learner} has no result on {dataset}: {why}")
    texts = [_results(done, budget, folder, args) for budget in done.budgets]
    print(output.document(done.as_dict()) if args.json else "\n\n".join([*texts, done.cite()]))
    say(f"the tables and figures are in {folder}.")


def _folder(args: Namespace, path: Path) -> Path:
    """The folder of the results, which is made."""
    folder = path.with_suffix("") if args.to is None else Path(args.to)
    if folder == path:
        raise UsageError(f"{path}: give --to DIR, since the name of the file does not end with .toml.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SaveError(f"{folder}: cannot be made: {error.strerror}.") from None
    output.check_place(folder / "runs.jsonl")
    return folder


def _results(done: Study, budget: int | None, folder: Path, args: Namespace) -> str:
    """Write the tables and figures of a budget; returns those for the screen."""
    end = "" if budget is None else f"-{budget}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the table says that there are few orders
        text = done.table(budget)
        (folder / f"errors{end}.md").write_text(done.markdown(budget) + "\n", encoding="utf-8")
        (folder / f"errors{end}.tex").write_text(
            done.latex(budget, label=f"tab:study{end}"), encoding="utf-8"
        )
    if not args.no_figures:
        _draw(done, budget, folder, end)
    try:
        tests = done.tests(budget)
    except ValueError as error:  # too few data sets or learners
        return f"{text}\n\nNo tests: {error}"
    (folder / f"tests{end}.txt").write_text(tests + "\n", encoding="utf-8")
    return f"{text}\n\n{tests}"


def _draw(done: Study, budget: int | None, folder: Path, end: str) -> None:
    if find_spec("matplotlib") is None:
        return
    os.environ.setdefault("MPLBACKEND", "agg")
    from budgetron import plots

    def save(figure: Any, name: str) -> None:
        for kind in ("png", "pdf"):
            figure.savefig(folder / f"{name}{end}.{kind}", dpi=150)

    if any(cell.runs for cell in done.cells if cell.budget == budget):
        save(plots.study_curves(done, budget), "curves")
    try:
        save(plots.critical_difference(done.ranks(budget)).figure, "ranks")
    except ValueError:  # too few data sets or learners
        return
