"""Tables as nobody prepared them: texts, dates, blanks, late classes and rows that cannot be read."""

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron import streams
from budgetron.cli import checkpoint
from tests.helpers import forked
from tests.helpers.command import PATIENCE, called, command, ran, spawned

pytest.importorskip("pyarrow")

ROLES = ["--target", "label", "--time", "when", "--id", "number", "--weight", "trust", "--drop", "note"]
SMALL = ["--size", "5"]


def lines(n=300, seed=0):
    """A table with dates, categories, blanks, and the class "odd" from row 150 on."""
    rng = np.random.default_rng(seed)
    yield "number,when,amount,country,note,trust,label"
    for i in range(n):
        amount = rng.lognormal(3, 1)
        country = rng.choice(["DE", "FR", "US"])
        label = "fraud" if amount > 40 and country != "DE" else "odd" if i >= 150 and i % 7 == 0 else "ok"
        blank = rng.random() < 0.1
        day = f"2024-{1 + i // 600:02}-{1 + i // 24 % 25:02}T{i % 24:02}:30"
        yield f"t{i},{day},{'' if blank else round(amount, 2)},{country},n{i},{1 + i % 2},{label}"


def written(path, n=300, change=None):
    text = list(lines(n))
    for i, line in (change or {}).items():
        text[i] = line
    path.write_text("\n".join([*text, ""]))
    return path


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "transactions.csv")


LEFT_OUT = "".join(
    f"budgetron: {name}: identifier (left out), 100 of the first 100.\n" for name in ("number", "note")
)


def test_a_table_as_a_process_of_its_own(file, tmp_path):
    ended = spawned("run", file, "--target", "label", "--save", tmp_path / "model")
    assert (ended.code, ended.err) == (0, LEFT_OUT)
    assert ended.out.splitlines()[1].split()[0] == "300"
    model = budgetron.load(tmp_path / "model")
    assert model.classes_.tolist() == ["fraud", "odd", "ok"]
    row = {"amount": 90, "country": "FR"}
    ended = ran("predict", tmp_path / "model", "-", "--format", "csv", input="amount,country\n90,FR\n")
    assert ended.out.strip() == model.predict_one(row)


def test_the_same_as_in_python(file, tmp_path, capsys):
    model = tmp_path / "model"
    document = json.loads(called(capsys, "run", file, *ROLES, *SMALL, "--save", model, "--json").out)
    roles = {"time": "when", "id": "number", "weight": "trust", "drop": ["note"]}
    mine = budgetron.OnlineClassifier(budgetron.auto(size=5), random_state=0)
    stream = streams.table(file, "label", **roles)
    [last] = list(budgetron.evaluate.prequential(mine, stream, every=1000))
    assert (document["mistakes"], document["time"]) == (last.mistakes, last.time)
    assert last.time == datetime(2024, 1, 13, 11, 30, tzinfo=UTC).timestamp()
    loaded = budgetron.load(model)
    [block] = streams.table(file, **roles | {"drop": ["note", "label"]})
    np.testing.assert_array_equal(loaded.predict_proba(block.X), mine.predict_proba(block.X))
    assert sorted(mine.encoding_.names) == ["amount", "country", "when"]
    assert mine.encoding_.kinds["when"].kind == "date"


def test_ids_beside_predictions(file, tmp_path, capsys):
    model, out = tmp_path / "model", tmp_path / "out"
    flags = [*ROLES, *SMALL, "--shuffle", "50"]
    assert called(capsys, "run", file, *flags, "--save", model, "--predictions", out).code == 0
    pairs = [line.split("\t") for line in out.read_text().splitlines()]
    assert sorted(name for name, _ in pairs) == sorted(f"t{i}" for i in range(300))
    assert {label for _, label in pairs} <= {"ok", "fraud", "odd"}
    predicted = called(capsys, "predict", model, file).out.splitlines()
    assert [line.split("\t")[0] for line in predicted] == [f"t{i}" for i in range(300)]
    shares = called(capsys, "predict", model, file, "--proba").out.splitlines()
    assert len(shares[0].split("\t")) == 4


