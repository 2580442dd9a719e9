"""The figures of the papers, computed and drawn again, and the claims of the texts about them.

>>> from budgetron_reproduction import figures
>>> figures.numbers("orabona2008")
(1, 2, 3)
>>> print(figures.figure("orabona2008", 1).caption)
Mistakes so far against rows on the training part of a9a, B = 1500, Gaussian of variance 25.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path

from budgetron_reproduction.figures.figure import Drawn, Figure, image
from budgetron_reproduction.printed import KEYS, UnknownTable

__all__ = ["Drawn", "Figure", "UnknownFigure", "draw", "figure", "kept", "numbers"]

HAVE = ("orabona2008", "zhao2012b", "lu2016", "le2016")
"""The papers with figures that can be drawn again."""


class UnknownFigure(UnknownTable):
    """There is no such figure; the message lists those there are."""


def numbers(key: str) -> tuple[int, ...]:
    """The numbers of the figures of a paper that can be drawn again."""
    if key not in KEYS:
        raise UnknownFigure(f"there is no paper {key!r}; there are: {', '.join(KEYS)}.")
    return tuple(each.number for each in _figures(key))


def figure(key: str, number: int) -> Figure:
    """A figure of a paper."""
    have = numbers(key)
    if number not in have:
        those = f"it has: {', '.join(map(str, have))}" if have else "it has none"
        raise UnknownFigure(f"{key} has no Figure {number} here; {those}.")
    return next(each for each in _figures(key) if each.number == number)


def draw(key: str, number: int, folder: str | PathLike[str], n_jobs: int = 1) -> Drawn:
    """Compute a figure, draw it into a folder, and check the claims about it.

    The picture is ``KEY_figN.png``; the caption and the verdicts are in ``KEY_figN.json``. Data sets
    without a file are left out. If none has a file, that is a `DataError`.
    """
    return figure(key, number).draw(Path(folder), n_jobs)


def kept(key: str, number: int, folder: str | PathLike[str]) -> Drawn | None:
    """A figure drawn into a folder before; None if it is not there or was made from other settings."""
    return Drawn.kept(image(Path(folder), key, number), figure(key, number).digest)


def _figures(key: str) -> tuple[Figure, ...]:
    if key not in HAVE:
        return ()
    found: tuple[Figure, ...] = import_module(f"budgetron_reproduction.figures.{key}").FIGURES
    return found
