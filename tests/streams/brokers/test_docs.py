"""The page on brokers shows the real output of the commands, except for times."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.broker_runs import REQUIRED
from tests.helpers.brokers import broker, missing, program, surroundings
from tests.helpers.console import examples

PAGE = Path(__file__).parents[3] / "docs" / "brokers.md"


def timeless(line):
    """A line without the last columns of a table: the bytes of memory and the times."""
    words = line.split()
    return words[:-3] if re.fullmatch(r"[\d. ]+", line) else words


@pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")
def test_the_page(tmp_path):
    why = missing("redis") or (None if program("redis-cli") else "needs redis-cli")
    if why is not None:
        assert not REQUIRED, why
        pytest.skip(why)
    with broker("redis", tmp_path / "redis") as server:
        for command, shown in examples(PAGE):
            command = command.replace("redis-cli", f"{program('redis-cli')} -p {server.port}")
            command = command.replace("redis://localhost/", f"redis://localhost:{server.port}/")
            command = re.sub("^budgetron ", f"{sys.executable} -m budgetron ", command)
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env=surroundings(),
                capture_output=True,
                text=True,
                check=True,
            )
            ours = [timeless(line) for line in (done.stdout + done.stderr).splitlines()]
            assert ours == [timeless(line) for line in shown], command
