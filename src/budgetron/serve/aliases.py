"""Aliases: further names of models. Each says one model, and another one from one moment to the next."""

import json
import zlib
from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct

from budgetron._util.errors import DataError
from budgetron.model.files import durable

FILE = "aliases.json"


class _Document(Struct):
    """What the file holds. ``renaming`` has the new names of models that are being renamed."""

    aliases: dict[str, str]
    renaming: dict[str, str] | None = None
    crc32: int = 0

    def checksum(self) -> int:
        return zlib.crc32(json.dumps([self.aliases, self.renaming], sort_keys=True).encode())


class Aliases:
    """The aliases in the folder of a service. Readers see `by_name`, which is replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        self._path, self.by_name = folder / FILE, dict[str, str]()
        self._renaming = dict[str, str]()
        if self._path.exists():
            document = self._read()
            self.by_name, self._renaming = document.aliases, document.renaming or {}

    def _read(self) -> _Document:
        try:
            document = msgspec.json.decode(self._path.read_bytes(), type=_Document)
            if document.crc32 != document.checksum():
                raise ValueError("it was changed or damaged since it was written")
        except ValueError as error:
            raise DataError(f"{self._path}: cannot be read: {error}: restore a backup.") from None
        return document

    def settle(self, models: Collection[str]) -> None:
        """The service may have ended while it renamed models: their names tell whether it came to that."""
        for old, new in self._renaming.items():
            self.rename(old, new if new in models and old not in models else old)

    def write(self, by_name: dict[str, str], renaming: dict[str, str] | None = None) -> None:
        """Write all aliases; they hold when this returns."""
        renaming = self._renaming if renaming is None else renaming
        document = _Document(by_name, renaming or None)
        document.crc32 = document.checksum()
        durable.write(str(self._path), [msgspec.json.encode(document)])
        self.by_name, self._renaming = by_name, renaming

    def begin_renaming(self, old: str, new: str) -> None:
        """Note that a model is being renamed, until `rename`."""
        self.write(self.by_name, self._renaming | {old: new})

    def rename(self, old: str, new: str) -> None:
        """Let the aliases of a model follow its new name; or its old one, if it was not renamed."""
        rest = {name: to for name, to in self._renaming.items() if name != old}
        self.write({alias: new if name == old else name for alias, name in self.by_name.items()}, rest)

    def of(self, model: str) -> list[str]:
        """The aliases of a model."""
        return sorted(alias for alias, name in self.by_name.items() if name == model)
