"""The argument parser of all commands, and readers of flag values."""

import argparse
import shutil
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from budgetron._util.choices import FORMATS, LABELS, TARGETS
from budgetron._util.label_rules import meant
from budgetron._util.text import nearest
from budgetron.cli.process import UsageError

FORMS = ("svmlight", *dict.fromkeys(FORMATS.values()))


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError`. Flags cannot be abbreviated."""

    def __init__(self, command: str, usage: str, description: str, examples: str) -> None:
        width = min(shutil.get_terminal_size().columns, 108)
        super().__init__(
            prog=f"budgetron {command}",
            usage=f"budgetron {command} {usage}",
            description=description,
            epilog=f"examples\n{examples}",
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, max_help_position=26, width=width
            ),
            allow_abbrev=False,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Accept ``--classes -1,1``, which argparse would take for two flags."""
        args = list(args)
        self._refuse_unknown_flags(args)
        for i in range(len(args) - 1, 0, -1):
            if args[i - 1] == "--classes" and not args[i].startswith("--"):
                args[i - 1 : i + 1] = [f"--classes={args[i]}"]
        return super().parse_known_args(args, namespace)

    def _refuse_unknown_flags(self, args: list[str]) -> None:
        """Name the flag that is nearest to an unknown one, before argparse asks for a missing argument."""
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        for word in args[: args.index("--")] if "--" in args else args:
            flag = word.partition("=")[0]
            if flag.startswith("--") and " " not in word and flag not in known:
                self.error(f"there is no flag {flag}; {nearest(flag, known, 'the help lists all.')}")

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage, as argparse would."""
        raise UsageError(message if message.endswith(("?", ".")) else f"{message}.")


def whole(least: int, bits: int = 63) -> Any:
    """A function that reads a whole number of at least ``least``, of at most so many bits."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**bits:
            bound = f"of at least {least}" if value < least else f"below 2^{bits}"
            raise argparse.ArgumentTypeError(f"expected a whole number {bound}, got {text!r}")
        return value

    return read


seed = whole(0, bits=32)


def jobs(text: str) -> int:
    """Read a number of threads; -1 means one per processor."""
    if text != "-1" and not (text.isdecimal() and int(text)):
        raise UsageError(f"--jobs: expected a whole number of at least 1, or -1, got {text}.")
    return int(text)


def share(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise UsageError(f"--coverage: expected a number between 0 and 1, got {text!r}.")
    return value


def labels(text: str) -> list[Any]:
    """Read the labels of ``--classes``; numbers if all are numbers."""
    words = [word.strip() for word in text.split(",")]
    try:
        values: list[Any] = [float(word) for word in words]
    except ValueError:
        values = words
    if len(set(values)) < len(values) or "" in words or len(values) < 2:
        raise UsageError(
            f"--classes: expected two or more different labels, separated by commas, got {text!r}."
        )
    return values


def costs(args: Any, classes: Sequence[Any] | None = None) -> dict[Any, float] | None:
    """The costs of mistakes by ``--cost`` and ``--threshold``; None if neither is given.

    A word may mean a text or a number, unless the classes say which.
    """
    given = dict[str, float]()
    for flag, words in (("--cost", args.cost), ("--threshold", args.threshold)):
        for word in names(words):
            label, _, number = word.rpartition("=")
            try:
                value = float(number)
            except ValueError:
                value = -1.0
            if not label or not 0 <= value <= LARGEST_COST or (flag == "--threshold" and not 0 < value < 1):
                what = "a probability between 0 and 1" if flag == "--threshold" else "a cost"
                raise UsageError(f"{flag}: expected LABEL=N, where N is {what}, got {word!r}.")
            if label in given:
                raise UsageError(f"{flag}: the label {label!r} has two costs: give one.")
            given[label] = (1 - value) / value if flag == "--threshold" else value
    if not given:
        return None
    found = dict[Any, float]()
    for word, cost in given.items():
        known = [of for of in meant(word) if classes is None or of in classes]
        found |= dict.fromkeys(known or [word], cost)
    return found


FILE = {"FILE": "a file, the name of a data set, or - for a pipe"}
MODEL = {"MODEL": "a model file"}
JSON = {"--json": "print a JSON document instead of a table"}
BLOCK = {"--block N": "read N rows at a time; default 1000"}
DELAY = {"--delay N": "the label of a row arrives N rows later; default 0"}
JOBS = {"--jobs N": "the number of threads; -1 means one per processor; default 1"}
ROWS = {
    "--features N": "the number of columns of svmlight text; required for a pipe",
    "--delimiter SIGN": "the sign between two cells of a CSV file; default a comma",
    "--target COLUMN": "the column of labels in a file of CSV, Parquet or JSON lines",
    "--drop A,B,...": "columns to ignore",
    "--only A,B,...": "the only columns to learn from",
    "--weight COLUMN": "the column of sample weights",
    "--time COLUMN": "the column with the time of a row; if it has dates, they are learned from as well",
    "--id COLUMN": "the column that names a row, printed beside predictions",
    "--on-error WHAT": "at a row that cannot be read: stop (the default), skip, or a folder that keeps "
    "such rows",
    "--zero-based": "svmlight indices start at 0, not 1",
}
ENCODER = {
    "--column NAME=KIND": "what a column is: number, comma (a decimal comma), date, dmy or mdy (the order "
    "of day and month), category, text, identifier (left out); by default its first values decide",
    "--most-columns N": "the most columns of encoded records, without those of words; default 256",
    "--most-values N": "the most values of a category with a column of their own; default 32",
}
TRANSFORMS = {
    "--shuffle SIZE": "shuffle within a buffer of SIZE rows",
    "--dense": "convert sparse rows to dense rows, so that --standardise centres them",
}
SCALING = {
    "--standardise --standardize": "scale columns, and targets, to mean 0 and variance 1, as measured on "
    "the rows before",
    "--min-max": "scale columns to 0 .. 1, as measured on the rows before",
    "--no-scaling": "learn columns as they are; without this, those of a table are standardised",
}
METRICS = {
    "--metrics A,B,...": f"also show these metrics: of labels {', '.join(LABELS)}, precision_at:K, "
    f"recall:CLASS and others of one class; of targets "
    f"{', '.join(TARGETS)}, pinball:QUANTILE",
    "--window N": "the number of last rows for the metrics over a window; default 1000",
}
LARGEST_COST = 1e9
TYPES = {"N": whole(1), "SIZE": whole(1), "--delay": whole(0)}
TYPES |= {"--seed": seed, "--jobs": jobs, "--classes": labels, "--coverage": share}
COVERAGE = {
    "--coverage P": "learn sets of labels, or intervals, that have this share of the answers, such as 0.9",
}
COSTS = {
    "--cost LABEL=N,...": "what a mistake in a row of this label costs; others cost 1. Predictions have "
    "the lowest expected cost",
    "--threshold LABEL=P,...": "predict this label from a probability of P on",
}
REPEATED = ("--cost", "--threshold", "--drop", "--only", "--learners", "--column")


def add(group: Any, flags: dict[str, str], **defaults: Any) -> None:
    """Add flags to a group. Each has its help by how it is written: ``FILE``, ``--rows N``, ``--json``."""
    for written, about in flags.items():
        words = written.split()
        names, value = [word for word in words if word.startswith("-")], words[-1]
        if value in names:
            group.add_argument(*names, action="store_true", help=about)
            continue
        flag = names[0] if names else value.lower()
        action = "append" if flag in REPEATED else "store"
        kind = TYPES.get(flag, TYPES.get(value))
        group.add_argument(*names or [flag], metavar=value, type=kind, action=action, help=about)
    group.set_defaults(**defaults)


def add_rows(parser: Parser) -> Any:
    """Add the flags for reading rows. Returns their group."""
    group = parser.add_argument_group("rows")
    about = f"{', '.join(FORMS)}; by default from the file name"
    group.add_argument("--format", metavar="F", choices=FORMS, help=about)
    add(group, ROWS, on_error="stop")
    return group


def add_learning(
    parser: Parser, task: dict[str, str], classes: str = "all labels; others are refused"
) -> Any:
    """Add the flags of commands that learn: for rows and their transforms, and for the task."""
    rows, group = add_rows(parser), parser.add_argument_group("task")
    add(rows, TRANSFORMS)
    add(rows.add_mutually_exclusive_group(), SCALING)
    kinds = {"--classes A,B,...": classes, "--regression": "the labels are real-valued targets"}
    add(group.add_mutually_exclusive_group(), kinds)
    add(group, {"--seed N": "the seed of all random choices; default 0"} | task, seed=0)
    return rows


def metrics(text: str | None, regression: bool) -> tuple[str, ...] | None:
    """The names given to ``--metrics``; None if the flag is not given."""
    if text is None:
        return None
    from budgetron.evaluate.metrics.names import checked  # not above: it is not needed for --help

    try:
        return checked([word.strip() for word in text.split(",")], regression)
    except ValueError as error:
        raise UsageError(f"--metrics: {error}") from None


def encoder(args: argparse.Namespace) -> Any:
    """The encoder that the flags describe; None if none is given."""
    from budgetron.records.encoder import Encoder  # not above: it is not needed for --help

    given = {name: getattr(args, name) for name in ("most_columns", "most_values")}
    params = {name: value for name, value in given.items() if value is not None}
    if args.column is not None:
        pairs = [word.rpartition("=") for word in names(args.column)]
        if not all(name and kind for name, _, kind in pairs):
            raise UsageError(f"--column: expected NAME=KIND, got {','.join(args.column)!r}.")
        params["columns"] = {name: kind for name, _, kind in pairs}
    if not params:
        return None
    try:
        made = Encoder(**params)
        made.build()
    except ValueError as error:
        raise UsageError(str(error).removeprefix("Encoder: ")) from None
    return made


def names(texts: list[str] | None) -> list[str]:
    """The names of a flag that may be repeated, each time with names separated by commas."""
    words = [word.strip() for text in texts or () for word in text.split(",")]
    return [word for word in dict.fromkeys(words) if word]
