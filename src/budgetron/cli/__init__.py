"""The command ``budgetron``. Each subcommand is a module; only the one in use is imported."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = (
    "run",
    "predict",
    "compare",
    "study",
    "tune",
    "describe",
    "inspect",
    "export",
    "data",
    "demo",
    "serve",
    "fsck",
    "models",
)

HELP = """\
usage: budgetron COMMAND [ARGUMENTS]

Learn nonlinear models from a stream, in bounded memory and time per row.

learn
  run [ALGORITHM] FILE  predict each row, then learn it; save, checkpoint and resume
  compare FILE          run several algorithms over random orders of the same rows
  study FILE.toml       run learners on many data sets: tables, tests and figures for a paper
  tune FILE             choose the parameters of an algorithm on the first rows
  demo                  compare nine learners on handwritten digits

  describe FILE         what the columns of a table are read as, and what looks wrong

use
  predict MODEL FILE    predict the rows of a file with a saved model
  inspect MODEL         show the contents of a model file, without building the model
  export MODEL          write a saved model as C or ONNX
  serve DIR             learn and predict over HTTP; what is acknowledged is on disk
  fsck DIR              check the folder of serve
  models URL            list, roll back, freeze, rename or delete the models of a running service

data
  data list             list all data sets
  data describe NAME    show the catalogue entry of a data set
  data fetch NAME       download a data set and check its rows

FILE is an svmlight/LIBSVM, CSV or Parquet file (also compressed), the name of a data set, or - for a pipe.

examples
  budgetron run transactions.csv --target label --save model
  budgetron run rbp train.svm.xz --budget 100 --sigma 8 --save model
  xzcat train.svm.xz | budgetron run bogd - --budget 100 --features 54
  budgetron predict model test.svm > predictions
  budgetron compare german --learners rbp,forgetron,nogd --budget 50 --rank 10 --sigma 8

budgetron COMMAND --help lists all flags. Results go to stdout, messages to stderr. Exit codes: 0 success,
1 failure, 2 wrong usage, 3 bad data, 4 bad model file, 130 interrupted, 143 terminated.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _replace_closed_streams()
    try:
        if argv is None:
            _import_without_pandas(arguments)
        code = _command(arguments)
        sys.stdout.flush()
    except SystemExit as done:  # argparse, after --help
        return int(done.code or 0)
    except BrokenPipeError:  # the reader of stdout has closed it, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except BaseException as error:
        from budgetron.cli.process import report_error

        return report_error(error, arguments)
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
        from budgetron._util.text import nearest
        from budgetron.cli.process import UsageError

        raise UsageError(f"there is no command {name!r}; {nearest(name, COMMANDS)}")
    return 0


def _replace_closed_streams() -> None:
    """Replace stdout and stderr by /dev/null if the shell closed them (``2>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _import_without_pandas(arguments: list[str]) -> None:
    """Keep scikit-learn from importing pandas, which would cost 60 MB and a third of a second."""
    if {"-h", "--help"} & {*arguments}:
        return
    if arguments[:1] and arguments[0] in COMMANDS and "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        import_module("sklearn.base")
        del sys.modules["pandas"]
