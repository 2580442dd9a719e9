"""An interrupt stops learning between two rows."""

import signal
import threading

import numpy as np
import pytest

from budgetron import Gaussian
from tests.helpers.members import data, estimator, make, start


@pytest.fixture
def interruptible():
    """Makes SIGINT raise KeyboardInterrupt, even if the suite runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
def test_interrupt():
    """An interrupt ends a long pass soon, and the model remains usable."""
    X, y = data("binary", 60_000, features=20)
    model = start(estimator("binary", make("perceptron", Gaussian(50.0))), "binary", X[:10], y[:10])
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    timer.join()
    n = model.n_support_
    assert 0 < n < len(y)
    assert model.support_vectors_.shape == (n, 20)
    assert np.isfinite(model.decision_function(X[:10])).all()
    assert model.partial_fit(X[:10], y[:10]).n_support_ >= n
