"""Messages of the service: one line each, as text or as JSON."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from budgetron._text import printable

STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Lines(logging.Formatter):
    """``2026-01-31T12:00:00.000Z info started model=default``, or the same as JSON."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the message holds."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        said |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        if self.as_json:
            return json.dumps(said, default=str)
        more = (f"{name}={value}" for name, value in list(said.items())[3:])
        return printable(" ".join([said["time"], said["level"], said["message"], *map(str, more)]))


class Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what stderr is now."""

    @property
    def stream(self) -> TextIO:
        """The present stderr."""
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        pass


def configure(as_json: bool) -> None:
    """Send the messages of the service and of uvicorn to stderr."""
    handler = Stderr()
    handler.setFormatter(Lines(as_json))
    for name, level in (("budgetron.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
