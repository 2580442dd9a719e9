"""Files of JSON lines."""

import gzip
import io
import json

import numpy as np
import pytest

from budgetron import OnlineClassifier, streams
from budgetron.streams import DataError
from tests.helpers.cases import each

LINES = b'{"a": 1, "b": {"c": "x"}, "y": "u"}\n\n{"a": null, "d": true, "y": "v"}\r\n{"y": "u"}'


def read(text, **more):
    return streams.table(io.BytesIO(text), "y", format="jsonl", **more)


@each("rows", [1, 2, 1000])
def test_lines_are_records(rows):
    blocks = list(read(LINES, rows=rows))
    records = [record for block in blocks for record in block.X.records()]
    assert records == [{"a": 1.0, "b.c": "x"}, {"d": 1.0}, {}]
    assert [label for block in blocks for label in block.y] == ["u", "v", "u"]
    assert [block.start for block in blocks] == list(range(0, 3, rows))


def test_labels_may_have_decimals():
    text = b"".join(b'{"a": 1, "y": %g}\n' % y for y in (0, 0.25, 3))
    [block] = read(text)
    assert block.y.tolist() == [0.0, 0.25, 3.0]


def test_a_file_named_json_has_json_lines(tmp_path):
    path = tmp_path / "rows.json"
    path.write_bytes(LINES)
    assert len(next(iter(streams.table(path, "y")))) == 3


def test_a_file_of_any_packing(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + LINES))
    stream = streams.table(path, "y")
    assert (stream.features, stream.n_features) == (["a", "b.c", "y"], 3)
    assert len(next(iter(stream.skip(1)))) == 2
    with pytest.raises(DataError, match="cannot skip 4 rows, there are only 3"):
        list(stream.skip(4))
    assert [block.y for block in streams.table(path)] == [None]


@each(
    ("line", "reason"),
    [
        (b'{"a": 1', "expected a JSON object: "),
        (b"[1, 2]", "expected a JSON object, got [1, 2]"),
        (b'{"a": [1], "y": "u"}', "column 'a': expected a number"),
        (b'{"a": 1e999, "y": "u"}', "column 'a': expected a number up to 1e150, got inf"),
        (b"\xff", "expected a JSON object: "),
        (b'{"a": 1, "y": 3}', "column 'y': expected a text, as the first label, got 3"),
    ],
)
def test_bad_lines(line, reason, tmp_path):
    text = b'{"a": 1, "y": "u"}\n\n' + line + b'\n{"a": 2, "y": "v"}\n'
    read_before = []
    with pytest.raises(DataError) as error:
        read_before += read(text)
    assert f"stream, line 3: {reason}" in str(error.value)
    assert [block.y.tolist() for block in read_before] == [["u"]]
    stream = read(text, on_error=tmp_path)
    [block] = stream
    assert (block.y.tolist(), stream.bad_rows.count) == (["u", "v"], 1)
    [kept] = map(json.loads, (tmp_path / "bad_rows.jsonl").read_text().splitlines())
    assert (kept["row"], kept["line"]) == (1, 3)


def test_a_line_without_an_end(monkeypatch):
    monkeypatch.setattr("budgetron.streams.json_lines.LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="a line is longer than"):
        list(read(b"[" + b'{"a": 1},' * 1000))


def test_roles():
    text = b'{"a": 1, "w": 2, "t": "2024-01-01", "id": 7, "n": "x", "y": 1}\n'
    [block] = read(text, weight="w", time="t", id="id", drop=["n"])
    assert (block.weights.tolist(), block.ids.tolist(), block.times.tolist()) == ([2], ["7"], [1704067200])
    assert not {"w", "id", "n", "y"} & {*block.X.columns}
    with pytest.raises(TypeError, match="drop must be a list"):
        read(text, drop="n")
    with pytest.raises(ValueError, match="delimiter is for CSV"):
        read(text, delimiter=";")


def test_the_same_model_as_from_csv(tmp_path):
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(0)
    rows = [
        {"a": round(a, 3), "b": b, "y": "in" if a > 0 else "out"}
        for a, b in zip(
            random.normal(size=300).tolist(), random.choice(["x", "y"], 300).tolist(), strict=True
        )
    ]
    csv, lines = tmp_path / "t.csv", tmp_path / "t.ndjson"
    csv.write_text("a,b,y\n" + "".join(f"{r['a']},{r['b']},{r['y']}\n" for r in rows))
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = []
    for path in (csv, lines):
        model = OnlineClassifier(random_state=0)
        for block in streams.table(path, "y", rows=70):
            model.partial_fit(block.X, block.y)
        model.save(tmp_path / "model")
        models.append((tmp_path / "model").read_bytes())
    assert models[0] == models[1]
