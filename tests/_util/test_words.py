"""Names of kernels, losses and errors in Python, and what is said about a wrong one."""

import pickle
import subprocess
import sys

import pytest

import budgetron
from budgetron import (
    OGD,
    Gaussian,
    Laplacian,
    Logistic,
    Mapped,
    OnlineClassifier,
    RandomFourier,
    SquaredHinge,
    Stacked,
    bpa_p,
    datasets,
    fogd,
    ogd,
    rbp,
)
from tests.helpers.cases import each
from tests.helpers.members import data
from tests.helpers.refusals import refused


@each(
    ("named", "written"),
    [
        (rbp("gaussian", budget=10), rbp(Gaussian(), budget=10)),
        (rbp("Laplacian", budget=10), rbp(Laplacian(), budget=10)),
        (ogd("gaussian", loss="logistic"), ogd(Gaussian(), loss=Logistic())),
        (ogd(Gaussian(), loss="squared_hinge"), ogd(Gaussian(), loss=SquaredHinge())),
        (fogd("laplacian", loss="squared-hinge"), fogd(Laplacian(), loss=SquaredHinge())),
        (Mapped(RandomFourier("gaussian"), OGD()), Mapped(RandomFourier(Gaussian()), OGD())),
    ],
    ids=repr,
)
def test_a_name_stands_for_the_description(named, written):
    assert named == written
    assert repr(named) == repr(written)


def test_set_params_takes_names():
    model = OnlineClassifier(ogd(Gaussian()))
    model.set_params(learner__kernel="laplacian", learner__kernel__gamma=2.0)
    model.set_params(learner__rule__loss="logistic")
    assert model.learner == ogd(Laplacian(2.0), loss=Logistic())


@each(
    ("learner", "message"),
    [
        (bpa_p("rbf", budget=5), "kernel must be a Kernel, got 'rbf'; did you mean Gaussian()?"),
        (bpa_p("poly", budget=5), "did you mean Polynomial()?"),
        (bpa_p("gausian", budget=5), "did you mean Gaussian()?"),
        (
            bpa_p("zzz", budget=5),
            "one of Gaussian(), Laplacian(), Linear(), Polynomial(), Sigmoid().",
        ),
        (ogd(Gaussian(), loss="log_loss"), "loss must be a Loss, got 'log_loss'; did you mean Logistic()?"),
        (fogd("rbf"), "did you mean Gaussian()?"),
    ],
    ids=repr,
)
def test_an_unknown_name(learner, message):
    with pytest.raises(TypeError) as caught:
        OnlineClassifier(learner).fit(*data("binary"))
    assert str(caught.value).endswith(message)


def test_an_unknown_algorithm():
    """Python itself suggests the nearest name, as for a module that is not lazy."""
    with pytest.raises(AttributeError) as caught:
        budgetron.forgetorn  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("forgetorn", budgetron)
    script = "import budgetron; budgetron.forgetorn"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Did you mean: 'forgetron'?" in done.stderr


def test_an_unknown_data_set():
    with refused("datasets: 'germann' is not in the catalogue and has no file; did you mean german?"):
        datasets.load("germann")


@each("name", ["DataError", "DivergedError", "ModelFileError", "SaveError"])
def test_errors_have_public_names(name):
    kind = getattr(budgetron, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"budgetron.{name}"
    error = kind("sentence.", 3) if name == "DivergedError" else kind("sentence.")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert str(copied) == "sentence."
    assert vars(copied) == vars(error)


def test_missing_probabilities_say_how_to_get_them():
    model = OnlineClassifier(rbp(Gaussian(), budget=5)).fit(*data("binary"))
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match=rf"{method} needs a learner with.*Stacked\(learner\)"):
            getattr(model, method)
    assert hasattr(OnlineClassifier(Stacked(model.learner)), "predict_proba")
    assert hasattr(OnlineClassifier(ogd(Gaussian(), loss="logistic")), "predict_proba")
    assert "class probabilities" in OnlineClassifier.predict_proba.__doc__