def test_the_roles_of_columns_are_known_to_predict(file, tmp_path, capsys):
    """Without flags, from a pipe, and if columns are in another order or missing."""
    model = tmp_path / "model"
    assert called(capsys, "run", file, *ROLES, *SMALL, "--save", model).code == 0
    expected = called(capsys, "predict", model, file).out
    turned = tmp_path / "turned.csv"
    turned.write_text("".join(",".join(line.split(",")[::-1]) + "\n" for line in lines()))
    assert called(capsys, "predict", model, turned).out == expected
    piped = ran("predict", model, "-", "--format", "csv", input=file.read_text())
    assert piped.out == expected
    few = tmp_path / "few.csv"
    few.write_text("".join(",".join(line.split(",")[:3]) + "\n" for line in lines()))
    ended = called(capsys, "predict", model, few)
    assert ended.code == 0
    assert (
        f"{few} has no column 'country', which {model} has learned: the values count as missing."
        in ended.err
    )
    assert len(ended.out.splitlines()) == 300


# ---- rows that cannot be read

BAD = {
    5: "t4,2024-01-01,3",
    9: "t8,2024-01-01,-1e200,DE,n,1,ok",
    40: "t39,2024-01-02T03:00,inf,DE,n,1,ok",
    41: "t40,soon,3,DE,n,1,ok",
    90: "t89,2024-01-03T03:00,3,DE,n,-1,ok",
    91: '"t90',
}


@pytest.fixture
def broken(tmp_path):
    return written(tmp_path / "broken.csv", change=BAD)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_skip(block, broken, tmp_path, capsys):
    flags = [*ROLES, *SMALL, "--on-error", "skip", "--block", block]
    ended = called(capsys, "run", broken, *flags, "--save", tmp_path / "model", "--json")
    document = json.loads(ended.out)
    assert (document["rows"], document["bad_rows"]) == (300 - len(BAD), len(BAD))
    assert ended.err == "budgetron: 6 rows that cannot be read were skipped.\n"
    good = tmp_path / "good.csv"
    good.write_text("".join(f"{line}\n" for i, line in enumerate(lines()) if i not in BAD))
    assert called(capsys, "run", good, *ROLES, *SMALL, "--save", tmp_path / "other").code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_folder_keeps_them(broken, tmp_path, capsys):
    kept = tmp_path / "bad" / "rows"
    ended = called(capsys, "run", broken, *ROLES, *SMALL, "--on-error", kept)
    assert ended.code == 0
    assert f"6 rows that cannot be read were skipped: see {kept / 'bad_rows.jsonl'}." in ended.err
    found = [json.loads(line) for line in (kept / "bad_rows.jsonl").read_text().splitlines()]
    assert [each["line"] for each in found] == [i + 1 for i in BAD]
    assert [each["row"] for each in found] == [i - 1 for i in BAD]
    assert [each["text"] for each in found] == list(BAD.values())
    assert [each["id"] for each in found] == [None, "t8", "t39", "t40", "t89", None]
    reasons = [
        "expected 7 cells, got 3",
        "column 'amount': expected a number up to 1e150, got -1e+200",
        "column 'amount': expected a number up to 1e150, got inf",
        "column 'when': expected a date or a number, got 'soon'",
        "column 'trust': expected a weight of 0 or more, got '-1'",
        "expected 7 cells, got 1",
    ]
    assert [each["reason"] for each in found] == reasons


def test_stop_saves_what_was_learned(broken, tmp_path, capsys):
    """The run continues after the row is mended, or with --on-error skip."""
    for block in (1, 1000):
        model = tmp_path / f"model{block}"
        flags = [*ROLES, *SMALL, "--save", model, "--block", block]
        ended = called(capsys, "run", broken, *flags)
        assert ended.code == 3
        assert ended.err == (
            f"budgetron: {broken}, line 6: expected 7 cells, got 3. The rows before it are learned and "
            f"saved to {model}.\n"
        )
        assert budgetron.model_files.read(model).extra["run"]["rows"] == 4
        assert called(capsys, "run", broken, *flags, "--resume", "--on-error", "skip").code == 0
    whole = tmp_path / "whole"
    assert called(capsys, "run", broken, *ROLES, *SMALL, "--save", whole, "--on-error", "skip").code == 0
    assert model.read_bytes() == whole.read_bytes() == (tmp_path / "model1").read_bytes()


