"""
Regression with intervals
=========================

The default regressor returns a mean and a deviation. The band is the mean ± 1.96 deviations, which should
hold 95 % of the rows. It is drawn after 25 rows and after 800. On the right, all rows are asked before
they are learned: how many fall into intervals of each width?
"""

from statistics import NormalDist

import matplotlib.pyplot as plt
import numpy as np

from budgetron import OnlineRegressor
from budgetron.plots import style

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, (800, 1))
y = np.sin(1.5 * x[:, 0]) + 0.25 * rng.standard_normal(800)
grid = np.linspace(-3, 3, 200)[:, None]

blue, orange, green, *_ = style.COLOURS
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained", width_ratios=(1, 1, 0.9))
for ax in axes:
    style.axes(ax)
model = OnlineRegressor(random_state=0).partial_fit(x[:5], y[:5])
off = []  # how many deviations a row is away from its mean, when it comes
for i in range(5, 800):
    [mean], [deviation] = model.predict(x[i : i + 1], return_std=True)
    off.append(abs(y[i] - mean) / deviation)
    model.partial_fit(x[i : i + 1], y[i : i + 1])
    if i + 1 in (25, 800):
        ax = axes[0 if i < 25 else 1]
        mean, deviation = model.predict(grid, return_std=True)
        low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
        ax.scatter(x[: i + 1, 0], y[: i + 1], s=8, color=orange, alpha=0.5, linewidths=0, label="rows")
        ax.fill_between(grid[:, 0], low, high, color=blue, alpha=0.2, linewidth=0, label="95 % interval")
        ax.plot(grid, mean, color=blue, label="mean")
        ax.plot(grid, np.sin(1.5 * grid), color="#333333", linestyle=":", label="truth")
        ax.set(xlabel="x", ylabel="y", ylim=(-2.4, 3.2), title=f"after {i + 1} rows")
axes[1].legend(loc="upper center", ncols=2, frameon=False, fontsize=8)

promised = np.linspace(0.02, 0.98, 49)
normal = NormalDist().inv_cdf
held = [(np.array(off) <= normal((1 + share) / 2)).mean() for share in promised]
axes[2].plot([0, 100], [0, 100], color="#999999", linestyle="--", linewidth=1)
axes[2].plot(100 * promised, 100 * np.array(held), color=green)
axes[2].set(xlabel="promised, % of rows", ylabel="held, % of rows", title="rows not learned yet")

# %%
# **Lesson:** the interval is wide while little is known, narrows as rows come, and holds at least as many
# rows as it promises.
