"""The library against others on the same rows, in one run on one thread: ``make bench``.

Prints the tables, and writes them to build/bench.json with pictures beside it. Times are the least of
several runs that take turns; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import against, growth, limits, overhead, peers, rows, vowpal
from benchmarks import bench_pictures as picture
from benchmarks import library as ours
from benchmarks import numpy_loop as step
from benchmarks import promised_ratios as asked
from benchmarks.clock import take_turns
from budgetron import _core

FOLDER = Path(__file__).parents[1] / "build"


def contest(data: rows.Data, seconds_for_vw: float) -> list[dict[str, Any]]:
    """The library and others on the same rows: microseconds per row, mistakes, number of rows."""
    X, y = data.dense, data.y
    mine, theirs, machine = ours.contestants(X, y), peers.contestants(X, y), limits.measure()
    times = take_turns({name: run for name, (_, run) in (mine | theirs).items()})
    lines = [
        {
            "name": name,
            "ours": name in mine,
            "rows": n,
            "us": 1e6 * times.seconds[name] / n,
            "mistakes": times.results[name],
            "note": "",
            "limit_us": limit_of(name, X.shape[1], machine) if name in mine else None,
        }
        for name, (n, _) in (mine | theirs).items()
    ]
    n, seconds, mistakes, note = vowpal.measure(data.X[:5000], y[:5000], ours.GAMMA, seconds_for_vw)
    us = 1e6 * seconds / max(n, 1)
    vw = {"name": "Vowpal Wabbit --ksvm (no budget)", "ours": False, "rows": n, "us": us}
    return [*lines, vw | {"mistakes": mistakes, "note": note, "limit_us": None}]


def limit_of(name: str, d: int, machine: limits.Machine) -> float | None:
    """The least microseconds of a row."""
    work = limits.work_of(name, d)
    return None if work is None else machine.limit(work)


def print_contest(lines: list[dict[str, Any]], name: str, X: Any) -> None:
    """The table; each time is also shown relative to ours of the same kind."""
    base = next(line["us"] for line in lines if line["name"].startswith("rbp"))
    print(f"\n{name}, {X.shape[1]} features, Gaussian kernel of width 8, one thread")
    print(f"{'':<40}{'rows':>7}{'us/row':>10}{'this / rbp':>12}{'mistakes':>10}{'of its limit':>14}")
    for line in lines:
        limit = "" if line["limit_us"] is None else f"{line['limit_us'] / line['us']:.0%}"
        print(
            f"{line['name']:<40}{line['rows']:>7}{line['us']:>10.2f}{line['us'] / base:>12.1f}"
            f"{line['mistakes']:>10.2%}{limit:>14}  {line['note']}"
        )
    print("The limit: the scores' products at the speed of NumPy's matmul, and their exp, sin and cos.")


def print_overhead(times: dict[str, float]) -> None:
    """Print the microseconds of one call."""
    print("\nOne call from Python with one row, 22 features, B=20, microseconds")
    for name, us in times.items():
        print(f"{name:<40}{us:>10.2f}")


def ask(*data: rows.Data) -> list[asked.Answer]:
    """Print each result as soon as it is measured."""
    print("\nWhat was asked")
    answers = []
    for answer in asked.answers(*data):
        bound = f"{'>=' if answer.at_least else '<='} {answer.wanted:g}"
        print(
            f"{answer.what:<66}{answer.value:>9.2f}   {bound:<8}{'' if answer.met else 'missed'}",
            flush=True,
        )
        answers.append(answer)
    return answers


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vw-seconds", type=float, default=30, help="time limit of Vowpal Wabbit")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="a bench.json of an earlier run: exit with 1 on a loss"
    )
    options = parser.parse_args()
    earlier = None if options.against is None else json.loads(options.against.read_text())["contest"]
    began = perf_counter()
    FOLDER.mkdir(exist_ok=True)
    ijcnn1, a9a, w8a = rows.load("ijcnn1", 22), rows.load("a9a", 123), rows.load("w8a", 300)
    with threadpool_limits(1):
        lines = contest(ijcnn1, options.vw_seconds)
        print_contest(lines, ijcnn1.name, ijcnn1.X)
        calls = overhead.measure()
        print_overhead(calls)
        sheets = list(growth.measure())
        growth.show(sheets)
        step.maintenance(*step.stream(5000, 22), 1 / 44)
        answers = ask(ijcnn1, a9a, w8a)
    picture.bars(lines, f"{ijcnn1.name}: test, then train", FOLDER / "bench.png")
    picture.curves(sheets, FOLDER / "growth.png")
    result = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
        },
        "instruction_set": _core.instruction_set(),
        "data": [d.name for d in (ijcnn1, a9a, w8a)],
        "contest": lines,
        "one_call_us": calls,
        "growth": [asdict(sheet) | {"slopes": sheet.slopes()} for sheet in sheets],
        "asked": [asdict(answer) | {"met": answer.met} for answer in answers],
        "seconds": perf_counter() - began,
    }
    (FOLDER / "bench.json").write_text(json.dumps(result, indent=1))
    print(f"\n{result['seconds']:.0f} s; build/bench.json, build/bench.png, build/growth.png")
    if earlier is not None:
        sys.exit(against.report(against.changes(earlier, lines)))


if __name__ == "__main__":
    main()
