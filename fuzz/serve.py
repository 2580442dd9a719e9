"""Fuzz the service: requests that are broken in many ways, over HTTP.

``python -m fuzz.serve --requests 100000 --seed 0``. No answer may be a 5xx but the documented 503, memory
must not grow, and what is refused must leave no trace: at the end the log, learned offline, gives the same
bytes as the served model.
"""

import argparse
import http.client
import json
import os
import random
import signal
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from budgetron import model_files
from budgetron.serve import settings
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.rows import parse

WORDS = [
    "",
    "a",
    "b",
    "x",
    "y",
    "é",
    "\0",
    "\ud83d\ude00",
    "n" * 300,
    "$",
    "__class__",
    "../..",
    "%00",
    "NaN",
]
NUMBERS = [0, 1, -1, 0.5, 1e-300, 1e300, -1e308, 2**53, 2**63, 2**64, 10**30, 3.25]
MEDIA = [
    "application/json",
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
    "text/plain",
    "",
]
PATHS = [
    "learn",
    "predict",
    "predict?keep=1",
    "label",
    "model",
    "model/file",
    "snapshot",
    "log",
    "learn?ack=received",
]
METHODS = ["POST"] * 20 + ["GET", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "BREW"]


def value(draw: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = draw.randrange(7 if depth < 4 else 5)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(WORDS)
    if kind == 2:
        return draw.choice([None, True, False])
    if kind in (3, 4):
        return round(draw.gauss(0, 1), 3)
    if kind == 5:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(WORDS): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def row(draw: random.Random) -> dict[str, Any]:
    """A good row."""
    return {
        "x": {"a": round(draw.gauss(0, 1), 3), "b": draw.choice(["p", "q"])},
        "y": draw.choice(["no", "yes"]),
    }


def document(draw: random.Random) -> Any:
    """A good document, or one with a part that is replaced, removed or added."""
    rows = [row(draw) for _ in range(draw.randrange(1, 4))]
    inputs = [{"name": "a", "shape": [1], "datatype": "FP64", "data": [1.5]}]
    forms = [rows[0], rows, {"rows": rows}, {"x": rows[0]["x"]}, {"id": draw.randrange(9), "y": "no"}]
    forms += [
        {"columns": ["a", "b"], "x": [[1, "p"]] * 2, "y": ["no", "yes"]},
        {"inputs": inputs},
        value(draw),
    ]
    said = draw.choice(forms)
    for _ in range(draw.randrange(3)):
        said = broken(draw, said)
    return said


def broken(draw: random.Random, said: Any) -> Any:
    """A value with one part changed."""
    if isinstance(said, dict) and said and draw.random() < 0.8:
        key, fate = draw.choice(list(said)), draw.random()
        if fate < 0.5:
            return said | {key: broken(draw, said[key])}
        if fate < 0.7:
            return {name: part for name, part in said.items() if name != key}
        return said | {draw.choice(WORDS): value(draw)}
    if isinstance(said, list) and said and draw.random() < 0.8:
        at = draw.randrange(len(said))
        return [*said[:at], *([] if draw.random() < 0.2 else [broken(draw, said[at])]), *said[at + 1 :]]
    return value(draw)


def body(draw: random.Random) -> bytes:
    """A document as bytes, which may be damaged."""
    text = json.dumps(document(draw), ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    if draw.random() < 0.2:
        text = b"\n".join([text] * draw.randrange(1, 4))
    for _ in range(draw.choice([0, 0, 0, 1, 3])):
        at = draw.randrange(len(text) + 1)
        text = draw.choice(
            [
                text[:at],
                text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :],
                text[:at]
                + draw.choice([b"[" * 50, b"{", b'"', b"\\u0000", b"1e999", b"-", b"\n"])
                + text[at:],
            ]
        )
    return text


def request(draw: random.Random, model: str) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, path, body and headers."""
    path = f"/v1/models/{model}/{draw.choice(PATHS)}"
    if draw.random() < 0.1:
        odd = [
            f"/v2/models/{model}/infer",
            "/v2/health/ready",
            "/metrics",
            "/openapi.json",
            "/",
            "/v1/models/%00",
        ]
        odd += [
            f"{path}?{draw.choice(['after', 'label', 'ack', 'keep', 'z'])}="
            f"{draw.choice(['-1', '', 'x', '9' * 30])}"
        ]
        path = draw.choice([*odd, f"/{draw.randrange(10**6)}", "/v1/models/NO/learn"])
    media = draw.choice(MEDIA) if draw.random() < 0.2 else MEDIA[draw.random() < 0.2]
    headers = {"Content-Type": media}
    if draw.random() < 0.2:
        headers["Idempotency-Key"] = draw.choice(["k", '"k"', "", "k" * 300, str(draw.randrange(50))])
    if draw.random() < 0.05:
        extra = {
            "Content-Encoding": "gzip",
            "Authorization": "Bearer x",
            "If-None-Match": "*",
            "Last-Event-ID": "x",
        }
        headers |= dict([draw.choice(list(extra.items()))])
    return draw.choice(METHODS), path, body(draw), headers


def fuzz(port: int, model: str, requests: int, seed: str) -> Counter[int]:
    """Send requests to one model; raises AssertionError if an answer is not as promised."""
    draw, statuses = random.Random(seed), Counter[int]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(requests):
        sent = request(draw, model)
        try:
            connection.request(sent[0], sent[1], sent[2], sent[3])
            answer = connection.getresponse()
            content = answer.read()
        except (ConnectionError, http.client.HTTPException):  # a body that was not read closes it
            connection.close()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            statuses[0] += 1
            continue
        statuses[answer.status] += 1
        assert answer.status < 500 or answer.status == 503, (sent, content)
        ours = (
            answer.getheader("content-type") == "application/problem+json"
        )  # uvicorn has a 400 of its own
        if answer.status >= 400 and sent[0] != "HEAD" and ours:
            said = json.loads(content)
            assert said["status"] == answer.status, (sent, content)
            assert said["detail"], (sent, content)
    connection.close()
    return statuses


def offline(folder: Path) -> bytes:
    """The bytes of the model that learns the log without the service."""
    log, model = Log(folder), settings.read(folder).estimator()
    for record in log.replay(0):
        rows = parse(record.media, record.body, Limits(), labelled=True, label=record.label)
        model.partial_fit(rows.X, rows.y)
    log.close()
    return b"".join(model_files.encoded(model))


def main() -> None:
    """Run a service and fuzz it with four clients, each with its own model."""
    from benchmarks.serve_load import memory, service

    given = argparse.ArgumentParser()
    given.add_argument("--requests", type=int, default=10_000)
    given.add_argument("--seed", type=int, default=0)
    args = given.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        names = ["default", "one", "two", "three"]
        totals, failures, sizes = Counter[int](), list[str](), list[float]()
        with service(folder, "--keep-log") as (port, process):
            drain = threading.Thread(target=lambda: [None for _ in process.stderr or ()], daemon=True)
            drain.start()
            for name in names[1:]:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("PUT", f"/v1/models/{name}", b"{}", {"Content-Type": MEDIA[0]})
                assert connection.getresponse().read()
                connection.close()

            def run(name: str, turn: int) -> None:
                try:
                    totals.update(fuzz(port, name, args.requests // 40, f"{args.seed} {turn} {name}"))
                except BaseException as error:
                    failures.append(repr(error))

            for turn in range(10):
                threads = [threading.Thread(target=run, args=(name, turn)) for name in names]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                sizes.append(memory(process))
                print(
                    f"{sum(totals.values()):7} requests, {sizes[-1]:.1f} MiB, "
                    f"{dict(sorted(totals.items()))}",
                    flush=True,
                )
                if failures:
                    break
            files = {}
            for name in names:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", f"/v1/models/{name}/model/file")
                files[name] = connection.getresponse().read()
                connection.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        assert not failures, failures
        for name, content in files.items():
            assert content == offline(Path(folder) / name), f"{name}: a refused request left a trace"
    print(f"no failure; the models are those of their logs; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
