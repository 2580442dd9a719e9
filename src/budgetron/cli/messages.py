"""Open the messages of a broker as the rows of ``budgetron run``."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from budgetron.cli.input import NamedRows
from budgetron.cli.process import UsageError, say, usage_errors
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
    with usage_errors():
        return parse(text)


def check_flags(args: Namespace, file: str) -> None:
    """Refuse flags of files for brokers, and those of brokers for files."""
    if not is_address(file):
        if args.until_end:
            raise UsageError(f"--until-end is only for brokers, but {file} is not one.")
        return
    for flag in ("features", "format", "delimiter", "zero_based", "dense"):
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is not for messages, which are JSON objects.")
    if args.target is None:
        raise UsageError("--target NAME, the member with the label, must be given for messages.")


def open_messages(
    address: Address,
    source: NamedRows,
    *,
    regression: bool,
    classes: Sequence[Any] | None,
    numeric: bool | None = None,
    start: int = 0,
    state: dict[str, Any] | None = None,
    **limits: Any,
) -> MessageStream:
    """The messages, or those after the ``state`` of a run that has learned ``start`` rows.

    ``numeric`` is whether the labels of that run are numbers; ``limits`` are those of `MessageStream`.
    """
    numeric = numeric if source.numeric_target is None else source.numeric_target
    reader = RecordReader(**vars(source.roles), numeric=numeric, regression=regression, classes=classes)
    bad_rows = BadRows(source.on_error)
    position: Position = {} if state is None else state["position"]
    following = Following(connect(address), position, say)
    if state is None:
        bad_rows.begin()
    else:
        bad_rows.resume(state["bad"])
    return MessageStream(following, reader, bad_rows, start=start, **limits)
