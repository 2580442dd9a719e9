"""Errors that a caller may want to catch separately."""

__all__ = ["DivergedError"]


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

    def __init__(self, message: str, rows_learned: int) -> None:
        super().__init__(message)
        self.rows_learned = rows_learned

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (str(self), self.rows_learned)
