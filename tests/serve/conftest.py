"""A service in a thread of the test's own process, for tests that need to look inside."""

import pytest

pytest.importorskip("starlette", reason="needs budgetron[serve]")
pytest.importorskip("uvicorn", reason="needs budgetron[serve]")
pytest.importorskip("httpx", reason="needs budgetron[client]")

import asyncio
import socket
import threading
import time
from contextlib import contextmanager, suppress

import httpx
import uvicorn

from budgetron import algorithms
from budgetron.parts.kernels import Gaussian
from budgetron.serve.app import configured
from budgetron.serve.limits import Limits
from budgetron.serve.models import Models
from budgetron.serve.problems import Problem
from budgetron.serve.service import Service
from budgetron.serve.settings import Settings
from budgetron.serve.tokens import Tokens

SMALL = algorithms.fogd(Gaussian(0.5), components=10)
ROWS = [{"x": {"a": i / 7, "b": (-1) ** i * 0.3}, "y": ["no", "yes"][i % 2]} for i in range(12)]


def learn(client, rows=ROWS, path="/v1/learn"):
    return client.post(path, json=rows).raise_for_status().json()


def until(check, seconds=30.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def held(model):
    """The writer of a model waits until the end: what is sent meanwhile is one group."""
    begun, go_on = threading.Event(), threading.Event()

    def change():
        begun.set()
        go_on.wait(30)
        raise Problem("not-found", "it only waits.")

    def wait():
        with suppress(Problem):
            model.changed(change)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert begun.wait(30)
    try:
        yield
    finally:
        go_on.set()
        waiting.join()


class Server(uvicorn.Server):
    """A server that ends as soon as it should: that of uvicorn looks every tenth of a second."""

    async def main_loop(self):
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.005)


@contextmanager
def running(service):
    """A client of the service; ``base_url`` is its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(configured(service, service.limits.connections))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx.Client(base_url=address, timeout=60, verify=False) as client:  # faster to make
            yield client
    finally:
        for model in service.models.by_name.values():
            model.events.ended = True
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def inside(tmp_path):
    """A function that opens a service on a folder; ``client.service`` is what is inside."""

    @contextmanager
    def opened(folder=tmp_path / "models", learner=SMALL, task="classification", tokens=None, **limits):
        models = Models(folder, Limits(**limits))
        models.open(Settings.of(task, learner))
        service = Service(models, tokens or Tokens(), models.limits)
        with running(service) as client:
            client.service, client.folder = service, folder / "default"
            yield client

    return opened


@pytest.fixture
def client(inside):
    """A service with a small model that has learned nothing."""
    with inside() as client:
        yield client
