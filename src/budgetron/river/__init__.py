"""The learners of this package as models of river, the library for online machine learning.

==============  ======================================================================
``classifier``  `BudgetClassifier`
``regressor``   `BudgetRegressor`
``fourier``     `FourierFeatures`, a transformer
``streaming``   what both models share: from a dict to the native model and back
``records``     dicts and frames as the records of `budgetron.records`
``frames``      answers in the library of the frame that was asked about
==============  ======================================================================

It needs river, the extra ``river``. docs/river.md has the page.
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "river.classifier": "BudgetClassifier",
        "river.fourier": "FourierFeatures",
        "river.regressor": "BudgetRegressor",
    },
)

try:
    import river as _river  # noqa: F401
except ImportError as error:
    from budgetron._util.extras import pip_install

    raise ImportError(f"budgetron.river needs river: {pip_install('river')}.") from error
