"""Fuzz ``budgetron run``: a run that stops and resumes at any row ends with the file of one that does not.

Tables are drawn with blanks, rows without any value, texts, dates, truth values, weights of 0, columns and
classes that come late, and cells that cannot be learned. The bytes of model and predictions are compared.

A table depends only on its number: ``python -m fuzz.any_cut_run --first 7 --streams 1 --keep FOLDER``
repeats number 7, and leaves its files in the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from budgetron.cli import main as command

LEARNERS = {
    "auto": ["--size", "3"],
    "fogd": ["--components", "4", "--gamma", "0.5", "--standardise"],
}
LONG = "long " * 60
CELLS = {
    "number": lambda draw: f"{draw.gauss(0, 1):.2f}",
    "text": lambda draw: draw.choice("pqr"),
    "many": lambda draw: f"t{draw.randrange(50)}",
    "long": lambda draw: draw.choice([LONG + "a", LONG + "b", "p"]),
    "date": lambda draw: f"2024-01-{draw.randrange(1, 28):02}T{draw.randrange(24):02}:30",
    "truth": lambda draw: draw.choice(["true", "false"]),
    "mixed": lambda draw: draw.choice(["1.5", "p", "2024-01-02", "true", "inf"]),
}
LABELS = [["no", "yes", "perhaps"], ["2", "0", "1", "1.0", "2.0"], ["true", "false"]]


def lines(draw: random.Random, rows: int, regression: bool) -> Iterator[str]:
    """A table: features, weights and labels."""
    names = draw.sample("abcdef", draw.randrange(1, 6))
    kinds = [draw.choice([*CELLS]) for _ in names]
    firsts = [draw.choice([0, 0, draw.randrange(rows)]) for _ in names]
    share, empty = draw.choice([1.0, 0.7, 0.4]), draw.choice([0, 0, 1, 2])
    labels, weights = draw.choice(LABELS), draw.choice([["1"], ["1", "1", "0"], ["0", "2", "1"]])
    yield ",".join([*names, "weight", "label"])
    for i in range(rows):
        there = [i >= max(first, empty) and draw.random() < share for first in firsts]
        cells = [CELLS[kind](draw) if t else "" for kind, t in zip(kinds, there, strict=True)]
        label = f"{draw.gauss(0, 1):.2f}" if regression else draw.choice(labels[: 1 + i])
        yield ",".join([*cells, draw.choice(weights), label])


def called(*argv: object) -> tuple[int, str]:
    """The exit code of the command, and its messages."""
    messages = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(messages):
        code = command([str(word) for word in argv])
    return code, messages.getvalue()


def differences(number: int, folder: Path) -> list[str]:
    """In what a run that stops differs from one that does not."""
    draw = random.Random(number)
    rows, regression = draw.choice([2, 3, 5, 9, 20]), draw.random() < 0.3
    table = folder / "rows.csv"
    table.write_text("\n".join([*lines(draw, rows, regression), ""]))
    learner = draw.choice([*LEARNERS])
    argv = ["run", learner, table, *LEARNERS[learner], "--target", "label", "--weight", "weight"]
    argv += ["--on-error", "skip", *(["--regression"] if regression else [])]
    made = {name: [*argv, "--save", folder / name, "--predictions", folder / f"{name}.txt"]
            for name in ("whole", "parts")}  # fmt: skip
    whole = called(*made["whole"])
    at = 0
    while at < rows:
        at += draw.choice([1, 1, 2, 5])
        block = ["--block", draw.choice([1, 2, 1000])]
        parts = called(*made["parts"], "--resume", *block, *(["--rows", at] if at < rows else []))
    found = [] if whole[0] == parts[0] else [f"the exit code: {whole} and {parts}"]
    for what, suffix in (("the model", ""), ("the predictions", ".txt")):
        contents = [read(folder / f"{name}{suffix}") for name in made]
        found += [what] if contents[0] != contents[1] else []
    return found


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def checked(number: int, keep: str | None = None) -> tuple[int, list[str]]:
    """The number of a table, and what differs."""
    try:
        if keep is not None:
            return number, differences(number, Path(keep))
        with tempfile.TemporaryDirectory() as folder:
            return number, differences(number, Path(folder))
    except Exception as error:
        return number, [f"error {type(error).__name__}: {error}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", metavar="FOLDER", help="for one table: leave its files there")
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if args.keep is not None:
        print(checked(args.first, args.keep))
        return 0
    numbers, failed = range(args.first, args.first + args.streams), 0
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for number, found in pool.imap_unordered(checked, numbers, chunksize=10):
            if found:
                failed += 1
                print(f"stream {number}: {', '.join(found)}", flush=True)
    print(f"{failed} of {args.streams} streams differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
