"""A service under load: acknowledged rows a second, latencies, memory, and the cost of a request.

``python -m benchmarks.serve_load rates``     acknowledged rows a second by clients, and batches of 500
``python -m benchmarks.serve_load cost``      processor time a predict request, beside bare Starlette
``python -m benchmarks.serve_load builds 8 OTHER/bin/python``   of a request, beside another build, in turns
``python -m benchmarks.serve_load soak 600``  predict latency with and without learning, errors, memory

Clients are asyncio in another process. The numbers depend on the machine and its load, which is printed.
"""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import msgspec

NAMES = [f"feature{i:02d}" for i in range(20)]
RBP = ("--algorithm", "rbp", "--budget", "100", "--gamma", "0.05")
BARE = """
import msgspec, socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def predict(request):
    said = msgspec.json.decode(await request.body())
    found = {"version": 1, "predictions": [len(said["x"])]}
    return Response(msgspec.json.encode(found), media_type="application/json")
listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"bare at http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
app = Starlette(routes=[Route("/v1/predict", predict, methods=["POST"])])
uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")).run([listening])
"""

WITHOUT_MODEL = """
import sys
from budgetron.cli import main
from budgetron.serve import routes
routes.predict = lambda published, rows: {"version": published.version, "predictions": [len(rows.X[0])]}
sys.exit(main(sys.argv[1:]))
"""


def row(draw: random.Random, labelled: bool = True) -> dict:
    """A row of 20 named features."""
    x = {name: round(draw.gauss(0, 1), 6) for name in NAMES}
    label = {"y": int(x["feature00"] * x["feature01"] > 0)} if labelled else {}
    return {"x": x} | label


def request(path: str, body: bytes, media: str = "application/json") -> bytes:
    """The bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def started(argv: list[str]):
    """A server in its own process; yields the port and the process."""
    quiet = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=os.environ | quiet)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r" at http://.*:(\d+)$", line.strip()):
                yield int(found[1]), process
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def service(folder: str, *flags: str, python: str = sys.executable):
    """A service on a folder."""
    return started([python, "-m", "budgetron", "serve", folder, "--port", "0", *flags])


def cpu(process: subprocess.Popen) -> float:
    """The processor seconds of a process so far."""
    parts = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: subprocess.Popen) -> float:
    """Its resident memory in MiB."""
    return (
        int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    )


class Client(asyncio.Protocol):
    """Sends a request, waits for the answer, sends the next one."""

    def __init__(self, make, pause: float = 0.0) -> None:
        self.make, self.pause, self.latencies, self.statuses = make, pause, [], {}
        self.buffer = b""

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.make())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        if len(body) < length:
            return
        status, self.buffer = int(head[9:12]), b""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.latencies.append(time.perf_counter() - self.began)
        if self.pause:
            asyncio.get_running_loop().call_later(self.pause, self.send)
        else:
            self.send()


async def driven(port: int, makers, seconds: float, pause: float = 0.0) -> list[Client]:
    """Clients that send requests for some time."""
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda make=make: Client(make, pause), "127.0.0.1", port))[1]
        for make in makers
    ]
    await asyncio.sleep(seconds)
    for client in clients:
        client.transport.abort()
    return clients


def prepared(rows: int, labelled: bool, n: int = 64, path: str | None = None):
    """A function that returns the next of n prepared requests."""
    draw = random.Random(rows)
    path = path or ("/v1/learn" if labelled else "/v1/predict")
    encode = msgspec.json.encode
    if rows == 1:
        made = [request(path, encode(row(draw, labelled))) for _ in range(n)]
    else:
        lines = (b"\n".join(encode(row(draw, labelled)) for _ in range(rows)) for _ in range(n))
        made = [request(path, body, "application/x-ndjson") for body in lines]
    turn = iter(range(10**12))
    return lambda: made[next(turn) % n]


def quantile(values: list[float], share: float) -> float:
    """A quantile in milliseconds."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] * 1e3 if values else float("nan")


