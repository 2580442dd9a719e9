"""The data sets of the papers by name, and any other that lies in the data folder.

Files are svmlight text, plain or packed: ``NAME.svm``, ``NAME.train.svm.xz``, ``NAME.test.svm.gz`` ...
They are looked for in the folder given as ``folder=``, else in the one that ``BUDGETRON_DATA`` names, else
in the user's cache, where `fetch` puts its downloads. A file whose name no paper uses is a data set too.

>>> from budgetron import datasets
>>> print(datasets.describe("cod-rna"))  # doctest: +ELLIPSIS
cod-rna: binary, 271,617 rows, 8 columns, 2 classes
  used in: zhao2012 2-3; lu2016 3, 5
...
"""

from budgetron.datasets.catalogue import DataSet, describe, names
from budgetron.datasets.downloads import fetch
from budgetron.datasets.loading import digest, files, load, synthetic

__all__ = ["DataSet", "describe", "digest", "fetch", "files", "load", "names", "synthetic"]
