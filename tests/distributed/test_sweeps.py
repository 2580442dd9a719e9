"""Comparisons and searches on a Dask cluster are those of a serial run, bit for bit."""

import os
import signal
from dataclasses import replace

import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

from budgetron import Gaussian, auto, bpa_nn, evaluate

DATA = load_breast_cancer(return_X_y=True)


def untimed(comparison):
    return {
        name: [[replace(record, seconds=0.0) for record in run] for run in runs]
        for name, runs in comparison.records.items()
    }


def test_compare(client):
    learners = {"bpa_nn": bpa_nn(Gaussian(1e-6), budget=30), "auto": auto(size=10)}
    serial = evaluate.compare(learners, DATA, permutations=2)
    found = evaluate.compare(learners, DATA, permutations=2, executor=client.get_executor())
    assert untimed(found) == untimed(serial)


def test_tune(client):
    options = {"budget": 30, "candidates": 6}
    serial = evaluate.tune("bpa_nn", DATA, n_jobs=1, **options)
    assert evaluate.tune("bpa_nn", DATA, executor=client.get_executor(), **options) == serial


def test_a_client_is_not_an_executor(client):
    with pytest.raises(TypeError, match=r"such as client.get_executor\(\), got"):
        evaluate.compare([auto()], DATA, executor=client)


class Fatal(SGDClassifier):
    """Kills its process the first time that it learns."""

    def __init__(self, path=None):
        super().__init__(random_state=0)
        self.path = path

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not os.path.exists(self.path):
            with open(self.path, "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        return super().partial_fit(X, y, classes, sample_weight)


@pytest.mark.slow
def test_the_runs_of_a_killed_worker_run_again(tmp_path):
    from distributed import Client, LocalCluster

    learners = {"bpa_nn": bpa_nn(Gaussian(1e-6), budget=30), "fatal": Fatal(str(tmp_path / "killed"))}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        found = evaluate.compare(learners, DATA, permutations=2, executor=client.get_executor())
    assert (tmp_path / "killed").exists()
    assert untimed(found) == untimed(evaluate.compare(learners, DATA, permutations=2))
