"""The exercises: their solutions are right, what is not written is said, and every fault is found."""

import runpy
from pathlib import Path

import pytest

from tests.helpers.cases import each

FOLDER = Path(__file__).parents[2] / "examples" / "exercises"
check = runpy.run_path(str(FOLDER / "check.py"))
EXERCISES = check["EXERCISES"]


def checked(capsys, exercise, path):
    capsys.readouterr()
    passed = check["check"](exercise, path)
    return passed, capsys.readouterr().out


@each("exercise", EXERCISES)
def test_the_solution_is_right(capsys, exercise):
    passed, said = checked(capsys, exercise, FOLDER / "solutions" / f"{exercise}.py")
    assert passed
    assert said.splitlines()[-1] == "All is right."
    assert said.count("right: ") == len(EXERCISES[exercise][2])


@each("exercise", EXERCISES)
def test_what_is_to_be_written_is_not_there(capsys, exercise):
    passed, said = checked(capsys, exercise, FOLDER / f"{exercise}.py")
    assert not passed
    assert said.endswith("NotImplementedError: write this\n")
    told = (FOLDER / f"{exercise}.py").read_text().partition("def ")[0]
    solved = (FOLDER / "solutions" / f"{exercise}.py").read_text()
    parameters = [line for line in told.splitlines() if line.startswith(("    budget:", "    eta:"))]
    assert parameters
    assert all(line in solved.splitlines() for line in parameters)


FAULTS = {
    "a step on every row": ("perceptron", " if round.mistake else 0.0", "", "two classes"),
    "no eta": ("perceptron", " * self.eta", "", "the size of a step"),
    "no weight": ("perceptron", "round.weight * ", "", "weights"),
    "no limit": ("rbp", "f.size < self.budget", "True", "a full budget"),
    "the oldest": ("rbp", "f.below(f.size)", "f.oldest", "a full budget"),
    "too early": ("rbp", "f.size < self.budget", "f.size < self.budget - 1", "a full budget"),
    "never": ("rbp", "            f.append(term)", "            pass", "before the budget is full"),
    "eta squared": ("projectron", "self.eta**2", "self.eta**4", "a threshold"),
    "twins appended": ("projectron", "max(self.eta**2, 1e-10 * term.kxx)", "-1.0", "no threshold"),
    "no projection": ("projectron", "            f.spread(term, d)", "            pass", "no threshold"),
    "half": ("projectron", "f.spread(term, d)", "f.spread(term, d, 0.5)", "no threshold"),
    "full ignored": ("projectron", " or f.size == self.budget", "", "a full budget"),
}


@each("fault", FAULTS)
def test_a_fault_is_found_and_named(capsys, tmp_path, fault):
    exercise, right, wrong, case = FAULTS[fault]
    text = (FOLDER / "solutions" / f"{exercise}.py").read_text()
    assert right in text
    path = tmp_path / f"{exercise}.py"
    path.write_text(text.replace(right, wrong, 1))
    passed, said = checked(capsys, exercise, path)
    assert not passed
    assert f"wrong: {case}." in said


def test_the_page_shows_what_the_checker_says(capsys, tmp_path):
    text = (FOLDER / "solutions" / "perceptron.py").read_text()
    path = tmp_path / "perceptron.py"
    path.write_text(text.replace("round.weight * ", ""))
    _, said = checked(capsys, "perceptron", path)
    page = (FOLDER / "README.md").read_text()
    assert "".join(f"    {line}\n" for line in said.splitlines()) in page


@pytest.mark.parametrize("words", [[], ["rpb"]])
def test_the_command(monkeypatch, words):
    monkeypatch.setattr("sys.argv", ["check.py", *words])
    with pytest.raises(SystemExit, match=r"usage: .* there are perceptron, rbp, projectron"):
        runpy.run_path(str(FOLDER / "check.py"), run_name="__main__")
