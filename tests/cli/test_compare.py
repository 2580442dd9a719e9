"""``budgetron compare``, ``data`` and ``demo``."""

import json
import re

import pytest

from budgetron import Gaussian, datasets, evaluate, nogd, rbp
from budgetron.cli import demo
from tests.helpers.command import called, ran, rows, spawned, written
from tests.helpers.data_sets import FOLDER

ARGV = ["compare", "rbp", "nogd", "--budget", "20", "--rank", "5", "--gamma", "0.5", "--permutations", "3"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """A folder in which a figure may be written."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rows") / "rows.svm", 600)


def result():
    k = Gaussian(0.5)
    learners = {"rbp": rbp(k, budget=20), "nogd": nogd(k, budget=20, rank=5)}
    return evaluate.compare(learners, rows(600), permutations=3, task="classification")


def test_a_table_as_a_process_of_its_own(file):
    ended = spawned(*ARGV, "--data", file, "--no-figure")
    assert (ended.code, ended.err) == (0, "")
    mine, python = ended.out.splitlines(), result().table().splitlines()
    assert mine[0].split() == python[0].split()
    assert [line.split()[:4] for line in mine[2:4]] == [line.split()[:4] for line in python[2:4]]


def test_bad_usage_as_a_process_of_its_own(file):
    ended = ran(*ARGV, "--data", file, "--components", "9")
    assert (ended.code, ended.out) == (2, "")
    assert "--components is not for rbp, nogd: rbp takes" in ended.err


def without_seconds(document):
    for runs in document["records"].values():
        for run in runs:
            del run["seconds"]
    for row in document["rows"]:
        del row["seconds"]
    return document


def test_json_threads_and_flags_between_names(file, capsys):
    ended = called(capsys, "compare", "rbp", *ARGV[3:], "nogd", "--data", file, "--jobs", "2", "--json")
    document = json.loads(ended.out)
    assert document.pop("data") == str(file)
    assert document.pop("bad_rows") == 0
    assert without_seconds(document) == without_seconds(json.loads(json.dumps(result().as_dict())))


def test_the_file_first(file, capsys):
    """As for the other commands; with the transforms and flags of run."""
    flags = [
        *ARGV[3:],
        "--no-figure",
        "--standardise",
        "--delay",
        "3",
        "--shuffle",
        "50",
        "--classes=0,1,2",
    ]
    ended = called(capsys, "compare", file, "--learners", "rbp,nogd", *flags)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()[2:4]] == ["rbp", "nogd"]
    assert called(capsys, "compare", file, "--learners", "rbp", "--data", file, *flags).code == 2


def test_a_figure(file, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    ended = called(capsys, *ARGV, "--data", file, "--figure", tmp_path / "figure.png")
    assert ended.code == 0
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    ended = called(capsys, *ARGV, "--data", file)
    assert ended.err == "budgetron: the figure is compare.png.\n"
    assert (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert called(capsys, *ARGV, "--data", file, "--figure", "f.png", "--no-figure").code == 2


def test_targets(file, capsys):
    ended = called(capsys, "compare", "ogd", "norma", "--data", file, "--regression", "--permutations", "2")
    assert ended.code == 0
    assert "squared error" in ended.out


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["compare"], 2, "expected one FILE, and the algorithms as --learners A,B,..., got nothing."),
        ([*ARGV], 2, "expected one FILE, and the algorithms as --learners A,B,..., got rbp nogd."),
        ([*ARGV, "--data", "none"], 1, "none: there is no file and no data set"),
        ([*ARGV, "rbp", "--data", "FILE"], 2, "an algorithm is given twice: give each once."),
        ([*ARGV, "forgertron", "--data", "FILE"], 2, "did you mean forgetron?"),
        ([*ARGV, "norma", "--data", "FILE"], 2, "NORMA is defined for regression only."),
        (
            [*ARGV, "--data", "FILE", "--jobs", "0"],
            2,
            "--jobs: expected a whole number of at least 1, or -1",
        ),
        (
            [*ARGV, "--data", "FILE", "--figure", "f.doc"],
            2,
            "--figure: expected a name that ends with .png",
        ),
        ([*ARGV, "--data", "FILE", "--figure", "none/f.png"], 1, "cannot be written"),
        ([*ARGV, "--data", "-"], 2, "a pipe of svmlight text needs --features N"),
        ([*ARGV, "--data", "FILE", "--features", "1"], 3, "expected an index from 1 to 1"),
    ],
)
def test_bad_input(argv, code, message, file, capsys):
    ended = called(capsys, *[str(file) if word == "FILE" else word for word in argv])
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


# ---- data


def test_data_as_a_process_of_its_own(capsys):
    ended = spawned("data", "list")
    assert (ended.code, ended.err) == (0, "")
    names = [line.split()[0] for line in ended.out.splitlines()[1:]]
    assert set(names) >= {"a9a", "german", "synthetic"}
    assert called(capsys, "data", "describe", "a10a").code == 2


def test_data_sets_by_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    written(tmp_path / "mine.svm", 20)
    listed = {line.split()[0]: line.split()[-1] for line in called(capsys, "data", "list").out.splitlines()}
    assert (listed["mine"], listed["a9a"], listed["synthetic"]) == ("yes", "no", "yes")
    assert called(capsys, "data", "describe", "adult9").out == f"{datasets.describe('a9a')}\n"
    ended = called(capsys, "run", "rbp", "a9a", "--budget", "9")
    assert ended.code == 3
    assert "a9a.train.svm" in ended.err


def test_fetch(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "fetch", lambda name: [tmp_path / f"{name}.svm"])
    assert called(capsys, "data", "fetch", "german").out == f"{tmp_path / 'german.svm'}\n"
    monkeypatch.undo()
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    ended = called(capsys, "data", "fetch", "spambase")
    assert (ended.code, ended.out) == (1, "")
    assert "spambase" in ended.err


@pytest.mark.parametrize(
    "argv", [[], ["list", "a9a"], ["describe"], ["fetch"], ["fetch", "none"], ["drop", "a9a"]]
)
def test_data_bad_usage(argv, capsys):
    ended = called(capsys, "data", *argv)
    assert (ended.code, ended.out) == (2, "")


# ---- demo


def test_demo_as_a_process_of_its_own(capsys):
    ended = spawned("demo", "--orders", "1")
    assert (ended.code, ended.err) == (0, "")
    assert "forgetron" in ended.out
    assert re.search(r"auto \(the default\) +[▁-█]{18} ", ended.out)
    assert re.search(r"\d, taken for \d", ended.out)
    assert ended.out.count("█") > 20
    assert "Try next:" in ended.out
    assert called(capsys, "demo", "--orders", "none").code == 2


def test_what_demo_suggests_works(capsys):
    [command] = [line for line in demo.NEXT.splitlines() if "budgetron compare" in line]
    ended = called(capsys, *command.format(bin="").split()[1:], "--permutations", "2", "--no-figure")
    assert (ended.code, ended.err) == (0, "")


def test_bad_usage_of_data_and_demo(capsys):
    ended = called(capsys, "data", "describe", "nonesuch")
    assert ended.out == ""
    assert ended.code in (1, 2, 3)
    assert "nonesuch" in ended.err
    assert len(ended.err.splitlines()) <= 2
    ended = called(capsys, "demo", "--nonsense")
    assert (ended.code, ended.out) == (2, "")
    assert "--nonsense" in ended.err


def test_the_comparison_on_german(tmp_path):
    """The documentation's example: six algorithms, a budget of 100, width 8, some orders and a figure."""
    path = FOLDER / "german.svm.xz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder that BUDGETRON_DATA names")
    names = ["perceptron", "rbp", "forgetron", "projectron", "bogd", "nogd"]
    flags = ["--budget", "100", "--sigma", "8", "--permutations", "4"]
    ended = ran("compare", *names, "--data", path, *flags, cwd=tmp_path)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()[2:8]] == names
    assert all("±" in line for line in ended.out.splitlines()[2:8])
    assert (tmp_path / "compare.png").exists()


def test_what_a_column_is(tmp_path, capsys):
    file = tmp_path / "codes.csv"
    file.write_text("code,y\n" + "".join(f"{i * 7 % 12},{i * 7 % 12 % 2}\n" for i in range(300)))
    flags = [
        "compare",
        "ogd",
        "--data",
        file,
        "--target",
        "y",
        "--permutations",
        2,
        "--no-figure",
        "--json",
    ]
    errors = []
    for more in ([], ["--column", "code=category"]):
        ended = called(capsys, *flags, *more)
        assert ended.code == 0, ended.err
        errors.append(json.loads(ended.out)["rows"][0]["mean"])
    assert errors[1] < errors[0]
