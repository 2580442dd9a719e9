"""What tests and the examples in the pages need, and what they must leave: nothing.

All temporary files of a run go to a folder of its own, in memory where that has room: disks are slow at
many small files. At the end nothing may be in it but the folders of ``tmp_path``. If all tests passed it is
removed; if not, it stays and is named.

The data sets are read from the folder that BUDGETRON_DATA names, or from ../shared/data if that is there.
Without either, the tests that need data say so and are skipped.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import pytest

MEMORY = Path("/dev/shm")
OWNED = "BUDGETRON_TEST_FOLDER"  # names the folder to workers and to tests that run tests
PATIENCE = 5  # seconds in which processes that were told to stop may remove their files

SHARED = Path(__file__).parent.parent / "shared" / "data"
if SHARED.is_dir():
    os.environ.setdefault("BUDGETRON_DATA", str(SHARED))


def pytest_runtest_setup(item):
    """Examples that need Dask are skipped without it."""
    if item.path.name in ("dask.md", "fitting.py"):
        pytest.importorskip("dask", reason="needs the extra dask")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Examples write to the current or to a temporary folder; here both are one that goes away."""
    if not isinstance(item, pytest.DoctestItem):
        return (yield)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch("tempfile.tempdir", folder),
        mock.patch.dict(os.environ, TMPDIR=folder),
    ):
        try:
            return (yield)
        finally:
            if pyplot := sys.modules.get("matplotlib.pyplot"):
                pyplot.close("all")  # it warns about many figures


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than processors: many tests wait for processes, for files or for time to pass."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not hasattr(os, "sched_getaffinity"):
        return None  # as pytest-xdist has it
    return len(os.sched_getaffinity(0)) + 1


# ---- nothing is left behind


def _place():
    """Where the folder goes: memory if it has room, unless TMPDIR names another place."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30
    return MEMORY if roomy and "TMPDIR" not in os.environ else None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart():
    """Make the folder of this run, before workers start."""
    if OWNED in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="budgetron-", dir=_place())
    os.chmod(folder, 0o711)  # a test becomes another user
    os.environ |= {OWNED: folder, "TMPDIR": folder, "PYTEST_DEBUG_TEMPROOT": folder}
    tempfile.tempdir = None  # asked again
    pytest_sessionstart.folder = Path(folder)


def _left(folder):
    """What stays in the folder, apart from the folders of ``tmp_path``."""
    for path in folder.glob("sklearn_testing_*"):  # go when their process ends; a slow one is killed
        shutil.rmtree(path, ignore_errors=True)
    end = time.monotonic() + PATIENCE
    while True:
        found = sorted(path.name for path in folder.iterdir() if not path.name.startswith("pytest-of-"))
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    """The last act: fail if anything is left, else remove the folder."""
    result = yield
    folder = getattr(pytest_sessionstart, "folder", None)
    if folder is None:
        return result
    say = session.config.get_terminal_writer().line
    if left := _left(folder):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        say(f"{len(left)} left in the temporary folder by the tests: {', '.join(left[:20])}", red=True)
    passed = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if passed or not any(folder.iterdir()):
        shutil.rmtree(folder)
    else:
        say(f"The files of this run are in {folder}")
    return result
