"""
Random features against support vectors, at equal memory
========================================================

A support vector of the digits is 64 numbers and a coefficient for each class. A random component has 64
numbers, too, and two weights for each class; with Hadamard matrices it has one number and the weights. So
counting support vectors against components is not fair, but counting bytes is. Means over three orders of
the rows.
"""

import numpy as np
from sklearn.datasets import load_digits

from budgetron import OGD, PA, Gaussian, HadamardFourier, Kernelized, Mapped, Merge, OnlineClassifier
from budgetron.learners.algorithms import bpa_nn, fogd, rbp
from budgetron.plots import Line, curves

X, y = load_digits(return_X_y=True)
kernel = Gaussian.of_width(24)
learners = {
    "rbp": lambda n: rbp(kernel, budget=n),
    "bpa_nn": lambda n: bpa_nn(kernel, budget=n),
    "PA, merging": lambda n: Kernelized(kernel, PA(), Merge(n)),
    "fogd": lambda n: fogd(kernel, components=n, eta=0.3),
    "fogd, Hadamard": lambda n: Mapped(HadamardFourier(kernel, n), OGD(eta=0.3)),
}


def run(learner, seed):
    """The kibibytes of the model after the pass, and the mistakes in percent of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    model = OnlineClassifier(learner, random_state=seed)
    wrong = model.progressive_predict(X[order], y[order]) != y[order]
    return model.memory_bytes_ / 1024, 100 * wrong.mean()


runs = {
    name: np.mean([[run(make(n), seed) for n in (12, 25, 50, 100, 200)] for seed in range(3)], axis=0).T
    for name, make in learners.items()
}

# %%
ax = curves([Line(name, *run, np.zeros(5)) for name, run in runs.items()], marked=True, named=False)
ax.set(xscale="log", xlabel="memory of the model, KiB", ylabel="mistakes, % of rows", ylim=(0, 60))
ax.set_xticks([5, 10, 20, 50, 100, 200, 500], [5, 10, 20, 50, 100, 200, 500])
ax.minorticks_off()
ax.legend(loc="upper right", frameon=False)

# %%
# **Lesson:** at equal memory, support vectors that merge err least, random features come next, and
# support vectors whose weight is lost when they are removed come last.
