"""The learner that needs no tuning."""

from budgetron.learners.learner import Learner


def auto(size: int = 50, drift: bool = True, wide: int = 0) -> Learner:
    """The default learner: raw rows in, calibrated probabilities out, nothing to tune.

    Parameters
    ----------
    size, drift, wide
        See :class:`~budgetron.Auto`.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, auto
    >>> auto(size=20)
    Auto(size=20, drift=True, wide=0)
    >>> OnlineClassifier(auto(size=20)).fit([[0.0], [1.0]] * 9, [0, 1] * 9).predict([[0.1]])
    array([0])
    """
    from budgetron.learners.automatic import Auto  # not above: it imports scikit-learn

    return Auto(size, drift, wide)
