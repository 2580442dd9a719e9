"""
Time per row against budget, for every algorithm
================================================

The labels are random, so nearly every row changes a full model: the worst case. Every algorithm with a
fixed budget B is drawn in one panel in colour, and in the others in grey.
"""

from time import thread_time

import matplotlib.pyplot as plt
import numpy as np

from budgetron import Gaussian, Merge, OnlineClassifier, ProjectSmallest, algorithms, plots

rng = np.random.default_rng(0)
X, y = rng.standard_normal((2000, 20)), rng.integers(2, size=2000)
kernel, budgets = Gaussian(0.02), (25, 50, 100, 200, 400)
FAMILIES = {
    "perceptrons": ["stoptron", "rbp", "forgetron", "budget_perceptron", "projectron", "projectron_pp"],
    "passive-aggressive, double updating": ["bpa_s", "bpa_nn", "bpa_p", "bduol"],
    "gradient descent": ["bogd", "bogd_pp", "nogd", "fogd"],
    "stochastic gradient descent": ["bsgd", "bsgd, merging", "bsgd, projecting"],
}
SPECIAL = {
    "fogd": lambda B: algorithms.fogd(kernel, components=B),
    "bsgd, merging": lambda B: algorithms.bsgd(kernel, budget=B, maintenance=Merge),
    "bsgd, projecting": lambda B: algorithms.bsgd(kernel, budget=B, maintenance=ProjectSmallest),
}


def microseconds(name, B):
    """The processor time of a row, with a full budget: the least of three runs of 200 rows."""
    make = SPECIAL.get(name, lambda B: getattr(algorithms, name)(kernel, budget=B))
    model = OnlineClassifier(make(B), random_state=0).fit(X[:1400], y[:1400])
    clock = [thread_time()]
    for i in (1400, 1600, 1800):
        model.partial_fit(X[i : i + 200], y[i : i + 200])
        clock.append(thread_time())
    return 1e6 * np.diff(clock).min() / 200


runs = {name: [microseconds(name, B) for B in budgets] for names in FAMILIES.values() for name in names}

figure, axes = plt.subplots(2, 2, figsize=(10.5, 7), layout="constrained", sharex=True, sharey=True)
for ax, (family, names) in zip(axes.flat, FAMILIES.items(), strict=True):
    ax.set(xscale="log", yscale="log", xlim=(22, 450), ylim=(0.2, 200), title=family)
    ax.plot(budgets, np.transpose([*runs.values()]), color="#e0e0e0", linewidth=1, zorder=1)
    for first, power, name, place in ((0.25, 1, "∝ B", (55, 0.3)), (0.6, 2, "∝ B²", (110, 22))):
        ax.plot(budgets, first * (np.array(budgets) / 25) ** power, color="#999999", linestyle=":")
        ax.annotate(name, place, color="#666666")
    plots.curves([plots.Line(name, budgets, runs[name], np.zeros(5)) for name in names], ax, marked=True)
    ax.set(xticks=budgets, xticklabels=budgets, yticks=[1, 10, 100], yticklabels=[1, 10, 100])
    ax.minorticks_off()
figure.supxlabel("budget")
figure.supylabel("processor time per row, µs")

# %%
# **Lesson:** removing or merging takes time in proportion to the budget at most, and projection onto all
# others to its square: with 400 support vectors `bpa_p` takes more than ten times as long as `rbp`.
