"""Fuzz the service with random streams: killed at any moment, or followed, the model is the same.

A stream is cut into requests. In the first way the service is killed with -9 at random moments and started
again, and the client retries what was not answered. In the second a replica begins at a random request. At
the end the model file must be that of an estimator that learns all rows in one batch, and that of a learner
of the log; the replica must have the leader's bytes.

A stream depends only on its number, the moments of the kills do not: ``python -m fuzz.any_cut_serve
--first 7 --streams 1``. ``--way killed`` or ``--way followed`` runs one way alone.
"""

from __future__ import annotations

import argparse
import multiprocessing.pool
import os
import random
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx

from budgetron import model_files
from budgetron.serve import settings
from tests.helpers.served import offline, served

LEARNERS = [
    ["--algorithm", "auto", "--size", "3"],
    ["--algorithm", "fogd", "--components", "4", "--gamma", "0.5"],
]
LABELS = [
    ["no", "yes", "perhaps"],
    [0, 1, 2, 1.0, 0.0, True],
    [1, 2, 3],
    ["a", "a\0", "b"],
    ["1", "a", 1, "b"],
]
OFTEN = ["--keep-log", "--snapshot-rows"]
SECONDS = 60
NOTHING_LEARNED = 409


# ---- random requests


def rows(draw: random.Random, regression: bool, complete: bool) -> list[dict[str, Any]]:
    """Rows of JSON, the first of which may have no value; without missing numbers if ``complete``."""
    n, names = draw.choice([2, 4, 8, 20]), draw.sample("abcdef", draw.randrange(1, 5))
    kinds = {name: draw.choice(["number", "number", "text", "truth", "long"]) for name in names}
    firsts = {name: draw.choice([0, 0, draw.randrange(n)]) for name in names}
    empty, share = draw.choice([0, 0, 1, 2]), draw.choice([1.0, 0.7])
    labels = draw.choice(LABELS)
    found = []
    for i in range(n):
        there = [name for name in draw.sample(names, len(names)) if i >= max(empty, firsts[name])]
        x = {name: value(draw, kinds[name]) for name in there
             if draw.random() < share or (complete and kinds[name] in ("number", "truth"))}  # fmt: skip
        if not complete:
            x |= {name: None for name in names if draw.random() < 0.1 and name not in x}
        y = round(draw.gauss(0, 1), 2) if regression else draw.choice(labels[: 1 + i])
        found.append({"x": x, "y": y})
    return found


def value(draw: random.Random, kind: str) -> Any:
    if kind == "number":
        return draw.choice([round(draw.gauss(0, 1), 2), draw.randrange(4)])
    if kind == "truth":
        return draw.random() < 0.5
    return draw.choice("pqr") if kind == "text" else draw.choice(["p", "x" * 300, "y" * 300])


