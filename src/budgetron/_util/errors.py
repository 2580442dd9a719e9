"""Errors that a caller may want to catch separately. They print under the name to import them by."""

from typing import Any

from budgetron._util.text import printable

ROW = "\0row\0"
"""Stands for the number of the row in the message of a `RefusedRow`. No text of a user, quoted, has it."""


class DataError(ValueError):
    r"""Data that cannot be read or learned. ``line`` and ``column``, if known, count from 1.

    Examples
    --------
    >>> import io
    >>> from budgetron import DataError, streams
    >>> try:
    ...     list(streams.from_svmlight(io.BytesIO(b"1 1:0.5\n1 1:x\n")))
    ... except DataError as error:
    ...     print(error.line, error.column)
    2 5
    """

    __module__ = "budgetron"

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(printable(message))
        self.line = line
        self.column = column


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or has an invalid description.

    Examples
    --------
    >>> import os, tempfile
    >>> from budgetron import ModelFileError, load
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(b"not a model")
    >>> try:
    ...     load(path)
    ... except ModelFileError:
    ...     print("refused")
    refused
    """

    __module__ = "budgetron"

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class SaveError(OSError):
    """A file could not be written; the old file is unchanged.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, SaveError
    >>> model = OnlineClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> try:
    ...     model.save("/no/such/folder/model.safetensors")
    ... except SaveError:
    ...     print("nothing was written")
    nothing was written
    """

    __module__ = "budgetron"


class RefusedRow(ValueError):
    """A row that cannot be learned.

    ``row`` is its number in the call, from 0. ``rows_learned`` is the number of rows that the call learned
    before it stopped: 0 if the row was found by the checks, which come before the first row is learned.

    Examples
    --------
    >>> from budgetron import OnlineRegressor, RefusedRow
    >>> try:
    ...     OnlineRegressor().partial_fit([[1.0], [2.0]], [0.5, None])
    ... except RefusedRow as error:
    ...     print(error.row, error.rows_learned)
    1 0
    """

    __module__ = "budgetron"

    def __init__(self, message: str, row: int, rows_learned: int = 0) -> None:
        super().__init__(message.replace(ROW, str(row)))
        self.message = message  # with `ROW` in the place of the number
        self.row = row
        self.rows_learned = rows_learned
        self.scored: list[Any] = []  # the scores of the rows learned, as `estimators` keeps them

    def after(self, rows: int) -> "RefusedRow":
        """The same refusal in a call that had this many rows before."""
        kind = DivergedError if isinstance(self, DivergedError) else RefusedRow
        return kind(self.message, self.row + rows, self.rows_learned)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.message, self.row, self.rows_learned)


class DivergedError(RefusedRow):
    """Learning stopped at a row whose score or step is not finite.

    That row is not learned; the rows before it are. The model is the same as if the call had been given
    only those rows. ``rows_learned`` is their number.

    Examples
    --------
    >>> from budgetron import DivergedError, Linear, OnlineRegressor, ogd
    >>> model = OnlineRegressor(ogd(Linear(), eta=1e6))
    >>> try:
    ...     model.partial_fit([[1e30]] * 100, [1.0] * 100)
    ... except DivergedError as error:
    ...     print(error.rows_learned < 100)
    True
    """

    __module__ = "budgetron"

    def __init__(self, message: str, row: int, rows_learned: int | None = None) -> None:
        super().__init__(message, row, row if rows_learned is None else rows_learned)


def note_rows(error: BaseException, rows: int) -> None:
    """Tell the caller how many rows were learned, also on an interrupt or an error from elsewhere."""
    vars(error)["rows_learned"] = rows


__test__ = {  # doctest skips classes of another __module__
    "DivergedError": DivergedError.__doc__,
    "RefusedRow": RefusedRow.__doc__,
}
