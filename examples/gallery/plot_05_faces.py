"""
Which support vectors stay
==========================

The same rule learns 1,797 handwritten digits with four budgets of 40. The pictures are the 40 support
vectors at the end, sorted by the digit that they speak for: all that the model knows about digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from budgetron import PA, Gaussian, Kernelized, Merge, OnlineClassifier, RemoveOldest, Stop, SwapProject

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
WHAT = {
    Stop: "keeps the first 40",
    RemoveOldest: "keeps the last 40",
    SwapProject: "removes what the others can express, and they absorb its weight",
    Merge: "merges two into one that lies between them",
}

# %%
figure, axes = plt.subplots(len(WHAT), figsize=(8, 4.8), layout="constrained")
errors = {}
for ax, (budget, what) in zip(axes, WHAT.items(), strict=True):
    model = OnlineClassifier(Kernelized(Gaussian.of_width(16), PA(), budget(40)), random_state=0)
    errors[budget] = (model.progressive_predict(X, y) != y).mean()
    digits = model.dual_coef_.argmax(axis=0)  # the class with the largest coefficient
    faces = model.support_vectors_[np.argsort(digits, kind="stable")].reshape(40, 8, 8)
    framed = np.pad(faces, ((0, 0), (1, 1), (1, 1)))
    ax.imshow(framed.reshape(2, 20, 10, 10).transpose(0, 2, 1, 3).reshape(20, 200), cmap="gray_r")
    ax.set_title(f"{budget.__name__} {what}: {errors[budget]:.0%} mistakes", fontsize=11, loc="left")
    ax.axis("off")

# %%
# `Merge` shows digits that nobody wrote: each stands for many rows, and so looks like their mean.
#
# **Lesson:** with equally many support vectors, what becomes of a removed one decides: if its weight is
# lost, one row in four is wrong; if others absorb it, one in eleven; if it is merged, one in twenty.
