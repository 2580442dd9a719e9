"""Learn from data on many machines with Dask: every part where it lies, then the models are merged.

``fitting`` builds the graph of tasks, ``collections`` cuts collections into parts, and ``workers`` has what
the workers do. Needs the extra ``dask``.
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "distributed.fitting": "fit",
    },
)