def test_predict_prints_every_row_before_a_bad_one(file, broken, tmp_path, capsys):
    model = tmp_path / "model"
    assert called(capsys, "run", file, *ROLES, *SMALL, "--save", model).code == 0
    for block in (1, 3, 1000):
        ended = called(capsys, "predict", model, broken, "--block", block)
        assert ended.code == 3
        assert [line.split("\t")[0] for line in ended.out.splitlines()] == ["t0", "t1", "t2", "t3"]
    ended = called(capsys, "predict", model, broken, "--on-error", "skip")
    assert len(ended.out.splitlines()) == 300 - 5  # a bad weight does not matter
    assert "5 rows that cannot be read were skipped." in ended.err


def test_a_live_pipe_answers_each_row_of_a_table(file, tmp_path, capsys):
    model = tmp_path / "model"
    assert called(capsys, "run", file, *ROLES, *SMALL, "--save", model).code == 0
    process = forked.Popen(
        command("predict", model, "-", "--format", "csv", "--block", "1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    head, *rows = list(lines(3))
    process.stdin.write(f"{head}\n")
    for i, line in enumerate(rows):
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(f"t{i}\t")
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 0


def test_svmlight_goes_on_after_a_bad_line(tmp_path, capsys):
    bad, good = tmp_path / "bad.svm", tmp_path / "good.svm"
    rows = [f"{i % 2} 1:{i % 5} 2:{i % 3}" for i in range(50)]
    good.write_text("\n".join([*rows, ""]))
    bad.write_text("\n".join([*rows[:20], "what", *rows[20:40], "1 3:x", *rows[40:], ""]))
    for file, model in ((bad, "a"), (good, "b")):
        flags = ["--budget", "9", "--save", tmp_path / model, "--on-error", tmp_path / "kept"]
        assert called(capsys, "run", "rbp", file, *flags).code == 0
        if file == bad:
            kept = map(json.loads, (tmp_path / "kept" / "bad_rows.jsonl").read_text().splitlines())
            assert [(each["line"], each["text"]) for each in kept] == [(21, "what"), (42, "1 3:x")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert called(capsys, "predict", tmp_path / "b", bad, "--on-error", "skip").code == 0


# ---- the command line


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--target", "lable"], 3, "there is no column 'lable' among: number, when,"),
        (["--target", "lable"], 3, "did you mean label?"),
        (["--target", "label", "--drop", "amuont"], 3, "did you mean amount?"),
        (["--target", "label", "--only", "country,zzz"], 3, "there is no column 'zzz'"),
        (["--target", "label", "--only", "label"], 3, "'label' cannot be a feature and something else."),
        (["--target", "label", "--weight", "country"], 3, "expected a weight of 0 or more, got '"),
        (
            ["--target", "label", "--budget", "3", "--gamma", "1", "--no-scaling", "rbp"],
            3,
            "has no value for 'amount', and the learner needs",
        ),
        (
            ["--target", "amount", "--on-error", "skip"],
            2,
            "is a number with decimals: give --regression if the labels are targets.",
        ),
        (["--target", "number", "--features", "3"], 2, "--features is only for svmlight text"),
    ],
)
def test_bad_usage(flags, code, message, file, capsys):
    words = ["run", "rbp", file, *flags[:-1]] if flags[-1] == "rbp" else ["run", file, *flags]
    ended = called(capsys, *words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_blanks_are_fine_with_standardise(file, capsys):
    flags = ["--target", "label", "--budget", "20", "--standardise"]
    assert called(capsys, "run", "rbp", file, *flags).code == 0
    ended = called(
        capsys,
        "compare",
        file,
        "--learners",
        "auto,rbp",
        *flags,
        "--permutations",
        2,
        *SMALL,
        "--no-figure",
    )
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()[2:4]] == ["auto", "rbp"]


def test_time_that_goes_back_is_told_once(file, tmp_path, capsys):
    text = file.read_text().splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([*text[:51], *text[:40:-1], ""]))
    ended = called(capsys, "run", turned, *ROLES, *SMALL, "--block", "10")
    assert ended.code == 0
    assert ended.err == (
        f"budgetron: {turned}: row 51 (the first is 0) is earlier than a row before it: rows are learned "
        "in the order of the file.\n"
    )


