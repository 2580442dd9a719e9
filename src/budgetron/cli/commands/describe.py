"""``budgetron describe``: what the columns of a table are, before anything is learned."""

import os
import shlex
from pathlib import Path

from budgetron._util.extras import pip_install
from budgetron.cli import output
from budgetron.cli.arguments import ENCODER, FORMS, Parser, add, encoder
from budgetron.cli.process import UsageError, say
from budgetron.streams.describing import describe

EXAMPLES = """\
  budgetron describe transactions.csv --target label
  budgetron describe log.jsonl.gz --json | jq '.columns[].kind'
  budgetron describe transactions.csv --target label --figure columns.png
"""


def main(argv: list[str]) -> None:
    command = Parser(
        "describe",
        "FILE [FLAGS]",
        "Read the first rows of a table, and say what its columns are read as, what is suspicious, and\n"
        "which flags of run follow.",
        EXAMPLES,
    )
    flags = {
        "FILE": "a file of CSV, Parquet or JSON lines, or - for a pipe",
        "--target COLUMN": "the column of labels or targets",
        "--rows N": "read at most N rows; default 10000",
        "--delimiter SIGN": "the sign between two cells of a CSV file; default a comma",
        "--figure FILE": "plot what each column holds to FILE (.png, .svg or .pdf)",
        "--json": "print a JSON document instead of a table",
    }
    add(command, flags | ENCODER, rows=10_000)
    forms = FORMS[1:]
    about = f"{', '.join(forms)}; by default from the file name"
    command.add_argument("--format", metavar="F", choices=forms, help=about)
    args = command.parse_args(argv)
    if args.file != "-" and not os.path.exists(args.file):
        raise FileNotFoundError(f"{args.file}: there is no file of that name.")
    if args.figure is not None:
        output.check_place(Path(args.figure))
    more = {"format": args.format, "delimiter": args.delimiter}
    found = describe(args.file, args.target, rows=args.rows, encoder=encoder(args), **more)
    if args.json:
        print(output.document(found.as_dict()))
    else:
        print(found)
        if found.target is not None:
            print(f"\nbudgetron run {shlex.join([args.file, *found.flags])}")
    if args.figure is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise UsageError(f"--figure needs matplotlib: {pip_install('plot')}.") from None
        os.environ.setdefault("MPLBACKEND", "agg")
        from budgetron import plots

        plots.columns(found).savefig(args.figure)
        say(f"the figure is {args.figure}.")
