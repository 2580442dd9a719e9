"""Learners from flags: all algorithms and their parameters, and errors for wrong flags."""

import inspect

import pytest

from budgetron import (
    DualRemoval,
    Gaussian,
    Laplacian,
    Linear,
    Logistic,
    Polynomial,
    ProjectSmallest,
    Sigmoid,
    algorithms,
)
from budgetron.cli import learners
from budgetron.cli.process import UsageError
from tests.helpers.cases import each
from tests.helpers.command import COLUMNS, called
from tests.helpers.members import filled


def learner(name, **flags):
    return learners.build([name], flags)[name]


@each("name", algorithms.__all__)
def test_every_algorithm_takes_what_its_signature_says(name):
    function = getattr(algorithms, name)
    parameters = inspect.signature(function).parameters.values()
    own = {p.name for p in parameters} - {"kernel"}
    assert own <= set(learners.parameters(name))
    values = filled(function)
    flags = {key: str(value) for key, value in values.items()}
    if "kernel" in {p.name for p in parameters}:
        assert learner(name, gamma="0.5", **flags) == function(Gaussian(0.5), **values)
    else:
        assert learner(name, **flags) == function(**values)


@each(
    ("flags", "kernel"),
    [
        ({}, Gaussian()),
        ({"sigma": "8"}, Gaussian.of_width(8)),
        ({"kernel": "laplacian", "sigma": "4"}, Laplacian(0.25)),
        ({"kernel": "laplacian", "gamma": "auto"}, Laplacian("auto")),
        ({"kernel": "polynomial", "degree": "2", "coef0": "-1"}, Polynomial(degree=2, coef0=-1.0)),
        ({"kernel": "linear"}, Linear()),
        ({"kernel": "Sigmoid", "gamma": "0.1"}, Sigmoid(0.1)),
    ],
)
def test_kernels(flags, kernel):
    assert learner("perceptron", **flags).kernel == kernel


def test_losses_and_maintenances():
    made = learner("bsgd", budget="9", loss="logistic", maintenance="project-smallest", neighbours="3")
    assert made == algorithms.bsgd(
        Gaussian(), budget=9, loss=Logistic(), maintenance=lambda budget: ProjectSmallest(budget, 3)
    )
    assert learner("bduol", budget="9", maintenance="DualRemoval").maintenance == DualRemoval(9)


@each(
    ("name", "flags", "message"),
    [
        ("rbp", {}, "rbp needs --budget."),
        ("rbp", {"budget": "ten"}, "--budget: expected a whole number, got 'ten'."),
        (
            "rbp",
            {"budget": "9", "rank": "2"},
            "--rank is not for rbp: rbp takes --budget, --eta, --epsilon.",
        ),
        ("ogd", {"eta": "x"}, "--eta: expected a number, got 'x'."),
        ("ogd", {"loss": "hinges"}, "--loss: there is no 'hinges'; did you mean hinge?"),
        ("ogd", {"kernel": "cubic"}, "--kernel: there is no 'cubic'; expected one of gaussian, "),
        ("ogd", {"sigma": "0"}, "gaussian: sigma must be above 0, got 0.0."),
        ("ogd", {"gamma": "-1"}, "Gaussian: gamma must be above 0, got -1.0."),
        ("ogd", {"gamma": "wide"}, "--gamma: expected a number or scale or auto, got 'wide'."),
        ("ogd", {"gamma": "1", "sigma": "1"}, "--sigma and --gamma exclude each other"),
        ("ogd", {"degree": "2"}, "--degree is not for the kernel gaussian, which takes --gamma, --sigma."),
        (
            "bsgd",
            {"budget": "9", "neighbours": "3"},
            "--neighbours is not for the maintenance remove-smallest.",
        ),
        (
            "bsgd",
            {"budget": "9", "maintenance": "dual-removal"},
            "--maintenance: there is no 'dual-removal';",
        ),
    ],
)
def test_flags_that_do_not_fit(name, flags, message):
    with pytest.raises(UsageError) as caught:
        learner(name, **flags)
    assert str(caught.value).startswith(message)


def test_several_algorithms_share_flags():
    both = learners.build(["ogd", "rbp"], {"budget": "9", "lam": "0.5"})
    assert both == {"ogd": algorithms.ogd(Gaussian(), lam=0.5), "rbp": algorithms.rbp(Gaussian(), budget=9)}
    with pytest.raises(
        UsageError, match=r"--rank is not for ogd, rbp: ogd takes --eta.*; rbp takes --budget"
    ):
        learners.build(["ogd", "rbp"], {"budget": "9", "rank": "2"})


@pytest.mark.parametrize(
    ("word", "message"),
    [("forgetorn", "did you mean forgetron?"), ("lasso", "expected one of ahpatron, auto, avm,")],
)
def test_unknown_algorithms(word, message, capsys):
    code, out, err = called(capsys, "run", word, "-", *COLUMNS)
    assert (code, out) == (2, "")
    assert f"there is no algorithm {word!r}; {message}" in err


def test_other_spellings_of_algorithms():
    assert [learners.algorithm_name(word) for word in ("projectron++", "bpa-nn", "RBP")] == [
        "projectron_pp",
        "bpa_nn",
        "rbp",
    ]
