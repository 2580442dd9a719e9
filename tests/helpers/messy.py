"""Tables as people have them, and the same prepared by hand."""

import datetime as dt
import random
import uuid

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

START = dt.datetime(2024, 1, 3)
WORDS = ["order", "parcel", "door", "late", "early", "thanks", "called", "twice", "wrong", "size", "blue"]


def orders(n, seed=0):
    """Cells of orders as texts, the label ("" where it is missing), and what a person would make of them.

    Dates are dd/mm/yyyy, amounts have a dollar sign or are N/A, a note is free text, each row has a UUID,
    and the column ``rating`` comes after a fifth of the rows.
    """
    made, cells, labels, values = random.Random(seed), [], [], []
    for i in range(n):
        when = START + dt.timedelta(minutes=7 * i)
        amount = None if made.random() < 0.05 else round(made.lognormvariate(4, 1), 2)
        words, kind = made.choices(WORDS, k=made.randint(4, 8)), made.choice(["gold", "silver", "new"])
        rating = made.randint(1, 5) if i >= n // 5 else None
        bad = "refund" if made.random() < 0.2 else "please"
        note = " ".join([*words, bad])
        score = (amount or 60) / 60 + 2 * (bad == "refund") + (when.hour >= 20) + (kind == "new") - 2.2
        label = "yes" if (score > 0) != (made.random() < 0.1) else "no"
        labels.append("" if made.random() < 0.03 else label)
        identity = str(uuid.UUID(int=made.getrandbits(128)))
        cells.append({
            "id": identity, "when": when.strftime("%d/%m/%Y %H:%M"), "kind": kind, "note": note,
            "amount": "N/A" if amount is None else f"${amount:,.2f}",
            "rating": "" if rating is None else str(rating),
        })  # fmt: skip
        hour = 2 * np.pi * (when.hour + when.minute / 60) / 24
        values.append((amount, rating, np.sin(hour), np.cos(hour), kind, note))
    return cells, np.array(labels), values


def orders_by_hand(values):
    """The orders as rows of numbers, prepared with the transformers of scikit-learn."""
    import pandas as pd

    frame = pd.DataFrame(values, columns=["amount", "rating", "sine", "cosine", "kind", "note"])
    frame[["amount", "rating"]] = frame[["amount", "rating"]].astype(float)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer(
        (numbers, ["amount", "rating"]),
        ("passthrough", ["sine", "cosine"]),
        (OneHotEncoder(), ["kind"]),
        (CountVectorizer(binary=True), "note"),
        sparse_threshold=0,
    ).fit_transform(frame)


def sales(n, seed=0):
    """Hourly sales in euros by the clock, with an hour as dd.mm.yyyy and a discount in percent."""
    made, cells, targets, values = np.random.default_rng(seed), [], [], []
    for i in range(n):
        when, discount = START + dt.timedelta(hours=i), int(made.integers(0, 40))
        day, week = 2 * np.pi * when.hour / 24, 2 * np.pi * (when.weekday() + when.hour / 24) / 7
        targets.append(50 + 15 * np.sin(day) + 5 * np.sin(week) + 0.5 * discount + made.normal(0, 4))
        cells.append({"when": when.strftime("%d.%m.%Y %H:%M"), "discount": f"{discount} %"})
        values.append((np.sin(day), np.cos(day), np.sin(week), np.cos(week), discount))
    return cells, np.array(targets), np.array(values)
