"""A real Dask cluster of two processes, one for all tests of this folder."""

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def scratch_space(tmp_path_factory):
    """Dask leaves its scratch space where it was; here that is a folder of the tests."""
    if find_spec("dask") is None:
        yield
        return
    import dask

    with dask.config.set({"temporary-directory": str(tmp_path_factory.mktemp("dask"))}):
        yield


@pytest.fixture(scope="session")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as made:
        yield made


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as made:
        yield made
