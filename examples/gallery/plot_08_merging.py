"""
Merging models, as on Dask
==========================

A stream of 4,096 rows is cut into parts, one model learns each part, and `merge` makes one model of all.
On the left, the model is a filter on random features; on the right, 50 support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetron import Gaussian, Kalman, Mapped, OnlineRegressor, RandomFourier, bpa_nn, merge
from budgetron.plots import style

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (6096, 2))
truth = np.sin(2 * X[:, 0]) * np.cos(2 * X[:, 1])
y = truth + 0.3 * rng.standard_normal(len(X))


def error(model):
    """The root mean squared error on the last 2,000 rows, against targets without noise."""
    return np.sqrt(np.mean((model.predict(X[4096:]) - truth[4096:]) ** 2))


kernel = Gaussian(1.0)
learners = {
    "filter on 100 random features": Mapped(RandomFourier(kernel, 50), Kalman()),
    "50 support vectors": bpa_nn(kernel, budget=50, C=0.1),
}
counts = [1, 2, 4, 8, 16, 32]
figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained", sharey=True)
blue, orange, *_ = style.COLOURS
for ax, (name, learner) in zip(axes, learners.items(), strict=True):
    alone, merged = [], []
    for n in counts:
        parts = [OnlineRegressor(learner, random_state=0).fit(X[i:4096:n], y[i:4096:n]) for i in range(n)]
        alone.append(np.mean([error(part) for part in parts]))
        merged.append(error(merge(parts)))
    style.axes(ax)
    ax.plot(counts, alone, color=orange, marker="s", label="one part, on average")
    ax.plot(counts, merged, color=blue, marker="o", label="all parts, merged")
    ax.axhline(merged[0], color="#999999", linestyle="--", linewidth=1, label="one model, all rows")
    ax.set_xscale("log", base=2)
    ax.set_xticks(counts, counts)
    ax.set(xlabel="parts", title=name, ylim=(0, 0.5))
axes[0].set_ylabel("error on new rows (RMS)")
axes[0].legend(loc="upper left", frameon=False)

# %%
# On a cluster the parts lie on the workers, and only models travel::
#
#     import dask.array as da
#     from budgetron import distributed
#
#     rows, targets = da.from_array(X, chunks=(1024, -1)), da.from_array(y, chunks=1024)
#     model = distributed.fit(OnlineRegressor(learner, random_state=0), rows, targets)
#
# **Lesson:** merged filters are exactly the model that learned all rows; merged support vectors come
# close only while every part has a thousand rows or more.
