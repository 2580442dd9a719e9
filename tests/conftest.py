"""One BLAS thread per test worker, since matrices here are small; the same hypothesis examples every time.

HYPOTHESIS_PROFILE=search draws new examples, which `make test-random` does, and HYPOTHESIS_PROFILE=few only
a few, for the slow builds of `make sanitize` and its kin.
"""

import gc
import os
import sys

gc.disable()  # until everything is collected: modules and items are not garbage

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

SLOW = [HealthCheck.too_slow]  # which a busy machine makes of any test
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=SLOW)
settings.register_profile("search", deadline=None, suppress_health_check=SLOW, print_blob=True)
settings.register_profile(
    "few", derandomize=True, deadline=None, suppress_health_check=SLOW, max_examples=5
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def path(tmp_path):
    """Where a model file may go; nothing else is there."""
    return tmp_path / "model.safetensors"


@pytest.fixture
def long(request):
    """Whether these cases of `pairs` are some of those for `make slow`, which may take longer streams."""
    return request.node.get_closest_marker("slow") is not None


def pytest_collection_finish():
    """What was collected stays, so the garbage collector need not look at it again."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    """Services of this process have a folder, which goes before someone looks what is left."""
    if (served := sys.modules.get("tests.helpers.served")) is not None:
        served.tidy()


def pytest_unconfigure():
    """Modules are taken down at the end as ever, so that the native core can report what leaked."""
    gc.unfreeze()
