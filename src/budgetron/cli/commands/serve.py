"""``budgetron serve``: learn and predict over HTTP."""

import argparse
import ipaddress
import os
import socket
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from budgetron._util.extras import pip_install
from budgetron.cli import learners
from budgetron.cli.arguments import COSTS, COVERAGE, ENCODER, Parser, costs, encoder, names, seed, whole
from budgetron.cli.arguments import add as add_flags
from budgetron.cli.process import UsageError, say

EXAMPLES = """\
  budgetron serve folder
  budgetron serve folder --port 8000 --tokens tokens --host 0.0.0.0
  budgetron serve folder --regression
  budgetron serve folder --algorithm rbp --budget 200 --gamma 0.1
  budgetron serve folder --input redis://localhost/orders --target label --on-error skip
  budgetron serve --follow http://leader:8000 --port 8001
  curl localhost:8000/v1/learn -H 'Content-Type: application/json' -d '{"x": {"amount": 5}, "y": "ok"}'
"""


LIMITS = (
    *("body", "queue_rows", "snapshot_rows", "snapshot_seconds", "keep_log", "log_bytes"),
    *("keep_hourly", "keep_daily", "keep_weekly", "kept_rows", "kept_bytes", "private_webhooks"),
)


def parser() -> Parser:
    made = Parser(
        "serve",
        "DIR [FLAGS]",
        "Learn and predict over HTTP. DIR holds the models; an empty one gets the model default. What is\n"
        "acknowledged is on disk. docs/service.md has the contract.",
        EXAMPLES,
    )
    made.add_argument(
        "folder", metavar="DIR", nargs="?", help="the folder of the models; created if missing"
    )
    add = made.add_argument_group("service").add_argument
    add("--host", default="127.0.0.1", help="the address to listen on; default 127.0.0.1")
    add("--port", type=whole(0), default=8000, metavar="N", help="default 8000; 0 for any free port")
    add("--tokens", metavar="FILE", help="a file with lines of ROLE TOKEN; roles are read, learn and admin")
    add("--certificate", metavar="FILE", help="serve https with this certificate")
    add("--private-key", metavar="FILE", help="the key of the certificate")
    add("--json-logs", action="store_true", help="messages on stderr as JSON")
    add("--follow", metavar="URL", help="be a read-only replica of another service; without DIR")
    add("--token", metavar="FILE", help="with --follow: a file that holds the token for the leader")
    add = made.add_argument_group("messages").add_argument
    add(
        "--input", metavar="URL", help="also learn the messages of redis://, nats:// or kafka://HOST/STREAM"
    )
    add("--target", metavar="NAME", help="the member with the label; without it messages have x and y")
    add("--drop", metavar="A,B,...", action="append", help="members to ignore")
    add(
        "--on-error",
        metavar="WHAT",
        default="stop",
        help="at a message that cannot be read: stop (the default), skip, or a folder that keeps it",
    )
    add = made.add_argument_group("a new model").add_argument
    add("--regression", action="store_true", help="the labels are real-valued targets")
    add(
        "--algorithm", default="auto", metavar="NAME", help="an algorithm from the list below; default auto"
    )
    add("--seed", type=seed, default=0, metavar="N", help="the seed of all random choices; default 0")
    add("--from", dest="start", metavar="MODEL", help="begin with a saved model")
    add_flags(made.add_argument_group("decisions of a new model"), COSTS | COVERAGE)
    add_flags(made.add_argument_group("columns of a new model"), ENCODER)
    _add_limits(made)
    made.add_argument("--workers", help=argparse.SUPPRESS)
    learners.add_flags(made)
    return made


def _add_limits(made: Parser) -> None:
    add = made.add_argument_group("limits").add_argument
    add("--max-body", dest="body", type=whole(1), metavar="BYTES", help="the longest body; default 8 MiB")
    add("--queue-rows", type=whole(1), metavar="N", help="the most rows that wait; default 100000")
    add("--snapshot-rows", type=whole(1), metavar="N", help="save a snapshot every N rows; default 10000")
    add("--snapshot-seconds", type=whole(1), metavar="N", help="and every N seconds; default 60")
    add("--keep-log", action="store_true", help="never remove learned rows from the log")
    add("--log-bytes", type=whole(0), metavar="N", help="rows kept to be replayed; default 64 MiB")
    add("--keep-hourly", type=whole(0), metavar="N", help="keep a snapshot of each of N hours; default 24")
    add("--keep-daily", type=whole(0), metavar="N", help="and of each of N days; default 7")
    add("--kept-rows", type=whole(0), metavar="N", help="rows kept for labels; default 2000000 for a model")
    add("--kept-bytes", type=whole(0), metavar="N", help="and their bytes; default 512 MiB")
    add("--kept-days", type=whole(0), metavar="N", help="and their age; default 60 days")
    add(
        "--private-webhooks",
        action="store_true",
        help="let webhooks have addresses of this machine and its network",
    )
    add("--keep-weekly", type=whole(0), metavar="N", help="and of each of N weeks; default 4")


