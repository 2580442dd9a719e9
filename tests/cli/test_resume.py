"""Stopped and resumed runs end with the same file as a run that was never stopped."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from budgetron import model_files
from budgetron.cli import checkpoint
from budgetron.model.model import Model
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import COLUMNS, PATIENCE, called, command, ran, written

RBP = ["--budget", "20", "--gamma", "0.5", "--seed", "3"]
STEPS = ["--shuffle", "700", "--standardise", "--delay", "5"]
OFTEN = ["--checkpoint-every", "1000", "--resume"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rows") / "rows.svm", 6500)


def run(capsys, rows, model, *more):
    return called(capsys, "run", "rbp", rows, *RBP, "--save", model, *more)


def stop_at(monkeypatch, k):
    """Ends the run right after the k-th checkpoint, like a power cut."""
    save, saved = checkpoint.save, []

    def cut(*run):
        save(*run)
        saved.append(run)
        if len(saved) == k:
            raise MemoryError("cut")

    monkeypatch.setattr(checkpoint, "save", cut)


@pytest.mark.parametrize("steps", [[], STEPS, ["--min-max", "--dense"], ["--shuffle", "100000"]], ids=str)
def test_a_resumed_run_ends_with_the_same_bytes(steps, rows, tmp_path, capsys, monkeypatch):
    whole, model = tmp_path / "whole", tmp_path / "model"
    first, second = tmp_path / "first", tmp_path / "second"
    assert run(capsys, rows, whole, "--predictions", first, *steps).code == 0
    for k in (1, 1, 2):
        with monkeypatch.context() as patched:
            stop_at(patched, k)
            assert run(capsys, rows, model, "--predictions", second, *OFTEN, *steps).code == 1
    ended = run(capsys, rows, model, "--predictions", second, *OFTEN, *steps)
    assert ended.code == 0
    assert model.read_bytes() == whole.read_bytes()
    assert second.read_bytes() == first.read_bytes()
    assert len(first.read_text().splitlines()) == 6500


def test_threads_change_no_byte_and_may_change(rows, tmp_path, capsys, monkeypatch):
    whole, model, auto = tmp_path / "whole", tmp_path / "model", ("run", "auto", rows, "--size", "9")
    assert called(capsys, *auto, "--save", whole).code == 0
    with monkeypatch.context() as patched:
        stop_at(patched, 1)
        assert called(capsys, *auto, "--save", model, *OFTEN, "--jobs", "2").code == 1
    used = []
    learn = Model.run
    monkeypatch.setattr(Model, "run", lambda *a, **more: used.append(a[-1]) or learn(*a, **more))
    assert called(capsys, *auto, "--save", model, *OFTEN, "--jobs", "3").code == 0
    assert set(used) == {3}
    assert model.read_bytes() == whole.read_bytes()
    alone = called(capsys, "predict", model, rows, "--proba")
    assert called(capsys, "predict", model, rows, "--proba", "--jobs", "2").out == alone.out
    assert called(capsys, "run", "auto", rows, "--jobs", "0").code == 2


def test_a_resumed_run_keeps_its_metrics(rows, tmp_path, capsys, monkeypatch):
    """Also without the flag; other metrics or another window are refused."""
    whole, model, metrics = (
        tmp_path / "whole",
        tmp_path / "model",
        ["--metrics", "ece,kappa", "--window", "70"],
    )
    report = run(capsys, rows, whole, *metrics).out.split("\n\n")[1:]
    with monkeypatch.context() as patched:
        stop_at(patched, 2)
        assert run(capsys, rows, model, *OFTEN, *metrics).code == 1
    for other in (["--metrics", "auc", "--window", "70"], ["--metrics", "ece,kappa"]):
        ended = run(capsys, rows, model, *OFTEN, *other)
        assert ended.code == 2
        assert "cannot resume with other flags" in ended.err
    ended = run(capsys, rows, model, *OFTEN, *metrics)
    assert ended.out.split("\n\n")[1:] == report
    assert model.read_bytes() == whole.read_bytes()
    assert run(capsys, rows, model, *OFTEN, "--window", "70").code == 0


def test_text_labels_in_the_buffer_and_in_the_queue(tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    table = tmp_path / "rows.csv"
    lines = [f"{i % 7},{i % 11},{('no', 'yes', 'perhaps')[i * i % 3]}" for i in range(3500)]
    table.write_text("\n".join(["a,b,label", *lines, ""]))
    argv = ["--target", "label", "--shuffle", "300", "--delay", "5"]
    whole, model = tmp_path / "whole", tmp_path / "model"
    assert run(capsys, table, whole, *argv).code == 0
    stop_at(monkeypatch, 2)
    assert run(capsys, table, model, *argv, *OFTEN).code == 1
    monkeypatch.undo()
    extra = model_files.read(model).extra["run"]
    assert len(extra["steps"][0]["state"]["codes"]) == 300
    assert len(extra["waiting"]["codes"]) == 5
    assert run(capsys, table, model, *argv, *OFTEN).code == 0
    assert model.read_bytes() == whole.read_bytes()


def test_a_run_that_is_done_stays_as_it_is_and_a_longer_file_goes_on(rows, tmp_path, capsys):
    model, longer = tmp_path / "model", tmp_path / "longer.svm"
    assert run(capsys, rows, model, "--resume").code == 0
    kept = model.read_bytes()
    again = run(capsys, rows, model, "--resume")
    assert again.code == 0
    assert again.out.splitlines()[-1].split()[0] == "6500"
    assert model.read_bytes() == kept
    longer.write_bytes(rows.read_bytes() * 2)
    assert run(capsys, longer, model, "--resume").code == 0
    assert run(capsys, longer, tmp_path / "whole").code == 0
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_shorter_file_cannot_go_on(rows, tmp_path, capsys):
    model, shorter = tmp_path / "model", written(tmp_path / "shorter.svm", 100)
    assert run(capsys, rows, model).code == 0
    ended = run(capsys, shorter, model, "--resume")
    assert ended.code == 3
    assert "cannot skip 6500 rows, there are only 100." in ended.err


@each(
    ("more", "message"),
    [
        (["--budget", "21"], "budget=RemoveRandom(budget=20)), the command line Kernelized("),
        (["--seed", "4"], "the file has the seed 3, the command line 4;"),
        (["--standardise"], "the file has the learner"),
        (["--delay", "2"], "the file has the delay 0, the command line 2;"),
        (["--classes", "0,1,7"], "with other --classes"),
        (["--features", "9"], "with --features 9: the file has 4"),
        (["--regression"], "the file has an OnlineClassifier, the command line OnlineRegressor;"),
    ],
)
def test_other_flags_cannot_go_on(more, message, rows, tmp_path, capsys):
    model = tmp_path / "model"
    assert run(capsys, rows, model).code == 0
    kept = model.read_bytes()
    ended = run(capsys, rows, model, "--resume", *more)
    assert ended.code == 2
    assert f"{model}: cannot resume with " in ended.err
    assert message in ended.err
    assert model.read_bytes() == kept


def test_files_that_hold_no_run(rows, tmp_path, capsys):
    model = tmp_path / "model"
    assert run(capsys, rows, model).code == 0
    model_files.load(model).save(tmp_path / "bare")
    ended = run(capsys, rows, tmp_path / "bare", "--resume")
    assert ended.code == 4
    assert "has a model, but no run to resume" in ended.err
    (tmp_path / "text").write_text("no model")
    assert run(capsys, rows, tmp_path / "text", "--resume").code == 4


def forged(model, path, change):
    """The model file with other ``extra`` data."""
    extra = model_files.read(model).extra
    change(extra["run"])
    model_files.load(model).save(path, extra=extra)
    return path


@each(
    "change",
    [
        lambda run: run.update(entered=-1),
        lambda run: run.update(rows="many"),
        lambda run: run.update(steps=None),
        lambda run: run["steps"][0].pop("state"),
        lambda run: run["steps"][0]["state"].update(columns=run["steps"][0]["state"]["columns"] + 1),
        lambda run: run["steps"][0]["state"].update(indices=run["steps"][0]["state"]["indices"] + 4),
        lambda run: run["steps"][0]["state"].pop("counts"),
        lambda run: run["steps"][0]["state"].update(counts=run["steps"][0]["state"]["counts"] * -1),
        lambda run: run["steps"][0]["state"].update(y=run["steps"][0]["state"]["y"][:-1]),
        lambda run: run["steps"][0].update(state=3),
        lambda run: run.update(mistakes=None, loss=0.5),
        lambda run: run["waiting"].update(y=run["waiting"]["y"][:2]),
    ],
)
def test_forged_runs_are_refused(change, rows, tmp_path, capsys, monkeypatch):
    stop_at(monkeypatch, 1)
    model = tmp_path / "model"
    assert run(capsys, rows, model, *OFTEN, *STEPS).code == 1
    monkeypatch.undo()
    forgery = forged(model, tmp_path / "forged", change)
    ended = run(capsys, rows, forgery, *OFTEN, *STEPS)
    assert ended.code == 4
    assert ended.err.count("\n") == 1


def test_predictions_that_are_not_there_cannot_go_on(rows, tmp_path, capsys):
    model, file = tmp_path / "model", tmp_path / "predictions"
    assert run(capsys, rows, model).code == 0
    file.write_text("1\n2\n")
    ended = run(capsys, rows, model, "--resume", "--predictions", file)
    assert ended.code == 1
    assert "expected the 6500 predictions of the run to resume, got fewer" in ended.err
    assert file.read_text() == "1\n2\n"


# ---- signals


def started(rows, *argv):
    """A run that has read the first rows of a pipe, which stays open."""
    process = forked.Popen(
        command("run", "rbp", "-", *RBP, *COLUMNS, *argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"".join(rows.read_bytes().splitlines(keepends=True)[:3500]))
    process.stdin.flush()
    for _ in range(3):
        process.stdout.readline()  # the head, and records of 1000 and 2000 rows
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_a_checkpoint(number, rows, tmp_path, capsys):
    model, whole = tmp_path / "model", tmp_path / "whole"
    process = started(rows, "--save", model, "--resume", "--every", "1000")
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    rows_learned = model_files.read(model).extra["run"]["rows"]
    assert err.decode() == (
        f"budgetron: stopped after {rows_learned} rows; saved to {model}: continue with --resume.\n"
    )
    assert 2000 <= rows_learned <= 3500
    assert run(capsys, rows, model, "--resume").code == 0
    assert run(capsys, rows, whole).code == 0
    assert model.read_bytes() == whole.read_bytes()


def test_a_signal_saves_nothing_unasked(rows, tmp_path):
    process = started(rows, "--save", tmp_path / "model", "--every", "1000")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"nothing was saved" in err
    assert os.listdir(tmp_path) == []


# ---- disks


@pytest.mark.parametrize(
    ("name", "error"),
    [("write", errno.ENOSPC), ("fsync", errno.EIO), ("replace", errno.EROFS), ("open", errno.EROFS)],
)
def test_a_failing_disk_leaves_the_last_checkpoint(name, error, rows, tmp_path, capsys, monkeypatch):
    model, whole = tmp_path / "model", tmp_path / "whole"
    with monkeypatch.context() as patched:
        stop_at(patched, 2)
        assert run(capsys, rows, model, *OFTEN).code == 1
    kept = model.read_bytes()

    def fail(*_, **__):
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patched:
        patched.setattr(f"budgetron.model.files.durable.os.{name}", fail)
        ended = run(capsys, rows, model, *OFTEN)
    assert ended.code == 1
    assert ended.err == f"budgetron: {model}: could not be saved: {os.strerror(error)}.\n"
    assert model.read_bytes() == kept
    assert os.listdir(tmp_path) == ["model"]
    assert run(capsys, rows, model, *OFTEN).code == 0
    assert run(capsys, rows, whole).code == 0
    assert model.read_bytes() == whole.read_bytes()


def test_a_full_disk(rows):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    ended = ran("run", "rbp", rows, *RBP, "--predictions", "/dev/full")
    assert ended.code == 1
    assert "No space left on device" in ended.err


def test_a_folder_that_is_not_there_is_found_out_before_the_first_row(rows, tmp_path, capsys):
    ended = run(capsys, rows, tmp_path / "none" / "model")
    assert (ended.code, ended.out) == (1, "")
    assert f"there is no folder {tmp_path / 'none'}" in ended.err


# ---- kill -9


def survive(rows, folder, kills, seed, *more, learner="rbp", flags=RBP):
    """Kills a run again and again; `killed.py` compares the bytes."""
    paths = [folder / "model", folder / "predictions"]
    argv = ["run", learner, rows, *flags, "--save", paths[0], "--predictions", paths[1], *OFTEN, *more]
    script = Path(__file__).parents[1] / "helpers" / "killed.py"
    words = [sys.executable, script, kills, seed, *paths, "--", *argv]
    done = forked.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


@pytest.mark.parametrize("steps", [[], STEPS], ids=["plain", "steps"])
def test_kill_at_any_moment(steps, rows, tmp_path):
    kills, ends = survive(rows, tmp_path, 5, 0, *steps)
    assert kills == 5
    assert ends >= 1


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_the_default_at_any_moment(kills, rows, tmp_path):
    done, ends = survive(rows, tmp_path, kills, 0, learner="auto", flags=["--size", "10", "--seed", "3"])
    assert done == kills
    assert ends >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [[], STEPS], ids=["plain", "steps"])
def test_kill_at_any_moment_a_hundred_times(steps, seed, tmp_path):
    rows = written(tmp_path / "rows.svm", 40000)
    kills, ends = survive(rows, tmp_path, 100, seed, *steps)
    assert kills == 100
    assert ends >= 5
