"""A model in its folder, and all models of a service."""

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future as ThreadFuture
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from budgetron._util.errors import DataError
from budgetron.evaluate.progressive import Estimator
from budgetron.model.files import model_files
from budgetron.serve import log, retention, settings, snapshot
from budgetron.serve.aliases import Aliases
from budgetron.serve.archive import Archive
from budgetron.serve.challengers import Challenger
from budgetron.serve.changes import Change, LeftOut, change_of
from budgetron.serve.comparison import Comparison
from budgetron.serve.end import FILE as END
from budgetron.serve.entries import FILE as LOG
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.history import opened
from budgetron.serve.jobs import Job, Published, Replace
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.replay import restored
from budgetron.serve.retention import Wanted
from budgetron.serve.served import ServedModel, ServedModels
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.team import OWN, Member, Team
from budgetron.serve.webhooks import Webhooks
from budgetron.serve.writer import Writer

FROZEN = "frozen"
"""The empty file in the folder of a model that only predicts."""
DEFAULT = "default"
"""The model that every folder has, and that the paths mean which name none."""


class Model(ServedModel):
    """A model that learns: what it predicts with, its log and its writer."""

    log: Log
    webhooks: Webhooks
    challengers: dict[str, Challenger]
    compared: Comparison | None  # if there are challengers

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        chosen = settings.read(folder)
        self.log, self._folder = Log(folder, limits), folder
        self._closing, self._filing = False, threading.Lock()  # whose holder writes to the folder
        try:
            self.retention = retention.read(folder, limits)
            self.log.retain(self.retention)
            self.archive = Archive(folder, limits)
            team, version, replayed, alarms = restored(folder, chosen, self.log)
            history = opened(folder)
        except BaseException:
            self.log.close()
            raise
        published = Published(team.own.estimator, version)
        super().__init__(name, limits, chosen, published, team.own.tally, history)
        self.work.snapshot_version = version - replayed
        self.frozen = (folder / FROZEN).exists()
        self.webhooks = Webhooks(folder, limits, history, self.log.state.id.hex()[:16])
        self.writer = self.thread = Writer(self, self.log, self.archive)
        self.challengers = {}
        self.adopt(team, version)
        for each, alarm in alarms:
            if each == OWN or each in self.challengers:
                self.named(each).alarm([alarm])
        self.events.load(history)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn, and to send events to webhooks."""
        for each in self.challengers.values():
            each.start(loop)
        super().start(loop)
        self.webhooks.start(self.name)

    def close(self) -> None:
        """Finish what is queued, save, close."""
        with self._filing:
            self._closing = True
        if self.writer.is_alive():
            self.writer.close()
        self.webhooks.close()
        self.history.close()
        self.log.close()

    def submit(self, job: Job) -> None:
        """Queue a job for the writer, or raise a `Problem`."""
        self.writer.submit(job)

    # ---- from the writer

    def named(self, name: str) -> ServedModel:
        """The model itself, or a challenger."""
        return self if name == OWN else self.challengers[name]

    def team(self) -> Team:
        """The model with its challengers, as they are now."""
        beside = {
            name: Member(each.settings, each.published.estimator, each.tally, each.born)
            for name, each in self.challengers.items()
        }
        return Team(Member(self.settings, self.published.estimator, self.tally), beside, self.compared)

    def adopt(self, team: Team, version: int) -> None:
        """Have other models from now on."""
        now = dict[str, Challenger]()
        for name, member in team.challengers.items():
            now[name] = self.challengers.get(name) or Challenger(name, self, member, version)
            now[name].tally = member.tally
        self.tally, self.compared, self.challengers = team.own.tally, team.comparison, now
        found = {name: member.estimator for name, member in team.challengers.items()}
        self.publish({OWN: team.own.estimator, **found}, version)

    def publish(self, estimators: Mapping[str, Estimator], version: int) -> None:
        """Predict with other models from now on."""
        for name, each in self.challengers.items():
            each.published = Published(estimators[name], version)
        self.published = Published(estimators[OWN], version)

    # ---- from other threads

    def comparison(self) -> dict[str, Any]:
        """How it and its challengers compare."""
        compared, members = self.compared, {OWN: self, **self.challengers}
        if compared is None:
            return {"model": self.name, "since": None, "rows": 0, "models": [], "tests": []}
        values = compared.values()
        known = [(name, members[name]) for name in values["models"] if name in members]
        told = {
            "models": [
                {"name": each.name, "learner": each.settings.learner}
                | values["models"][name]
                | {"recent": each.figures()["window"]}
                for name, each in known
            ],
            "tests": [
                test
                | {"models": [name or self.name for name in test["models"]]}
                | {"better": self.name if test["better"] == OWN else test["better"]}
                for test in values["tests"]
            ],
        }
        return {"model": self.name} | values | told

    def changed(self, change: Callable[[], Change]) -> dict[str, Any]:
        """Let the writer make a change, and wait for it; not in the event loop."""
        job = Replace(ThreadFuture(), change=change)
        self.submit(job)
        assert job.future is not None
        answer: dict[str, Any] = msgspec.json.decode(cast(ThreadFuture[bytes], job.future).result())
        return answer

    def adding(self, name: str, chosen: Settings, replay: bool) -> Change:
        """The change that adds a challenger: with what the log has now, or with nothing learned."""
        begin = self.log.begin
        replay = replay and begin is not None
        to = begin if replay and begin is not None else self.published.version
        return Change("add challenger", to, replay, name=name, settings=asdict(chosen))

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Its folder is not moved meanwhile; a `Problem` if the model is being closed."""
        with self._filing:
            if self._closing:
                raise Problem(
                    "busy", f"the model {self.name!r} is being changed: try again.", retry_after=1
                )
            yield

    def freeze(self, frozen: bool) -> None:
        """Let it only predict from now on, or learn again; on disk when this returns."""
        with self._in_place():
            if frozen:
                (self._folder / FROZEN).touch(mode=0o600)
            else:
                (self._folder / FROZEN).unlink(missing_ok=True)
            log.sync_folder(self._folder)
            self.frozen = frozen

    def retain(self, wanted: Wanted) -> dict[str, Any]:
        """Keep rows for labels within these limits, from now on and after restarts."""
        chosen = wanted.beside(self.limits)
        with self._in_place():
            if self.trouble is not None:  # nothing is written any more
                raise Problem("learning-stopped", self.trouble)
            wanted.write(self._folder)
            self.retention = chosen
            self.log.retain(chosen)
            try:
                self.log.trim()
            except sqlite3.Error as error:
                raise self.writer.stop(f"the log could not be written: {error}") from None
            self.writer.tell_dropped()
        return self.kept()

    def kept(self) -> dict[str, Any]:
        """The rows that wait for labels, those that were dropped, and the limits."""
        state = self.log.state
        count = state.counts["kept"]
        figures = {"rows": count.entries, "bytes": count.bytes, "dropped": state.dropped}
        return figures | {"limits": msgspec.to_builtins(self.retention)}

    def branches(self) -> dict[str, Any]:
        """The snapshots that are kept, and the roll-backs and resets that the log has."""
        changes = [(request.first, change_of(request)) for request in self.log.changes(0)]
        return {
            "snapshots": msgspec.to_builtins(self.archive.kept),
            "changes": [{"row": row} | msgspec.to_builtins(change) for row, change in changes],
            "log_begin": self.log.begin,
        }

    def replacing(self, to: int, replay: bool, left_out: Sequence[LeftOut]) -> Change:
        """The roll-back to a snapshot, or the reset, that is possible now; a `Problem` if it is not."""
        if to and self.archive.find(to) is None:
            kept = ", ".join(str(each.version) for each in self.archive.kept) or "none"
            raise Problem("not-found", f"no snapshot of version {to} is kept; there are: {kept}.")
        if replay and self.log.chain(to) is None:
            begin = self.log.begin
            raise Problem("log-removed", f"the log begins at row {begin}, so rows are gone: do not replay.")
        ranges = [each for one in left_out for each in one.ranges(self.log)]
        return Change("roll back" if to or replay else "reset", to, replay, ranges)

    def learned(self, after: int, chain: bytes | None = None) -> list[LoggedRequest]:
        """The requests that were learned after a version; ``chain`` is the running digest there."""
        begin, end = self.log.begin, self.published.version
        known = self.log.chain(after)
        removed = known is None and after < (end if begin is None else begin)
        if chain is not None and chain != known and not removed:
            raise Problem("other-history", f"the log has other rows before row {after} than you have.")
        if after > end or (after < end and (begin is None or after < begin)):
            raise Problem("log-removed", f"the log has no rows after {after}: fetch the model file.")
        return list(self.log.requests(after))


