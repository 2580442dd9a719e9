"""The examples run, in Python and in the shell, and write what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import forked

FOLDER = Path(__file__).parents[2] / "examples"


def checked(folder):
    """The report of the example in Python."""
    assert (folder / "transactions.png").read_bytes().startswith(b"\x89PNG")
    report = (folder / "report.txt").read_text()
    assert "labels: fraud, ok, refund" in report
    return report


@pytest.mark.skipif(not FOLDER.exists(), reason="needs a checkout")
def test_transactions(tmp_path):
    for name in ("pyarrow", "matplotlib"):
        pytest.importorskip(name)
    words = [sys.executable, str(FOLDER / "transactions.py"), str(tmp_path)]
    done = forked.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    checked(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="needs a checkout")
def test_transactions_in_the_shell(tmp_path):
    """The same numbers as in Python, which is run first."""
    for name in ("pyarrow", "matplotlib"):
        pytest.importorskip(name)
    for words in ([sys.executable, FOLDER / "transactions.py"], ["sh", FOLDER / "transactions.sh"]):
        done = subprocess.run(
            [*map(str, words), str(tmp_path)],
            env=os.environ | {"PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    report, shell = checked(tmp_path), (tmp_path / "shell_report.txt").read_text()
    assert (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert "expected 7 cells, got 2" in shell
    assert len((tmp_path / "predictions.tsv").read_text().splitlines()) == 6000
    mistakes = float(report.splitlines()[6].split()[1])
    assert f"{mistakes:.2f}" in shell.split("class ")[0]


@pytest.mark.skipif(not FOLDER.exists(), reason="needs a checkout")
def test_river_pipeline():
    pytest.importorskip("river")
    words = [sys.executable, str(FOLDER / "river_pipeline.py")]
    done = forked.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    right = [float(line.split()[-3]) for line in done.stdout.splitlines()]
    assert len(right) == 5
    assert right[0] < right[1] < min(right[2:])
    assert max(right) == right[-1] > 90
