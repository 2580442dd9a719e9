"""``budgetron run``: every source, every output, and bad input."""

import json
import lzma
import os
import re
import select
import subprocess
import sys
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, recall_score

import budgetron
from budgetron import (
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    Standardised,
    evaluate,
    nogd,
    rbp,
    streams,
)
from budgetron.estimators.online import progressive
from budgetron.streams.svmlight import SvmlightStream
from budgetron.streams.tables import TableStream
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import COLUMNS, PATIENCE, called, command, ran, rows, spawned, written
from tests.helpers.data_sets import FOLDER

RBP = ["rbp", "--budget", "20", "--gamma", "0.5"]
N = 2500


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rows") / "rows.svm", N)


def expected(n=N):
    """The mistakes of the same run in Python, and the model."""
    X, y = rows(n)
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=20), random_state=0)
    return (progressive(model, X, y)[0] != y).cumsum(), model  # labels as they come


def table(out):
    """The cells of the lines and of the header."""
    head, *lines = out.splitlines()
    return [line.split() for line in lines], re.split(r"\s{2,}", head.strip())


def test_a_file_as_a_process_of_its_own(file, tmp_path):
    ended = spawned("run", *RBP, file, "--save", tmp_path / "model")
    assert (ended.code, ended.err) == (0, "")
    [line], head = table(ended.out)
    mistakes, model = expected()
    assert head[:3] == ["rows", "mistakes", "mistakes %"]
    assert line[:4] == [str(N), str(mistakes[-1]), f"{100 * mistakes[-1] / N:.2f}", "20"]
    saved = budgetron.load(tmp_path / "model")
    X, _ = rows(N)
    np.testing.assert_array_equal(saved.decision_function(X), model.decision_function(X))


def test_a_broken_file_as_a_process_of_its_own(file, tmp_path):
    bad = tmp_path / "bad.svm"
    bad.write_bytes(file.read_bytes() + b"1 1:0.5 2:zwei\n")
    ended = ran("run", *RBP, bad)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        f"budgetron: {bad}, line {N + 1}, column 11: expected a finite decimal number, got 'zwei'.\n"
    )


def test_a_pipe_gives_the_same_as_a_file(file, tmp_path, capsys):
    packed = lzma.compress(file.read_bytes())
    done = forked.run(
        command("run", *RBP, "-", *COLUMNS, "--save", tmp_path / "piped"), input=packed, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert called(capsys, "run", *RBP, file, "--save", tmp_path / "read").code == 0
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "read").read_bytes()


def test_records_and_json(file, capsys):
    mistakes, model = expected()
    ended = called(capsys, "run", *RBP, file, "--every", "1000")
    assert [line[:2] for line in table(ended.out)[0]] == [
        [str(n), str(mistakes[n - 1])] for n in (1000, 2000, N)
    ]
    ended = called(capsys, "run", *RBP, file, "--every", "1000", "--json")
    document = json.loads(ended.out)
    assert document["mistakes"] == mistakes[-1]
    assert document["learner"] == repr(model.learner_)
    assert document["classes"] == [0.0, 1.0, 2.0]
    assert [record["rows"] for record in document["records"]] == [1000, 2000]
    assert list(document) == [
        *(
            "algorithm",
            "learner",
            "source",
            "seed",
            "features",
            "classes",
            "resumed_from",
            "rows",
            "mistakes",
        ),
        *(
            "loss",
            "support_vectors",
            "seconds",
            "memory_bytes",
            "metrics",
            "time",
            "rate",
            "recall",
            "confusion",
        ),
        *("saved", "bad_rows", "unlabelled", "records"),
    ]


def test_metrics(file, capsys):
    """In the table, in the report below it, and in the JSON document."""
    X, y = rows(N)
    predicted, _ = progressive(OnlineClassifier(rbp(Gaussian(0.5), budget=20), random_state=0), X, y)
    kappa = f"{cohen_kappa_score(y, predicted):.4f}"
    flags = ["--metrics", "kappa,balanced_accuracy,log_loss", "--window", "500", "--every", "1000"]
    ended = called(capsys, "run", *RBP, file, *flags)
    lines, report, recalls = ended.out.split("\n\n")
    cells, head = table(lines)
    assert head[3:5] == ["kappa balanced_accuracy", "log_loss"]
    assert (len(cells), cells[-1][3]) == (3, kappa)
    assert report.splitlines()[0].split("  ")[-1] == "last 500 rows"
    last = f"{cohen_kappa_score(y[-500:], predicted[-500:]):.4f}"
    assert report.splitlines()[1].split() == ["kappa", kappa, last]
    assert report.splitlines()[3].split() == ["log_loss", "-", "-"]
    recall = recall_score(y, predicted, average=None)
    assert [line.split() for line in recalls.splitlines()] == [
        ["class", "recall"],
        *([str(i), f"{value:.4f}"] for i, value in enumerate(recall)),
    ]
    document = json.loads(called(capsys, "run", *RBP, file, *flags, "--json").out)
    assert document["metrics"]["running"]["kappa"] == pytest.approx(float(kappa), abs=1e-4)
    assert document["metrics"]["window"]["rows"] == 500
    assert document["confusion"] == confusion_matrix(y, predicted).tolist()
    assert [each["recall"] for each in document["recall"]] == pytest.approx(recall.tolist())
    assert document["records"][0]["metrics"]["running"]["log_loss"] is None


