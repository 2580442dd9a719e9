"""Errors that a caller may want to catch separately. They print under the name to import them by."""

__all__ = ["DataError", "DivergedError", "ModelFileError", "SaveError"]

from budgetron._text import printable


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


class DivergedError(ValueError):
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

    def __init__(self, message: str, rows_learned: int) -> None:
        super().__init__(message)
        self.rows_learned = rows_learned

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (str(self), self.rows_learned)


__test__ = {"DivergedError": DivergedError.__doc__}  # doctest skips classes of another __module__
