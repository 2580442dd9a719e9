"""``budgetron models``: the models of a running service, their snapshots and aliases."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from budgetron.cli.arguments import Parser
from budgetron.cli.process import FAILED, UsageError, say

EXAMPLES = """\
  budgetron models http://localhost:8000
  budgetron models http://localhost:8000 snapshots shop
  budgetron models http://localhost:8000 roll-back shop 12000 --replay --leave-out 12400,12460
  budgetron models http://localhost:8000 alias champion shop-2 --token token
"""
ACTIONS = {  # what follows, and what it does
    "list": ("", "the models and aliases; the default"),
    "snapshots": ("MODEL", "the snapshots that are kept, and the roll-backs and resets so far"),
    "snapshot": ("MODEL", "save a snapshot now, and keep it"),
    "roll-back": ("MODEL VERSION", "begin again as in a snapshot"),
    "reset": ("MODEL", "begin again with nothing learned"),
    "freeze": ("MODEL", "only predict from now on"),
    "thaw": ("MODEL", "learn again"),
    "challenge": ("MODEL NAME ALGORITHM", "let one more model learn the same rows"),
    "compare": ("MODEL", "a model beside its challengers"),
    "rename": ("MODEL NAME", "give a model another name"),
    "delete": ("MODEL", "delete a model with all that it learned"),
    "alias": ("ALIAS MODEL", "let an alias be another name of a model"),
    "unalias": ("ALIAS", "remove an alias"),
}
CONFIRMED = ("roll-back", "reset", "delete")


def parser() -> Parser:
    width = max(len(f"{action} {words}") for action, (words, _) in ACTIONS.items())
    actions = (f"  {f'{action} {words}':{width}}  {does}" for action, (words, does) in ACTIONS.items())
    made = Parser(
        "models",
        "URL [ACTION [NAMES]] [FLAGS]",
        "The models of a running service.\n\nactions\n" + "\n".join(actions),
        EXAMPLES,
    )
    made.add_argument("url", metavar="URL", help="the address of the service")
    made.add_argument("action", metavar="ACTION", nargs="?", default="list", help="see above")
    made.add_argument("names", metavar="NAMES", nargs="*", help="a model, and what the action needs")
    made.add_argument("--token", metavar="FILE", help="a file that holds the token for the service")
    made.add_argument(
        "--replay",
        action="store_true",
        help="roll-back: learn the rows since then again; challenge: learn the rows of the log",
    )
    made.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="challenge: a parameter of the algorithm, its value in JSON; again and again",
    )
    made.add_argument(
        "--leave-out",
        metavar="FROM,UNTIL",
        action="append",
        default=[],
        help="but for those learned between two times, or for those of these numbers; again and again",
    )
    made.add_argument("--yes", action="store_true", help="do not ask before a roll-back, reset or delete")
    return made


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    _check(args)
    from budgetron.client import Client, ServiceError

    token = None if args.token is None else Path(args.token).read_text().strip()
    model = args.names[0] if args.names and "alias" not in args.action else "default"
    with Client(args.url, model, token=token, retries=2) as client:
        try:
            for line in _done(client, args):
                print(line)
        except ServiceError as error:
            say(str(error))
            return FAILED
    return 0


def _check(args: Namespace) -> None:
    if args.action not in ACTIONS:
        raise UsageError(f"there is no action {args.action!r}: expected one of {', '.join(ACTIONS)}.")
    words = ACTIONS[args.action][0]
    if len(args.names) != len(words.split()):
        raise UsageError(f"{args.action}: expected {words or 'nothing more'}.")
    if args.action == "roll-back" and not args.names[1].isdecimal():
        raise UsageError(f"roll-back: expected a whole number as version, got {args.names[1]!r}.")
    if args.leave_out and not args.replay:
        raise UsageError("--leave-out needs --replay.")
    if args.replay and args.action not in ("roll-back", "challenge"):
        raise UsageError("--replay is for roll-back and challenge.")
    if args.set and args.action != "challenge":
        raise UsageError("--set is for challenge.")
    if args.action in CONFIRMED and not args.yes:
        _confirm(args)


def _confirm(args: Namespace) -> None:
    """Ask for the name of the model."""
    if not sys.stdin.isatty():
        raise UsageError(f"{args.action} changes what the model has learned: confirm it with --yes.")
    say(f"{args.action} {' '.join(args.names)}: type the name of the model to go on.")
    if input().strip() != args.names[0]:
        raise UsageError("that is not the name: nothing was done.")


def _done(client: Any, args: Namespace) -> Iterator[str]:
    """Do what is asked; the lines of the answer."""
    names = args.names
    match args.action:
        case "list":
            yield from _listed(client.models())
        case "snapshots":
            yield from _kept(client.snapshots())
        case "snapshot":
            yield f"saved version {client.save_snapshot()['version']}"
        case "roll-back":
            yield _rolled_back(client, args)
        case "reset":
            yield f"nothing learned; version {client.reset()['version']}"
        case "freeze":
            yield f"frozen at version {client.freeze()['version']}"
        case "thaw":
            yield f"learns again from version {client.thaw()['version']}"
        case "challenge":
            yield _challenged(client, args)
        case "compare":
            yield from _compared(client.comparison())
        case "rename":
            yield f"renamed to {client.rename(names[1])['name']}"
        case "delete":
            yield f"deleted {client.delete()['deleted']}"
        case "alias":
            yield f"{names[0]} is {client.set_alias(*names)['model']}"
        case "unalias":
            yield f"removed {client.remove_alias(names[0])['removed']}"


def _rolled_back(client: Any, args: Namespace) -> str:
    answer = client.roll_back(
        int(args.names[1]), replay=args.replay, leave_out=[_range(text) for text in args.leave_out]
    )
    refused = f", {answer['refused']} refused" if answer["refused"] else ""
    replayed = f"{answer['replayed']} rows replayed{refused}"
    return f"as in version {args.names[1]}; {replayed}; version {answer['version']}"


def _challenged(client: Any, args: Namespace) -> str:
    _, name, algorithm = args.names
    parameters = dict(_parameter(text) for text in args.set)
    answer = client.add_challenger(name, algorithm, replay=args.replay, parameters=parameters)
    replayed = f"{answer['replayed']} rows replayed"
    return f"{name} learns beside {args.names[0]}; {replayed}; version {answer['version']}"


def _parameter(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise UsageError(f"--set: expected NAME=VALUE with a value in JSON, got {text!r}.") from None


def _range(text: str) -> tuple[Any, Any]:
    """Two times or two numbers of rows."""
    words = [word.strip() for word in text.split(",")]
    if len(words) == 2 and all(word.isdecimal() for word in words):
        return int(words[0]), int(words[1])
    try:
        begin, until = map(datetime.fromisoformat, words)
    except ValueError:
        begin = until = datetime.min
    if begin.tzinfo is None or until.tzinfo is None:
        raise UsageError(
            "--leave-out: expected two times with a time zone, like 2026-03-01T10:00Z, or two numbers of "
            f"rows, with a comma between them, got {text!r}."
        )
    return begin, until


def _listed(known: dict[str, Any]) -> Iterator[str]:
    for each in known["models"]:
        names = [alias for alias, name in known["aliases"].items() if name == each["name"]]
        frozen = ["frozen"] if each.get("frozen") else []
        beside = [f"challenger of {each['challenger_of']}"] if each.get("challenger_of") else []
        yield "  ".join([f"{each['name']:20} {each['version']:>12}", *frozen, *beside, *names]).rstrip()


def _kept(history: dict[str, Any]) -> Iterator[str]:
    yield f"{'version':>12}  {'kept':20}  {'rows':>10}  {'window':>8}  {'bytes':>10}  why"
    for each in history["snapshots"]:
        at = datetime.fromtimestamp(each["at"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        figures = each["figures"]
        rate = figures.get("window", {}).get("rate")
        window = "" if rate is None else f"{rate:.4f}"
        rows = figures.get("rows", "")
        yield f"{each['version']:>12}  {at:20}  {rows:>10}  {window:>8}  {each['bytes']:>10}  {each['why']}"
    for each in history["changes"]:
        replay = " with replay" if each["replay"] else ""
        of = each["name"] if "name" in each else f"to version {each['to']}"
        yield f"row {each['row']}: {each['what']} {of}{replay}"


def _compared(known: dict[str, Any]) -> Iterator[str]:
    if not known["models"]:
        yield "there are no challengers"
        return
    yield f"{known['rows']} rows since row {known['since']}; error: {known['error']}"
    yield f"{'model':20}  {'rows':>10}  {'error':>8}  {'log loss':>8}  {'us a row':>8}  {'bytes':>10}"
    for each in known["models"]:
        error, log_loss = (_number(each[name]) for name in ("error", "log_loss"))
        seconds = "" if each["seconds"] is None else f"{1e6 * each['seconds']:.1f}"
        size = "" if each["bytes"] is None else each["bytes"]
        yield f"{each['name']:20}  {each['rows']:>10}  {error:>8}  {log_loss:>8}  {seconds:>8}  {size:>10}"
    for test in known["tests"]:
        one, other = test["models"]
        low, high = test["interval"]
        better = "no difference yet" if test["better"] is None else f"{test['better']} is better"
        yield f"{test['measure']} of {one} minus {other}: {low:.4f} to {high:.4f}; {better}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