class Models(ServedModels):
    """All models of a folder, by name."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.by_name: dict[str, Model | Challenger] = {}
        self._aliases: Aliases | None = None  # they are read when the folder is opened
        self._lock = threading.Lock()  # of names and aliases, which changes hold for moments only

    @property
    def aliases(self) -> Mapping[str, str]:
        """The models of all aliases."""
        return {} if self._aliases is None else self._aliases.by_name

    def open(self, chosen: Settings, start: Path | None = None) -> None:
        """Open every model; an empty folder gets the model ``default``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = folders(self.folder)
        for sentence in strays(self.folder):
            raise DataError(sentence)
        if not names and any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise DataError(f"{self.folder}: holds no models, and is not empty: give an empty folder.")
        remove_unfinished(self.folder)
        make_private(self.folder, names)
        self._aliases = Aliases(self.folder)
        try:
            for name in names:
                self._know(Model(name, self.folder / name, self.limits))
            if DEFAULT not in names:
                self.create(DEFAULT, chosen, start)
            self._aliases.settle(self.by_name)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _alone(self, *names: str) -> Iterator[None]:
        """Nobody else changes or makes models of these names meanwhile; other models need not wait."""
        with self._lock:
            for name in self.changing.intersection(names):
                raise self._is_changing(name)
            self.changing |= {*names}
        try:
            yield
        finally:
            with self._lock:
                self.changing -= {*names}

    @contextmanager
    def _alone_with(self, name: str, *new: str) -> "Iterator[Model | Challenger]":
        """A model, which nobody else changes meanwhile, nor those that learn the same rows."""
        model = self.by_name.get(name)
        if model is None:
            raise self._unknown(name)
        stream = cast(Model, model.stream)
        with self._alone(stream.name, *stream.challengers, *new):
            if self.by_name.get(name) is not model:  # changed since
                raise self._is_changing(name)
            yield model

    def create(self, name: str, chosen: Settings, start: Path | None = None) -> Model:
        """Create the folder of a model, and open it."""
        check_name(name)
        with self._alone(name):
            self._refuse_new(name, chosen)
            folder = self._created(name, chosen, start)
            return self._begin(name, folder)

    def _begin(self, name: str, folder: Path) -> Model:
        """Open the folder of a model, and let it learn if the others do."""
        model = Model(name, folder, self.limits)
        if self.loop is not None:
            model.start(self.loop)
        self._know(model)
        return model

    def _know(self, model: Model) -> None:
        """Find a model and its challengers by their names from now on."""
        with self._lock:
            for name in (model.name, *model.challengers):
                if self.by_name.get(name, model).stream is not model:
                    model.close()
                    raise DataError(
                        f"{self.folder / model.name}: there is another model {name!r}: move one away."
                    )
            self.by_name = self.by_name | {model.name: model, **model.challengers}

    def _forget(self, *models: ServedModel) -> None:
        """Find models by their names no more."""
        names = {each.name for each in models}
        self.by_name = {name: each for name, each in self.by_name.items() if name not in names}

    def challenge(self, beside: str, name: str, chosen: Settings, replay: bool) -> dict[str, Any]:
        """Let one more model learn beside another one, or raise a `Problem`."""
        check_name(name)
        with self._alone_with(beside, name) as model:
            self._refuse_new(name, chosen)
            stream = cast(Model, model.stream)
            if chosen.task != stream.settings.task:
                raise Problem("malformed", f"{stream.name!r} is a model of {stream.settings.task}.")
            answer = stream.changed(partial(stream.adding, name, chosen, replay))
            self._know(stream)
        return answer

    def _refuse_new(self, name: str, chosen: Settings) -> None:
        """Refuse a model that cannot be; its name is taken already, so that nobody else makes it."""
        try:
            chosen.estimator()
        except (ValueError, TypeError) as error:
            raise Problem("malformed", str(error)) from None
        self._refuse_taken(name)
        if len(self.changing.union(self.by_name)) > self.limits.models:
            raise Problem("too-large", f"there are {self.limits.models} models already, the most allowed.")

    def _refuse_taken(self, name: str) -> None:
        if name in self.by_name:
            raise Problem("exists", f"there is a model {name!r} already.")
        if name in self.aliases:
            raise Problem("exists", f"there is an alias {name!r} already.")

    def delete(self, name: str) -> None:
        """Delete a model with all that it learned, or raise a `Problem`."""
        with self._alone_with(name) as model:
            with self._lock:
                self._refuse_to_delete(model)
                self._forget(model)
            if isinstance(model, Challenger):
                self._remove(model)
            else:
                self._delete(model)
            self.end_events(model)

    def _refuse_to_delete(self, model: Model | Challenger) -> None:
        name = model.name
        if aliases := self._written().of(name):
            raise Problem("in-use", f"{name!r} has the alias {aliases[0]!r}: let it be of another model.")
        if name == DEFAULT:
            raise Problem("in-use", f"the model {DEFAULT!r} cannot be deleted: every folder has it.")
        if isinstance(model, Model) and model.challengers:
            first = next(iter(model.challengers))
            why = f"{name!r} learns for its challenger {first!r}: delete that one before."
            raise Problem("in-use", why)

    def _remove(self, model: Challenger) -> None:
        """Remove a challenger."""
        stream = cast(Model, model.stream)
        try:
            stream.changed(lambda: Change("remove challenger", name=model.name))
        except Problem:
            self._know(stream)
            raise

    def _delete(self, model: Model) -> None:
        """Close a model, and remove its folder."""
        folder = self.folder / model.name
        gone = folder.with_name(f".{model.name}.deleted")
        model.close()
        shutil.rmtree(gone, ignore_errors=True)
        with self._moving(model.name, folder):
            folder.rename(gone)
            log.sync_folder(self.folder)
        shutil.rmtree(gone, ignore_errors=True)

    @contextmanager
    def _moving(self, name: str, folder: Path) -> Iterator[None]:
        """Open the model again if its folder cannot be moved."""
        try:
            yield
        except OSError:
            self._begin(name, folder)
            raise

    def rename(self, name: str, to: str) -> None:
        """Give a model another name, or raise a `Problem`; its aliases stay its own."""
        check_name(to)
        with self._alone_with(name, to) as model:
            if name == DEFAULT:
                raise Problem("in-use", f"the model {DEFAULT!r} cannot be renamed: every folder has it.")
            self._refuse_taken(to)
            if isinstance(model, Challenger):
                self._rename_challenger(model, to)
            else:
                self._rename(model, to)

    def _rename(self, model: Model, to: str) -> None:
        name, folder, aliases = model.name, self.folder / model.name, self._written()
        gone = [model, *model.challengers.values()]
        with self._lock:
            self._forget(*gone)
        for each in gone:
            self.end_events(each)
        model.close()
        with self._moving(name, folder), self._lock:
            aliases.begin_renaming(name, to)
            folder.rename(folder.with_name(to))
            log.sync_folder(self.folder)
            aliases.rename(name, to)
        self._begin(to, folder.with_name(to))

    def _rename_challenger(self, model: Challenger, to: str) -> None:
        stream, name, aliases, new = cast(Model, model.stream), model.name, self._written(), to
        with self._lock:
            aliases.begin_renaming(name, to)
        try:
            stream.changed(lambda: Change("rename challenger", name=name, new_name=to))
            with self._lock:
                self._forget(model)
            self._know(stream)
            self.end_events(model)
        except Problem:
            new = name
            raise
        finally:
            with self._lock:
                aliases.rename(name, new)

    def alias(self, alias: str, name: str | None) -> None:
        """Let an alias be another name of a model, or remove it; a `Problem` if that cannot be."""
        check_name(alias)
        with self._lock:
            aliases = self._written()
            by_name = dict(aliases.by_name)
            if name is not None:
                self._refuse_alias(alias, name)
                by_name[alias] = name
            elif by_name.pop(alias, None) is None:
                raise Problem("not-found", f"there is no alias {alias!r}.")
            if len(by_name) > self.limits.aliases:
                raise Problem("too-large", f"there are {self.limits.aliases} aliases, the most allowed.")
            aliases.write(by_name)

    def _refuse_alias(self, alias: str, name: str) -> None:
        if alias in self.by_name:
            raise Problem("exists", f"there is a model {alias!r}, so it can be no alias.")
        if alias in self.changing:
            raise self._is_changing(alias)
        if name not in self.by_name:
            raise self._unknown(name)

    def _written(self) -> Aliases:
        assert self._aliases is not None
        return self._aliases

    def _created(self, name: str, chosen: Settings, start: Path | None) -> Path:
        """A new folder, which gets its name when it is complete."""
        new, folder = self.folder / f".{name}.new", self.folder / name
        shutil.rmtree(new, ignore_errors=True)
        try:
            new.mkdir(mode=0o700)
            if start is None:
                log.create(new)
            else:
                begin_with(new, start, chosen)
            chosen.write(new)
            log.sync_folder(new)
            try:
                new.rename(folder)
            except OSError:
                raise DataError(f"{folder}: is in the way of a new model: move it away.") from None
        finally:  # a full disk has no room for what is left of it
            shutil.rmtree(new, ignore_errors=True)
        log.sync_folder(self.folder)
        return folder

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self.loop = loop
        for model in list(self.by_name.values()):
            if isinstance(model, Model):
                model.start(loop)


