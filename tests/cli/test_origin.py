"""Column names of tables are respected, and a run can be resumed only with its own rows."""

import pytest

from budgetron import model_files
from budgetron.cli import checkpoint
from tests.helpers.cases import each
from tests.helpers.command import called, rows, written

RBP = ["--budget", "20", "--gamma", "0.5"]
N = 2500


def run(capsys, file, model, *more):
    return called(capsys, "run", "rbp", file, *RBP, "--no-scaling", "--save", model, *more)


def table(path, names="a,b,c,d", n=N, seed=0):
    """A table with the given ones of the columns a, b, c, d and label."""
    X, y = rows(n, seed=seed)
    columns = dict(zip("abcd", X.T.tolist(), strict=True)) | {"label": y.tolist()}
    lines = zip(*(columns[name] for name in names.split(",")), strict=True)
    path.write_text("\n".join([names, *(",".join(map(repr, line)) for line in lines), ""]))
    return path


@pytest.fixture
def model(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    train = table(tmp_path / "train.csv", "a,b,c,d,label")
    assert run(capsys, train, tmp_path / "model", "--target", "label").code == 0
    return tmp_path / "model"


# ---- predict


def test_columns_go_by_their_names(model, tmp_path, capsys):
    expected = called(capsys, "predict", model, tmp_path / "train.csv", "--target", "label")
    for names in ("a,b,c,d", "d,b,a,c", "label,c,d,a,b"):
        ended = called(capsys, "predict", model, table(tmp_path / "other.csv", names))
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == expected.out
    assert len(set(expected.out.split())) == 3


def test_a_column_that_is_missing(model, tmp_path, capsys):
    ended = called(capsys, "predict", model, table(tmp_path / "other.csv", "d,a,label,b"))
    assert (ended.code, ended.out) == (3, "")
    assert "other.csv has no column 'c', which" in ended.err
    assert "has no value for 'c', and the learner needs all values" in ended.err


def test_names_on_one_side_only_are_told(model, tmp_path, capsys):
    svm = written(tmp_path / "rows.svm", N)
    ended = called(capsys, "predict", model, svm)
    assert ended.code == 0
    assert ended.err == f"budgetron: only {model} has column names: columns are matched by position.\n"
    assert ended.out == called(capsys, "predict", model, tmp_path / "train.csv").out
    assert run(capsys, svm, tmp_path / "bare").code == 0
    file = table(tmp_path / "other.csv")
    ended = called(capsys, "predict", tmp_path / "bare", file)
    assert ended.code == 0
    assert ended.err == f"budgetron: only {file} has column names: columns are matched by position.\n"


# ---- resume


def test_a_resumed_table_goes_by_its_names(model, tmp_path, capsys):
    target = ["--target", "label"]
    turned = table(tmp_path / "turned.csv", "label,d,c,b,a", n=2 * N)
    assert run(capsys, turned, model, *target, "--resume").code == 3  # these are other rows
    both = (tmp_path / "train.csv").read_text().splitlines()
    both += [",".join(reversed(line.split(","))) for line in turned.read_text().splitlines()[1:]]
    (tmp_path / "both.csv").write_text("\n".join([*both, ""]))
    lines = [",".join(reversed(line.split(","))) for line in both]
    (tmp_path / "back.csv").write_text("\n".join([*lines, ""]))
    assert run(capsys, tmp_path / "back.csv", model, *target, "--resume").code == 0
    assert run(capsys, tmp_path / "both.csv", tmp_path / "whole", *target).code == 0
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
    few = tmp_path / "few.csv"
    few.write_text(
        "".join(line.rpartition(",")[0] + "\n" for line in (tmp_path / "back.csv").read_text().splitlines())
    )
    ended = run(capsys, few, model, *target, "--resume")
    assert ended.code == 3
    assert "rows differ from those that the run has learned" in ended.err


def test_other_rows_cannot_go_on(tmp_path, capsys):
    model, mine = tmp_path / "model", written(tmp_path / "mine.svm", N)
    assert run(capsys, mine, model, "--resume").code == 0
    kept = model.read_bytes()
    changed = mine.read_bytes().replace(b"\n2.0 ", b"\n1.0 ", 1)
    assert changed != mine.read_bytes()
    for text in (written(tmp_path / "b", 2 * N, seed=1).read_bytes(), changed, changed * 2):
        (tmp_path / "other.svm").write_bytes(text)
        ended = run(capsys, tmp_path / "other.svm", model, "--resume")
        assert ended.code == 3
        assert "other.svm: the first 2500 rows differ from those that the run has learned" in ended.err
        assert model.read_bytes() == kept
    (tmp_path / "longer.svm").write_bytes(mine.read_bytes() * 2)
    assert run(capsys, tmp_path / "longer.svm", model, "--resume", "--block", "77").code == 0
    assert run(capsys, tmp_path / "longer.svm", tmp_path / "whole").code == 0
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()


def test_other_ways_to_read_cannot_go_on(model, tmp_path, capsys):
    for more, message in (
        (["train.csv", "--target", "d"], "the file has --target label, the command line d;"),
        (["rows.svm"], "the file has the format csv, the command line svmlight;"),
    ):
        written(tmp_path / "rows.svm", N)
        ended = run(capsys, tmp_path / more[0], model, "--resume", *more[1:])
        assert ended.code == 2
        assert message in ended.err


@pytest.mark.parametrize("steps", [["--shuffle", "300"], ["--delay", "5"]], ids=str)
def test_an_ended_run_with_rows_that_waited_cannot_be_lengthened(steps, tmp_path, capsys):
    model, mine = tmp_path / "model", written(tmp_path / "mine.svm", N)
    assert run(capsys, mine, model, *steps).code == 0
    kept = model.read_bytes()
    assert run(capsys, mine, model, "--resume", *steps).code == 0
    assert model.read_bytes() == kept
    mine.write_bytes(mine.read_bytes() + b"1 1:0.5\n")
    ended = run(capsys, mine, model, "--resume", *steps)
    assert ended.code == 3
    assert "has more rows than the 2500 that the run ended with" in ended.err
    assert model.read_bytes() == kept


def test_a_source_that_grows_while_the_buffer_is_emptied(tmp_path, capsys, monkeypatch):
    model, mine = tmp_path / "model", written(tmp_path / "mine.svm", N)
    save = checkpoint.save

    def cut(session, *more):
        save(session, *more)
        if session.drained:
            raise MemoryError("cut")

    argv = ["--shuffle", "2400", "--checkpoint-every", "500", "--resume"]
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", cut)
        assert run(capsys, mine, model, *argv).code == 1
    assert model_files.read(model).extra["run"]["drained"] > 0
    text = mine.read_bytes()
    mine.write_bytes(text + b"1 1:0.5\n")
    assert run(capsys, mine, model, *argv).code == 3
    mine.write_bytes(text)
    assert run(capsys, mine, model, *argv).code == 0
    assert run(capsys, mine, tmp_path / "whole", "--shuffle", "2400").code == 0
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()


# ---- labels and places


@each("label", ["a\nb", "a\r", "\x1b[2J", "a\u2028b"], ids=ascii)
def test_labels_that_would_break_a_line(label, tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"a": [1.0, 2.0, 3.0], "label": ["a b", label, "caf\u00e9"]}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    argv = ["--target", "label", "--predictions", tmp_path / "out"]
    ended = run(capsys, tmp_path / "rows.parquet", tmp_path / "model", *argv)
    assert (ended.code, ended.out) == (3, "")
    assert f"rows.parquet: the label {label!a} contains a line end or control" in ended.err
    assert (tmp_path / "out").read_text() == ""


def test_a_table_of_labels_alone(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    ended = run(capsys, table(tmp_path / "rows.csv", "label"), tmp_path / "model", "--target", "label")
    assert ended.code == 3
    assert "there are no columns of features" in ended.err


def test_a_model_and_predictions_in_one_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path / "rows.svm", 100)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    for place in ("model", "./model", "link"):
        ended = run(capsys, file, "model", "--predictions", place)
        assert ended.code == 2
        assert "--save and --predictions are the same file, model: give two files." in ended.err
    assert not (tmp_path / "model").exists()


@each(
    "change",
    [
        lambda run: run.pop("source"),
        lambda run: run["source"].update(drop=[1]),
        lambda run: run["source"].update(time=1),
        lambda run: run["source"].update(checksum=["a"] * 4),
        lambda run: run["source"].update(checksum=[0]),
        lambda run: run["source"].pop("form"),
    ],
)
def test_forged_origins_are_refused(change, tmp_path, capsys):
    model, file = tmp_path / "model", written(tmp_path / "rows.svm", 100)
    assert run(capsys, file, model).code == 0
    extra = model_files.read(model).extra
    change(extra["run"])
    model_files.load(model).save(model, extra=extra)
    ended = run(capsys, file, model, "--resume")
    assert ended.code == 4
    assert ended.err.count("\n") == 1
