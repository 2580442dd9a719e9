"""What tests and the examples in the pages need.

The data sets are read from the folder that BUDGETRON_DATA names, or from ../shared/data if that is there.
Without either, the tests that need data say so and are skipped.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

SHARED = Path(__file__).parent.parent / "shared" / "data"
if SHARED.is_dir():
    os.environ.setdefault("BUDGETRON_DATA", str(SHARED))


def pytest_addoption(parser):
    """``--case`` selects cases of a test that runs many of them."""
    parser.addoption("--case", default="", help="of tests with many cases, run those with this name")


def pytest_configure(config):
    os.environ["BUDGETRON_TEST_CASE"] = config.getoption("--case")


def pytest_runtest_setup(item):
    """Examples that need Dask are skipped without it."""
    if item.path.name in ("dask.md", "fitting.py"):
        pytest.importorskip("dask", reason="needs the extra dask")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The README saves a model beside itself; here it does so in a folder that goes away."""
    if item.path.name != "README.md":
        return (yield)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than processors: many tests wait for processes, for files or for time to pass."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not hasattr(os, "sched_getaffinity"):
        return None  # as pytest-xdist has it
    return len(os.sched_getaffinity(0)) + 1
