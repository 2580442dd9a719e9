"""Streams of rows from arrays, files and pipes, and transforms that scale, encode or shuffle them.

A `Stream` is an iterable of blocks of rows. A stream from a file or an array can be iterated again; one
from a pipe cannot. ``stream.skip(n)`` is the same stream without its first n rows.

>>> from budgetron import OnlineClassifier, streams
>>> stream = streams.from_arrays([[0.0], [1.0]] * 10, [0, 1] * 10, rows=8)
>>> model = OnlineClassifier()
>>> for block in stream.through(streams.Standardise()):
...     model = model.partial_fit(block.X, block.y, classes=[0, 1])
"""

from budgetron._util.errors import DataError
from budgetron.streams.arrays import from_arrays
from budgetron.streams.dense import Dense
from budgetron.streams.described import described, revived
from budgetron.streams.labels import EncodeLabels
from budgetron.streams.pairs import from_pairs
from budgetron.streams.scaling import MinMax, Standardise
from budgetron.streams.shuffling import ShuffleBuffer
from budgetron.streams.stream import Block, Stream, Transform
from budgetron.streams.svmlight import from_svmlight
from budgetron.streams.tables import table

__all__ = [
    "Block",
    "DataError",
    "Dense",
    "EncodeLabels",
    "MinMax",
    "ShuffleBuffer",
    "Standardise",
    "Stream",
    "Transform",
    "described",
    "from_arrays",
    "from_pairs",
    "from_svmlight",
    "revived",
    "table",
]
