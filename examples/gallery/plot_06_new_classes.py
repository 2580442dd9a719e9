"""
A stream of records with new classes
====================================

Records are dicts: numbers, texts, and values that are missing. Nobody says in advance which columns and
labels there will be. The rooms *bath* and *loft* open later, and a column *light* begins at row 1,500.
"""

import numpy as np

from budgetron import OnlineClassifier, plots

ROOMS = {"kitchen": (21, 55, 300), "cellar": (12, 75, 20), "bath": (25, 85, 80), "loft": (28, 35, 900)}
OPENED = {"kitchen": 0, "cellar": 0, "bath": 1000, "loft": 2000}
rng = np.random.default_rng(0)


def measurement(i):
    """A record and its label."""
    room = str(rng.choice([room for room in ROOMS if i >= OPENED[room]]))
    warm, damp, bright = ROOMS[room]
    record = {"temperature": warm + 3 * rng.standard_normal(), "sensor": str(rng.choice(["A", "B"]))}
    if rng.random() > 0.1:  # one value in ten is missing
        record["humidity"] = damp + 8 * rng.standard_normal()
    if i >= 1500:
        record["light"] = bright * rng.lognormal(0, 0.5)
    return record, room


model = OnlineClassifier(random_state=0)
right = {room: [] for room in ROOMS}  # the row, and whether it was predicted
for start in range(0, 3000, 10):
    records, rooms = zip(*(measurement(i) for i in range(start, start + 10)), strict=True)
    predicted = model.predict(records) if start else [None] * 10
    for i, (room, guess) in enumerate(zip(rooms, predicted, strict=True), start):
        right[room].append((i, 100 * (room == guess)))
    model.partial_fit(records, rooms)
print(f"{', '.join(model.classes_)}; {model.n_features_in_} features")

# %%
# A point is the share of right predictions among 40 measurements of a room, before they are learned.
lines = []
for room, found in right.items():
    row, hit = np.array(found[: len(found) // 40 * 40]).reshape(-1, 40, 2).transpose(2, 0, 1)
    lines.append(plots.Line(room, row.mean(axis=1), hit.mean(axis=1), np.zeros(len(row))))
ax = plots.curves(lines)
for row, what in ((1000, "bath opens"), (1500, "light begins"), (2000, "loft opens")):
    ax.axvline(row, color="#999999", linestyle="--", linewidth=1)
    ax.annotate(what, (row + 30, 52), color="#666666", fontsize=9)
ax.set(xlabel="rows", ylabel="right, % of 40 measurements of the room", ylim=(50, 102))

# %%
# **Lesson:** a label that nobody announced is predicted right in about three of four cases among its first
# 40 measurements, and the labels before it stay learned.