def test_unknown_metrics_are_refused(file, capsys):
    ended = called(capsys, "run", *RBP, file, "--metrics", "kappa,mae")
    assert ended.code == 2
    assert "--metrics: 'mae' is no metric of labels" in ended.err


def test_the_same_records_as_prequential(file, capsys):
    """With gamma="scale", a delay and transforms."""
    argv = ["--budget", "20", "--delay", "7", "--shuffle", "300", "--standardise", "--seed", "5"]
    document = json.loads(called(capsys, "run", "rbp", file, *argv, "--every", "900", "--json").out)
    model = OnlineClassifier(Standardised(rbp(Gaussian(), budget=20)), random_state=5)
    stream = streams.from_svmlight(file).through(streams.ShuffleBuffer(300, seed=5))
    records = list(evaluate.prequential(model, stream, every=900, delay=7))
    own = [(r["rows"], r["mistakes"]) for r in [*document["records"], document]]
    assert own == [(record.rows, record.mistakes) for record in records]


def test_predictions(file, tmp_path, capsys):
    X, y = rows(N)
    predicted, _ = progressive(OnlineClassifier(rbp(Gaussian(0.5), budget=20), random_state=0), X, y)
    text = "".join(f"{int(label)}\n" for label in predicted)
    assert called(capsys, "run", *RBP, file, "--predictions", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_text() == text
    ended = called(capsys, "run", *RBP, file, "--predictions", "-")
    assert ended.out == text
    assert "mistakes %" in ended.err


def test_regression_from_a_table(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    X, _ = rows(1500)
    y = X @ [0.1, 0.2, 0.3, 0.4]
    path = tmp_path / "rows.csv.xz"
    lines = [",".join(map(repr, [*x, t])) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_bytes(lzma.compress("\n".join(["a,b,c,d,price", *lines, ""]).encode()))
    argv = [
        "nogd",
        path,
        "--target",
        "price",
        "--regression",
        "--budget",
        "30",
        "--rank",
        "9",
        "--gamma",
        "0.5",
        "--no-scaling",
    ]
    document = json.loads(called(capsys, "run", *argv, "--json").out)
    model = OnlineRegressor(nogd(Gaussian(0.5), budget=30, rank=9), random_state=0)
    assert document["rate"] == pytest.approx(np.mean((model.progressive_predict(X, y) - y) ** 2), rel=1e-12)
    assert document["mistakes"] is document["classes"] is None
    assert "mse" in called(capsys, "run", *argv).out


def test_a_data_set_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    written(tmp_path / "mine.train.svm", N)
    written(tmp_path / "mine.test.svm", 600, seed=1)
    model, parts = tmp_path / "model", tmp_path / "parts.svm"
    assert called(capsys, "run", *RBP, "mine", "--save", model).code == 0
    parts.write_bytes(
        (tmp_path / "mine.train.svm").read_bytes() + (tmp_path / "mine.test.svm").read_bytes()
    )
    assert called(capsys, "run", *RBP, parts, "--save", tmp_path / "joined").code == 0
    assert model.read_bytes() == (tmp_path / "joined").read_bytes()
    again = called(capsys, "run", *RBP, "mine", "--save", model, "--resume")
    assert again.out.splitlines()[-1].split()[0] == str(N + 600)
    assert called(capsys, "run", *RBP, "synthetic").code == 0


@each(
    ("argv", "code", "message"),
    [
        (["rbp"], 2, "the following arguments are required: FILE."),
        (["rbp", "FILE"], 2, "rbp needs --budget."),
        (
            ["rbp", "FILE", "--budget", "-3"],
            2,
            "RemoveRandom: budget must be a whole number above 0, got -3.",
        ),
        ([*RBP, "FILE", "--rank", "3"], 2, "--rank is not for rbp: rbp takes --budget, --eta, --epsilon."),
        ([*RBP, "FILE", "--bugdet", "3"], 2, "there is no flag --bugdet; did you mean --budget?"),
        ([*RBP, "FILE", "--bud", "3"], 2, "there is no flag --bud; did you mean --budget?"),
        (
            ["bduol", "FILE", "--budget", "9", "--maintenance", "DualProjection"],
            3,
            "DualProjection is defined for two classes; for more take DualNearest, DualRemovalThenNearest "
            "or DualRemoval.",
        ),
        (["norma", "FILE"], 2, "NORMA"),
        ([*RBP, "none.svm"], 1, "none.svm: there is no file and no data set of that name"),
        ([*RBP, "."], 1, "expected a file, got a folder."),
        ([*RBP, "-"], 2, "a pipe of svmlight text needs --features N"),
        ([*RBP, "FILE", "FILE"], 2, "expected [ALGORITHM] FILE, got rbp"),
        ([*RBP, "-", "--classes", "0,1"], 2, "a pipe of svmlight text needs --features N"),
        ([*RBP, "FILE", "--classes", "1"], 2, "--classes: expected two or more different labels"),
        ([*RBP, "FILE", "--classes", "1,1"], 2, "--classes: expected two or more different labels"),
        (
            [*RBP, "FILE", "--classes", "1,2"],
            3,
            "y contains 0.0, which is not among the classes [1.0, 2.0].",
        ),
        ([*RBP, "FILE", "--features", "2"], 3, "expected an index from 1 to 2 (n_features is 2)"),
        (
            [*RBP, "FILE", "--features", "x"],
            2,
            "--features: expected a whole number of at least 1, got 'x'.",
        ),
        ([*RBP, "FILE", "--zero-based", "--format", "csv"], 2, "--zero-based is only for svmlight text"),
        ([*RBP, "FILE", "--shuffle", "0"], 2, "--shuffle: expected a whole number of at least 1, got '0'."),
        ([*RBP, "FILE", "--seed", "-1"], 2, "--seed: expected a whole number of at least 0, got '-1'."),
        ([*RBP, "FILE", "--standardise", "--min-max"], 2, "not allowed with argument"),
        ([*RBP, "FILE", "--classes", "0,1,2", "--regression"], 2, "not allowed with argument"),
        ([*RBP, "FILE", "--resume"], 2, "need --save MODEL"),
        ([*RBP, "FILE", "--checkpoint-every", "9"], 2, "need --save MODEL"),
        ([*RBP, "FILE", "--json", "--predictions", "-"], 2, "both write to stdout"),
        (
            [*RBP, "FILE", "--save", "FILE"],
            2,
            "is the file that the rows are read from: write to another file.",
        ),
        ([*RBP, "FILE", "--predictions", "."], 1, "cannot be written: it is a folder."),
        (["ogd", "FILE", "--eta", "1e308", "--loss", "squared"], 3, "gives a score that is not finite"),
    ],
)
def test_bad_input(argv, code, message, file, capsys):
    ended = called(capsys, "run", *[str(file) if word == "FILE" else word for word in argv])
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.startswith("budgetron: ")
    assert ended.err.count("\n") == (2 if code == 2 else 1)


@each(
    ("text", "message"),
    [
        (b"", "has no rows."),
        (b"1 1:1\n0 0:1\n", "line 2, column 3: expected an index from 1"),
        (b"1 1:1e200\n0 1:1\n", "rows 0 to 1 (the first is 0): Row 0 of X is too large"),
        (b"\xfd7zXZ\x00 not really", "the compressed data is damaged or truncated"),
    ],
)
def test_bad_data(text, message, tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_bytes(text)
    ended = called(capsys, "run", *RBP, path)
    assert (ended.code, ended.out) == (3, "")
    assert message in ended.err
    assert str(path) in ended.err


def test_labels_that_look_like_targets(tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i / 10} 1:1\n" for i in range(1500)))
    ended = called(capsys, "run", *RBP, path)
    assert ended.code == 2
    assert (
        "the label 0.1 is a number with decimals: give --regression if the labels are targets." in ended.err
    )
    path.write_text("".join(f"{i} 1:1\n" for i in range(1500)))
    ended = called(capsys, "run", *RBP, path)
    assert ended.code == 2
    assert "has more than 1000 different labels: give --regression" in ended.err


def test_rows_without_labels(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    ended = called(capsys, "run", *RBP, path)
    assert ended.code == 2
    assert "--target COLUMN, the column of labels, must be given" in ended.err
    ended = called(capsys, "run", *RBP, path, "--target", "c")
    assert ended.code == 3
    assert "there is no column 'c' among: a, b." in ended.err


def test_the_progress_line(file):
    """The bar appears on a terminal after a second, and is erased at the end."""
    pty = pytest.importorskip("pty")
    terminal, errors = pty.openpty()
    process = forked.Popen(
        command("run", *RBP, "-", *COLUMNS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
    )
    os.close(errors)
    text = file.read_bytes()
    process.stdin.write(text)
    process.stdin.flush()
    drawn = b""
    while b"support vectors" not in drawn:
        process.stdin.write(text)
        process.stdin.flush()
        if select.select([terminal], [], [], 0.2)[0]:
            drawn += os.read(terminal, 4096)
    out, _ = process.communicate(timeout=PATIENCE)
    with suppress(OSError):  # the terminal is gone when the last process has closed it
        while piece := os.read(terminal, 4096):
            drawn += piece
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(rb"\d % mistakes, 20 support vectors, rows [\d,]+", drawn)
    assert drawn.endswith(b"\r\x1b[K")
    assert b"\x1b" not in out


@pytest.mark.timing
@pytest.mark.parametrize("piped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_half_a_million_rows_in_bounded_memory(piped):
    path = FOLDER / "covtype.svm.xz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder that BUDGETRON_DATA names")
    script = (
        "import re, sys; from budgetron.cli import main; code = main();"
        "print(*re.findall(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read()), file=sys.stderr)"
    )
    known = ["--features", "54", "--classes", "1,2,3,4,5,6,7"] if piped else []
    argv = ["run", "rbp", "-" if piped else str(path), "--budget", "100", "--standardise", "--json", *known]
    with path.open("rb") if piped else nullcontext() as source:
        unpacked = subprocess.Popen(["xzcat"], stdin=source, stdout=subprocess.PIPE) if piped else None
        done = subprocess.run(
            [sys.executable, "-c", script, *argv],
            stdin=unpacked.stdout if unpacked else None,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
    if unpacked:
        unpacked.stdout.close()
        assert unpacked.wait() == 0
    document = json.loads(done.stdout)
    assert document["rows"] == 581012
    assert document["rate"] < 0.15
    assert int(done.stderr) < 200_000


def test_a_pipe_by_another_name_is_asked_for_what_a_pipe_must_be_told(tmp_path, capsys):
    """A named pipe, or ``<(...)`` of a shell, can be read only once."""
    place = tmp_path / "pipe"
    os.mkfifo(place)
    ended = called(capsys, "run", "rbp", place, "--budget", "3")
    assert ended.code == 2
    assert "a pipe of svmlight text needs --features N" in ended.err


# ---- how often a file is read


@pytest.fixture
def passes(monkeypatch):
    """Counts how often the rows of each kind of file are read."""
    counts = []
    for kind in (SvmlightStream, TableStream):
        own = kind.__iter__

        def counted(self, own=own):
            counts.append(type(self).__name__)
            return own(self)

        monkeypatch.setattr(kind, "__iter__", counted)
    return counts


def test_a_file_is_read_once_if_the_flags_or_its_header_tell_what_must_be_known(
    file, tmp_path, capsys, passes
):
    pytest.importorskip("pyarrow")
    tables = {"csv": tmp_path / "rows.csv", "parquet": tmp_path / "rows.parquet"}
    tables["csv"].write_text("a,b,t\n" + "0.5,1,0\n1,2,1\n" * 30)
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pytest.importorskip("pyarrow.csv").read_csv(tables["csv"]), tables["parquet"])
    for source, *more in (
        (file, *COLUMNS),
        (file, "--features", "4", "--regression"),
        *((table, "--target", "t") for table in tables.values()),
        *((table, "--target", "t", "--regression") for table in tables.values()),
        *((table, "--target", "t", "--classes", "0,1") for table in tables.values()),
    ):
        passes.clear()
        ended = called(capsys, "run", *RBP, source, "--verbose", *more)
        assert (ended.code, ended.err) == (0, "")
        assert len(passes) == 1


@pytest.mark.parametrize("more", [[], ["--classes", "0,1,2"]])
def test_a_file_that_must_be_read_twice_says_why_if_asked(more, file, capsys, passes):
    ended = called(capsys, "run", *RBP, file, "--verbose", *more)
    assert ended.code == 0
    assert (
        ended.err == f"budgetron: {file} is read twice, first to find the number of columns (--features).\n"
    )
    assert len(passes) == 2
    assert called(capsys, "run", *RBP, file, *more).err == ""  # which a script may read


def test_a_data_set_is_read_twice_only_if_it_is_not_in_the_catalogue(tmp_path, capsys, monkeypatch, passes):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    written(tmp_path / "mine.svm", 100)
    written(tmp_path / "german.svm", 100)
    for name, times in (("mine", 2), ("german", 1)):
        passes.clear()
        ended = called(capsys, "run", *RBP, name, "--verbose")
        assert ("first to find the number of columns (--features)" in ended.err) == (times == 2)
        assert len(passes) == times


def test_a_table_without_a_column_of_targets(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    ended = called(capsys, "run", *RBP, path, "--regression")
    assert ended.code == 2
    assert "--target COLUMN, the column of labels, must be given" in ended.err
