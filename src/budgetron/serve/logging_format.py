"""Messages of the service: one line each, as text or as JSON."""

import io
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from budgetron._util.text import printable

STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Lines(logging.Formatter):
    """``2026-01-31T12:00:00.000Z info started model=default``, or the same as JSON."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the message holds."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        message |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            message["traceback"] = self.formatException(record.exc_info)
        if self.as_json:
            return json.dumps(message, default=str)
        more = (f"{name}={value}" for name, value in list(message.items())[3:])
        return printable(" ".join([message["time"], message["level"], message["message"], *map(str, more)]))


class Stderr(logging.StreamHandler[TextIO]):
    """Writes to what stderr is now."""

    @property
    def stream(self) -> TextIO:
        """The present stderr."""
        return sys.stderr.stderr if isinstance(sys.stderr, Wrapped) else sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        pass


class Wrapped(io.TextIOBase):
    """A stderr on which every line is a message: also tracebacks, and what libraries print."""

    def __init__(self, stderr: TextIO, formatter: logging.Formatter) -> None:
        self.stderr, self._formatter, self._rest = stderr, formatter, ""

    def write(self, text: str) -> int:
        """Write the lines that are whole."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip():
                fields = {"levelname": "ERROR", "msg": line.removeprefix("budgetron: ")}
                self.stderr.write(self._formatter.format(logging.makeLogRecord(fields)) + "\n")
        return len(text)

    def flush(self) -> None:
        """Write what has come so far."""
        self.stderr.flush()

    def fileno(self) -> int:
        """That of stderr."""
        return self.stderr.fileno()


LEVELS = {
    "budgetron.serve": logging.INFO,
    "uvicorn": logging.WARNING,
    "asyncio": logging.WARNING,
    "py.warnings": logging.WARNING,
}


def configure(as_json: bool) -> None:
    """Send the messages of the service, of uvicorn and asyncio, and warnings, to stderr."""
    handler, lines = Stderr(), Lines(as_json)
    handler.setFormatter(lines)
    logging.captureWarnings(True)
    for name, level in LEVELS.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    if as_json and not isinstance(sys.stderr, Wrapped):
        sys.stderr = Wrapped(sys.stderr, lines)
