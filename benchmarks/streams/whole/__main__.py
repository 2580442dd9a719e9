"""Run what is missing on whole streams, and make the page and the pictures.

After ``python -m benchmarks.streams.whole``:

* ``generate``: make the generated streams, in the environment of the peers;
* ``prepare``: make the streams of data sets, in our environment;
* ``ours``: run our learners again, and replace their results;
* ``ours --missing``: run only those without a result;
* ``peers``: run the peers without a result, in their environment;
* ``page``: write docs/whole_streams.md, from the results alone;
* ``pictures``: draw the pictures of that page, from the results alone.

``--group unused`` takes the streams that had no part in the design. They are for one run, at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread for everybody

from benchmarks.streams.whole import heads, results, sources

PAGE = Path(__file__).parents[3] / "docs" / "whole_streams.md"


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    given = _parser().parse_args(arguments)
    names = given.streams or sources.names(given.group)
    if given.what == "page":
        from benchmarks.streams.whole import table

        PAGE.write_text(table.page(results.read()), encoding="utf-8")
    elif given.what == "pictures":
        from benchmarks.streams.whole import pictures

        pictures.draw(results.read())
    elif given.what in ("generate", "prepare"):
        for name in names:
            if (sources.SOURCES[name].needs == "budgetron") == (given.what == "prepare"):
                sources.available(name)
    elif given.what == "ours":
        run_ours(given, names)
    else:
        run_peers(given, names)


def run_ours(given: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Run our learners on all rows, one stream after the other."""
    from benchmarks.streams.whole import ours

    known = results.read() if given.missing else {}
    for name in names:
        learners = [each for each in given.learners or ours.RUNS if (name, each) not in known]
        stream = sources.available(name) if learners else None
        for learner in learners if stream else ():
            report(results.measured(stream, learner, ours.RUNS[learner](stream)))
    results.tidy(sources.SOURCES)


def run_peers(given: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Run the peers that have no result, one learner after the other."""
    from benchmarks.streams.whole import peers

    known = results.read()
    if given.longer:
        known = {
            key: each for key, each in known.items() if each.rows == each.of or each.rows >= given.rows
        }
    for learner in given.learners or peers.RUNS:
        for name in names:
            stream = None if (name, learner) in known else sources.available(name)
            if stream is None or learner in (
                heads.LABELS_ONLY if stream.classes == 0 else heads.TARGETS_ONLY
            ):
                continue
            run = peers.run(learner, stream, given.seconds, given.rows)
            report(results.measured(stream, learner, run))
    results.tidy(sources.SOURCES)


def report(result: results.Result) -> None:
    """Keep a result, and print it."""
    results.add(result)
    error = result.error()
    said = "nothing done in time" if error is None else f"{error:.2f} %, {result.us:.0f} µs"
    print(f"{result.learner}, {result.stream}: {result.rows:,} of {result.of:,} rows, {said}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.whole", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    steps = ("ours", "peers", "generate", "prepare", "page", "pictures")
    parser.add_argument("what", choices=steps, help="see above")
    parser.add_argument(
        "--group", choices=("whole", "unused", "all"), default="whole", help="which streams"
    )
    parser.add_argument("--streams", nargs="+", choices=tuple(sources.SOURCES), help="these streams only")
    parser.add_argument("--learners", nargs="+", help="these learners only")
    parser.add_argument("--missing", action="store_true", help="run ours only where there is no result")
    parser.add_argument("--longer", action="store_true", help="run peers again that ended before --rows")
    parser.add_argument("--seconds", type=float, default=600, help="the most that a peer may take (600)")
    parser.add_argument(
        "--rows", type=int, default=50_000, help="the most rows of a peer; LightGBM gets all (50,000)"
    )
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
