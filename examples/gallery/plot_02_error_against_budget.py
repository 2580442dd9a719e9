"""
Error against budget, for every algorithm
=========================================

Even or odd? Every algorithm with a budget learns the handwritten digits with 10 to 160 support vectors
(`fogd`: random components), in two orders of the rows, with the same kernel. Each panel shows one family
in colours and all others in grey. The dashed line is the family without a budget.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from budgetron import Gaussian, Merge, algorithms, evaluate, plots

X, y = load_digits(return_X_y=True)
kernel, budgets = Gaussian.of_width(16), (10, 20, 40, 80, 160)
FAMILIES = {
    "perceptron": ["stoptron", "rbp", "forgetron", "budget_perceptron", "projectron", "projectron_pp"],
    "pa": ["bpa_s", "bpa_nn", "bpa_p", "bduol"],
    "ogd": ["bogd", "bogd_pp", "nogd", "fogd"],
    "sgd": ["bsgd", "bsgd, merging", "nbsgd", "avm"],
}
SPECIAL = {  # nbsgd exceeds its budget, and avm has a distance instead: both are drawn at what they keep
    "fogd": lambda B: algorithms.fogd(kernel, components=B, eta=1.0),
    "bsgd, merging": lambda B: algorithms.bsgd(kernel, budget=B, maintenance=Merge),
    "nbsgd": lambda B: algorithms.nbsgd(kernel, budget=B, beta=1500.0),
    "avm": lambda B: algorithms.avm(kernel, delta=82 * B**-0.2),
}


def errors(names, **budget):
    """The name, the number of support vectors and the mistakes in percent of each learner."""
    learners = {name: SPECIAL[name](budget["budget"]) for name in names if name in SPECIAL}
    for name in set(names) - set(SPECIAL):
        step = {"eta": 1.0} if "ogd" in name else {}
        learners[name] = getattr(algorithms, name)(kernel, **budget, **step)
    rows = evaluate.compare(learners, (X, y % 2), permutations=2, every=len(y)).rows
    return [(row.name, row.support_vectors or budget["budget"], 100 * row.mean) for row in rows]


floor = {name: error for name, _, error in errors(FAMILIES)}
found = [point for B in budgets for names in FAMILIES.values() for point in errors(names, budget=B)]
runs = {name: np.array([point[1:] for point in found if point[0] == name]).T for name, *_ in found}

figure, axes = plt.subplots(2, 2, figsize=(10.5, 7), layout="constrained", sharex=True, sharey=True)
for ax, (family, names) in zip(axes.flat, FAMILIES.items(), strict=True):
    ax.set(xscale="log", yscale="log", xlim=(6, 210), ylim=(1.5, 50), title=f"{family} on a budget")
    ax.plot(*np.concatenate([[*run.T, [np.nan] * 2] for run in runs.values()]).T, color="#e0e0e0", zorder=1)
    ax.axhline(floor[family], color="#999999", linestyle="--", linewidth=1)
    plots.curves([plots.Line(name, *runs[name], np.zeros(5)) for name in names], ax, marked=True)
    ax.set(xticks=budgets, xticklabels=budgets, yticks=[2, 5, 10, 20, 50], yticklabels=[2, 5, 10, 20, 50])
    ax.minorticks_off()
figure.supxlabel("support vectors, or random components")
figure.supylabel("mistakes, % of rows")

# %%
# **Lesson:** the smaller the budget, the more it matters what becomes of removed support vectors: with
# 10, merging errs less than half as often as all others; with 160, all but random features are near their
# family without a budget.
