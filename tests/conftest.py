"""One BLAS thread per test worker, since matrices here are small; the same hypothesis examples every time.

A test marked `pairs` is run for a part of the product of its parameters in which every pair of values
occurs; the rest of the product is `slow`.

HYPOTHESIS_PROFILE=search draws new examples, which `make test-random` does, and HYPOTHESIS_PROFILE=few only
a few, for the slow builds of `make sanitize` and its kin.
"""

import gc
import os
from collections import defaultdict

gc.disable()  # until everything is collected: modules and items are not garbage

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.helpers.pairs import covering  # noqa: E402

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
    """Whether a test marked `pairs` is one of those for `make slow`, which may take longer streams."""
    return request.node.get_closest_marker("slow") is not None


def pytest_collection_finish():
    """What was collected stays, so the garbage collector need not look at it again."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    """Modules are taken down at the end as ever, so that the native core can report what leaked."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow what `pairs` leaves out of a product."""
    products = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairs"):
            products[item.nodeid.split("[")[0]].append(item)
    for product in products.values():
        values = [{name: id(value) for name, value in item.callspec.params.items()} for item in product]
        kept = covering(values)
        for place, item in enumerate(product):
            if place not in kept:
                item.add_marker("slow")
