"""Open the messages of a broker as the rows of ``budgetron run``."""

from argparse import Namespace
from typing import Any

from budgetron.cli import input
from budgetron.cli.arguments import classes_of
from budgetron.cli.process import UsageError, say
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.brokers.address import Address, is_address, parse
from budgetron.streams.brokers.broker import Position, connect
from budgetron.streams.brokers.following import Following
from budgetron.streams.brokers.messages import MessageStream
from budgetron.streams.brokers.records import RecordReader


def address_of(text: str) -> Address | None:
    """The address of a broker; None if the text is the name of a file."""
    if not is_address(text):
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_flags(args: Namespace) -> None:
    """Refuse flags of files for brokers, and those of brokers for files."""
    if args.address is None:
        if args.until_end:
            raise UsageError(f"--until-end is only for brokers, but {args.file} is not one.")
        return
    for flag in ("features", "format", "delimiter", "zero_based", "dense"):
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is not for messages, which are JSON objects.")
    if args.target is None:
        raise UsageError("--target NAME, the member with the label, must be given for messages.")


def open_messages(
    args: Namespace, rows: int, *, start: int = 0, state: dict[str, Any] | None = None, numeric: Any = None
) -> MessageStream:
    """The messages, or those after the ``state`` of a run that has learned ``start`` rows."""
    roles = vars(input.Roles.of(args))
    classes = classes_of(args.classes)
    if args.regression or classes is not None:
        numeric = args.regression or not isinstance(classes[0], str)  # type: ignore[index]
    reader = RecordReader(**roles, numeric=numeric, regression=args.regression, classes=classes)
    bad_rows = BadRows(args.on_error)
    position: Position = {} if state is None else state["position"]
    following = Following(connect(args.address), position, say)
    if state is None:
        bad_rows.begin()
    else:
        bad_rows.resume(state["bad"])
    return MessageStream(
        following, reader, bad_rows, rows=rows, start=start, limit=args.rows, until_end=args.until_end
    )
