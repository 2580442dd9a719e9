"""Streams of rows from arrays, files and pipes, and transforms that scale, encode or shuffle them.

A `Stream` is an iterable of blocks of rows. A stream from a file or an array can be iterated again; one
from a pipe cannot. ``stream.skip(n)`` is the same stream without its first n rows.

>>> from budgetron import OnlineClassifier, streams
>>> stream = streams.from_arrays([[0.0], [1.0]] * 10, [0, 1] * 10, rows=8)
>>> model = OnlineClassifier()
>>> for block in stream.through(streams.Standardise()):
...     model = model.partial_fit(block.X, block.y, classes=[0, 1])
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "_util.errors": "DataError",
        "streams.arrays": "from_arrays",
        "streams.dense": "Dense",
        "streams.describing": "Description describe",
        "streams.descriptions": "described revived",
        "streams.labels": "EncodeLabels",
        "streams.pairs": "from_pairs",
        "streams.scaling": "MinMax Standardise",
        "streams.shuffling": "ShuffleBuffer",
        "streams.stream": "Block Stream Transform",
        "streams.svmlight": "from_svmlight",
        "streams.tables": "table",
    },
)
