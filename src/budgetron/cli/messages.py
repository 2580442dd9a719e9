"""Open the messages of a broker as the rows of ``budgetron run``."""

from argparse import Namespace
from typing import Any

from budgetron import OnlineRegressor
from budgetron.cli.input import NamedRows
from budgetron.cli.process import UsageError, say, usage_errors
from budgetron.evaluate import Session
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.brokers.address import Address, is_address, parse
from budgetron.streams.brokers.broker import connect
from budgetron.streams.brokers.following import Following
from budgetron.streams.brokers.messages import MessageStream
from budgetron.streams.json_records import RecordReader


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
    address: Address, source: NamedRows, args: Namespace, session: Session, state: Any, rows: int
) -> MessageStream:
    """The messages after those that the session has learned, in blocks of ``rows``.

    ``state`` is that of the messages of a resumed run, None for a new one.
    """
    model, numeric = session.estimator, source.numeric_target
    regression = isinstance(model, OnlineRegressor)
    if numeric is None and session.started:
        numeric = regression or model.classes_.dtype.kind in "fiub"
    reader = RecordReader(
        **vars(source.roles), numeric=numeric, regression=regression, classes=args.classes
    )
    following = Following(connect(address), {} if state is None else state["position"], say)
    bad_rows = BadRows(source.on_error)
    if state is None:
        bad_rows.begin()
    else:
        bad_rows.resume(state["bad"])
    limits = {"start": session.entered, "limit": args.rows, "until_end": args.until_end}
    return MessageStream(following, reader, bad_rows, rows=rows, **limits)
