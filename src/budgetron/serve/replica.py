"""``--follow URL``: models that learn the log of another service, and only predict."""

import asyncio
import http.client
import logging
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from budgetron._util.text import printable
from budgetron.learners.automatic import Auto
from budgetron.model.files import model_files
from budgetron.serve.changes import Change, LeftOut, rows_of
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.history import History
from budgetron.serve.jobs import Job, Published
from budgetron.serve.limits import Limits
from budgetron.serve.models import DEFAULT
from budgetron.serve.problems import Problem
from budgetron.serve.replay import learn_again
from budgetron.serve.retention import Wanted
from budgetron.serve.routes import CHAIN
from budgetron.serve.rows import Rows
from budgetron.serve.served import ServedModel, ServedModels
from budgetron.serve.settings import NAME, Settings, settings_of
from budgetron.serve.tally import Tally
from budgetron.serve.team import Member, Team

report = logging.getLogger("budgetron.serve")
WAIT = 10
SECONDS = 120.0  # for the answer to a request; the model file has ten times as long
LONGEST_PAUSE = 10.0
PAUSE = 1.0  # between questions which models and aliases there are


class Refused(Exception):
    """The leader cannot be followed, or must not be: the sentence says why."""


class LogAnswer(msgspec.Struct):
    """An answer of the log: how many rows the leader has learned, and the next requests."""

    end: int
    requests: list[LoggedRequest]


class KnownModel(msgspec.Struct):
    """A model in the list of the leader."""

    name: str
    frozen: bool = False
    log_id: str = ""


class ModelsAnswer(msgspec.Struct):
    """The models and aliases of the leader."""

    models: list[KnownModel]
    aliases: dict[str, str] = {}


