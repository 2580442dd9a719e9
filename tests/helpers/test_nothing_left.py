"""The last act of a run: what its tests left in the temporary folder makes it fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
TESTS = {
    "tidy": "def test_it(tmp_path):\n    (tmp_path / 'file').touch()\n",
    "untidy": "import tempfile\n\n\ndef test_it():\n    tempfile.mkdtemp(prefix='forgotten-')\n",
    "failing without files": "def test_it():\n    assert False\n",
    "failing": "def test_it(tmp_path):\n    (tmp_path / 'file').touch()\n    assert False\n",
}


def run(folder, kind, *flags):
    """Exit code, output and what is in the temporary folder after a run of one test."""
    temporary = folder / "tmp"
    temporary.mkdir()
    shutil.copy(CONFTEST, folder)
    (folder / "test_one.py").write_text(TESTS[kind])
    kept = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    kept.pop("BUDGETRON_TEST_FOLDER", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags],
        cwd=folder,
        env={**kept, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, [path.name for path in temporary.rglob("*") if path.is_file()]


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_a_folder_that_is_left(workers, tmp_path):
    code, said, _ = run(tmp_path, "untidy", *workers)
    assert code == 1
    assert "1 passed" in said
    assert "1 left in the temporary folder by the tests: forgotten-" in said


@pytest.mark.parametrize(("kind", "code"), [("tidy", 0), ("failing without files", 1)])
def test_what_needs_nothing_leaves_nothing(kind, code, tmp_path):
    assert run(tmp_path, kind)[0] == code
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_fails_keeps_its_files(tmp_path):
    code, said, files = run(tmp_path, "failing")
    assert (code, files) == (1, ["file"])
    assert f"The files of this run are in {tmp_path}" in said
