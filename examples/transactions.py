"""Learn a table as it comes, end to end: dates, categories, blanks, a late class, a late column, drift.

Run as ``python examples/transactions.py [FOLDER]``. It writes transactions.csv, a picture and a report.
"""

import csv
import math
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from budgetron import OnlineClassifier, evaluate, load, streams

COLUMNS = ["number", "when", "amount", "country", "device", "age", "label"]


def transactions(n: int = 6000, seed: int = 0):
    """Rows of a made-up shop. After half of them fraud moves to small amounts at night."""
    rng, when = np.random.default_rng(seed), datetime(2024, 1, 1)
    for i in range(n):
        when += timedelta(seconds=int(rng.exponential(900)))
        late = i >= n // 2
        amount = rng.lognormal(3.5, 1.0)
        country = rng.choice(["DE", "FR", "US", "BR"], p=[0.5, 0.3, 0.15, 0.05])
        device = rng.choice(["phone", "laptop", "watch"], p=[0.6, 0.3, 0.1] if late else [0.7, 0.3, 0.0])
        night = when.hour < 6
        risk = (
            3.0 * (night and device != "laptop") - amount / 60
            if late
            else amount / 25 - 3.0 * (country == "DE")
        )
        fraud = rng.random() < 1 / (1 + math.exp(3.0 - 2.0 * risk))
        label = "refund" if late and amount < 12 else "fraud" if fraud else "ok"
        age = int(rng.integers(1, 3000)) if late else ""  # a column that was not filled at first
        blank = rng.random(2) < 0.05
        cells = ["" if blank[0] else f"{amount:.2f}", "" if blank[1] else country]
        yield [f"t{i}", when.isoformat(" "), *cells, device, age, label]


def main(folder: Path) -> None:
    """Write the table, learn it row by row, and report."""
    table = folder / "transactions.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *transactions()])
    stream = streams.table(table, target="label", time="when", id="number", on_error="skip")
    model = OnlineClassifier(random_state=0)
    records = list(evaluate.prequential(model, stream, every=250, metrics=["kappa", "balanced_accuracy"]))
    model.save(folder / "model")
    risky = {"amount": 250, "country": "US", "device": "phone"}
    lines = [f"{'rows':>6} {'mistakes %':>11} {'kappa, last 1000 rows':>22}"]
    lines += [
        f"{each.rows:>6} {100 * each.rate:>11.2f} {each.metrics['window']['kappa']:>22.4f}"
        for each in records[3::4]
    ]
    lines += ["", f"labels: {', '.join(model.classes_)}", model.encoding_.describe()]
    lines += [f"{risky}: {load(folder / 'model').predict_one(risky)}"]
    (folder / "report.txt").write_text("\n".join([*lines, ""]))
    print("\n".join(lines))
    draw(records, folder / "transactions.png")


def draw(records: list[evaluate.Record], path: Path) -> None:
    """The kappa of the last 1000 rows against time."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    days = np.array([each.time for each in records]).astype("datetime64[s]")
    axes.plot(
        days, [each.metrics["window"]["kappa"] for each in records], label="kappa of the last 1000 rows"
    )
    axes.axvline(
        days[len(days) // 2 - 1], color="grey", linestyle=":", label="fraud changes, refunds begin"
    )
    axes.set(xlabel="date of the transaction", ylabel="Cohen's kappa", ylim=(0, 1))
    axes.set_title("How soon does the model follow the change?", loc="left")
    axes.legend(loc="lower right")
    figure.autofmt_xdate(rotation=30)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
