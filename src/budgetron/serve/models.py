"""All models of a service, by name: made, renamed, deleted, and given aliases."""

import asyncio
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from budgetron._util.errors import DataError
from budgetron.serve import log, settings
from budgetron.serve.aliases import Aliases
from budgetron.serve.challengers import Challenger
from budgetron.serve.changes import Change
from budgetron.serve.folders import created, folders, make_private, remove_unfinished, strays
from budgetron.serve.limits import Limits
from budgetron.serve.model import Model
from budgetron.serve.problems import Problem
from budgetron.serve.served import ServedModel, ServedModels
from budgetron.serve.settings import Settings

DEFAULT = "default"
"""The model that every folder has, and that the paths mean which name none."""


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
            folder = created(self.folder, name, chosen, start)
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

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self.loop = loop
        for model in list(self.by_name.values()):
            if isinstance(model, Model):
                model.start(loop)


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a model, or an alias."""
    if settings.NAME.fullmatch(name) is None:
        raise Problem(
            "malformed",
            "a name has 1 to 64 characters a-z, 0-9, _ or -, and starts with a letter or digit.",
        )
