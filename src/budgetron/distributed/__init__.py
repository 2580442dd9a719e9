"""Learn from data on many machines with Dask: every part where it lies, then the models are merged.

``fitting`` builds the graph of tasks, ``collections`` cuts collections into parts, and ``workers`` has what
the workers do. Needs the extra ``dask``.
"""

from budgetron.distributed.fitting import fit

__all__ = ["fit"]
