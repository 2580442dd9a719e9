"""The command ``budgetron``: each of its commands is a module, and only the one asked for is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = ("run", "predict", "compare", "inspect", "data", "demo")

HELP = """\
usage: budgetron COMMAND [ARGUMENTS]

Nonlinear models that learn from a stream, in bounded memory and time.

learn
  run ALGORITHM FILE    predict each row, then learn it; save, checkpoint and resume
  compare ALGORITHM...  several algorithms over random orders of the same rows
  demo                  ten algorithms over handwritten digits

use
  predict MODEL FILE    predictions of a saved model
  inspect MODEL         what is in a model file; nothing in it is run

data
  data list             the data sets that are known by name
  data describe NAME    what one of them is
  data fetch NAME       download one, and check it

FILE is svmlight/LIBSVM text, CSV or Parquet, packed or not, a data set's name, or - for a pipe.

examples
  budgetron run rbp train.svm.xz --budget 100 --sigma 8 --save model
  xzcat train.svm.xz | budgetron run bogd - --budget 100 --features 54 --classes=-1,1
  budgetron predict model test.svm > predictions
  budgetron compare rbp forgetron nogd --data german --budget 50 --rank 10 --sigma 8

budgetron COMMAND --help says more. Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed,
2 wrong usage, 3 bad data, 4 bad model file, 130 interrupted, 143 terminated.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what it exits with."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _with_streams()
    try:
        if argv is None:
            _without_pandas(arguments)
        code = _command(arguments)
        sys.stdout.flush()
    except SystemExit as done:  # argparse, after --help
        return int(done.code or 0)
    except BrokenPipeError:  # the reader of our output is gone, which is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except BaseException as error:
        from budgetron.cli.process import told

        return told(error, arguments)
    return code


def _command(arguments: list[str]) -> int:
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help", "help"):
        print(HELP, end="")
    elif name in ("-V", "--version"):
        from budgetron import __version__

        print(f"budgetron {__version__}")
    elif name in COMMANDS:
        return int(import_module(f"budgetron.cli.commands.{name}").main(rest) or 0)
    else:
        from budgetron.cli.process import Usage

        raise Usage(f"there is no command {name!r}; there are: {', '.join(COMMANDS)}.")
    return 0


def _with_streams() -> None:
    """Where a shell closed stdout or stderr (``2>&-``), what is written there goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _without_pandas(arguments: list[str]) -> None:
    """Scikit-learn loads pandas where there is one: 60 MB and a third of a second, for nothing here."""
    if arguments[:1] and arguments[0] in COMMANDS and "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        import_module("sklearn.base")
        del sys.modules["pandas"]
