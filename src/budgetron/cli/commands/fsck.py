"""``budgetron fsck``: check the folder of a service."""

from pathlib import Path

from budgetron._util.extras import pip_install
from budgetron.cli.arguments import Parser, add
from budgetron.cli.process import FAILED


def main(argv: list[str]) -> int:
    command = Parser(
        "fsck",
        "DIR [--cut]",
        "Check the folder of budgetron serve: the log, the snapshots, and that the models load. The\n"
        "service must be stopped. The exit code is 0 if all is well.",
        "  budgetron fsck folder\n  budgetron fsck folder --cut\n",
    )
    command.add_argument("folder", metavar="DIR", help="the folder of the models")
    add(
        command,
        {"--cut": "remove the first damaged request of the log and all after it, which are lost then"},
    )
    args = command.parse_args(argv)
    try:
        from budgetron.serve.fsck import check
    except ImportError as error:
        raise ImportError(f"fsck needs more packages ({error.name}): {pip_install('serve')}.") from None
    well = dict[str, bool]()
    for name, sentence, good in check(Path(args.folder), args.cut):
        print(f"{name}: {'' if good else 'BAD: '}{sentence}")
        well[name] = good and (args.cut or well.get(name, True))  # what was cut is no longer bad
    return 0 if all(well.values()) else FAILED