def main(argv: list[str]) -> int:
    before = os.umask(0o077)  # rows are nobody else's business
    try:
        return _serve(argv)
    finally:
        os.umask(before)


def _serve(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    from budgetron.serve import logging_format

    logging_format.configure(args.json_logs)
    _check(args)
    try:
        from budgetron.serve import app
    except ImportError as error:
        raise ImportError(f"serve needs more packages ({error.name}): {pip_install('serve')}.") from None
    from budgetron.serve.service import Service
    from budgetron.serve.tokens import Tokens

    limits = _limits(args)
    tokens = Tokens() if args.tokens is None else Tokens.read(Path(args.tokens))
    models = _followed(args, limits) if args.follow else _opened(args, limits)
    try:
        inputs = [] if args.input is None else [_input(args, models)]
        listening = _listen(args)
    except BaseException:
        models.close()
        raise
    scheme = "https" if args.certificate else "http"
    host, port = listening.getsockname()[:2]
    host = f"[{host}]" if ":" in host else host
    tls = {"ssl_certfile": args.certificate, "ssl_keyfile": args.private_key} if args.certificate else {}

    def ready() -> None:
        what = f"following {args.follow}" if args.follow else f"serving {args.folder}"
        where = f"{what} at {scheme}://{host}:{port}"
        app.report.info(where) if args.json_logs else say(where)
        sys.stderr.flush()

    return app.run(Service(models, tokens, limits, inputs=inputs), listening, tls, ready)


def _check(args: Namespace) -> None:
    if args.workers is not None:
        raise UsageError(
            "there are no workers: one process learns, in one order. Use --follow to predict more."
        )
    if (args.folder is None) != bool(args.follow):
        raise UsageError("give a folder to serve, or --follow URL without a folder.")
    if args.follow and not args.follow.startswith(("http://", "https://")):
        raise UsageError(f"--follow: expected an address like http://leader:8000, got {args.follow!r}.")
    if args.input is None and (args.target is not None or args.on_error != "stop"):
        raise UsageError("--target and --on-error need --input URL.")
    if args.drop and args.target is None:
        raise UsageError("--drop needs --target: without it, messages have their features in x.")
    if args.input is not None and args.follow:
        raise UsageError("--input is not for a replica: it learns what its leader learns.")
    if (args.certificate is None) != (args.private_key is None):
        raise UsageError("--certificate and --private-key belong together.")
    if args.port > 65535:
        raise UsageError(f"--port: expected 0 to 65535, got {args.port}.")
    if args.tokens is None and not _is_loopback(args.host):
        raise UsageError(f"--host {args.host} is open to others, so give --tokens FILE.")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _limits(args: Namespace) -> Any:
    from budgetron.serve.limits import Limits

    given = {name: getattr(args, name) for name in LIMITS}
    given["kept_seconds"] = None if args.kept_days is None else 86_400.0 * args.kept_days
    return Limits(**{name: value for name, value in given.items() if value is not None})


def _opened(args: Namespace, limits: Any) -> Any:
    from budgetron.serve.models import Models
    from budgetron.serve.problems import Problem
    from budgetron.serve.settings import Settings

    name, flags = learners.algorithm_name(args.algorithm), learners.given_flags(args)
    task = "regression" if args.regression else "classification"
    if (columns := encoder(args)) is not None and args.start is not None:
        raise UsageError(f"{args.start} says what its columns are: give --column without --from.")
    given = costs(args)
    if args.start is not None and (given is not None or args.coverage is not None):
        raise UsageError(
            f"{args.start} says what it decides: give --cost, --threshold and --coverage without --from."
        )
    settings = Settings.of(task, learners.build([name], flags)[name], args.seed, columns)
    settings = settings.deciding(given, args.coverage)
    models = Models(Path(args.folder), limits)
    try:
        models.open(settings, None if args.start is None else Path(args.start))
    except Problem as problem:
        raise UsageError(problem.detail) from None
    return models


def _input(args: Namespace, models: Any) -> Any:
    from budgetron.cli.messages import address_of
    from budgetron.serve.input import Input
    from budgetron.serve.models import DEFAULT
    from budgetron.streams.bad_rows import BadRows

    address = address_of(args.input)
    if address is None:
        raise UsageError(f"--input: expected an address like redis://host/stream, got {args.input!r}.")
    bad_rows = BadRows(args.on_error)
    return Input(models.by_name[DEFAULT], address, bad_rows, args.target, names(args.drop))


def _followed(args: Namespace, limits: Any) -> Any:
    from budgetron.serve.replica import Leader, Replicas

    token = None if args.token is None else Path(args.token).read_text().strip()
    return Replicas(Leader(args.follow, token), limits)


def _listen(args: Namespace) -> socket.socket:
    family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
    try:
        return socket.create_server((args.host, args.port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), f"{args.host}:{args.port}") from None
