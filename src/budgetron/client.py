"""A client of ``budgetron serve``, with retries that never learn a row twice.

>>> from budgetron.client import Client
>>> client = Client("http://127.0.0.1:8000", token="a token of the service")
>>> client
Client('http://127.0.0.1:8000')
"""

import json
import random
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode

from budgetron._util.extras import pip_install
from budgetron._util.text import shown
from budgetron.records import plain

PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which the same request may succeed."""
LINES = "application/x-ndjson"
MOST_BYTES = 2**19
"""Of a batch of a stream: the service takes more."""


class ServiceError(Exception):
    """The service refused a request, or could not be reached.

    ``status`` is that of the answer, or None; ``problem`` is the problem document.

    Examples
    --------
    >>> from budgetron.client import ServiceError
    >>> error = ServiceError("row 3 cannot be read", 400, {"row": 3})
    >>> error.status, error.row
    (400, 3)
    """

    def __init__(
        self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.problem = status, dict(problem or {})

    @property
    def row(self) -> int | None:
        """The number of the row that was refused, within its request."""
        return self.problem.get("row")


class Client:
    """A client of one model of a service.

    Requests that fail for a passing reason are sent again: the connection broke, the queue is full, a proxy
    timed out. Each learning request has an idempotency key, so the service learns its rows once, however
    often it is sent.

    Parameters
    ----------
    url : str
        The address of the service.
    model : str
        The name of the model.
    token : str, optional
        The token of the service.
    retries : int
        How often a request is sent again.
    backoff : float
        Seconds before the first retry. They double each time, up to 10 seconds, with a random share.
    timeout : float
        Seconds to wait for an answer.
    transport : httpx transport, optional
        For tests, and for proxies of your own.

    Examples
    --------
    >>> from budgetron.client import Client
    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.learn({"amount": 5, "country": "DE"}, "ok")
    ...     client.predict({"amount": 6, "country": "DE"})["predictions"]
    {'first': 0, 'rows': 1, 'version': 1, 'predictions': ['ok']}
    ['ok']
    """

    def __init__(
        self,
        url: str,
        model: str = "default",
        *,
        token: str | None = None,
        retries: int = 8,
        backoff: float = 0.1,
        timeout: float = 30.0,
        transport: Any = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError(f"the client needs httpx: {pip_install('client')}.") from None
        self.url, self.model, self.retries, self.backoff = url.rstrip("/"), model, retries, backoff
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._passing = (httpx.TransportError,)
        self._http = httpx.Client(
            base_url=f"{self.url}/v1/models/{model}/", headers=headers, timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        model = "" if self.model == "default" else f", {self.model!r}"
        return f"Client({self.url!r}{model})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def learn(self, x: Any, y: Any, *, key: str | None = None) -> dict[str, Any]:
        """Learn one row, or many: ``x`` is then a table of rows, and ``y`` has their labels.

        Times are sent as texts, durations as seconds, and NaN, NaT and None as missing.

        Parameters
        ----------
        x : dict, list, 1-D array, list of these, 2-D array, or frame of pandas, polars or pyarrow
            The row or rows.
        y : label, or list, array or column of labels
            The label or labels.
        key : str, optional
            The idempotency key. Give your own to make retries safe across restarts of your program.
        """
        if plain.is_one(x):
            return self._learn([_labelled(plain.row(x), plain.value(y))], key)
        rows, labels = list(plain.rows(x)), plain.labels(y)
        if len(rows) != len(labels):
            raise ValueError(f"x has {len(rows)} rows, but y has {len(labels)} labels.")
        return self._learn(list(map(_labelled, rows, labels)), key)

    def learn_stream(
        self, rows: Iterable[tuple[Any, Any]], batch: int = 500, *, key: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Learn pairs of row and label, or of table and labels, in batches; yields the answer to each.

        The next batch is sent when the one before it is acknowledged, so the order is that of the rows. No
        more than a batch is in memory: so many rows, and half a megabyte unless one row is larger.

        Parameters
        ----------
        rows : iterable of pairs
            The rows and labels, as for `learn`.
        batch : int
            The rows of a request at most.
        key : str, optional
            What the idempotency keys begin with. With the same key and the same rows, a stream may be sent
            again from its beginning: what is learned already is not learned twice, as long as the service
            keeps the keys (100,000 of them, for a day), and with the same ``batch``.
        """
        begin = str(uuid.uuid4()) if key is None else key
        for i, lines in enumerate(_batches(_lines(rows), batch)):
            yield self._learn(lines, f"{begin}-{i}")

    def _learn(self, lines: list[bytes], key: str | None) -> dict[str, Any]:
        body = lines[0] if len(lines) == 1 else b"\n".join(lines)
        return self._send("learn", body, key or str(uuid.uuid4()))

    def predict(
        self,
        x: Any,
        *,
        keep: bool = False,
        ids: str | Sequence[str] | None = None,
        explain: bool = False,
        novelty: bool = False,
    ) -> dict[str, Any]:
        """Predict one row or many, as `learn` takes them; with ``keep`` the answer has ``ids`` for `label`.

        ``ids`` are ids of your own, such as the number of an order: rows that have one are kept.
        With ``explain`` it has ``explanations``: what each column adds to the score. With ``novelty`` it
        says how unlike the rows learned each row is, from 0 to 1.
        """
        rows = [plain.row(x)] if plain.is_one(x) else plain.rows(x)
        lines = [{"x": row} for row in rows]
        if ids is not None:
            names = [ids] if isinstance(ids, str) else ids
            lines = [line | {"id": name} for line, name in zip(lines, names, strict=True)]
        body = b"\n".join(map(_json, lines))
        flags = {"keep": keep, "explain": explain, "novelty": novelty}
        query = "&".join(f"{name}=1" for name, wanted in flags.items() if wanted)
        return self._send(f"predict?{query}" if query else "predict", body, None)

    def label(self, ids: Any, y: Any) -> dict[str, Any]:
        """Learn kept rows with their labels: one id and its label, or lists, arrays or columns of both."""
        if isinstance(ids, int | str):
            return self._send("label", {"id": ids, "y": plain.value(y)}, None)
        pairs = zip(plain.listed(ids), plain.labels(y), strict=True)
        return self._send("label", [{"id": i, "y": one} for i, one in pairs], None)

    def describe(self) -> dict[str, Any]:
        """The description of the model: version, metrics, sizes."""
        return self._send("model", None, None)

    def importances(self) -> dict[str, Any]:
        """The share of each column in what the model has learned, from the largest."""
        return self._send("importances", None, None)

    def curve(self, label: Any, *, windowed: bool = False) -> dict[str, Any]:
        """Precision and recall of a class by threshold, over all rows or the last 1,000."""
        over = "window" if windowed else "running"
        return self._send(f"curve?{urlencode({'label': str(label), 'over': over})}", None, None)

    def file(self) -> bytes:
        """The model file, which `budgetron.load` reads."""
        content: bytes = self._answer("GET", "model/file", None, {}).content
        return content

    # ---- what happened

    def events(self, what: str | None = None, *, after: int = 0) -> Iterator[dict[str, Any]]:
        """The events that are kept, oldest first: drift, new classes, snapshots, roll-backs and others.

        ``what`` is a kind of them, ``after`` is the number of an event.
        """
        of = "" if what is None else f"&what={what}"
        following: int | None = after
        while following is not None:
            page = self._send(f"events?after={following}{of}", None, None)
            yield from page["events"]
            following = page["next"]

    def set_webhook(
        self, name: str, url: str, *, events: Sequence[str] = (), secret: str | None = None
    ) -> dict[str, Any]:
        """Let the service send events to an address; the answer has the secret that signs them."""
        body: dict[str, Any] = {"url": url, "events": list(events)}
        if secret is not None:
            body["secret"] = secret
        return self._send(f"webhooks/{name}", body, None, "PUT")

    def webhooks(self) -> dict[str, Any]:
        """The webhooks, and what troubles them."""
        return self._send("webhooks", None, None)

    def remove_webhook(self, name: str) -> dict[str, Any]:
        """Send no more events to an address."""
        return self._send(f"webhooks/{name}", None, None, "DELETE")

    def retention(self) -> dict[str, Any]:
        """The rows that are kept for labels, how many were dropped, and the limits."""
        return self._send("retention", None, None)

    def retain(
        self, *, rows: int | None = None, bytes: int | None = None, days: float | None = None
    ) -> dict[str, Any]:
        """Set how many predicted rows are kept for labels, their bytes, and for how many days."""
        given = {"rows": rows, "bytes": bytes, "days": days}
        body = {name: value for name, value in given.items() if value is not None}
        return self._send("retention", body, None, "PUT")

    # ---- which models there are, and what they were

    def models(self) -> dict[str, Any]:
        """All models of the service, with their versions, and the aliases."""
        return self._send(f"{self.url}/v1/models", None, None)

    def snapshots(self) -> dict[str, Any]:
        """The snapshots that are kept, with their figures, and the roll-backs and resets so far."""
        return self._send("snapshots", None, None)

    def save_snapshot(self) -> dict[str, Any]:
        """Save a snapshot now, and keep it."""
        return self._send("snapshot", None, None, "POST")

    def roll_back(
        self,
        to: int,
        *,
        replay: bool = False,
        leave_out: Iterable[tuple[Any, Any]] = (),
        key: str | None = None,
    ) -> dict[str, Any]:
        """Let the model begin again as it was in a snapshot. That of now is kept as a snapshot.

        Parameters
        ----------
        to : int
            The version of the snapshot; see `snapshots`.
        replay : bool
            Whether the rows since then are learned again.
        leave_out : pairs of datetime or of int
            Rows that are not: those that were learned between two times (with a time zone), or numbers of
            rows: the first, and the one after the last.
        key : str, optional
            The idempotency key.
        """
        body: dict[str, Any] = {"to": to, "replay": replay}
        if left_out := [{"from": _moment(begin), "until": _moment(end)} for begin, end in leave_out]:
            body["leave_out"] = left_out
        return self._send("rollback", body, key or str(uuid.uuid4()), patient=replay)

    def reset(self, *, key: str | None = None) -> dict[str, Any]:
        """Let the model begin again with nothing learned. That of now is kept as a snapshot."""
        return self._send("reset", None, key or str(uuid.uuid4()), "POST")

    def freeze(self) -> dict[str, Any]:
        """Let the model only predict from now on."""
        return self._send("freeze", None, None, "POST")

    def thaw(self) -> dict[str, Any]:
        """Let a frozen model learn again."""
        return self._send("thaw", None, None, "POST")

    def add_challenger(
        self, name: str, algorithm: str = "auto", *, replay: bool = False, **more: Any
    ) -> dict[str, Any]:
        """Let one more model learn the same rows, under a name of its own.

        Parameters
        ----------
        name : str
            The name, with which a client predicts with it, or an alias can be set to it.
        algorithm : str
            What it learns with.
        replay : bool
            Whether it learns the rows that the log has; else it learns from now on.
        more
            ``parameters`` of the algorithm, ``seed`` and ``encoder``, as for a new model.
        """
        body = {"algorithm": algorithm, "replay": replay} | more
        return self._send(f"challengers/{name}", body, None, "PUT", patient=replay)

    def comparison(self) -> dict[str, Any]:
        """How the model and its challengers compare: error, log loss, time, memory by window; tests."""
        return self._send("comparison", None, None)

    def rename(self, to: str) -> dict[str, Any]:
        """Give the model another name. Its aliases stay its own, and this client goes on with it."""
        answer = self._send("rename", {"to": to}, None)
        self.model = to
        self._http.base_url = f"{self.url}/v1/models/{to}/"
        return answer

    def delete(self) -> dict[str, Any]:
        """Delete the model with all that it learned."""
        return self._send(f"{self.url}/v1/models/{self.model}", None, None, "DELETE")

    def set_alias(self, alias: str, model: str | None = None) -> dict[str, Any]:
        """Let an alias be another name of a model, of this client's if none is given."""
        body = {"model": self.model if model is None else model}
        return self._send(f"{self.url}/v1/aliases/{alias}", body, None, "PUT")

    def remove_alias(self, alias: str) -> dict[str, Any]:
        """Remove an alias; its model stays."""
        return self._send(f"{self.url}/v1/aliases/{alias}", None, None, "DELETE")

    def _send(
        self, path: str, body: Any, key: str | None, method: str | None = None, *, patient: bool = False
    ) -> dict[str, Any]:
        headers = {} if key is None else {"Idempotency-Key": key}
        if isinstance(body, bytes):
            headers["Content-Type"] = LINES
        method = method or ("GET" if body is None else "POST")
        answer: dict[str, Any] = self._answer(method, path, body, headers, patient).json()
        return answer

    def _answer(
        self, method: str, path: str, body: Any, headers: dict[str, str], patient: bool = False
    ) -> Any:
        """The answer to a request, which is sent again as long as that may help.

        A patient one waits without a limit, for rows that are learned again.
        """
        content: dict[str, Any] = {"content" if isinstance(body, bytes) else "json": body}
        if patient:
            content["timeout"] = None
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                answer = self._http.request(method, path, headers=headers, **content)
            except self._passing as error:
                if last:
                    raise ServiceError(f"{self.url}: cannot be reached: {shown(error)}.") from error
                self._wait(attempt, None)
                continue
            if answer.is_success:
                return answer
            if last or not _passes(answer):
                raise _refused(answer)
            self._wait(attempt, answer.headers.get("Retry-After"))
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, asked: str | None) -> None:
        seconds = min(self.backoff * 2**attempt, 10.0) * random.uniform(0.5, 1.0)
        if asked is not None and asked.isdecimal():
            seconds = max(seconds, min(int(asked), 60) * random.uniform(0.5, 1.0))
        time.sleep(seconds)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _labelled(row: Any, label: Any) -> bytes:
    return _json({"x": row, "y": label})


