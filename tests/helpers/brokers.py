"""Brokers of the tests: real servers of Redis and NATS on free ports, and the mock cluster of librdkafka.

`make brokers` unpacks the servers into build/brokers; others are looked for in the path.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.helpers.command import PATIENCE

BUILT = Path(__file__).parents[2] / "build" / "brokers"
NEEDS = {
    "redis": ("redis-server", "redis"),
    "nats": ("nats-server", "nats"),
    "kafka": (None, "confluent_kafka"),
}


def missing(kind):
    """Why there is no such broker here; None if there is."""
    name, module = NEEDS[kind]
    if find_spec(module) is None:
        return f"needs budgetron[{kind}]"
    if name is not None and program(name) is None:
        return f"needs {name}: see make brokers"
    return None


def program(name):
    """The path of a program of the brokers; None if there is none."""
    places = [
        BUILT / "usr" / "bin",
        BUILT / "usr" / "sbin",
        *os.environ["PATH"].split(os.pathsep),
        "/usr/sbin",
    ]
    return shutil.which(name, path=os.pathsep.join(map(str, places)))


def surroundings():
    """The environment that the programs need."""
    folders = [*map(str, BUILT.glob("usr/lib/*-linux-gnu")), os.environ.get("LD_LIBRARY_PATH")]
    return os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders))}


def free_port():
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Server:
    """A server process that can be stopped and started again on its port and folder."""

    program = ""

    def __init__(self, folder):
        self.folder, self.port = Path(folder), free_port()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def flags(self):
        """The arguments of the program."""
        raise NotImplementedError

    def start(self):
        """Start it, and wait until it answers."""
        with (self.folder / "said").open("ab") as said:
            words = [program(self.program), *map(str, self.flags())]
            self.process = subprocess.Popen(
                words, stdout=said, stderr=said, cwd=self.folder, env=surroundings()
            )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.ping()
                return
            except Exception:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self.folder / "said").read_text()) from None
                time.sleep(0.02)

    def stop(self):
        """End the server; what it has is on disk."""
        self.process.terminate()
        self.process.wait(PATIENCE)

    def close(self):
        """End the server for good."""
        self.process.kill()
        self.process.wait(PATIENCE)


class Redis(Server):
    """A server of Redis."""

    program = "redis-server"

    def flags(self):
        return ["--port", self.port, "--bind", "127.0.0.1", "--appendonly", "yes", "--save", ""]

    def client(self):
        import redis

        return redis.Redis(port=self.port)

    def ping(self):
        with self.client() as client:
            client.ping()

    def url(self, stream):
        return f"redis://127.0.0.1:{self.port}/{stream}"

    def publish(self, stream, bodies):
        with self.client() as client:
            pipe = client.pipeline(transaction=False)
            for body in bodies:
                pipe.xadd(stream, {"data": body})
            pipe.execute()

    def committed(self, stream):
        """The number of messages up to the committed position."""
        with self.client() as client:
            if not client.exists(stream):
                return 0
            groups = {group["name"]: group for group in client.xinfo_groups(stream)}
            if b"budgetron" not in groups:
                return 0
            return len(client.xrange(stream, max=groups[b"budgetron"]["last-delivered-id"]))

    def trim(self, stream, left):
        """Remove the oldest messages."""
        with self.client() as client:
            client.xtrim(stream, maxlen=left, approximate=False)

    def remove(self, stream):
        with self.client() as client:
            client.delete(stream)


class Nats(Server):
    """A server of NATS with JetStream."""

    program = "nats-server"

    def flags(self):
        return ["--addr", "127.0.0.1", "--port", self.port, "--jetstream", "--store_dir", self.folder]

    def run(self, work):
        """Call an asynchronous function with a client and its JetStream context."""
        import nats

        async def main():
            client = await nats.connect(f"nats://127.0.0.1:{self.port}", allow_reconnect=False)
            try:
                return await work(client, client.jetstream(publish_async_max_pending=1000))
            finally:
                await client.close()

        return asyncio.run(main())

    def ping(self):
        with socket.create_connection(("127.0.0.1", self.port), 1):
            pass
        self.run(lambda _, stream: stream.account_info())

    def url(self, stream):
        return f"nats://127.0.0.1:{self.port}/{stream}"

    def publish(self, stream, bodies):
        async def work(_, context):
            try:
                await context.stream_info(stream)
            except Exception:
                await context.add_stream(name=stream, subjects=[stream])
            waiting = [await context.publish_async(stream, body) for body in bodies]
            await asyncio.gather(*waiting)

        self.run(work)

    def committed(self, stream):
        async def work(_, context):
            return (await context.consumer_info(stream, "budgetron")).ack_floor.stream_seq

        return self.run(work)

    def trim(self, stream, left):
        self.run(lambda _, context: context.purge_stream(stream, keep=left))

    def remove(self, stream):
        self.run(lambda _, context: context.delete_stream(stream))


class Kafka:
    """The mock cluster of librdkafka, in the process of the tests. Its messages go with the process."""

    def __init__(self, _):
        from confluent_kafka import Producer

        settings = {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0}
        self._producer = Producer(settings | {"linger.ms": 1, "acks": "all"})
        [broker] = self._producer.list_topics(timeout=PATIENCE).brokers.values()
        self.port = broker.port

    def url(self, stream):
        return f"kafka://127.0.0.1:{self.port}/{stream}?partition=0"

    def publish(self, stream, bodies, partition=0):
        failures = []
        for body in bodies:
            while True:
                try:
                    self._producer.produce(
                        stream, body, partition=partition, on_delivery=lambda e, _: e and failures.append(e)
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        assert self._producer.flush(PATIENCE) == 0
        assert not failures, failures

    def committed(self, stream):
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "budgetron"})
        [found] = consumer.committed([TopicPartition(stream, 0)], timeout=PATIENCE)
        consumer.close()
        return max(found.offset, 0)

    def close(self):
        self._producer = None


KINDS = {"redis": Redis, "nats": Nats, "kafka": Kafka}


@contextmanager
def broker(kind, folder):
    """A running broker."""
    made = KINDS[kind](folder)
    try:
        yield made
    finally:
        made.close()
