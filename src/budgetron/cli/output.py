"""The output of commands: a text table, a JSON document, or predictions."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from budgetron import SaveError
from budgetron._util.choices import OF_RANKS
from budgetron._util.label_rules import is_exact
from budgetron._util.text import aligned, printable
from budgetron.evaluate import Metrics, Record, Session
from budgetron.evaluate.metrics.one_class import OneClass, place_of
from budgetron.evaluate.results import in_words
from budgetron.streams.bad_rows import BadRows

WIDTH = 12
POINTS = 200
"""The most points of a curve."""


class Table:
    """Prints a line per record, to stderr if the predictions go to stdout."""

    def __init__(self, resumed: int, metrics: Sequence[str], predictions: str | None) -> None:
        self._resumed = resumed
        self._file = sys.stderr if predictions == "-" else sys.stdout
        self._metrics = metrics
        self._rows = -1

    def add(self, record: Record) -> None:
        """Print a line; the header before the first one."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # erases the progress line
        if self._rows < 0:
            measures = ("mse",) if record.mistakes is None else ("mistakes", "mistakes %")
            names = [*measures, *self._metrics]
            print(_line(["rows", *names, "support", "KiB", "seconds", "rows/s"]), file=self._file)
        self._rows = record.rows
        print(self._cells(record), file=self._file, flush=True)

    def finish(self, session: Session, _: BadRows) -> None:
        if self._rows < session.rows:
            self.add(session.record())
        if self._metrics:
            print(f"\n{self._report(session)}", file=self._file)

    def _report(self, session: Session) -> str:
        """The metrics of all and of the last rows; for labels the recall of each class."""
        record = session.record()
        all_rows, last = record.metrics["running"], record.metrics["window"]
        lines = [["metric", "all rows", f"last {last['rows']:.0f} rows"]]
        lines += [[name, in_words(all_rows[name]), in_words(last[name])] for name in self._metrics]
        text = "\n".join(aligned(lines))
        if record.mistakes is None:
            return text
        recalls = [[label(name), in_words(recall)] for name, recall in session.metrics.recall().items()]
        return text + "\n\n" + "\n".join(aligned([["class", "recall"], *recalls]))

    def _cells(self, record: Record) -> str:
        """The cells of a line. The seconds do not include the time before a resume."""
        speed = f"{(record.rows - self._resumed) / record.seconds:.0f}" if record.seconds else "-"
        rate = f"{record.rate:.6g}" if record.mistakes is None else f"{100 * record.rate:.2f}"
        measures = [rate] if record.mistakes is None else [str(record.mistakes), rate]
        measures += [f"{in_words(record.metrics['running'][name]):>{len(name)}}" for name in self._metrics]
        memory, seconds = f"{record.memory_bytes / 1024:.0f}", f"{record.seconds:.2f}"
        return _line([str(record.rows), *measures, str(record.support_vectors), memory, seconds, speed])


class Document:
    """Prints one JSON document at the end of the run."""

    def __init__(self, resumed: int, algorithm: str, source: str, saved: str | None) -> None:
        self._algorithm, self._source, self._saved = algorithm, source, saved
        self._resumed = resumed
        self._records: list[Record] = []

    def add(self, record: Record) -> None:
        """Store a record for the end."""
        self._records.append(record)

    def finish(self, session: Session, bad_rows: BadRows) -> None:
        model: Any = session.estimator
        last, metrics = session.record(), session.metrics
        recall = {} if metrics.targets else metrics.recall()
        result = {
            "algorithm": self._algorithm,
            "learner": repr(model.learner_),
            "source": self._source,
            "seed": model.random_state,
            "features": model.n_features_in_,
            "classes": None if metrics.targets else model.classes_.tolist(),
            "resumed_from": self._resumed,
            **last.as_dict(),
            "rate": last.rate,
            "recall": [{"class": name, "recall": value} for name, value in recall.items()] or None,
            "confusion": None if metrics.targets else metrics.confusion(),
            **_curves(metrics),
            **({} if model.coverage is None else {"covered": model.covered_}),
            "saved": self._saved,
            "bad_rows": bad_rows.count,
            "unlabelled": session.unlabelled,
            "records": [record.as_dict() for record in self._records],
        }
        print(document(result))


def _curves(metrics: Metrics) -> dict[str, Any]:
    """Precision and recall by threshold, of the classes for which a metric of ranks was asked."""
    asked = {each.label for each in map(OneClass.named, metrics.names) if each and each.metric in OF_RANKS}
    if not asked or not metrics.ranked:
        return {}
    classes = list(metrics.recall())
    places = [place_of(word, classes) for word in asked if word is not None]
    chosen = [name for i, name in enumerate(classes) if None in asked or i in places]
    curves = [{"class": name} | metrics.precision_recall(name, most=POINTS) for name in chosen]
    return {"precision_recall": curves}


class Predictions:
    """Writes predictions to a file, to stdout (``-``), or nowhere (None).

    A resumed run continues after the line of the last learned row. Later lines of an interrupted run are
    removed.
    """

    def __init__(self, place: str | None, learned: int) -> None:
        self._file: Any = sys.stdout if place == "-" else None
        if place not in (None, "-"):
            self._file = _cut(str(place), learned) if learned else open(str(place), "w")  # noqa: SIM115
        self._own = place not in (None, "-")

    def write(self, predictions: Any, ids: Any = None) -> None:
        if self._file is not None:
            self._file.write(lines(map(label, predictions), ids))

    def sync(self) -> None:
        """Write everything to disk, so that a checkpoint never has more rows than the file."""
        if self._file is not None:
            self._file.flush()
        if self._own:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._own:
            self._file.close()


def document(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False, default=_plain)


def label(value: Any) -> str:
    """A label as text; whole numbers have no decimal point."""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and is_exact(number) else repr(number)


def lines(texts: Iterable[str], ids: Any = None) -> str:
    """The texts as lines, each after the id of its row and a tab, if rows have ids."""
    if ids is not None:
        texts = (f"{printable(name)}\t{text}" for name, text in zip(ids, texts, strict=True))
    return "".join(f"{text}\n" for text in texts)


def check_place(place: Path) -> None:
    """Check before the first row that a file can be written."""
    folder = place.absolute().parent
    if not folder.is_dir():
        raise SaveError(f"{place}: cannot be written: there is no folder {folder}.")
    if place.is_dir():
        raise SaveError(f"{place}: cannot be written: it is a folder.")
    exists = place.exists()
    if not (os.access(place, os.W_OK) if exists else os.access(folder, os.W_OK | os.X_OK)):
        why = "it is read-only" if exists else "its folder is not writable"
        raise SaveError(f"{place}: cannot be written: {why}.")


def _cut(place: str, learned: int) -> Any:
    """Open a file and remove all lines after the first ``learned`` ones."""
    file = open(place, "r+")  # noqa: SIM115
    for _ in range(learned):
        if not file.readline().endswith("\n"):
            file.close()
            raise SaveError(f"{place}: expected the {learned} predictions of the run to resume, got fewer.")
    file.seek(file.tell())
    file.truncate()
    return file


def _line(cells: list[str]) -> str:
    return " ".join(f"{cell:>{WIDTH}}" for cell in cells).rstrip()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value.tolist()
