"""Messages a second from each broker: received only, made rows, and learned by ``budgetron run``.

``python -m benchmarks.brokers [MESSAGES]`` starts the brokers itself; ``make brokers`` gets them.
MESSAGES is at most 10,000, the default: Kafka's mock cluster keeps 5 MB of a partition. Each message has 20
named numbers and a label, about 430 bytes. Checkpoints are written every 10,000 rows.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO

from budgetron.cli import main as command
from budgetron.cli import runs  # noqa: F401  # imported before anything is timed
from budgetron.streams.brokers.address import parse
from budgetron.streams.brokers.broker import Broker, connect
from budgetron.streams.json_records import RecordReader
from tests.helpers.brokers import KINDS, broker, missing

LEARNERS = {"fogd": ["--components", "100", "--gamma", "0.05"], "auto": []}


def bodies(n: int) -> list[bytes]:
    """Messages."""
    draw, made = random.Random(0), []
    for _ in range(n):
        values = {f"feature{i:02}": round(draw.gauss(0, 1), 6) for i in range(20)}
        made.append(
            json.dumps(values | {"label": int(values["feature00"] > values["feature01"] ** 2)}).encode()
        )
    return made


def received(source: Broker, n: int, use: Callable[[list], object]) -> None:
    """Receive all messages in batches of 1000."""
    source.seek({})
    while n:
        messages = source.receive(1000, 1.0)
        use(messages)
        n -= len(messages)
    source.close()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of this process."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - cpu


def learned(url: str, learner: str, folder: str) -> None:
    """Run the command."""
    words = ["run", learner, url, *LEARNERS[learner], "--target", "label", "--until-end", "--save"]
    with redirect_stdout(StringIO()):
        assert command([*words, f"{folder}/{learner}", "--checkpoint-every", "10000"]) == 0


def main(n: int = 10_000) -> None:
    """Print a line for each broker and each way of use."""
    for kind in KINDS:
        why = missing(kind)
        if why is not None:
            print(f"{kind}: {why}")
            continue
        with tempfile.TemporaryDirectory() as folder, broker(kind, folder) as server:
            server.publish("rows", bodies(n))
            url, reader = server.url("rows"), RecordReader("label")
            source = connect(parse(url))
            ways: dict[str, Callable[[], object]] = {
                "received": lambda s=source: received(s, n, lambda _: None),
                "made rows": lambda s=source, r=reader: received(
                    s, n, lambda messages: r.rows(messages, 0)
                ),
                "run fogd": lambda u=url, f=folder: learned(u, "fogd", f),
                "run auto": lambda u=url, f=folder: learned(u, "auto", f),
            }
            for name, work in ways.items():
                seconds, cpu = timed(work)
                load = os.getloadavg()[0]
                print(
                    f"{kind:6} {name:10} {n / seconds:9,.0f} rows/s, {cpu / n * 1e6:6.1f} us of processor "
                    f"time a row (load {load:.1f})"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
