"""
Drift and recovery
==================

After 3,000 rows the pattern turns by 90 degrees, without notice. Four learners meet the same rows, of
which one in twenty has a wrong label. Each row is predicted before it is learned; a point is the share of
wrong predictions among 200 rows.
"""

import numpy as np

from budgetron import Gaussian, Kalman, Kernelized, Mapped, OnlineClassifier, RandomFourier, auto, stoptron
from budgetron.parts.budgets import RemoveOldest
from budgetron.parts.rules import PA
from budgetron.plots import Line, curves

n, change, every = 6000, 3000, 200
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (n, 2))
a, b = np.where(np.arange(n) < change, X.T, X.T[::-1] * [[-1], [1]])  # turned by 90 degrees
y = (b > 0.35 * np.sin(4 * a)) ^ (rng.random(n) < 0.05)

kernel = Gaussian(4.0)
learners = {
    "the default": auto(50),
    "Kalman, never forgets": Mapped(RandomFourier(kernel, 50), Kalman()),
    "PA, removes the oldest": Kernelized(kernel, PA(C=0.1), RemoveOldest(100)),
    "stoptron": stoptron(kernel, budget=100),
}

# %%
rows = np.arange(every, n + 1, every)
lines = []
for name, learner in learners.items():
    wrong = OnlineClassifier(learner, random_state=0).progressive_predict(X, y) != y
    lines.append(Line(name, rows, 100 * wrong.reshape(-1, every).mean(axis=1), np.zeros(len(rows))))
ax = curves(lines, from_zero=True)
ax.axvline(change, color="#999999", linestyle="--", linewidth=1)
ax.annotate("the pattern turns", (change - 60, 52), color="#666666", ha="right", va="top", fontsize=9)
ax.set(xlabel="rows", ylabel=f"mistakes, % of {every} rows", ylim=(0, 55))

# %%
# The stoptron keeps its first 100 support vectors and nothing else. A budget that removes the oldest
# recovers fast, but forgets all the time: it errs more in calm times. The default has experts that forget
# and experts that do not, and weighs them as it learns.
#
# **Lesson:** a model must be able to forget; the default recovers as fast as one that always forgets, and
# errs less in calm times.
