"""What merging costs: the error of models that learned in parts, beside a single pass over the same rows.

Run as ``python -m benchmarks.scale [data set ...] [--orders SEED ...] [--write FILE.json]``.
Every part is learned by a model of its own, all on this machine, and the models are merged in a tree as
``distributed.fit`` does. One merge is at the end, so a part has all rows between two merges. ``--read
FILE.json --picture FILE.png`` draws a finished run. ``--workers`` measures Dask with one and two processes.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from budgetron import OnlineClassifier, datasets, merge
from budgetron._util.text import aligned
from budgetron.plots import style

DATASETS = ("ijcnn1", "cod-rna", "covtype")
PARTS = (2, 4, 8, 16, 32, 64)
FAN_IN = 8
ASKED = 1.05  # of the error of a single pass, at 8 parts


def rows_of(name: str, rows: int, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows to learn and to test, shuffled: at most this many, and at most 50,000."""
    X, y = datasets.load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = np.ascontiguousarray(X[order]), y[order]
    n = min(rows, int(0.8 * len(y)))
    return X[:n], y[:n], X[n : n + 50_000], y[n : n + 50_000]


def tree(models: list[Any]) -> Any:
    """The models, merged as ``distributed.fit`` merges them."""
    while len(models) > 1:
        models = [merge(models[i : i + FAN_IN]) for i in range(0, len(models), FAN_IN)]
    return models[0]


def measured(name: str, rows: int, parts: Sequence[int] = PARTS, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The error of a single pass, and of models merged from parts."""
    X, y, X_test, y_test = rows_of(name, rows, seed)
    classes = np.unique(y)
    single = None
    for k in (1, *parts):
        began = process_time()
        models = [
            OnlineClassifier(random_state=seed).partial_fit(rows, labels, classes=classes)
            for rows, labels in zip(np.array_split(X, k), np.array_split(y, k), strict=True)
        ]
        learned = process_time()
        model = tree(list(models))
        merged = process_time()
        error = float(np.mean(model.predict(X_test) != y_test))
        single = error if single is None else single
        yield {
            "data": name,
            "order": seed,
            "parts": k,
            "rows": len(y) // k,
            "error": error,
            "ratio": error / single,
            "one part": float(np.mean(models[0].predict(X_test) != y_test)),
            "us a row": 1e6 * (learned - began) / len(y),
            "merge ms a model": 1e3 * (merged - learned) / k if k > 1 else 0.0,
            "bytes": len(pickle.dumps(models[0])),
        }


def table(results: list[dict[str, Any]]) -> str:
    """The results as a table."""
    head = [
        "data",
        "order",
        "parts",
        "rows a part",
        "error %",
        "of one pass",
        "one part %",
        "us/row",
        "merge ms",
        "KiB",
    ]
    lines = [
        [
            each["data"],
            str(each["order"]),
            str(each["parts"]),
            f"{each['rows']:,}",
            f"{100 * each['error']:.2f}",
            f"{each['ratio']:.3f}",
            f"{100 * each['one part']:.2f}",
            f"{each['us a row']:.0f}",
            f"{each['merge ms a model']:.0f}",
            f"{each['bytes'] / 1024:,.0f}",
        ]
        for each in results
    ]
    return "\n".join(aligned([head, *lines]))


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """The error of merged models, and of one part alone, against the number of parts and their rows.

    A line is the mean over the orders, a band their range.
    """
    pyplot = style.pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax in (left, right):
        style.axes(ax)
        ax.axhline(1, color="#333333", linewidth=0.8)
        ax.axhline(ASKED, color="#999999", linewidth=0.8, linestyle=(0, (1.5, 1.5)))
        ax.set_xscale("log", base=2 if ax is left else 10)
    names = list(dict.fromkeys(each["data"] for each in results))
    for name, line in zip(names, style.styles(), strict=False):
        own = [each for each in results if each["data"] == name]
        alone = {**line, "linestyle": (0, (5, 2)), "alpha": 0.6, "markersize": 4}
        for ax, what in ((left, "parts"), (right, "rows")):
            for of, look, label in (("ratio", line, "merged"), ("one part", alone, "one part")):
                points = _over_orders(own, what, of)
                ax.plot(
                    [x for x, _ in points],
                    [np.mean(y) for _, y in points],
                    **look,
                    label=f"{name}, {label}",
                )
                if of == "ratio":
                    lowest, highest = [min(y) for _, y in points], [max(y) for _, y in points]
                    ax.fill_between(
                        [x for x, _ in points], lowest, highest, color=line["color"], alpha=0.12
                    )
    left.set(xlabel="parts", ylabel="test error, of a single pass = 1")
    ticks = sorted({each["parts"] for each in results})
    left.set_xticks(ticks, [str(k) for k in ticks])
    right.set(xlabel="rows a part")
    style.with_legend(right)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _over_orders(own: list[dict[str, Any]], what: str, of: str) -> list[tuple[int, list[float]]]:
    """The ratios to the single pass of the same order, for every number of parts or of rows."""
    singles = {each["order"]: each["error"] for each in own if each["parts"] == 1}
    ratios: dict[int, list[float]] = {}
    for each in own:
        error = each["error"] if of == "ratio" else each["one part"]
        ratios.setdefault(each[what], []).append(error / singles[each["order"]])
    return sorted(ratios.items())


def on_workers(name: str, rows: int, parts: int = 8) -> str:
    """Seconds of ``distributed.fit`` with one and two worker processes, by the clock on the wall."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from budgetron import distributed

    X, y, X_test, y_test = rows_of(name, rows)
    chunk = -(-len(y) // parts)
    lines = [["workers", "seconds", "error %", "load before"]]
    for workers in (1, 2):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            data = [da.from_array(a, chunks=(chunk, *[-1] * (a.ndim - 1))).persist() for a in (X, y)]
            client.run(OnlineClassifier)  # the imports of every worker
            client.gather(
                client.map(len, client.compute([block for a in data for block in a.to_delayed().ravel()]))
            )
            client.rebalance(data)  # else all parts may lie with one worker, and be learned there
            load, began = os.getloadavg()[0], perf_counter()
            model = distributed.fit(
                OnlineClassifier(random_state=0), *data, classes=np.unique(y), client=client
            )
            seconds = perf_counter() - began
        error = np.mean(model.predict(X_test) != y_test)
        lines.append([str(workers), f"{seconds:.1f}", f"{100 * error:.2f}", f"{load:.1f}"])
    return "\n".join(aligned(lines))


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATASETS)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--parts", type=int, nargs="+", default=PARTS)
    parser.add_argument(
        "--orders", type=int, nargs="+", default=[0], help="seeds of the orders of the rows"
    )
    parser.add_argument("--read", type=Path, nargs="+", default=[])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--workers", action="store_true")
    args = parser.parse_args()
    if args.workers:
        for name in args.data:
            print(name, on_workers(name, args.rows), sep="\n")
        return
    results = [each for path in args.read for each in json.loads(path.read_text())]
    for name in () if args.read else args.data:
        for seed in args.orders:
            for each in measured(name, args.rows, args.parts, seed):
                results.append(each)
                print(table([each]).splitlines()[-1], flush=True)
    print(table(results))
    if args.write:
        args.write.write_text(json.dumps(results, indent=1))
    if args.picture:
        draw(results, args.picture)


if __name__ == "__main__":
    main()