def folders(folder: Path) -> list[str]:
    """The names of the models in a folder."""
    names = (path.parent.name for path in folder.glob(f"*/{settings.FILE}"))
    return sorted(name for name in names if not name.startswith("."))


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a model, or an alias."""
    if settings.NAME.fullmatch(name) is None:
        raise Problem(
            "malformed",
            "a name has 1 to 64 characters a-z, 0-9, _ or -, and starts with a letter or digit.",
        )


def remove_unfinished(folder: Path) -> None:
    """Remove what is left of models that were made or deleted when the service ended."""
    for path in (*folder.glob(".*.new"), *folder.glob(".*.deleted")):
        shutil.rmtree(path, ignore_errors=True)


def strays(folder: Path) -> Iterator[str]:
    """Folders that have lost what makes them models. Hidden ones were never made to the end."""
    for path in folder.iterdir():
        known = path.name.startswith(".") or (path / settings.FILE).exists()
        if not known and any((path / name).exists() for name in (LOG, END)):
            yield f"{path}: has a log, but no {settings.FILE}: restore a backup."


def make_private(folder: Path, names: list[str]) -> None:
    """Rows are nobody else's business: the folders get the mode 0700, the files of models 0600."""
    models = [folder / name for name in names]
    known = [*folder.glob("*.json"), *(path for model in models for path in model.rglob("*"))]
    for path in (folder, *models, *(path for path in known if not path.is_symlink())):
        if path.stat().st_mode & 0o077:
            with suppress(OSError):  # of another owner, or on a read-only disk
                os.chmod(path, 0o700 if path.is_dir() else 0o600)


def begin_with(folder: Path, start: Path, chosen: Settings) -> None:
    """Make a model file the first snapshot, of one row, since version 0 is a model that learned nothing."""
    estimator = model_files.load(start)
    if type(estimator) is not type(chosen.estimator()):
        raise DataError(f"{start}: is a model of another task than {chosen.task}.")
    chain = log.create(folder, 1)
    snapshot.write(folder, 1, Team(Member(chosen, estimator, Tally(estimator))), chain)
