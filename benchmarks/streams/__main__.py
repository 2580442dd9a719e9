"""Run what is missing, and make the table and the pictures.

* ``python -m benchmarks.streams ours``: run our learners again, and replace their results;
* ``python -m benchmarks.streams ours --missing``: run only those without a result;
* ``python -m benchmarks.streams peers``: run the peers without a result, in the environment of the peers;
* ``python -m benchmarks.streams generate``: make the generated streams, in the environment of the peers;
* ``python -m benchmarks.streams prepare``: make the streams of data sets, in our environment;
* ``python -m benchmarks.streams table``: write docs/streams_benchmark.md;
* ``python -m benchmarks.streams pictures``: draw the pictures of that page.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread for everybody

from benchmarks.streams import data, results

PAGE = Path(__file__).parents[2] / "docs" / "streams_benchmark.md"


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    names = given.streams or data.NAMES
    if given.what == "table":
        from benchmarks.streams import table

        PAGE.write_text(table.page(results.read(), given.rows), encoding="utf-8")
    elif given.what == "pictures":
        from benchmarks.streams import pictures

        pictures.draw(results.read(), given.rows)
    elif given.what in ("generate", "prepare"):
        for name in names:
            if (name in data.GENERATED) == (given.what == "generate"):
                data.available(name, given.rows)
    else:
        run(given, names)


def run(given: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Run the learners one after the other, each on all streams."""
    if given.what == "ours":
        from benchmarks.streams import ours as side
    else:
        from benchmarks.streams import peers as side
    known = results.read() if given.missing or given.what == "peers" else {}
    for learner in given.learners or side.RUNS:
        for name in names:
            if learner in data.LABELS_ONLY and name in data.TARGETS:
                continue
            if (name, learner, data.rows_of(name, given.rows)) in known:
                continue
            stream = data.available(name, given.rows)
            if stream is None:
                continue
            result = results.measured(stream, learner, side.RUNS[learner](stream))
            results.add(result)
            print(f"{learner}, {name}: {result.error:.2f} %, {result.us:.0f} µs", flush=True)
    results.tidy()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument(
        "what", choices=("ours", "peers", "generate", "prepare", "table", "pictures"), help="see above"
    )
    parser.add_argument("--rows", type=int, default=20_000, help="the first rows of each stream (20,000)")
    parser.add_argument("--streams", nargs="+", choices=data.NAMES, help="these streams only")
    parser.add_argument("--learners", nargs="+", help="these learners only")
    parser.add_argument("--missing", action="store_true", help="run ours only where there is no result")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
