"""Run ``budgetron serve`` in a process of its own, and check what it leaves on disk."""

import atexit
import copy
import functools
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.util import _exit_function
from pathlib import Path

import httpx
import msgspec
import pytest

from budgetron import model_files
from budgetron.cli import main
from budgetron.serve import settings
from budgetron.serve.entries import CHANGE
from budgetron.serve.log import Log
from tests.helpers.command import PATIENCE

JSON, LINES = {"Content-Type": "application/json"}, {"Content-Type": "application/x-ndjson"}

SMALL = ("--algorithm", "fogd", "--components", "10", "--gamma", "0.5")
"""A small, fast learner."""
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}


PRELOADED = ["budgetron.cli.commands.serve", "budgetron.serve.app", "uvicorn.protocols.http.httptools_impl"]


@functools.cache
def forks():
    """A process that has imported everything, and forks for each service."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    shim, before = faulty_disk(), dict(os.environ)
    os.environ.update(ONE_THREAD | ({} if shim is None else {"LD_PRELOAD": shim}))
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return context


@functools.cache
def own_folder():
    """A folder of this process, which is removed when it ends, or by `tidy`."""
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def tidy():
    """Do now what is done when the process ends: before that, someone looks for files that are left."""
    _exit_function()  # multiprocessing has a folder too
    if own_folder.cache_info().currsize:
        shutil.rmtree(own_folder())


def _serve(argv, messages, faults, file_bytes, files):
    """What the forked process does."""
    os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    if faults is not None:
        os.environ["FAULTS"] = str(faults)
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    code = main(["serve", "--port", "0", *argv])
    sys.stderr.flush()
    os._exit(code)


class Server:
    """A running service; ``url`` is its address. ``faults`` is a folder, see faulty_disk.c."""

    def __init__(self, *argv, faults=None, file_bytes=None, files=None):
        self.messages = Path(tempfile.mkdtemp(dir=own_folder())) / "messages"
        self.process = forks().Process(
            target=_serve,
            args=([*map(str, argv)], str(self.messages), faults, file_bytes, files),
            daemon=True,
        )
        self.process.start()
        self.url, until = None, time.monotonic() + PATIENCE
        while self.url is None and time.monotonic() < until:
            found = re.search(r' at (https?://[^\s"]+)"?[\n}]', self.said)
            self.url = found and found[1]
            if not self.url and not self.process.is_alive():
                raise RuntimeError(self.said)
            time.sleep(0.01)

    @property
    def said(self):
        """The messages of the service."""
        return self.messages.read_text() if self.messages.exists() else ""

    def kill(self):
        """End it at once, as a power failure would end the process."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(PATIENCE)

    def stop(self):
        """End it as systemd does; returns the exit code."""
        os.kill(self.process.pid, signal.SIGTERM)
        return self.ended()

    def ended(self):
        """The exit code, when it has ended."""
        self.process.join(PATIENCE)
        return self.process.exitcode


@contextmanager
def served(*argv, **more):
    """A service that is killed at the end if it still runs."""
    server = Server(*map(str, argv), **more)
    server.http = httpx.Client(base_url=server.url, timeout=PATIENCE, verify=False)  # faster to make
    try:
        yield server
    finally:
        server.http.close()
        if server.process.is_alive():
            server.kill()


@functools.cache
def faulty_disk():
    """The library that makes fsync wait or fail; None where it cannot be compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        return None
    made = own_folder() / "faulty_disk.so"
    source = Path(__file__).with_name("faulty_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return str(made)


def a_disk(faults):
    """A folder in which files decide what fsync does; skips the test where that is not possible."""
    if faulty_disk() is None:
        pytest.skip("needs a C compiler, on Linux")
    faults.mkdir()
    return faults


@contextmanager
def held(faults):
    """A while in which fsync does not return."""
    (faults / "hold").touch()
    try:
        yield
    finally:
        (faults / "hold").unlink()


def logged(folder):
    """What the log of a stopped service holds."""
    log = Log(Path(folder))
    try:
        return list(log.replay(log.begin or 0))
    finally:
        log.close()


def bodies(folder):
    """The rows of the log, as JSON: (number of the first row, list of rows)."""
    return [(request.first, rows_of(request)) for request in logged(folder) if request.media != CHANGE]


def rows_of(request):
    """The rows of a request of the log, as JSON."""
    lines = request.body.splitlines() if request.media.endswith("ndjson") else [request.body]
    said = [msgspec.json.decode(line) for line in lines]
    rows = said[0] if isinstance(said[0], list) else said
    assert len(rows) == request.rows
    return rows


def offline(folder):
    """The bytes of the model that learns the log in one go, without the code of the service."""
    rows = [row for _, part in bodies(folder) for row in part]
    model = settings.read(Path(folder)).estimator()
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])
    return b"".join(model_files.encoded(model))


def offline_history(folder, name=""):
    """The bytes of the model that does what the log says; ``name`` is that of a challenger now."""
    return offline_models(folder)[name]


def offline_models(folder):
    """The bytes of the models that do what the log says, with roll-backs, resets and challengers, offline.

    By the names of challengers; the model of the folder has none. None where nothing is learned.
    """
    requests = logged(folder)
    changes = {each.first: json.loads(each.body) for each in requests if each.media == CHANGE}
    wanted = {change["to"] for change in changes.values()}
    rows = {
        each.first + i: row
        for each in requests
        if each.media != CHANGE
        for i, row in enumerate(rows_of(each))
    }
    first = settings.read(Path(folder))
    known, waiting = {"": (first, first.estimator())}, []
    states = {0: copy.deepcopy(known)}
    end = requests[-1].end
    for number in range(end):
        if number in rows:
            waiting.append(rows[number])
        if number + 1 in wanted or number + 1 in changes or number + 1 == end:
            for _, model in known.values():
                _learn_offline(model, waiting)
            waiting = []
        if number in changes:
            known = _changed(known, states, rows, number, **changes[number])
        if number + 1 in wanted:
            states[number + 1] = copy.deepcopy(known)
    return {
        name: b"".join(model_files.encoded(model)) if hasattr(model, "fitted_") else None
        for name, (_, model) in known.items()
    }


def _learn_offline(model, rows):
    if not rows:
        return
    model.partial_fit([row["x"] for row in rows], [row["y"] for row in rows])


def _changed(known, states, rows, number, what, to, replay, left_out, name="", new_name="", **more):
    """The models after a change; every row that is replayed must be one that they take."""
    known, changed = dict(known), []
    if what == "remove challenger":
        del known[name]
    elif what == "rename challenger":
        known[new_name] = known.pop(name)
    elif what == "add challenger":
        chosen = settings.settings_of(more["settings"])
        known[name] = chosen, chosen.estimator()
        changed = [name]
    else:
        assert what == ("roll back" if to or replay else "reset")
        then, changed = copy.deepcopy(states[to]), list(known)
        for each, (chosen, _) in known.items():
            was = then.get(each, (None, None))
            known[each] = was if was[0] == chosen else (chosen, chosen.estimator())
    again = [
        rows[i]
        for i in (range(to, number) if replay else ())
        if i in rows and not any(begin <= i < end for begin, end in left_out)
    ]
    for each in changed:
        _learn_offline(known[each][1], again)
    return known


def learn(client, body, headers=JSON, query=""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(f"/v1/learn{query}", content=content, headers=headers)


def as_lines(rows):
    return "\n".join(map(json.dumps, rows)).encode()
