"""The page on the command line shows the real output of the commands, except for times."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from budgetron.cli import main
from tests.helpers.console import examples

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
NUMBERS = re.compile(r"[\d. ]+")


def timeless(line):
    """A line of a table without the last columns, which are times."""
    words = line.split()
    if NUMBERS.fullmatch(line) and len(words) > 5:
        return words[:-2]
    return words[:-1] if "±" in words else words


def printed(command, capsys):
    """The output of a command; ``| head -N`` keeps the first N lines."""
    command, _, lines = command.partition(" | head -")
    capsys.readouterr()
    if command.startswith("budgetron "):
        main(shlex.split(command)[1:])
    else:
        subprocess.run(command, shell=True, check=True)
    out, err = capsys.readouterr()
    return (out + err).splitlines()[: int(lines or 1000)]


def alike(ours, shown):
    """Whether two lines agree. Numbers agree to nine digits; more depend on the instruction set."""
    return len(ours) == len(shown) and all(
        a == b or (number(a) is not None and number(a) == pytest.approx(number(b), rel=1e-9))
        for a, b in zip(ours, shown, strict=True)
    )


def number(word):
    try:
        return float(word)
    except ValueError:
        return None


def test_the_page(tmp_path, capsys, monkeypatch):
    if not PAGE.exists():
        pytest.skip("needs a checkout")
    monkeypatch.chdir(tmp_path)
    for command, shown in examples(PAGE):
        lines = [timeless(line) for line in printed(command, capsys)]
        wanted = [timeless(line) for line in shown]
        assert len(lines) == len(wanted), (command, lines)
        assert all(map(alike, lines, wanted)), (command, lines, wanted)
