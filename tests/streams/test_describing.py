"""What a table holds, before anything is learned."""

import io
import json

import numpy as np
import pytest

from budgetron import Encoder, streams
from budgetron.streams import DataError
from tests.helpers.cases import each
from tests.helpers.command import called

pytest.importorskip("pyarrow")


def messy(n=400, seed=0, in_order=False):
    random = np.random.default_rng(seed)
    yield "order,when,amount,share,note,country,empty,code,label"
    labels = random.choice(["ok", "fraud"], n)
    for i, label in enumerate(sorted(labels) if in_order else labels):
        uuid = "".join(random.choice(list("0123456789abcdef"), 32))
        when = f"{1 + i % 28:02}/{1 + i // 28 % 12:02}/2024"
        amount = f"${random.lognormal(3, 1):.2f}" if i % 10 else "N/A"
        note = " ".join(random.choice(["late", "paid", "customer", "called", "again", "refund"], 5))
        country = random.choice(["DE", "FR", "US"])
        code = f"L{1 + 2 * (label == 'ok') + i % 2}"
        yield f"{uuid},{when},{amount},{i % 40} %,{note},{country},,{code},{label}"


def test_few_rows_and_none_that_can_be_read():
    about = streams.describe(io.BytesIO(b"a,b\n1,\n2,\n"))
    assert [column.kind for column in about.columns] == ["open", "blank"]
    lines = io.BytesIO(b'{"a": [1]}\n{"a": [2]}\n')
    with pytest.raises(DataError, match=r"line 1: column 'a': expected a number, .*, got a list"):
        streams.describe(lines, format="jsonl")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(messy()) + "\n")
    return path


def test_kinds_blanks_and_suspicions(file):
    about = streams.describe(file, "label")
    by_name = {column.name: column for column in about.columns}
    kinds = {name: column.kind.split(",")[0].split(" (")[0] for name, column in by_name.items()}
    expected = {
        "order": "identifier",
        "when": "date",
        "amount": "money",
        "share": "percent",
        "note": "text",
    }
    expected |= {"country": "category", "code": "category", "label": "category"}
    assert {name: kinds[name] for name in expected} == expected
    assert by_name["amount"].low.replace(".", "").isdecimal()
    assert (by_name["when"].low[:4], by_name["when"].high[:4]) == ("2024", "2024")
    assert by_name["country"].distinct == 3
    assert sorted(by_name["country"].examples) == ["DE", "FR", "US"]
    assert by_name["order"].suspicions == ["looks like an identifier: left out"]
    assert by_name["code"].suspicions == ["tells the target: each of its values has one label"]
    assert not by_name["label"].suspicions
    assert by_name["empty"].suspicions == ["is blank in all rows"]
    assert [*by_name] == ["order", "when", "amount", "share", "note", "country", "empty", "code", "label"]
    assert about.flags == ["--target", "label", "--drop", "code"]
    assert about.rows == 400
    assert json.loads(json.dumps(about.as_dict()))["target"] == "label"
    text = str(about)
    assert "order: looks like an identifier" in text
    assert max(map(len, text.splitlines())) < 160


def test_sorted_by_class_and_targets(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(messy(in_order=True)) + "\n")
    about = streams.describe(path, "label")
    assert "--shuffle" in about.flags
    assert "sorted" in str(about)
    assert "--shuffle" not in streams.describe(path, "country").flags
    assert "--regression" in streams.describe(path, "amount").flags


@each("form", ["jsonl", "parquet"])
def test_other_formats(form, file, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(
        file, convert_options=pyarrow.csv.ConvertOptions(column_types={"when": "string"})
    )
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    mine, csv = streams.describe(path, "label"), streams.describe(file, "label")
    assert {c.name: c.kind for c in mine.columns}.items() >= {
        c.name: c.kind for c in csv.columns if c.name in ("when", "amount", "note", "country")
    }.items()
    assert mine.flags == csv.flags


def test_what_is_known_and_bad_input(file):
    about = streams.describe(file, rows=50, encoder=Encoder(columns={"country": "text"}))
    assert next(c for c in about.columns if c.name == "country").kind == "text"
    assert about.rows == 50
    with pytest.raises(DataError, match=r"there is no column 'lable'; did you mean label\?"):
        streams.describe(file, "lable")
    with pytest.raises(DataError, match="has no rows"):
        streams.describe(io.BytesIO(b"a,b\n"))


def test_the_command(file, tmp_path, capsys):
    ended = called(capsys, "describe", file, "--target", "label")
    assert (ended.code, ended.err) == (0, "")
    command = ended.out.splitlines()[-1].split()
    assert command == ["budgetron", "run", str(file), "--target", "label", "--drop", "code"]
    assert called(capsys, *command[1:]).code == 0
    document = json.loads(called(capsys, "describe", file, "--json", "--column", "country=text").out)
    assert [c["kind"] for c in document["columns"] if c["name"] == "country"] == ["text"]
    pytest.importorskip("matplotlib")
    figure = tmp_path / "columns.png"
    assert called(capsys, "describe", file, "--figure", figure).code == 0
    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert called(capsys, "describe", tmp_path / "none.csv").code != 0
