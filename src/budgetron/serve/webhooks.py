"""Webhooks of a model: its events are sent to addresses, signed, and again until they arrive.

Each has a thread, which reads the history. So a request never waits for one, and a restart goes on with the
first event that did not arrive. Headers and signature are those of standardwebhooks.com.
"""

import base64
import binascii
import hashlib
import hmac
import http.client
import logging
import random
import re
import secrets
import sqlite3
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from budgetron._util.errors import DataError
from budgetron.model.files import durable
from budgetron.serve import addresses
from budgetron.serve.history import History
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem

report = logging.getLogger("budgetron.serve")
FILE = "webhooks.json"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PREFIX = "whsec_"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
GIVE_UP = 3 * 86_400.0
"""Seconds after which an event that does not arrive is given up."""
QUIET = ("snapshot",)
"""Events that a webhook must ask for."""


class Webhook(Struct, forbid_unknown_fields=True):
    """Where events go: an address, the secret of the signatures, and which (none: all but snapshots)."""

    url: str
    secret: str = ""
    events: list[str] = []

    def wants(self, what: str) -> bool:
        """Whether it gets an event."""
        return what in self.events if self.events else what not in QUIET

    def complete(self) -> "Webhook":
        """The same with a secret; a `Problem` if something is wrong with it."""
        addresses.checked(self.url)
        if not self.secret:
            secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
            return msgspec.structs.replace(self, secret=secret)
        if not self.secret.startswith(PREFIX) or not 16 <= len(_key(self.secret)) <= 64:
            raise Problem(
                "malformed", f"secret must be {PREFIX} and 16 to 64 bytes in base64, or left out."
            )
        return self


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""


def signature(secret: str, number: str, at: int, body: bytes) -> str:
    """The signature of a message."""
    signed = hmac.new(_key(secret), b"%b.%d.%b" % (number.encode(), at, body), hashlib.sha256)
    return "v1," + base64.b64encode(signed.digest()).decode()


class Sender(threading.Thread):
    """Sends the events of a model to one webhook, in their order."""

    def __init__(self, name: str, hook: Webhook, history: History, log: str, private: bool) -> None:
        super().__init__(name=f"webhook-{name}", daemon=True)
        self.hook, self.model = hook, ""
        self._name, self._history, self._log, self._private = name, history, log, private
        self._ended = threading.Event()
        self._after = history.delivered(name)
        history.deliver(name, self._after)
        self.arrived = self.failures = self.given_up = 0  # since the start; failures of the present event
        self.trouble: str | None = None

    def close(self) -> None:
        """End it soon. What it is sending may arrive, and is sent again after a restart."""
        self._ended.set()
        with self._history.changed:
            self._history.changed.notify_all()

    def run(self) -> None:
        """Send events until `close`."""
        while not self._ended.is_set():
            try:
                events = self._history.all_events(self._after, 100)
                for challenger, event in events:
                    self._bring(event, challenger or self.model)
                if not events:
                    self._history.wait(self._after, self._ended)
            except sqlite3.Error as error:  # closed, or the disk
                self._ended.wait(1.0)
                self.trouble = str(error)

    def _bring(self, event: dict[str, Any], model: str) -> None:
        """Send an event until it arrives, or is too old."""
        while self.hook.wants(event["what"]) and not self._ended.is_set():
            if self._sent(event, model):
                self.arrived += 1
                break
            self.failures += 1
            if time.time() - event["at"] > GIVE_UP:
                self.given_up += 1
                self._say("an event is given up", event)
                break
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.failures - 1, 20))
            self._ended.wait(pause * random.uniform(0.5, 1.0))
        if not self._ended.is_set():
            self._after, self.failures = event["number"], 0
            self._history.deliver(self._name, self._after)

    def _sent(self, event: dict[str, Any], model: str) -> bool:
        at, number = int(time.time()), f"{self._log}-{event['number']}-{int(1000 * event['at'])}"
        moment = datetime.fromtimestamp(event["at"], UTC).isoformat()
        message = {"type": event["what"], "timestamp": moment, "data": {"model": model} | event}
        body = msgspec.json.encode(message)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "budgetron",
            "webhook-id": number,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(self.hook.secret, number, at, body),
        }
        try:
            status = addresses.post(self.hook.url, body, headers, self._private)
            why = None if 200 <= status < 300 else f"it answered {status}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = str(error) or repr(error)
        if why is not None and why != self.trouble:
            self._say(f"a webhook fails, and is tried again: {why}", event)
        self.trouble = why
        return why is None

    def _say(self, what: str, event: dict[str, Any]) -> None:
        report.warning(what, extra={"model": self.model, "webhook": self._name, "event": event["number"]})


