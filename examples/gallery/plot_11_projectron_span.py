"""
The projectron's span in the plane
==================================

On a mistake at x, the projectron asks how far k(x, .) is from the span of its support vectors, δ. If δ is
above a threshold η, x becomes a support vector. Otherwise its projection is added, and the model does not
grow. With a Gaussian kernel δ is 0 at a support vector and nearly 1 far from all of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from budgetron import Gaussian, OnlineClassifier, projectron
from budgetron.plots import style

X, y = make_moons(4000, noise=0.2, random_state=0)
kernel, eta = Gaussian(2.0), 0.5
a, b = np.meshgrid(np.linspace(-2, 3, 200), np.linspace(-1.4, 1.9, 200))
plane = np.stack([a.ravel(), b.ravel()], axis=1)


def k(P, Q):
    """The kernel of all pairs of points."""
    return np.exp(-kernel.gamma * ((P[:, None] - Q) ** 2).sum(axis=2))


model = OnlineClassifier(projectron(kernel, eta=eta))
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
start = 0
for ax, stop in zip(axes, (20, 200, 4000), strict=True):
    model.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
    start, S = stop, model.support_vectors_
    K, row = k(S, S), k(S, plane)
    delta = np.sqrt(np.maximum(1 - (row * np.linalg.solve(K, row)).sum(axis=0), 0)).reshape(a.shape)
    shades = ax.contourf(a, b, delta, levels=np.linspace(0, 1, 11), cmap="Blues_r")
    ax.contour(a, b, delta, levels=[eta], colors=style.COLOURS[1], linewidths=1.6)
    ax.scatter(*X[:stop].T, s=5, color="#333333", alpha=0.25, linewidths=0)
    ax.scatter(*S.T, s=34, color="white", edgecolors="black", linewidths=1)
    ax.set(title=f"{stop:,} rows, {len(S)} support vectors", xlabel="first feature")
axes[0].set_ylabel("second feature")
figure.colorbar(shades, ax=axes, label="distance δ from the span", ticks=[0, 0.25, 0.5, 0.75, 1])

# %%
# The orange line is δ = η = 0.5. Inside, a mistake changes coefficients only. (White rings: support
# vectors.)
#
# **Lesson:** the support vectors soon cover the region of the rows, and from then on the model hardly
# grows, although it has no budget.