def requests(draw: random.Random, all_rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows, cut into requests."""
    found, at, longest = [], 0, draw.choice([1, 2, 5, 20])
    while at < len(all_rows):
        stop = at + draw.randrange(1, longest + 1)
        found.append(all_rows[at:stop])
        at = stop
    return found


class Case:
    """A stream with its flags. ``learned`` are the rows of requests that were not refused."""

    def __init__(self, number: int) -> None:
        self.draw = random.Random(number)
        regression, learner = self.draw.random() < 0.3, self.draw.choice(LEARNERS)
        drawn = rows(self.draw, regression, complete="fogd" in learner)
        self.requests = requests(self.draw, drawn)
        self.flags = [*learner, *(["--regression"] if regression else [])]
        self.flags += [*OFTEN, str(self.draw.choice([1, 3, 1000]))]

        self.learned: list[dict[str, Any]] = []
        self.refused: list[tuple[int, list[dict[str, Any]]]] = []  # after so many rows, these

    def take(self, request: list[dict[str, Any]], accepted: bool) -> None:
        """Note what became of a request."""
        if accepted:
            self.learned += request
        else:
            self.refused.append((len(self.learned), request))


def estimator(folder: Path, learned: list[dict[str, Any]]) -> Any:
    """What learns these rows in one batch."""
    model = settings.read(folder).estimator()
    if learned:
        model.partial_fit([row["x"] for row in learned], [row["y"] for row in learned])
    return model


def is_refused(model: Any, request: list[dict[str, Any]]) -> bool:
    """Whether an estimator that learns row by row refuses one of them."""
    try:
        for row in request:
            model.partial_fit([row["x"]], [row["y"]])
    except (ValueError, TypeError):
        return True
    return False


def post(server: Any, request: list[dict[str, Any]], key: str) -> bool:
    """Whether the service takes the rows; if not, none of them is learned."""
    headers = {"Idempotency-Key": f'"{key}"'}
    answer = server.http.post("/v1/learn", json=request, headers=headers, timeout=SECONDS)
    if answer.status_code not in (200, 422):
        raise AssertionError(f"a request was not answered: {answer.text}")
    return bool(answer.status_code == 200)


def file_of(server: Any) -> bytes:
    """The model file that the service has now; nothing if all requests were refused."""
    answer = server.http.get("/v1/model/file")
    return b"" if answer.status_code == NOTHING_LEARNED else bytes(answer.raise_for_status().content)


def compared(case: Case, folder: Path, got: bytes) -> list[str]:
    """In what a file differs from those of estimators that learn the log and the rows."""
    try:
        found = list[str]()
        if got or case.learned:
            found += [] if got == offline(folder) else ["not the model of the log"]
            model = estimator(folder, case.learned)
            found += [] if got == b"".join(model_files.encoded(model)) else ["not the model of the rows"]
        for at, request in case.refused:
            if not is_refused(estimator(folder, case.learned[:at]), request):
                found.append("a request is refused, but none of its rows")
        return found
    except ValueError as error:
        return [f"one batch of all rows is refused: {error}"]


# ---- the two ways


def killed(number: int, folder: Path, kills: int = 2) -> list[str]:
    """In what a service that is killed differs from an estimator."""
    case = Case(number)
    unlucky = {case.draw.randrange(len(case.requests)) for _ in range(kills)}
    with ExitStack() as stack:
        server = stack.enter_context(served(folder / "d", *case.flags))
        for i, request in enumerate(case.requests):
            key, timer = str(uuid.uuid4()), None
            if i in unlucky:
                timer = threading.Timer(case.draw.uniform(0, 0.01), server.kill)
                timer.start()
                with suppress(httpx.TransportError):
                    post(server, request, key)
                timer.join()
                server = stack.enter_context(served(folder / "d", *OFTEN, "1"))
            case.take(request, post(server, request, key))
        got = file_of(server)
        server.stop()
    return compared(case, folder / "d" / "default", got)


def followed(number: int, folder: Path) -> list[str]:
    """In what a replica differs from its leader."""
    case = Case(number)
    begin = case.draw.randrange(len(case.requests))
    with ExitStack() as stack:
        leader = stack.enter_context(served(folder / "d", *case.flags))
        for i, request in enumerate(case.requests):
            if i == begin:
                replica = stack.enter_context(served("--follow", leader.url))
                if case.draw.random() < 0.5:
                    caught_up(replica, len(case.learned))
            case.take(request, post(leader, request, str(uuid.uuid4())))
        caught_up(replica, len(case.learned))
        files = file_of(leader), file_of(replica)
        leader.stop()
    found = [] if files[0] == files[1] else ["the replica differs"]
    return found + compared(case, folder / "d" / "default", files[0])


def caught_up(replica: Any, version: int) -> None:
    """Wait until the replica has learned so many rows."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        answer = replica.http.get("/v1/model")
        if answer.status_code == 200 and answer.json()["version"] == version:
            return
        time.sleep(0.01)
    raise AssertionError(f"the replica does not reach row {version}")


WAYS = {"killed": killed, "followed": followed}


def checked(job: tuple[str, int]) -> tuple[str, int, list[str]]:
    """What differs in one way for one stream."""
    way, number = job
    with tempfile.TemporaryDirectory() as folder:
        try:
            return way, number, WAYS[way](number, Path(folder))
        except Exception as error:
            return way, number, [f"{type(error).__name__}: {error}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    numbers = range(args.first, args.first + args.streams)
    jobs = [(way, n) for way in WAYS if args.way in (None, way) for n in numbers]
    failed: Counter[str] = Counter()
    with multiprocessing.pool.ThreadPool(args.processes) as pool:  # the services are processes of their own
        for way, number, found in pool.imap_unordered(checked, jobs):
            if found:
                failed[way] += 1
                print(f"{way} {number}: {', '.join(found)}", flush=True)
    for way in dict.fromkeys(way for way, _ in jobs):
        print(f"{way}: {failed[way]} of {args.streams} streams differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
