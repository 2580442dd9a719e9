"""What the commands' argument parsers share."""

from __future__ import annotations

import argparse
import shutil
from typing import Any, NoReturn

from budgetron.cli.process import Usage


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are `Usage`, and whose flags cannot be shortened."""

    def __init__(self, command: str, usage: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"budgetron {command}",
            usage=f"budgetron {command} {usage}",
            description=description,
            epilog=f"examples\n{examples}",
            formatter_class=Layout,
            allow_abbrev=False,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever; ``--classes -1,1`` is read as it is meant, though it looks like a flag to argparse."""
        if args is not None:
            args = list(args)
            for i in range(len(args) - 1, 0, -1):
                if args[i - 1] == "--classes" and not args[i].startswith("--"):
                    args[i - 1 : i + 1] = [f"--classes={args[i]}"]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Never the pages of usage that argparse would print."""
        raise Usage(f"{message}.")


class Layout(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, up to a readable width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(shutil.get_terminal_size().columns, 108))


def whole(least: int) -> Any:
    """A reader of whole numbers of at least so much."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")
        return value

    return read


def seed(text: str) -> int:
    """A reader of seeds."""
    value: int = whole(0)(text)
    if value >= 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number below 2^32, got {text!r}")
    return value