class Webhooks:
    """The webhooks of a model, in a file of its folder."""

    def __init__(self, folder: Path, limits: Limits, history: History, log: str) -> None:
        self._path, self._limits, self._history, self._log = folder / FILE, limits, history, log
        self._lock = threading.Lock()
        self._model: str | None = None  # not started
        self._closed = False
        self._senders = {name: self._sender(name, hook) for name, hook in read(self._path).items()}

    def _sender(self, name: str, hook: Webhook) -> Sender:
        return Sender(name, hook, self._history, self._log, self._limits.private_webhooks)

    def start(self, model: str) -> None:
        """Begin to send, under the name of the model."""
        with self._lock:
            self._model = model
            for sender in self._senders.values():
                self._begin(sender)

    def _begin(self, sender: Sender) -> None:
        if self._model is not None:
            sender.model = self._model
            sender.start()

    def close(self) -> None:
        """End the threads. A request that hangs ends with the process."""
        with self._lock:
            self._closed = True
            for sender in self._senders.values():
                sender.close()

    def listed(self) -> list[dict[str, Any]]:
        """The webhooks, without their secrets."""
        return [
            {
                "name": name,
                "url": each.hook.url,
                "events": each.hook.events,
                "arrived": each.arrived,
                "failures": each.failures,
                "given_up": each.given_up,
                "trouble": each.trouble,
            }
            for name, each in sorted(self._senders.items())
        ]

    def put(self, name: str, hook: Webhook) -> Webhook:
        """Set a webhook; it gets the events from now on. Returns it with its secret."""
        if NAME.fullmatch(name) is None:
            raise Problem("malformed", "the name of a webhook has 1 to 64 characters a-z, 0-9, _ or -.")
        hook = hook.complete()
        try:
            addresses.resolved(addresses.checked(hook.url), self._limits.private_webhooks)
        except addresses.PrivateAddressError as error:
            allow = "start the service with --private-webhooks to allow this"
            raise Problem("private-address", f"{error}: {allow}.") from None
        except (OSError, UnicodeError) as error:
            raise Problem("malformed", f"the host of url cannot be found: {error}.") from None
        with self._lock:
            self._refuse_if_closed()
            if name not in self._senders:
                if len(self._senders) >= self._limits.webhooks:
                    most = f"there are {self._limits.webhooks} webhooks, the most allowed."
                    raise Problem("too-large", most)
                self._history.deliver(name, self._history.last_number())
            self._replace(name, hook)
        return hook

    def remove(self, name: str) -> None:
        """Remove a webhook, or raise a `Problem`."""
        with self._lock:
            self._refuse_if_closed()
            if name not in self._senders:
                raise Problem("not-found", f"there is no webhook {name[:100]!r}.")
            self._replace(name, None)
            self._history.deliver(name, None)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Problem("busy", "the model is being changed: try again.", retry_after=1)

    def _replace(self, name: str, hook: Webhook | None) -> None:
        """The file first: what was answered is true after a restart."""
        hooks = {other: each.hook for other, each in self._senders.items() if other != name}
        hooks |= {} if hook is None else {name: hook}
        durable.write(str(self._path), [msgspec.json.encode(hooks)])
        before = self._senders.pop(name, None)
        if before is not None:
            before.close()
        if hook is not None:
            self._senders[name] = sender = self._sender(name, hook)
            self._begin(sender)


def read(path: Path) -> dict[str, Webhook]:
    """The webhooks in a file; none if there is no file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Webhook])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path}: cannot be read: {error}. Remove it, and set the webhooks again."
        ) from None