def rates(seconds: float) -> None:
    """Acknowledged rows a second."""
    for flags, name in ((RBP, "rbp, budget 100"), ((), "auto (default)")):
        for clients, rows in ((1, 1), (16, 1), (128, 1), (4, 500)):
            with tempfile.TemporaryDirectory(dir=".") as folder, service(folder, *flags) as (port, process):
                warm = prepared(1, True)
                asyncio.run(driven(port, [warm], 1.0))
                before = cpu(process)
                makers = [prepared(rows, True, 64 if rows == 1 else 8)] * clients
                done = asyncio.run(driven(port, makers, seconds))
                answers = sum(client.statuses.get(200, 0) for client in done)
                spent = (cpu(process) - before) / max(answers * rows, 1) * 1e6
                all_of = [value for client in done for value in client.latencies]
                other = {k: v for client in done for k, v in client.statuses.items() if k != 200}
                print(
                    f"{name}: {clients:3} clients, {rows:3} rows a request: "
                    f"{answers * rows / seconds:8,.0f} rows/s, "
                    f"{spent:6.1f} us of processor a row, p50 {quantile(all_of, 0.5):.1f} ms, "
                    f"p99 {quantile(all_of, 0.99):.1f} ms, others {other}, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )


def cost(seconds: float) -> None:
    """Processor time of a predict request beside bare Starlette, in turns, and without the model."""
    with tempfile.TemporaryDirectory(dir=".") as a, tempfile.TemporaryDirectory(dir=".") as b:
        without = started([sys.executable, "-c", WITHOUT_MODEL, "serve", b, "--port", "0", *RBP])
        with (
            service(a, *RBP) as ours,
            without as bodiless,
            started([sys.executable, "-c", BARE]) as bare,
        ):
            servers = {"bare Starlette": bare, "ours": ours, "ours without the model": bodiless}
            for port, _ in (ours, bodiless):
                asyncio.run(driven(port, [prepared(500, True, 8)], 1.0))
            found: dict[str, list[float]] = {name: [] for name in servers}
            for _ in range(4):
                for name, (port, process) in servers.items():
                    before = cpu(process)
                    done = asyncio.run(driven(port, [prepared(1, False)] * 16, seconds))
                    count = sum(client.statuses.get(200, 0) for client in done)
                    found[name].append((cpu(process) - before) / count * 1e6)
    best = {name: min(values) for name, values in found.items()}
    for name, values in found.items():
        ratio = best[name] / best["bare Starlette"]
        print(f"{name:24} {ratio:5.2f} times bare; us a request: {' '.join(f'{v:.1f}' for v in values)}")
    print(f"load {os.getloadavg()[0]:.1f}")


async def answered(port: int, make, requests: int, clients: int) -> None:
    """Let clients send so many requests, so that both builds learn the same rows."""
    loop, left, done = asyncio.get_running_loop(), requests, asyncio.Event()

    class Counted(Client):
        def send(self) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                super().send()
            elif left == -clients:
                done.set()

    made = [await loop.create_connection(lambda: Counted(make), "127.0.0.1", port) for _ in range(clients)]
    await done.wait()
    for transport, client in made:
        transport.abort()
        assert set(client.statuses) <= {200}, client.statuses


CASES = [  # rows of a request, whether they are labelled, requests, clients
    (1, True, 600, 1),
    (1, True, 1500, 16),
    (500, True, 20, 1),
    (1, False, 1500, 1),
]


def builds(turns: float, other: str) -> None:
    """Processor time of a request, beside another build."""
    for flags, name in ((RBP, "rbp, budget 100"), ((), "auto (default)")):
        with ExitStack() as stack:
            servers = []
            for python in (other, sys.executable):
                folder = stack.enter_context(tempfile.TemporaryDirectory(dir="."))
                servers.append(stack.enter_context(service(folder, *flags, python=python)))
                asyncio.run(answered(servers[-1][0], prepared(500, True, 8), 4, 1))
            for rows, labelled, requests, clients in CASES:
                spent: list[list[float]] = [[], []]
                for turn in range(2 * int(turns)):
                    which = (turn + turn // 2) % 2  # who is first changes, too
                    port, process = servers[which]
                    before = cpu(process)
                    make = prepared(rows, labelled, 64 if rows == 1 else 8)
                    asyncio.run(answered(port, make, requests, clients))
                    spent[which].append((cpu(process) - before) / requests * 1e6)
                theirs, ours = map(median, spent)
                what = f"{name}: {'learn' if labelled else 'predict'} {rows} rows, {clients} clients"
                print(
                    f"{what}: {ours:.0f} us, {ours / theirs:.2f} times {theirs:.0f} (least "
                    f"{min(spent[1]) / min(spent[0]):.2f}), load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )


def soak(seconds: float) -> None:
    """Predict alone, then under learning load, for a long time."""
    with tempfile.TemporaryDirectory(dir=".") as folder, service(folder) as (port, process):
        asyncio.run(driven(port, [prepared(500, True, 8)], 2.0))
        predict, one, batch = prepared(1, False), prepared(1, True), prepared(100, True, 16)
        alone = asyncio.run(driven(port, [predict] * 2, min(20.0, seconds / 4), pause=0.01))
        base = [value for client in alone for value in client.latencies]
        print(
            f"predict alone: p50 {quantile(base, 0.5):.2f} ms, p99 {quantile(base, 0.99):.2f} ms",
            flush=True,
        )
        end, all_of, statuses = time.time() + seconds, [], {}

        async def both():
            part = min(30.0, seconds)
            return await asyncio.gather(
                driven(port, [predict] * 2, part, pause=0.01),
                driven(port, [one] * 8 + [batch], part, pause=0.02),
            )

        while time.time() < end:
            readers, writers = asyncio.run(both())
            part = [value for client in readers for value in client.latencies]
            all_of += part
            for client in (*readers, *writers):
                for status, count in client.statuses.items():
                    statuses[status] = statuses.get(status, 0) + count
            print(
                f"  p50 {quantile(part, 0.5):.2f} p99 {quantile(part, 0.99):.2f} ms, "
                f"{memory(process):.1f} MiB, "
                f"answers {statuses}, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        ratio = quantile(all_of, 0.99) / quantile(base, 0.99)
        print(
            f"under learning: p99 {quantile(all_of, 0.99):.2f} ms, {ratio:.2f} times that of predict alone"
        )


if __name__ == "__main__":
    what = {"rates": rates, "cost": cost, "soak": soak, "builds": builds}[sys.argv[1]]
    what(float(sys.argv[2]) if len(sys.argv) > 2 else 5.0, *sys.argv[3:])