def test_targets_of_a_table(tmp_path, capsys):
    """A row with a blank target is neither bad nor learned, also if it is the first."""
    change = {1: "t0,2024-01-01,,DE,n,1,ok"}
    path = written(tmp_path / "rows.csv", change=change)
    flags = ["--target", "amount", "--regression", "--time", "when", *SMALL, "--on-error", "skip", "--json"]
    document = json.loads(called(capsys, "run", path, *flags).out)
    assert document["unlabelled"] >= 1
    assert document["rows"] + document["unlabelled"] == 300
    assert document["loss"] > 0


def test_one_label(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,u\n2,u\n")
    ended = called(capsys, "run", path, "--target", "y")
    assert (ended.code, ended.err) == (0, f"budgetron: {path}: all rows have the label u.\n")


def test_inspect_shows_the_encoding(file, tmp_path, capsys):
    assert called(capsys, "run", file, *ROLES, *SMALL, "--save", tmp_path / "model").code == 0
    out = called(capsys, "inspect", tmp_path / "model").out
    assert "encoding       8 columns: 1 of numbers, 4 of times, 3 indicators of 1 column." in out
    assert "classes        ['fraud', 'odd', 'ok']" in out


def test_tune_a_table(broken, capsys):
    flags = [*ROLES, "--on-error", "skip", "--standardise"]
    ended = called(capsys, "tune", broken, "--learner", "rbp", "--budget", 9, "--candidates", 4, *flags)
    assert ended.code == 0
    again = called(capsys, *ended.out.splitlines()[-1].split()[1:], "--json")
    rate = 100 * json.loads(again.out)["rate"]
    assert float(ended.out.splitlines()[1].split()[-1]) == pytest.approx(rate, abs=1.0)


def test_a_pipe_of_a_table_needs_no_flags(file, tmp_path, capsys):
    done = forked.run(
        command("run", "-", "--format", "csv", "--target", "label", *SMALL, "--save", tmp_path / "piped"),
        input=file.read_bytes(),
        capture_output=True,
    )
    assert (done.returncode, done.stderr.decode()) == (0, LEFT_OUT)
    assert called(capsys, "run", file, "--target", "label", *SMALL, "--save", tmp_path / "read").code == 0
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "read").read_bytes()


# ---- stopped and resumed

STEPS = ["--shuffle", "70", "--delay", "5"]


@pytest.mark.parametrize("steps", [[], STEPS], ids=["plain", "steps"])
def test_a_resumed_run_ends_with_the_same_bytes(steps, broken, tmp_path, capsys, monkeypatch):
    whole, model = tmp_path / "whole", tmp_path / "model"
    first, second = tmp_path / "first", tmp_path / "second"
    flags = [*ROLES, *SMALL, *steps, "--on-error", "skip", "--block", "30"]
    assert called(capsys, "run", broken, *flags, "--save", whole, "--predictions", first).code == 0
    save, often = checkpoint.save, ["--checkpoint-every", "40", "--resume"]

    def cut(*run):
        save(*run)
        raise MemoryError("cut")

    for _ in range(3):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoint, "save", cut)
            words = ["run", broken, *flags, *often, "--save", model, "--predictions", second]
            assert called(capsys, *words).code == 1
    assert called(capsys, *words).code == 0
    assert model.read_bytes() == whole.read_bytes()
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("steps", [[], STEPS], ids=["plain", "steps"])
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_at_any_moment(kills, steps, tmp_path):
    table = written(tmp_path / "rows.csv", 3000, change=BAD)
    paths = [tmp_path / "model", tmp_path / "predictions"]
    flags = [*ROLES, *SMALL, *steps, "--on-error", "skip", "--checkpoint-every", "500", "--block", "250"]
    argv = ["run", table, *flags, "--resume", "--save", paths[0], "--predictions", paths[1]]
    script = Path(__file__).parents[1] / "helpers" / "killed.py"
    words = [sys.executable, script, kills, 0, *paths, "--", *argv]
    loaded = os.environ | {"PRELOADED": "pyarrow.csv pandas"}
    done = forked.run(list(map(str, words)), capture_output=True, text=True, timeout=600, env=loaded)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == kills


