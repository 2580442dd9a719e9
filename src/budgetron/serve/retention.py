"""How long, and how much, rows are kept for labels that come later: of the service, or set for a model."""

from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from budgetron._util.errors import DataError
from budgetron.model.files import durable
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem

FILE = "retention.json"
DAY = 86_400.0
MOST = 2**53


class Retention(Struct, forbid_unknown_fields=True):
    """The most rows that are kept, their bytes, and their age in days that the service ran."""

    rows: int
    bytes: int
    days: float

    @classmethod
    def of(cls, limits: Limits) -> "Retention":
        """That of a service."""
        return cls(limits.kept_rows, limits.kept_bytes, limits.kept_seconds / DAY)


class Wanted(Struct, forbid_unknown_fields=True):
    """What is set for a model. What is left out is as the service has it."""

    rows: int | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    days: float | UnsetType = UNSET

    def beside(self, limits: Limits) -> Retention:
        """The retention of the model; a `Problem` if there is none like this."""
        given = msgspec.to_builtins(self)
        for name, value in given.items():
            if not 0 <= value <= MOST:
                raise Problem("malformed", f"{name} must be a number from 0 to 2^53, got {value}.")
        return msgspec.structs.replace(Retention.of(limits), **given)

    def write(self, folder: Path) -> None:
        """Write it to the folder of the model."""
        durable.write(str(folder / FILE), [msgspec.json.encode(self)])


def read(folder: Path, limits: Limits) -> Retention:
    """The retention of the model in a folder."""
    try:
        content = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return Retention.of(limits)
    try:
        return msgspec.json.decode(content, type=Wanted).beside(limits)
    except (msgspec.DecodeError, Problem) as error:
        raise DataError(f"{folder / FILE}: cannot be read: {error}. Remove it for the defaults.") from None
