"""Convert sparse rows to dense rows."""

from dataclasses import replace
from typing import Any

from scipy import sparse

from budgetron._util.rows import Matrix
from budgetron.streams.stream import Block, Transform


class Dense(Transform):
    """Converts sparse rows to dense rows, for example so that `Standardise` centres them.

    >>> from scipy.sparse import csr_matrix
    >>> from budgetron import streams
    >>> [block] = streams.from_arrays(csr_matrix([[0.0, 2.0]])).through(streams.Dense())
    >>> block.X
    array([[0., 2.]])
    """

    def learn_transform(self, block: Block) -> Block:
        return replace(block, X=self.transform(block.X))

    def transform(self, X: Matrix) -> Matrix:
        """The same rows, dense."""
        return X.toarray() if sparse.issparse(X) else X

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Do nothing: this transform has no state."""
