"""Brokers for the tests of this folder, one of each kind for a module."""

from collections import Counter

import pytest

from tests.helpers.broker_runs import running
from tests.helpers.brokers import KINDS


@pytest.fixture(scope="module", params=KINDS)
def server(request, tmp_path_factory):
    """A running broker of each kind."""
    with running(request.param, tmp_path_factory) as made:
        yield made


_streams = Counter()


@pytest.fixture
def stream(server):
    """The name of a stream that nobody has used."""
    _streams[server.kind] += 1
    return f"orders{_streams[server.kind]}"
