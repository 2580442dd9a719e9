"""`Learner.check` refuses what `build` refuses, with the same words, and builds no model."""

import numpy as np
import pytest

from budgetron import AROW, Auto, Averaged, Gaussian, Identity, Mapped, Sigmoid, Stacked, algorithms, rbp
from budgetron.cli import main
from budgetron.learners.scaled import Standardised
from budgetron.parts.tasks import Labels, Targets
from tests.helpers import members

BAD = [
    rbp(Gaussian(-1.0), budget=10),
    rbp(Gaussian("scale"), budget=0),
    algorithms.projectron(Sigmoid()),
    Averaged(Averaged(rbp(Gaussian(), budget=5))),
    Averaged(rbp(Gaussian(), budget=5), suffix=0.0),
    Stacked(),
    Stacked(rbp(Gaussian(), budget=5), prior=-1.0),
    Standardised(rbp(Gaussian(), budget=5), clip=0.0),
    Mapped(Identity(), AROW(r=-1.0)),
    Auto(size=0),
]


def refusal(work):
    try:
        work()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def refusals(learner, task):
    def build():
        learner.resolved(np.zeros((1, 1))).build(task, 1, np.float64, 0)

    return refusal(lambda: learner.check(task)), refusal(build)


def test_what_check_refuses_cannot_be_built():
    every = [members.described(name) for name in algorithms.__all__]
    every += [learner for _, learner in members.combinations()]
    for learner in every:
        for task in (Labels(2), Labels(3), Targets()):
            checked, built = refusals(learner, task)
            assert checked == built, (learner, task)


@pytest.mark.parametrize("learner", BAD, ids=repr)
def test_bad_parameters(learner):
    checked, built = refusals(learner, Labels(2))
    assert checked is not None
    assert checked == built


def test_a_full_covariance_of_many_columns():
    learner = Mapped(Identity(), AROW(covariance="full"))
    learner.check(Labels(2))
    with pytest.raises(ValueError, match="a full covariance of 30001 features"):
        learner.check(Labels(2), 30_000)


@pytest.mark.parametrize(("row", "flags"), [("{i},{i},{i}.5", ["--regression"]), ("{i},t{i},c{i}", [])])
def test_a_run_builds_its_model_once(row, flags, tmp_path, monkeypatch):
    """Also if every row brings a value and a class."""
    built, build = [], Standardised.build
    monkeypatch.setattr(Standardised, "build", lambda *args: built.append(args) or build(*args))
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n" + "".join(row.format(i=i % 7) + "\n" for i in range(50)))
    assert main(["run", str(file), "--target", "y", *flags]) == 0
    assert len(built) == 1
