"""Fuzz estimators with random streams of records: however rows are cut into calls, the model is the same.

Compared are the bytes of the model file, the classes with their types, the bits of predictions, the
predictions before learning, and which rows are refused. See tests/helpers/random_records.py.

A stream depends only on its number: ``python -m fuzz.any_cut --first 7 --streams 1 --show`` repeats number
7, and prints the shortest stream that still fails. 10,000 streams take five minutes on two processors.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import traceback
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

from tests.helpers.random_records import Row, Stream, differences, drawn

Found = tuple[int, list[str], str]


def checked(number: int) -> Found:
    """The number of a stream, what differs, and why."""
    found = kinds(drawn(number))
    return number, found, cause(drawn(number)) if found else ""


def kinds(stream: Stream) -> list[str]:
    """The kinds of differences; errors count as one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sorted({kind for kind, _ in differences(stream)})
    except Exception as error:  # anything but a refusal
        return [f"error {type(error).__name__}: {error}"]


# ---- why a stream fails


def with_a_value_first(stream: Stream) -> Stream:
    """Without the rows before the first one that has a value, or is refused."""
    first = next((i for i, row in enumerate(stream.rows) if not all(map(is_missing, row.x.values()))), 0)
    return stream.without(range(first))


def is_missing(value: Any) -> bool:
    """Whether a value of a record is none."""
    return value is None or (isinstance(value, str) and not value.strip()) or str(value) in ("nan", "NaT")


def with_each(stream: Stream, change: Any) -> Stream:
    """The stream with all rows changed."""
    return replace(stream, rows=[change(row) for row in stream.rows])


CAUSES: dict[str, Any] = {
    "first rows without a value": with_a_value_first,
    "rows of weight 0": lambda s: with_each(s, lambda row: row._replace(weight=row.weight or 1.0)),
    "missing values": lambda s: with_each(s, lambda row: row._replace(
        x={name: value for name, value in row.x.items() if not is_missing(value)})),
    "kinds of labels": lambda s: s if s.regression else with_each(s, lambda row: row._replace(
        y=row.y if isinstance(row.y, str | list | None) else f"{row.y:g}")),
    "labels that end with NUL": lambda s: with_each(s, lambda row: row._replace(
        y=row.y.replace("\0", "0") if isinstance(row.y, str) else row.y)),
}  # fmt: skip


def cause(stream: Stream) -> str:
    """What the stream must not have in order to pass."""
    alone = [name for name, tamed in CAUSES.items() if not kinds(tamed(stream))]
    if alone:
        return " and ".join(alone)
    for tamed in CAUSES.values():
        stream = tamed(stream)
    return "another cause" if kinds(stream) else "several causes"


# ---- the shortest stream that fails


def shorter(stream: Stream) -> Any:
    """Streams that are a little simpler."""
    used = sorted({i for cut in stream.cuts for step in cut for i in step.rows})
    for i in reversed(used):
        yield stream.without([i])
    if len(stream.cuts) > 2:
        for i in range(1, len(stream.cuts)):
            yield replace(stream, cuts=[stream.cuts[0], stream.cuts[i]])
    for j, cut in enumerate(stream.cuts):
        for i, step in enumerate(cut):
            if not step.rows:
                yield replace(
                    stream, cuts=[*stream.cuts[:j], cut[:i] + cut[i + 1 :], *stream.cuts[j + 1 :]]
                )
            elif step.way not in ("one", "batch"):
                new = [*cut[:i], step._replace(way="batch"), *cut[i + 1 :]]
                yield replace(stream, cuts=[*stream.cuts[:j], new, *stream.cuts[j + 1 :]])
    for i in used:
        for row in simpler(stream.rows[i], stream):
            yield replace(stream, rows=[*stream.rows[:i], row, *stream.rows[i + 1 :]])
    if stream.balanced:
        yield replace(stream, balanced=False)
    if stream.probes:
        yield replace(stream, probes=stream.probes[1:])


def simpler(row: Row, stream: Stream) -> Any:
    """The row with less in it."""
    for name in row.x:
        yield row._replace(x={key: value for key, value in row.x.items() if key != name})
    for name, value in row.x.items():
        if value is not None and not (type(value) is float and value == 1.0):
            yield row._replace(x=row.x | {name: 1.0})
    if row.weight not in (0.0, 1.0):
        yield row._replace(weight=1.0)
    if row.weight == 0.0:
        yield row._replace(weight=1.0)
    if not stream.regression and not (type(row.y) is str and row.y == "y"):
        yield row._replace(y="y")
    if stream.regression and row.y != 1.0:
        yield row._replace(y=1.0)


def shrunk(stream: Stream, kind: str) -> Stream:
    """The shortest stream found that still differs in this way."""
    tries = 0
    while tries < 3000:
        for each in shorter(stream):
            tries += 1
            if kind in kinds(each):
                stream = each
                break
        else:
            return stream
    return stream


def shown(stream: Stream) -> str:
    """A stream for people."""
    used = sorted({i for cut in stream.cuts for step in cut for i in step.rows})
    task = "regressor" if stream.regression else "classifier"
    lines = [f"  {task}, {stream.learner}, balanced={stream.balanced}, {stream.encoder}"]
    lines += [
        f"  row {i}: {row.x!r} -> {row.y!r} weight {row.weight}"
        for i, row in enumerate(stream.rows)
        if i in used
    ]
    lines += [f"  cut: {[(step.way, *step.rows) for step in cut]}" for cut in stream.cuts]
    return "\n".join(lines)


# ---- the campaign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print the shortest stream for each failure")
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    numbers = range(args.first, args.first + args.streams)
    failed: list[Found] = []
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for found in pool.imap_unordered(checked, numbers, chunksize=10):
            if found[1]:
                failed.append(found)
                print(f"stream {found[0]}: {', '.join(found[1])}: {found[2]}", flush=True)
    if args.show:
        for number, each, why in sorted(failed):
            print(f"stream {number}: {', '.join(each)}: {why}")
            print(shown(shrunk(drawn(number), each[0])), flush=True)
    print(f"{len(failed)} of {args.streams} streams differ")
    counts = Counter((why, kind) for _, each, why in failed for kind in [*each, "in all"])
    for (why, kind), n in sorted(counts.items()):
        print(f"{n:6} {why}: {kind}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        traceback.print_exc()
