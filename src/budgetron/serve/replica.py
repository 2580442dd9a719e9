"""``--follow URL``: models that learn the log of another service, and only predict."""

import asyncio
import http.client
import logging
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from budgetron import model_files
from budgetron.automatic import Auto
from budgetron.serve.events import Events
from budgetron.serve.learning import learn_group
from budgetron.serve.limits import Limits
from budgetron.serve.log import Record
from budgetron.serve.metrics import Histogram
from budgetron.serve.models import ANY, Model
from budgetron.serve.problems import Problem
from budgetron.serve.rows import parse
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.writer import Job, Published

report = logging.getLogger("budgetron.serve")
FAILURES = (OSError, http.client.HTTPException, ValueError, KeyError, msgspec.DecodeError)
WAIT = 10


class Leader:
    """The service that is followed."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> tuple[bytes, str]:
        """The body and the ETag of an answer."""
        request = urllib.request.Request(self.url + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=WAIT + 20) as answer:
            return answer.read(), answer.headers.get("ETag", "")


class _Idle:
    """What a replica has in place of a writer."""

    def __init__(self) -> None:
        self.queued_rows = self.queued_bytes = self.groups = self.snapshot_version = 0
        self.snapshot_time, self.failed_snapshot = time.time(), None
        self.commits = Histogram()


class _NoLog:
    def file_bytes(self) -> int:
        """A replica writes nothing."""
        return 0


class Replica(Model):
    """A model that follows one of the leader."""

    def __init__(self, name: str, leader: Leader, limits: Limits) -> None:
        self.name, self.limits, self.leader = name, limits, leader
        self.events, self.loop = Events(limits), None
        self.settings = Settings.of("classification", Auto())
        self.writer, self.log = _Idle(), _NoLog()  # type: ignore[assignment]
        self.state = Published(self.settings.estimator(), 0)
        self.tally = Tally(self.state.estimator)
        self.why: str | None = "the model was not read from the leader yet."
        self._drawn = -1
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"replica-{name}", daemon=True)

    @property
    def published(self) -> Published:
        """What predictions are made with now."""
        return self.state

    @property
    def trouble(self) -> str | None:
        """Why the replica is not up to date."""
        return self.why

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow."""
        self.loop = loop
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._ended.set()

    def submit(self, _: Job) -> None:
        """Refuse: a replica does not learn from clients."""
        raise Problem("read-only", f"this is a replica: send it to {self.leader.url}.")

    def records(self, _: int) -> list[Record]:
        """Refuse: a replica has no log."""
        raise Problem("read-only", f"this is a replica: ask {self.leader.url}.")

    def description(self) -> dict[str, Any]:
        """As that of the leader."""
        return super().description() | {"replica": True, "leader": self.leader.url}

    def _follow(self) -> None:
        begun = False
        while not self._ended.is_set():
            try:
                if not begun:
                    self._begin()
                    begun, self.why = True, None
                self._advance()
                self.why = None
            except urllib.error.HTTPError as error:
                begun = begun and error.code != 410  # the log no longer has what is missing here
                self._failed(f"the leader answered {error.code}")
            except FAILURES as error:
                self._failed(str(error))

    def _failed(self, why: str) -> None:
        if self._ended.is_set():  # nobody follows any more
            return
        self.why = f"the leader {self.leader.url} cannot be followed: {why}."
        report.warning(self.why, extra={"model": self.name})
        self._ended.wait(1.0)

    def _begin(self) -> None:
        """Take the model as it is now."""
        said = msgspec.json.decode(self.leader.get(f"/v1/models/{self.name}/model")[0])
        self.settings = Settings(said["task"], said["learner"], said["seed"])
        estimator, version = self.settings.estimator(), 0
        if said["version"]:
            content, tag = self.leader.get(f"/v1/models/{self.name}/model/file")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.safetensors"
                path.write_bytes(content)
                estimator = model_files.load(path)
            version = int(tag.strip('"'))
        self.tally, self.state = Tally(estimator), Published(estimator, version)

    def _advance(self) -> None:
        """Learn what the leader has learned since."""
        content, _ = self.leader.get(f"/v1/models/{self.name}/log?after={self.state.version}&wait={WAIT}")
        estimator, version = self.state
        records = [Record(*parts) for parts in msgspec.msgpack.decode(content)]
        if not records:
            return
        batch = [parse(each.media, each.body, ANY, labelled=True, label=each.label) for each in records]
        estimator, outcomes = learn_group(estimator, batch, ANY)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, Problem) or record.first != version:
                raise ValueError("its log does not continue the model here")
            self.tally.add(outcome, estimator)
            version += record.rows
        self.state = Published(estimator, version)


class Replicas:
    """All models of the leader."""

    def __init__(self, leader: Leader, limits: Limits) -> None:
        self.leader, self.limits = leader, limits
        self.by_name: dict[str, Replica] = {}
        self._ended = threading.Event()
        self._starting = threading.Lock()  # after `close`, no replica is started

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow."""
        threading.Thread(target=self._discover, args=(loop,), name="replicas", daemon=True).start()

    def _discover(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask now and then which models there are."""
        while not self._ended.is_set():
            try:
                found = msgspec.json.decode(self.leader.get("/v1/models")[0])["models"]
                for name in (each["name"] for each in found):
                    if name not in self.by_name and len(self.by_name) < self.limits.models:
                        self._begin(name, loop)
            except FAILURES as error:
                if not self._ended.is_set():
                    report.warning("the leader cannot be followed: %s", error)
            self._ended.wait(10.0 if self.by_name else 1.0)

    def _begin(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        replica = Replica(name, self.leader, self.limits)
        with self._starting:
            if not self._ended.is_set():
                replica.start(loop)
                self.by_name = self.by_name | {name: replica}

    def close(self) -> None:
        """Stop following."""
        with self._starting:
            self._ended.set()
        for replica in self.by_name.values():
            replica.close()

    def create(self, *_: Any) -> Any:
        """Refuse: models are created at the leader."""
        raise Problem("read-only", f"this is a replica: create models at {self.leader.url}.")

    def unsaved(self) -> str | None:
        """Nothing is saved here."""
        return None

    def get(self, name: str) -> Replica:
        """The model of that name, or a `Problem`."""
        try:
            return self.by_name[name]
        except KeyError:
            raise Problem("not-found", f"there is no model {name[:100]!r}.") from None