def test_other_rows_or_roles_cannot_go_on(file, tmp_path, capsys):
    model = tmp_path / "model"
    words = [*ROLES, *SMALL, "--save", model, "--resume"]
    assert called(capsys, "run", file, *words).code == 0
    for old, new in ((",FR,", ",US,"), ("t9,2024-01-01T09:30", "t9,2024-01-01T10:30"), (",2,ok", ",3,ok")):
        other = tmp_path / "other.csv"
        other.write_text(file.read_text().replace(old, new, 1))
        ended = called(capsys, "run", other, *words)
        assert ended.code == 3
        assert "the first 300 rows differ from those that the run has learned" in ended.err
    ended = called(capsys, "run", file, *[w for w in words if w not in ("--drop", "note")])
    assert ended.code == 2
    assert "the file has --drop ['note'], the command line []" in ended.err


def test_checksums_do_not_depend_on_blocks_or_the_order_of_columns():
    text = "\n".join(["number,when,amount,country,note,trust,label", *list(lines(60))[1:], ""])
    turned = "".join(",".join(line.split(",")[::-1]) + "\n" for line in text.splitlines())
    sums = set()
    for data in (text, turned):
        for rows in (1, 7, 60):
            found = [0, 0, 0, 0]
            for block in streams.table(io.BytesIO(data.encode()), "label", weight="trust", rows=rows):
                found = checkpoint.added(found, block)
            sums.add(tuple(found))
    assert len(sums) == 1
    assert all(sums.pop())


def test_a_table_with_semicolons(tmp_path, capsys):
    file = tmp_path / "prices.csv"
    file.write_text("a;b;y\n" + "".join(f"{i % 5},5;{i % 3};{'uv'[i % 2]}\n" for i in range(100)))
    code, _, err = called(capsys, "run", file, "--target", "y")
    assert code == 3
    assert "its cells are separated by semicolons, not by ',': give delimiter ';' (--delimiter)." in err
    flags = ["--target", "y", "--delimiter", ";"]
    assert called(capsys, "run", file, *flags, "--save", tmp_path / "model").code == 0
    ended = called(capsys, "predict", tmp_path / "model", file, "--delimiter", ";")
    assert (ended.code, len(ended.out.splitlines())) == (0, 100)
    ended = called(capsys, "tune", file, *flags, "--learner", "rbp", "--budget", 9, "--candidates", 2)
    assert "--delimiter ';'" in ended.out


def test_the_rows_before_one_that_the_model_refuses_are_saved(tmp_path, capsys):
    file, model, predictions = tmp_path / "rows.csv", tmp_path / "model", tmp_path / "predictions"
    lines = [f"{i % 5},{'uv'[i % 2]}\n" for i in range(100)]
    file.write_text("a,y\n" + "".join([*lines[:70], "3,other\n", *lines[71:]]))
    flags = [file, "--target", "y", "--classes", "u,v", "--predictions", predictions, "--save"]
    code, _, err = called(capsys, "run", *flags, model)
    assert code == 3
    assert "y contains 'other', which is not among the classes ['u', 'v']. The rows before it are" in err
    assert len(predictions.read_text().splitlines()) == 70
    file.write_text("a,y\n" + "".join(lines))
    assert called(capsys, "run", *flags, model, "--resume").code == 0
    assert len(predictions.read_text().splitlines()) == 100
    assert called(capsys, "run", *flags, tmp_path / "whole").code == 0
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
