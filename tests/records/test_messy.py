"""Messy tables: the same model whatever they come from, and nearly as good as prepared by hand."""

import csv
import io
import json

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, Standardised, fogd, streams
from tests.helpers import messy
from tests.helpers.cases import each

pa = pytest.importorskip("pyarrow", reason="needs budgetron[arrow]")
N = 400


def as_csv(cells):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(cells[0]))
    writer.writeheader()
    writer.writerows(cells)
    return io.BytesIO(text.getvalue().encode())


def as_parquet(cells):
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(cells), file)
    return file


def as_lines(cells):
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in cells).encode())


def from_file(form, made):
    return lambda cells: [block.X for block in streams.table(made(cells), format=form, rows=150)]


def from_http(cells):
    pytest.importorskip("msgspec", reason="needs budgetron[serve]")
    from budgetron.serve.limits import Limits
    from budgetron.serve.rows import JSON, parse

    body = json.dumps([{"x": row} for row in cells]).encode()
    return [parse(JSON, body, Limits(), labelled=False).X]


def from_frame(cells):
    import pandas as pd

    return [pd.DataFrame(cells)]


WAYS = {
    "csv": from_file("csv", as_csv),
    "parquet": from_file("parquet", as_parquet),
    "jsonl": from_file("jsonl", as_lines),
    "frame": from_frame,
    "http": from_http,
    "dicts one by one": lambda cells: [[row] for row in cells],
}


def learned(parts, labels):
    """What a model of the rows knows and predicts."""
    model = OnlineClassifier(Standardised(fogd(Gaussian(0.1), components=20, eta=0.1)), random_state=0)
    at = 0
    for X in parts:
        model.partial_fit(X, labels[at : at + len(X)], classes=["no", "yes"])
        at += len(X)
    assert at == len(labels)
    return model.encoding_.columns, model.encoding_.lines(), model.decision_function(parts[-1])[-1]


@each("way", list(WAYS)[1:])
def test_the_same_model_by_any_way(way):
    cells, labels, _ = messy.orders(N)
    labels = np.where(labels == "", "no", labels)
    assert learned(WAYS[way](cells), labels) == learned(WAYS["csv"](cells), labels)


def test_a_column_of_times_is_the_same_in_json_lines():
    cells = messy.orders(N)[0]
    columns = {}
    for form, made in (("csv", as_csv), ("jsonl", as_lines), ("parquet", as_parquet)):
        rows = [dict(row, when=f"2024-01-{1 + i // 24:02} {i % 24:02}:00") for i, row in enumerate(cells)]
        blocks = list(streams.table(made(rows), format=form, time="when"))
        model = OnlineRegressor(Standardised(fogd(Gaussian(0.1), components=4)), random_state=0)
        for block in blocks:
            model.partial_fit(block.X, np.ones(len(block)))
        columns[form] = sorted(model.encoding_.columns)
    assert columns["csv"] == columns["jsonl"] == columns["parquet"]
    assert "when (sine of day)" in columns["csv"]


def online_error(model, X, y, labelled):
    """The share of wrong labels among the labelled rows, each predicted before it is learned."""
    rows = np.flatnonzero(labelled)
    X = [X[i] for i in rows] if isinstance(X, list) else X[rows]
    found = model.progressive_predict(X, y[rows], classes=sorted(set(y[rows])))
    return np.mean(found != y[rows])


def test_orders_are_learned_as_well_as_by_hand():
    """Without a word from the user; one table is too small to say: three of them."""
    errors = []
    for seed in range(3):
        cells, labels, values = messy.orders(3000, seed)
        tables, there = (cells, messy.orders_by_hand(values)), labels != ""
        errors.append([online_error(OnlineClassifier(random_state=0), X, labels, there) for X in tables])
    ours, by_hand = np.mean(errors, axis=0)
    assert ours <= 1.1 * by_hand, errors


def test_sales_are_learned_as_well_as_by_hand():
    cells, targets, values = messy.sales(3000)
    errors = [
        np.abs(OnlineRegressor(random_state=0).progressive_predict(X, targets) - targets).mean()
        for X in (cells, values)
    ]
    assert errors[0] <= 1.1 * errors[1], errors


def test_a_real_table_is_learned_as_well_as_by_hand():
    """The flow of water in a pipe, by the hour: of river, which has the file."""
    datasets = pytest.importorskip("river.datasets", reason="needs budgetron[river]")
    rows = list(datasets.WaterFlow())
    y = np.array([target for _, target in rows])
    moments = np.array([x["Time"].timestamp() for x, _ in rows])
    cells = [{"Time": x["Time"].strftime("%d/%m/%Y %H:%M")} for x, _ in rows]
    angles = 2 * np.pi * np.stack([moments / 86400, (moments / 86400 + 3) / 7])
    by_hand = np.concatenate([np.sin(angles), np.cos(angles)]).T
    errors = [
        np.abs(OnlineRegressor(random_state=0).progressive_predict(X, y) - y).mean()
        for X in (cells, by_hand)
    ]
    assert errors[0] <= 1.1 * errors[1], errors


def test_objects_inside_are_read_alike():
    rows = [{"id": i, "who": {"age": i % 9, "from": {"city": f"c{i % 3}"}}} for i in range(40)]
    plain = [{"id": i, "who.age": i % 9, "who.from.city": f"c{i % 3}"} for i in range(40)]
    labels = np.array(["yes" if i % 9 > 4 else "no" for i in range(40)])
    expected = learned([plain], labels)
    for way in ("jsonl", "http", "dicts one by one"):
        assert learned(WAYS[way](rows), labels) == expected, way
