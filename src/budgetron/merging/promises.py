"""Which parts of a learner are merged in which way, and what that promises."""

from __future__ import annotations

from collections.abc import Iterator

from budgetron._util import check
from budgetron.learners.automatic import Auto
from budgetron.learners.averaged import Averaged
from budgetron.learners.dated import Dated
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.learner import Learner
from budgetron.learners.mapped import Mapped
from budgetron.learners.scaled import Scaled
from budgetron.learners.stacked import Stacked
from budgetron.merging import scaling, stacks, union, weights
from budgetron.merging.fields import Parts, State, under
from budgetron.parts.vector_rules import AROW, Kalman, OnlineNewton

EXACT = "exact: the model of a single pass over all rows, up to rounding"
PRECISION = "precision-weighted: precisions add up, and each weight counts as far as a model knows it"
FORGETS = "precision-weighted average: each weight counts as far as a model knows it"
AVERAGE = "average of the weights, by the number of rows of each model"
UNION = "union of the support vectors, passed through the budget"
BEST = "the expert with the lowest loss, to which the filter is tuned"
STACK = "stacked: all models side by side with a filter on top, as many times the memory"


def merged(parts: Parts) -> State:
    """The merged fields of a learner of any kind whose promise is not a stack."""
    learner = parts.learner
    if isinstance(learner, Scaled):
        inner = parts.inner(learner.learner, "learner.", parts.seed)
        return parts.complete(scaling.statistics(parts) | under(merged(inner), "learner."))
    if isinstance(learner, Dated):  # no column is set aside
        return merged(parts.inner(learner.learner, "", parts.seed))
    if isinstance(learner, Stacked):
        return stacks.merged(parts, merged)
    return union.merged(parts) if isinstance(learner, Kernelized) else weights.merged(parts)


def merge_promise(learner: Learner, *, targets: bool = False) -> dict[str, str]:
    """What :func:`merge` promises for the models of a learner, part by part.

    If any part can only be stacked, whole models are stacked.

    Parameters
    ----------
    learner : Learner
        The description that the models have in common.
    targets : bool
        Whether the models have targets, not labels.

    Returns
    -------
    dict of str to str
        The parts, as Python writes them, and what is promised for each.

    Examples
    --------
    >>> from budgetron import Gaussian, Kalman, Mapped, RandomFourier, bpa_nn, merge_promise
    >>> learner = Mapped(RandomFourier(Gaussian(1.0)), Kalman())
    >>> merge_promise(learner, targets=True)[repr(learner)]
    'exact: the model of a single pass over all rows, up to rounding'
    >>> list(merge_promise(bpa_nn(Gaussian(1.0), budget=100)).values())
    ['union of the support vectors, passed through the budget']
    """
    check.instance("merge_promise", "learner", learner, Learner)
    promises = dict(_promises(learner, targets))
    if STACK in promises.values():
        return {repr(learner): STACK}
    return promises


def _promises(learner: Learner, targets: bool) -> Iterator[tuple[str, str]]:
    if isinstance(learner, Auto):
        learner = learner.composition()
    if isinstance(learner, Dated):
        yield from _promises(learner.learner, targets)
    elif isinstance(learner, Scaled):
        yield f"{type(learner).__name__} columns{' and targets' if targets else ''}", "exact"
        # rows were scaled by the statistics of their own model, so that nothing inside is exact
        for name, promise in _promises(learner.learner, targets):
            yield name, PRECISION if promise == EXACT else promise
    elif isinstance(learner, Stacked):
        yield "filter on top", FORGETS
        for each in learner.learners:
            yield from [(repr(each), BEST)] if stacks.keeps_best(each) else _promises(each, targets)
    else:
        yield repr(learner), _promise(learner, targets)


def _promise(learner: Learner, targets: bool) -> str:
    inside = learner.learner if isinstance(learner, Averaged) else learner
    if isinstance(inside, Mapped) and not inside.features.learns and not stacks.is_on_cells(inside):
        rule = inside.rule
        if isinstance(rule, Kalman) and rule.drift > 0:
            return FORGETS
        if isinstance(rule, Kalman | AROW) and targets and learner is inside:
            whole = rule.covariance != "diagonal" and getattr(rule, "epsilon", 0) == 0
            return EXACT if whole else PRECISION
        return PRECISION if isinstance(rule, Kalman | AROW | OnlineNewton) else AVERAGE
    return UNION if isinstance(learner, Kernelized) and learner.budget.takes_terms else STACK
