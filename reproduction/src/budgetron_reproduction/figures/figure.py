"""A figure of a paper: what it shows, how it is computed and drawn, and what the text says of it.

The pictures themselves are lost; what the text claims of them is the yardstick. A claim is checked against
the numbers drawn, and one that does not hold is said not to.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Self

from budgetron.streams import DataError
from budgetron_reproduction.claims import Claim, Verdict
from budgetron_reproduction.files import write

DPI = 100


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Attributes
    ----------
    key, number : str, int
        The paper and the figure.
    caption : str
        What it shows, in our words.
    departs : tuple of str
        Where we do something else.
    datasets : tuple of str
        What is computed one after the other; those without a file are left out.
    recipe : callable
        Data set to what its numbers depend on but the rows themselves: learners, orders, caps.
    compute : callable
        Data set and number of threads to what is drawn of it.
    picture : callable
        From what was computed, by data set, to a matplotlib figure.
    claims : tuple of Claim
        What the text says of it.
    """

    key: str
    number: int
    caption: str
    departs: tuple[str, ...]
    datasets: tuple[str, ...]
    recipe: Callable[[str], object]
    compute: Callable[[str, int], Any]
    picture: Callable[[Any], Any]
    claims: tuple[Claim, ...]

    @property
    def title(self) -> str:
        """As it is called in reports."""
        return f"{self.key}, Figure {self.number}"

    @property
    def digest(self) -> str:
        """Of what it is made from: what was drawn from something else is not this figure."""
        said = self.caption, self.departs, [claim.text for claim in self.claims]
        recipes = {name: self.recipe(name) for name in self.datasets}
        return sha256(repr((self.title, said, recipes)).encode()).hexdigest()

    def draw(self, folder: Path, n_jobs: int = 1) -> Drawn:
        """Compute and draw it into a folder."""
        shown, missing = self._computed(n_jobs)
        picture = self.picture(shown)
        stored = _png(picture)
        verdicts = tuple(claim.verdict(shown) for claim in self.claims)
        departs = self.departs
        if missing:
            departs += (f"Not drawn, since their rows are not at hand: {', '.join(missing)}.",)
        path = image(folder, self.key, self.number)
        drawn = Drawn(path, self.title, self.caption, departs, verdicts, self.digest)
        drawn.keep(stored)
        return drawn

    def _computed(self, n_jobs: int) -> tuple[dict[str, Any], list[str]]:
        shown, missing = {}, []
        for name in self.datasets:
            try:
                shown[name] = self.compute(name, n_jobs)
            except DataError as error:
                missing.append(name)
                last = error
        if not shown:
            names = ", ".join(self.datasets)
            raise DataError(f"{self.title}: none of its data sets has a file here ({names}).") from last
        return shown, missing


@dataclass(frozen=True)
class Drawn:
    """A figure as it was drawn: the picture's file, and what is said of it."""

    path: Path
    title: str
    caption: str
    departs: tuple[str, ...]
    claims: tuple[Verdict, ...]
    digest: str

    def keep(self, picture: bytes) -> None:
        """Write the picture, and beside it what is said of it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        said = {name: value for name, value in asdict(self).items() if name != "path"}
        write(self.path, picture)
        text = json.dumps(said, indent=1, ensure_ascii=False) + "\n"
        write(self.path.with_suffix(".json"), text.encode())

    @classmethod
    def kept(cls, path: Path, digest: str) -> Self | None:
        """A figure that was drawn before; None where its picture, or what was said of it, is not there, or
        where it was made from something else.
        """
        try:
            said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            claims = tuple(Verdict(**each) for each in said["claims"])
            found = cls(
                path, said["title"], said["caption"], tuple(said["departs"]), claims, said["digest"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if path.exists() and found.digest == digest else None


def image(folder: Path, key: str, number: int) -> Path:
    """The file of a figure's picture."""
    return folder / f"{key}_fig{number}.png"


def _png(picture: Any) -> bytes:
    """The file, of 256 colours, which nobody sees: it is a third as large."""
    from matplotlib import pyplot
    from PIL import Image

    full, small = BytesIO(), BytesIO()
    picture.savefig(full, dpi=DPI, format="png")
    pyplot.close(picture)
    few = (
        Image.open(full).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(small, "png", optimize=True)
    return small.getvalue()