def _lines(rows: Iterable[tuple[Any, Any]]) -> Iterator[bytes]:
    """Each row with its label, as JSON."""
    for x, y in rows:
        if plain.is_one(x):
            yield _labelled(plain.row(x), plain.value(y))
        else:
            pairs = zip(plain.rows(x), plain.labels(y), strict=True)
            yield from (_labelled(row, label) for row, label in pairs)


def _batches(lines: Iterable[bytes], rows: int) -> Iterator[list[bytes]]:
    """Some lines at a time."""
    batch, size = list[bytes](), 0
    for line in lines:
        if batch and (len(batch) == rows or size + len(line) > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


def _moment(moment: Any) -> Any:
    """A time, or the number of a row, as JSON."""
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _document(answer: Any) -> dict[str, Any]:
    try:
        document = answer.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _passes(answer: Any) -> bool:
    """Whether the same request may succeed later."""
    problem = str(_document(answer).get("type", "")).rpartition(":")[2]
    running = answer.status_code == 409 and problem == "key-in-use"
    return running or (answer.status_code in PASSING and problem != "learning-stopped")


def _refused(answer: Any) -> ServiceError:
    problem = _document(answer)
    detail = problem.get("detail") or f"status {answer.status_code}"
    return ServiceError(f"{answer.request.url}: {detail}", answer.status_code, problem)