class Leader:
    """The service that is followed."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def open(self, path: str) -> http.client.HTTPResponse:
        """The answer to a request, of which nothing is read yet."""
        request = urllib.request.Request(self.url + path, headers=self.headers)
        answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=WAIT + 20)
        return answer

    def failed(self, why: str, before: str | None, **more: str) -> str:
        """Say why it cannot be followed, unless that is the sentence before; returns the sentence."""
        sentence = printable(f"the leader {self.url} cannot be followed: {why.rstrip('.')[:500]}.")
        if sentence != before:
            report.warning(sentence, extra=more)
        return sentence

    def get(self, path: str, most: int = 64 * 2**20) -> bytes:
        """The body of an answer, of at most that many bytes."""
        with self.open(path) as answer:
            return b"".join(pieces(answer, most, SECONDS))

    def save(self, path: str, file: Path, most: int) -> tuple[str, str]:
        """Write the body of an answer to a file; returns its ETag and its running digest."""
        with self.open(path) as answer, file.open("wb") as target:
            target.writelines(pieces(answer, most, 10 * SECONDS))
            return answer.headers.get("ETag", ""), answer.headers.get(CHAIN, "")


def pieces(answer: http.client.HTTPResponse, most: int, seconds: float) -> Iterator[bytes]:
    """The body of an answer, which must end within bytes and seconds."""
    size, until = 0, time.monotonic() + seconds
    while piece := answer.read1(2**16):
        size += len(piece)
        if size > most:
            raise Refused(f"its answer has more than {most} bytes")
        if time.monotonic() > until:
            raise Refused(f"its answer took more than {seconds:g} seconds")
        yield piece
    if answer.length:  # None if the length was not said
        raise Refused("its answer ended too early")


class Replica(ServedModel):
    """A model that follows one of the leader. It writes nothing."""

    def __init__(self, name: str, leader: Leader, limits: Limits) -> None:
        settings = Settings.of("classification", Auto())
        published = Published(settings.estimator(), 0)
        super().__init__(name, limits, settings, published, Tally(published.estimator), History())
        self.leader = leader
        self.trouble = "the model was not read from the leader yet."
        self._begun, self._failures = False, 0
        self._beside: str | None = None
        self._id, self._chain = "", b""  # of the leader's log, and its running digest up to here
        self._heard = 0.0
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._follow, name=f"replica-{name}", daemon=True)

    @property
    def challenger_of(self) -> str | None:
        """As at the leader."""
        return self._beside

    @property
    def log_id(self) -> str:
        """That of the leader, as soon as it is known."""
        return self._id

    def close(self) -> None:
        """Stop following."""
        self._ended.set()

    def submit(self, _: Job) -> None:
        """Refuse: a replica does not learn from clients."""
        raise Problem("read-only", f"this is a replica: send it to {self.leader.url}.")

    def learned(self, _: int, __: bytes | None = None) -> list[LoggedRequest]:
        """Refuse: a replica has no log."""
        raise self._read_only()

    def freeze(self, _: bool) -> None:
        """Refuse: models are frozen at the leader."""
        raise self._read_only()

    def retain(self, _: Wanted) -> dict[str, Any]:
        """Refuse: a replica keeps no rows."""
        raise self._read_only()

    def branches(self) -> dict[str, Any]:
        """Refuse: a replica has no snapshots."""
        raise self._read_only()

    def replacing(self, _: int, __: bool, ___: Sequence[LeftOut]) -> Change:
        """Refuse: models are rolled back at the leader, and replicas follow."""
        raise self._read_only()

    def comparison(self) -> dict[str, Any]:
        """Refuse: models are compared where they learn from clients."""
        raise self._read_only()

    def _read_only(self) -> Problem:
        return Problem("read-only", f"this is a replica: ask {self.leader.url}.")

    def description(self) -> dict[str, Any]:
        """As that of the leader."""
        return super().description() | {"replica": True, "leader": self.leader.url}

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                self._step()
                self._failures = 0
            except urllib.error.HTTPError as error:
                self._begun = self._begun and error.code != 410  # the log no longer has the next rows
                self._failed(_reason(error))
            except Exception as error:  # whatever it is: the thread goes on, and says that it cannot
                self._failed(str(error) or repr(error))

    def _step(self) -> None:
        if not self._begun:
            self._begin()
            self._begun = True
        end = self._advance()
        self._listen()
        if self.published.version >= end:
            self.trouble = None
        elif self.trouble is not None:  # once it has caught up, being some rows behind is no trouble
            rows = f"{self.published.version} of {end} rows"
            self.trouble = f"the replica has learned {rows} of the leader so far."

    def _failed(self, why: str) -> None:
        if self._ended.is_set():  # nobody follows any more
            return
        self.trouble = self.leader.failed(why, self.trouble, model=self.name)
        self._failures += 1
        self._ended.wait(min(LONGEST_PAUSE, 2.0 ** min(self._failures - 1, 10)))

    def _begin(self) -> None:
        """Take the model as it is now."""
        model = msgspec.json.decode(self.leader.get(f"/v1/models/{self.name}/model"))
        if self._id not in ("", model["log_id"]):
            raise Refused(OTHER)
        settings = settings_of(model)
        estimator, version, chain = settings.estimator(), model["version"], model["log_id"]
        if model["version"]:
            chain = model["log_chain"]  # where it was reset, and has learned nothing since
        if "support_vectors" in model:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.safetensors"
                tag, chain = self.leader.save(
                    f"/v1/models/{self.name}/model/file", path, self.limits.model_file
                )
                estimator = model_files.load(path)
            version = int(tag.strip('"'))
        if not chain:
            raise Refused("its model came without the running digest of the log")
        self.settings, self._id, self._chain = settings, model["log_id"], bytes.fromhex(chain)
        self._beside = model.get("challenger_of")
        self.tally, self.published = Tally(estimator), Published(estimator, version)

    def _advance(self) -> int:
        """Learn what the leader has learned since; returns how many rows it has."""
        estimator, version = self.published
        wait = WAIT if self.trouble is None else 0
        asked = f"after={version}&wait={wait}&chain={self._chain.hex()}"
        most = 64 * 2**20 + self.limits.body
        content = self.leader.get(f"/v1/models/{self.name}/log?{asked}", most)
        answer = msgspec.msgpack.decode(content, type=LogAnswer)
        requests = list(takewhile(lambda each: each.media != CHANGE, answer.requests))
        batch, chain = self._parsed(requests)
        if batch:
            member = Member(self.settings, estimator, self.tally, spare=self.spare)
            if self._beside is None:
                learn_again(Team(member), batch, version)  # the leader tells the alarms
            else:
                member.learn(batch)
            self._chain, self.published = chain, Published(member.estimator, requests[-1].end)
        if len(requests) < len(answer.requests):  # rolled back, reset, or with a challenger: take it anew
            self._begun = False
        return answer.end

    def _listen(self) -> None:
        """Tell what the leader has told, once a second."""
        if time.monotonic() < self._heard + PAUSE:
            return
        while True:
            last = self.history.last(1)
            after = last[0]["number"] if last else 0
            content = self.leader.get(f"/v1/models/{self.name}/events?after={after}")
            events = msgspec.json.decode(content)["events"]
            if not events:
                break
            self.history.put(events)
            for each in events:
                self.announce(each)
        self._heard = time.monotonic()

    def _parsed(self, requests: list[LoggedRequest]) -> tuple[list[Rows], bytes]:
        """The rows of requests, which must follow on what is learned here; and the running digest then."""
        end, chain, batch = self.published.version, self._chain, list[Rows]()
        for request in requests:
            if request.first != end or request.chain != chain:
                raise Refused(OTHER)
            try:
                batch.append(rows_of(request))
            except Problem as problem:
                raise Refused(f"the request of row {end} cannot be read here: {problem.detail}") from None
            end, chain = request.end, request.next_chain
        return batch, chain


OTHER = (
    "its log has another history than the rows learned here (it was restored or replaced): "
    "restart the replica to take the model of the leader as it is now"
)


def _reason(error: urllib.error.HTTPError) -> str:
    """What the leader answered, as a sentence."""
    try:
        problem = msgspec.json.decode(error.read(2**16))
        if problem["type"].endswith(":other-history"):
            return OTHER
        return f"it answered {error.code}: {problem['detail']}"
    except Exception:  # not an answer of this service
        return f"it answered {error.code}"
    finally:
        error.close()


class Replicas(ServedModels):
    """All models of the leader."""

    def __init__(self, leader: Leader, limits: Limits) -> None:
        self.leader, self.limits = leader, limits
        self.by_name: dict[str, Replica] = {}
        self._aliases: Mapping[str, str] = {}
        self._ended = threading.Event()
        self._starting = threading.Lock()  # after `close`, no replica is started

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow."""
        self.loop = loop
        threading.Thread(target=self._discover, args=(loop,), name="replicas", daemon=True).start()

    def _discover(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask now and then which models there are."""
        while not self._ended.is_set():
            try:
                known = msgspec.json.decode(self.leader.get("/v1/models?logs=1"), type=ModelsAnswer)
                self._follow(known, loop)
                self.why = None
            except Exception as error:  # whatever it is: the thread goes on
                if not self._ended.is_set():
                    self.why = self.leader.failed(str(error) or repr(error), self.why)
            self._ended.wait(PAUSE)

    def _follow(self, known: ModelsAnswer, loop: asyncio.AbstractEventLoop) -> None:
        """Have the models and aliases of the leader, and no others."""
        frozen = {each.name: each.frozen for each in known.models if NAME.fullmatch(each.name)}
        gone = self._gone(known.models)
        self.by_name = {name: each for name, each in self.by_name.items() if each not in gone}
        for name in frozen:
            if name not in self.by_name and len(self.by_name) < self.limits.models:
                self._begin(name, loop)
        self._aliases = known.aliases
        for name, each in self.by_name.items():
            each.frozen = frozen[name]
        for each in gone:
            each.close()
            self.end_events(each)

    def _gone(self, known: list[KnownModel]) -> list[Replica]:
        """Models that the leader no longer has, or whose names others have now.

        The model that cannot be deleted must be the same: else the leader is another service.
        """
        ids, models = {each.name: each.log_id for each in known}, self.by_name.values()
        others = [each for each in models if "" != each.log_id != ids.get(each.name, "") != ""]
        others = [] if any(each.name == DEFAULT for each in others) else others
        return [each for each in models if each.name not in ids or each in others]

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
        super().close()

    @property
    def aliases(self) -> Mapping[str, str]:
        """Those of the leader."""
        return self._aliases

    def create(self, _: str, __: Settings) -> ServedModel:
        """Refuse: models are created at the leader."""
        raise Problem("read-only", f"this is a replica: create models at {self.leader.url}.")

    def delete(self, _: str) -> None:
        """Refuse: models are deleted at the leader."""
        raise Problem("read-only", f"this is a replica: delete models at {self.leader.url}.")

    def rename(self, _: str, __: str) -> None:
        """Refuse: models are renamed at the leader."""
        raise Problem("read-only", f"this is a replica: rename models at {self.leader.url}.")

    def challenge(self, _: str, __: str, ___: Settings, ____: bool) -> dict[str, Any]:
        """Refuse: challengers learn beside models that learn."""
        raise Problem("read-only", f"this is a replica: add challengers at {self.leader.url}.")

    def alias(self, _: str, __: str | None) -> None:
        """Refuse: aliases are those of the leader."""
        raise Problem("read-only", f"this is a replica: change aliases at {self.leader.url}.")
