"""The online error on all of elec, by a plain loop over the public API: predict a row, then learn it.

It shares no code with ``benchmarks.streams``. Run ``python -m benchmarks.elec_by_hand``. It reads
elec.csv.xz in the folder that BUDGETRON_DATA names.
"""

import csv
import lzma
import os
from pathlib import Path

import numpy as np

from budgetron import OnlineClassifier

with lzma.open(Path(os.environ["BUDGETRON_DATA"]) / "elec.csv.xz", "rt", encoding="utf-8") as file:
    lines = list(csv.reader(file))[1:]

model = OnlineClassifier(random_state=0)
mistakes = same_as_before = 0
before = None
for i, line in enumerate(lines):
    x = np.array([[float(value) for value in line[:-1]]])
    label = int(line[-1])
    if i > 0:
        mistakes += int(model.predict(x)[0] != label)
        same_as_before += int(before != label)
    model.partial_fit(x, np.array([label]), classes=[0, 1])
    before = label

rows = len(lines) - 1
print(f"{rows:,} rows of elec, each predicted before it is learned (the first is only learned):")
print(f"OnlineClassifier(): {100 * mistakes / rows:.2f} % mistakes")
print(f"the last label again: {100 * same_as_before / rows:.2f} % mistakes")
