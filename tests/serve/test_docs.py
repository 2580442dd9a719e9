"""The tutorial shows the real answers of the service."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.console import examples
from tests.helpers.served import served

PAGE = Path(__file__).parents[2] / "docs" / "service_tutorial.md"
ROUNDED = ("probabilities",)


def read(line):
    """An answer; probabilities are rounded as on the page."""
    said = json.loads(line)
    for name in ROUNDED:
        if name in said:
            said[name] = [[round(share, 2) for share in shares] for shares in said[name]]
    return said


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_every_command_of_the_tutorial_works_as_written(tmp_path):
    with served(tmp_path / "shop") as server:
        for command, shown in examples(PAGE):
            command = command.replace("localhost:8000", server.url.removeprefix("http://"))
            command = re.sub("^budgetron ", f"{sys.executable} -m budgetron ", command)
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
            )
            ours = done.stdout.splitlines()
            if shown and shown[0].startswith("{"):
                ours, shown = [read(line) for line in ours], [read(line) for line in shown]
            assert ours == shown, command
        assert server.stop() == 0
