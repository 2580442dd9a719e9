"""
Calibrated probabilities
========================

A probability of 0.8 is calibrated if eight in ten such rows belong to the class. The default returns
calibrated probabilities. The score of another learner is no probability, even if it is squeezed into 0 to
1; `Stacked` learns how to turn it into one. All probabilities are those of rows that the model has not
learned yet.
"""

import numpy as np
from sklearn.datasets import make_moons

from budgetron import Gaussian, OnlineClassifier, Stacked, bpa_nn
from budgetron.plots import style

X, y = make_moons(4000, noise=0.4, random_state=0)


def squeezed(model, rows):
    """The score, through the logistic function."""
    return 1 / (1 + np.exp(-model.decision_function(rows)))


def probability(model, rows):
    """The probability of class 1."""
    return model.predict_proba(rows)[:, 1]


def online(learner, of):
    """The probability of every row after the first 100, asked for before the row is learned."""
    model = OnlineClassifier(learner, random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1])
    found = []
    for i in range(100, len(X), 20):
        found.append(of(model, X[i : i + 20]))
        model.partial_fit(X[i : i + 20], y[i : i + 20])
    return np.concatenate(found)


margin = bpa_nn(Gaussian(2.0), budget=100)
runs = {"default": (None, probability), "Stacked(bpa_nn)": (Stacked(margin), probability)}
runs["bpa_nn, squeezed"] = (margin, squeezed)

# %%
# Rows are grouped by their probability. A calibrated model is on the diagonal.
ax = style.axes(None)
ax.plot([0, 1], [0, 1], color="#999999", linestyle="--", linewidth=1)
for (name, run), look in zip(runs.items(), style.styles(), strict=False):
    p, truth = online(*run), y[100:]
    groups = [(p >= low) & (p < low + 0.1) for low in np.arange(0, 1, 0.1)]
    error = sum(abs(p[group].sum() - truth[group].sum()) for group in groups) / len(p)
    points = [(p[group].mean(), truth[group].mean()) for group in groups if group.sum() >= 20]
    ax.plot(*np.transpose(points), label=f"{name}: {error:.3f}", markersize=5, **look)
ax.set(xlabel="predicted probability of class 1", ylabel="share of class 1", xlim=(0, 1), ylim=(0, 1))
ax.legend(title="calibration error", loc="lower right", frameon=False)

# %%
# **Lesson:** a score is not a probability; `Stacked` makes it one, and the default has done so already.
