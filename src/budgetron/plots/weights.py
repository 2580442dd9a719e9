"""Plot the experts of a stack over a stream."""

from typing import Any

import numpy as np

from budgetron.evaluate import prequential
from budgetron.learners.dated import names_of_experts
from budgetron.plots import style
from budgetron.plots.lines import Line, curves


def experts(model: Any, stream: Any, *, classes: Any = None, every: int = 200) -> Any:
    """Learn a stream, and draw the weight and the mean loss of every expert against rows.

    Parameters
    ----------
    model : OnlineClassifier or OnlineRegressor
        Its learner is a :class:`~budgetron.Stacked` one, as the default is.
    stream : stream, or pair of rows and labels
        As for :func:`budgetron.evaluate.prequential`.
    classes : labels, optional
        All labels of the stream, for an unfitted classifier and a stream.
    every : int
        The number of rows between two points.

    Returns
    -------
    Figure
        Two axes: the weights, and the mean losses so far.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, datasets, plots
    >>> model = OnlineClassifier(random_state=0)
    >>> figure = plots.experts(model, datasets.synthetic(400, seed=0), every=100)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['weight', 'log loss so far']
    """
    rows, weights, losses = [], [], []
    more = {} if classes is None else {"classes": classes}
    for record in prequential(model, stream, every=every, **more):
        if not hasattr(model, "expert_weights_"):
            raise TypeError(f"plots.experts: model must have a Stacked learner, got {model.learner_!r}.")
        rows.append(record.rows)
        weights.append(model.expert_weights_)
        losses.append(model.expert_losses_)
    if not rows:
        raise ValueError("plots.experts: the stream has no rows.")
    figure, axes = style.pyplot().subplots(1, 2, figsize=(13, 4), layout="constrained")
    names = names_of_experts(model.learner_, bool(model.fitted_.model.aside))
    same = [i for i, each in enumerate(weights) if len(each) == len(names)]  # since there are dates
    rows, weights, losses = ([values[i] for i in same] for values in (rows, weights, losses))
    loss = "log loss so far" if hasattr(model, "classes_") else "squared error so far"
    for ax, values, label in zip(axes, (weights, losses), ("weight", loss), strict=True):
        lines = [
            Line(name, np.array(rows), line, np.zeros(len(rows)))
            for name, line in zip(names, np.array(values).T, strict=True)
        ]
        last = ax is axes[-1]
        curves(lines, ax, named=last)
        ax.set(xlabel="rows", ylabel=label)
    return figure
