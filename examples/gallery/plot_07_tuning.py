"""
Tuning on the first rows
========================

`evaluate.tune` tries 32 pairs of kernel width and step size. All learn the first rows; the worse half is
dropped, the others go on until they have seen twice as many, and so on. So bad candidates cost little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from budgetron import Gaussian, OnlineClassifier, bpa_nn, evaluate
from budgetron.plots import style

X, y = make_moons(6000, noise=0.35, random_state=0)
found = evaluate.tune("bpa_nn", (X[:2000], y[:2000]), budget=50, candidates=32)
print(found.python)

# %%
# Left: where the candidates were; a larger disc was kept for more rows. Right: how far each one came.
tried = [each for each in found.candidates if each.parameters]
gamma, C = np.transpose([(each.parameters["gamma"], each.parameters["C"]) for each in tried])
rows, error = np.transpose([(each.rows, 100 * each.error) for each in tried])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax in (left, right):
    style.axes(ax)
left.grid(False)
discs = left.scatter(gamma, C, s=rows / 8, c=error, cmap="cividis_r", edgecolors="white")
star = {"marker": "*", "s": 150, "color": style.COLOURS[1], "edgecolors": "white", "label": "the winner"}
left.scatter(gamma[0], C[0], **star)
left.set(xscale="log", yscale="log", xlabel="gamma of the kernel", ylabel="C, the largest step")
left.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), frameon=False)
figure.colorbar(discs, ax=left, label="mistakes, % of the rows seen")
right.scatter(rows, error, s=26, color=style.COLOURS[0], alpha=0.6, linewidths=0)
right.scatter(rows[0], error[0], **star)
right.set_xscale("log", base=2)
right.set_xticks(np.unique(rows), [f"{each:,.0f}" for each in np.unique(rows)])
right.set(xlabel="rows learned until it was dropped", ylabel="mistakes, % of the rows seen")

# %%
# What it cost, and what it is worth on the 4,000 rows after those of the tuning:
total = sum(each.rows for each in found.candidates)
print(f"{total / 2000:.1f} passes over the rows for {len(found.candidates)} candidates")
for name, learner in {"default": bpa_nn(Gaussian(), budget=50), "tuned": found.learner}.items():
    model = OnlineClassifier(learner, random_state=0).fit(X[:2000], y[:2000])
    print(f"{name}: {(model.progressive_predict(X[2000:], y[2000:]) != y[2000:]).mean():.1%} mistakes")

# %%
# **Lesson:** 32 candidates cost no more than six passes over the rows, since half of them are dropped
# after 125 rows, and the winner errs less on the rows that follow.
