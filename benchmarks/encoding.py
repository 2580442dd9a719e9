"""Rows a second from CSV and Parquet files to a matrix, beside pandas and scikit-learn.

Run as ``python -m benchmarks.encoding``. The table has numbers, blanks, categories, a column of many values
and dates. scikit-learn's ``ColumnTransformer`` is fitted on the first chunk and then transforms all chunks,
so it ignores values that come later; the encoder takes them up. Both run on one thread.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.clock import take_turns
from budgetron import OGD, Encoder, Identity, Mapped, OnlineClassifier, streams
from budgetron._util.text import aligned
from budgetron.records.reading import from_arrow

CATEGORIES = {"country": 12, "device": 4, "plan": 3, "city": 200}


def made(n: int) -> pa.Table:
    """A table of n rows."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for i in range(8):
        numbers = np.round(rng.normal(size=n) * 10.0**i, 4)
        columns[f"n{i}"] = pa.array(numbers, mask=rng.random(n) < 0.05 * (i % 2))
    columns["count"] = rng.integers(0, 1000, n)
    for name, values in CATEGORIES.items():
        texts = np.array([f"{name}_{i}" for i in range(values)])
        columns[name] = pa.array(texts[rng.integers(0, values, n)], mask=rng.random(n) < 0.02)
    moments = 1_700_000_000 + np.cumsum(rng.integers(0, 60, n))
    columns["when"] = pa.array(moments, pa.timestamp("s"))
    return pa.table(columns)


def encoded_csv(path: Path, rows: int) -> int:
    """Read and encode a CSV file with this library; the number of rows."""
    return encoded((block.X for block in streams.table(path, rows=rows)), rows)


def encoded_parquet(path: Path, rows: int) -> int:
    """Read and encode a Parquet file with this library; the number of rows."""
    batches = parquet.ParquetFile(path).iter_batches(rows, use_threads=False)
    return encoded(map(from_arrow, batches), rows)


def encoded(tables: Iterator[Any], rows: int) -> int:
    encoding, n = Encoder().build(), 0
    for table in tables:
        for i in range(0, len(table), rows):
            X, _ = encoding.encode(table[i : i + rows])
            n += len(X)
    return n


def transformed_csv(path: Path, rows: int) -> int:
    """Read a CSV file with pandas and transform it with scikit-learn; the number of rows."""
    return transformed(pd.read_csv(path, chunksize=rows, parse_dates=["when"]))


def transformed_parquet(path: Path, rows: int) -> int:
    """The same for a Parquet file, read by pyarrow."""
    batches = parquet.ParquetFile(path).iter_batches(rows, use_threads=False)
    return transformed(batch.to_pandas(use_threads=False) for batch in batches)


def transformed(frames: Any) -> int:
    transformer, n = None, 0
    for frame in frames:
        frame["when"] = frame["when"].astype("int64")
        if transformer is None:
            texts = list(CATEGORIES)
            transformer = make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), texts),
                (make_pipeline(SimpleImputer(), StandardScaler()), [c for c in frame if c not in texts]),
            ).fit(frame)
        n += transformer.transform(frame).shape[0]
    return n


def measure(n: int = 100_000, seconds: float = 1.0) -> Iterator[list[str]]:
    """Rows of a table: the file, the rows of a chunk, thousands of rows a second, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        table = made(n)
        paths = {kind: Path(folder, f"table.{kind}") for kind in ("csv", "parquet")}
        csv.write_csv(table, paths["csv"])
        parquet.write_table(table, paths["parquet"])
        ways = {"csv": (encoded_csv, transformed_csv), "parquet": (encoded_parquet, transformed_parquet)}
        for kind, (ours, theirs) in ways.items():
            for rows in (1000, 10_000):
                times = take_turns(
                    {
                        "ours": lambda run=ours, kind=kind, rows=rows: run(paths[kind], rows),
                        "theirs": lambda run=theirs, kind=kind, rows=rows: run(paths[kind], rows),
                    },
                    seconds,
                )
                assert times.results == {"ours": n, "theirs": n}
                speeds = [f"{n / 1000 / times.seconds[who]:.0f}" for who in ("ours", "theirs")]
                yield [kind, str(rows), *speeds, f"{times.ratio('theirs', 'ours'):.1f}"]


def measure_one(n: int = 5000, seconds: float = 1.0) -> str:
    """Microseconds to learn a dict of 20 numbers, beside river's logistic regression."""
    from river.linear_model import LogisticRegression

    rows = [
        {f"n{j}": v for j, v in enumerate(row)}
        for row in np.random.default_rng(0).normal(size=(n, 20)).tolist()
    ]
    labels = [row["n0"] > 0 for row in rows]

    def learned(model: Any) -> int:
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)
        return n

    ways = {
        "ours": lambda: learned(OnlineClassifier(Mapped(Identity(), OGD(0.01, loss="logistic")))),
        "river": lambda: learned(LogisticRegression()),
    }
    times = take_turns(ways, seconds)
    ours, river = (1e6 * times.seconds[who] / n for who in ways)
    return f"learn_one of 20 numbers: {ours:.1f} µs; river's LogisticRegression: {river:.1f} µs."


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    head = ["file", "rows a chunk", "budgetron", "pandas and scikit-learn", "ratio"]
    print(f"{n} rows of {made(1).num_columns} columns; thousands of rows a second:")
    print("\n".join(aligned([head, *measure(n)])))
    if find_spec("river") is not None:
        print(measure_one())


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
