"""``budgetron data``: list, describe and download data sets."""

from importlib.util import find_spec

from budgetron import datasets
from budgetron._util.text import aligned, nearest
from budgetron.cli.arguments import Parser
from budgetron.cli.input import data_set
from budgetron.cli.process import UsageError
from budgetron.streams import DataError

EXAMPLES = """\
  budgetron data list
  budgetron data describe a9a
  budgetron data fetch a9a
"""


def main(argv: list[str]) -> None:
    command = Parser(
        "data",
        "list | describe NAME | fetch NAME",
        "List, describe or download data sets. Their files are in the folder that the environment\n"
        "variable BUDGETRON_DATA names, or else in the user's cache.",
        EXAMPLES,
    )
    actions, about = ("list", "describe", "fetch"), "list, describe or fetch"
    command.add_argument("action", choices=actions, metavar="ACTION", help=about)
    command.add_argument("name", nargs="?", metavar="NAME", help="the name of a data set")
    args = command.parse_args(argv)
    if (args.name is None) != (args.action == "list"):
        what = "takes no name" if args.action == "list" else "needs a name"
        raise UsageError(f"data {args.action} {what}.")
    if args.action == "list":
        print(_list())
        return
    if data_set(args.name) is None:
        near = nearest(args.name, datasets.names(), otherwise="see budgetron data list.")
        raise UsageError(f"there is no data set {args.name!r}; {near}")
    print(datasets.describe(args.name) if args.action == "describe" else _fetched(args.name))


def _list() -> str:
    """A table of all data sets. "local" says whether the files are in the data folder."""
    entries = [datasets.describe(name) for name in datasets.names()]
    head = ["name", "task", "rows", "columns", "classes", "local"]
    return "\n".join(aligned([head, *map(_row, entries)], left=2))


def _row(entry: datasets.DataSet) -> list[str]:
    counts = ("" if n is None else str(n) for n in (entry.size, entry.columns, entry.classes))
    return [entry.name, entry.task or "", *counts, "yes" if _is_local(entry.name) else "no"]


def _is_local(name: str) -> bool:
    entry = datasets.describe(name)
    if not entry.is_read:  # drawn, or in a package
        return not entry.package or find_spec(entry.package) is not None
    try:
        return bool(datasets.files(name))
    except DataError:
        return False


def _fetched(name: str) -> str:
    try:
        return "\n".join(map(str, datasets.fetch(name)))
    except DataError as error:  # exit code 1, not the one for bad data of the user
        raise ConnectionError(str(error)) from error
