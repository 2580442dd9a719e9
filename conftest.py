"""What tests and the examples in the pages need.

The data sets are read from the folder that BUDGETRON_DATA names, or from ../shared/data if that is there.
Without either, the tests that need data say so and are skipped.
"""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parent.parent / "shared" / "data"
if SHARED.is_dir():
    os.environ.setdefault("BUDGETRON_DATA", str(SHARED))


@pytest.fixture(autouse=True)
def _examples_of_dask(request):
    """Examples that need Dask are skipped without it."""
    if request.node.path.name in ("dask.md", "fitting.py"):
        pytest.importorskip("dask", reason="needs the extra dask")


@pytest.fixture(autouse=True)
def _readme_in_a_folder_of_its_own(request, monkeypatch, tmp_path_factory):
    """The README saves a model beside itself; here it does so in a folder that goes away."""
    if request.node.path.name == "README.md":
        monkeypatch.chdir(tmp_path_factory.mktemp("readme"))
