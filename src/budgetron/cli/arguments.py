"""The argument parser of all commands, and readers of flag values."""

import argparse
import shutil
from typing import Any, NoReturn

from budgetron._util.choices import FORMATS, LABELS, TARGETS
from budgetron._util.text import nearest
from budgetron.cli.process import UsageError

FORMS = ("svmlight", *dict.fromkeys(FORMATS.values()))


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError`. Flags cannot be abbreviated."""

    def __init__(self, command: str, usage: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"budgetron {command}",
            usage=f"budgetron {command} {usage}",
            description=description,
            epilog=f"examples\n{examples}",
            formatter_class=Layout,
            allow_abbrev=False,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Accept ``--classes -1,1``, which argparse would take for two flags."""
        if args is not None:
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


class Layout(argparse.RawDescriptionHelpFormatter):
    """Help text as wide as the terminal, at most 108 columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(shutil.get_terminal_size().columns, 108))


def whole(least: int) -> Any:
    """A function that reads a whole number of at least ``least``."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")
        return value

    return read


def add_rows(parser: Parser) -> Any:
    """Add the flags for reading rows."""
    group = parser.add_argument_group("rows")
    add = group.add_argument
    add(
        "--features",
        type=whole(1),
        metavar="N",
        help="the number of columns of svmlight text; required for a pipe",
    )
    add("--format", metavar="F", choices=FORMS, help=f"{', '.join(FORMS)}; by default from the file name")
    add("--delimiter", metavar="SIGN", help="the sign between two cells of a CSV file; default a comma")
    add("--target", metavar="COLUMN", help="the column of labels in a CSV or Parquet file")
    add("--drop", metavar="A,B,...", action="append", help="columns to ignore")
    add("--only", metavar="A,B,...", action="append", help="the only columns to learn from")
    add("--weight", metavar="COLUMN", help="the column of sample weights")
    add(
        "--time",
        metavar="COLUMN",
        help="the column with the time of a row; its place in the day and week is learned from",
    )
    add("--id", metavar="COLUMN", help="the column that names a row, printed beside predictions")
    add(
        "--on-error",
        metavar="WHAT",
        default="stop",
        help="at a row that cannot be read: stop (the default), skip, or a folder that keeps such rows",
    )
    add("--zero-based", action="store_true", help="svmlight indices start at 0, not 1")
    return group


def add_transforms(group: Any) -> None:
    """Add the flags for transforms."""
    add = group.add_argument
    add("--shuffle", type=whole(1), metavar="SIZE", help="shuffle within a buffer of SIZE rows")
    add(
        "--dense",
        action="store_true",
        help="convert sparse rows to dense rows, so that --standardise centres them",
    )
    add = group.add_mutually_exclusive_group().add_argument
    add(
        "--standardise",
        "--standardize",
        action="store_true",
        help="scale columns, and targets, to mean 0 and variance 1, as measured on the rows before",
    )
    add("--min-max", action="store_true", help="scale columns to 0 .. 1, as measured on the rows before")


def add_metrics(add: Any) -> None:
    """Add the flags of the metrics; ``add`` is the method of a group of flags."""
    add(
        "--metrics",
        metavar="A,B,...",
        help=f"also show these metrics: of labels {', '.join(LABELS)}; of targets {', '.join(TARGETS)}, "
        "pinball:QUANTILE",
    )
    add(
        "--window",
        type=whole(1),
        default=1000,
        metavar="N",
        help="the number of last rows for the metrics over a window; default 1000",
    )


def metrics(text: str | None, regression: bool) -> tuple[str, ...] | None:
    """The names given to ``--metrics``; None if the flag is not given."""
    if text is None:
        return None
    from budgetron.evaluate.metrics.names import checked  # not above: it is not needed for --help

    try:
        return checked([word.strip() for word in text.split(",")], regression)
    except ValueError as error:
        raise UsageError(f"--metrics: {error}") from None


def seed(text: str) -> int:
    """Read a seed: a whole number from 0 to 2^32 - 1."""
    value: int = whole(0)(text)
    if value >= 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number below 2^32, got {text!r}")
    return value


def classes_of(text: str | None) -> list[Any] | None:
    """The labels of ``--classes``; numbers if all are numbers."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    try:
        labels: list[Any] = [float(word) for word in words]
    except ValueError:
        labels = words
    if len(set(labels)) < len(labels) or "" in words or len(labels) < 2:
        raise UsageError(
            f"--classes: expected two or more different labels, separated by commas, got {text!r}."
        )
    return labels


def names(texts: list[str] | None) -> list[str]:
    """The names of a flag that may be repeated, each time with names separated by commas."""
    found = [word.strip() for text in texts or () for word in text.split(",")]
    return [word for word in dict.fromkeys(found) if word]
