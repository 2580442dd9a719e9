"""The data sets of the papers by name, and all other data sets in the data folder.

Files are svmlight text, compressed or not: ``NAME.svm``, ``NAME.train.svm.xz``, ``NAME.test.svm.gz``, ...
The data folder is the argument ``folder=``, else the environment variable ``BUDGETRON_DATA``, else the
user's cache. `fetch` downloads files into it. Any other file with such a name is a data set, too.

>>> from budgetron import datasets
>>> print(datasets.describe("cod-rna"))  # doctest: +ELLIPSIS
cod-rna: binary, 271,617 rows, 8 columns, 2 classes
  used in: zhao2012 2-3; lu2016 3, 5
...
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "datasets.catalogue": "DataSet describe names",
        "datasets.downloads": "fetch",
        "datasets.generated": "poker_hands synthetic",
        "datasets.loading": "digest files load",
    },
)
