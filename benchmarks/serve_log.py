"""Rows on disk a second: SQLite, as the service uses it, beside a file with checksums and ``fdatasync``.

``python -m benchmarks.serve_log [FOLDER]`` takes half a minute. FOLDER must be on the disk that matters.
"""

import os
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

from budgetron.serve.entries import Group, LoggedRequest
from budgetron.serve.log import Log, create

ROW = b'{"x":{' + b",".join(b'"feature%02d":%0.9f' % (i, i / 7) for i in range(20)) + b'},"y":1}'


def own(folder: Path, requests: int, body: bytes, seconds: float) -> tuple[int, float]:
    """Append records of length, checksum, number and body."""
    file = os.open(folder / "own.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    done, cpu, end = 0, time.process_time(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        heads = (struct.pack("<IIQ", len(body), zlib.crc32(body), done + i) for i in range(requests))
        os.write(file, b"".join(head + body for head in heads))
        os.fdatasync(file)
        done += requests
    os.close(file)
    return done, time.process_time() - cpu


def sqlite(folder: Path, requests: int, body: bytes, seconds: float) -> tuple[int, float]:
    """The log of the service."""
    create(folder)
    log = Log(folder)
    done, cpu, end = 0, time.process_time(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        log.commit(
            Group([LoggedRequest(done + i, 1, "application/json", "y", body) for i in range(requests)])
        )
        done += requests
    log.close()
    return done, time.process_time() - cpu


def main(place: str | None = None, seconds: float = 3.0) -> None:
    """Print a table."""
    print(f"load {os.getloadavg()[0]:.1f}")
    for requests, rows in ((1, 1), (8, 1), (64, 1), (2, 500)):
        for name, run in (("own", own), ("SQLite", sqlite)):
            with tempfile.TemporaryDirectory(dir=place) as folder:
                done, cpu = run(Path(folder), requests, b"\n".join([ROW] * rows), seconds)
            print(
                f"{name:6} {requests:2} requests of {rows:3} rows a commit: "
                f"{done * rows / seconds:9,.0f} rows/s, "
                f"{cpu / done * 1e6:6.1f} us of processor time a request"
            )


if __name__ == "__main__":
    main(*sys.argv[1:2])
