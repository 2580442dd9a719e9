"""A figure of a paper: what it shows, how it is computed and drawn, and the claims about it.

The printed pictures are lost. What is left are the claims of the texts, which are checked on the numbers
that are drawn.
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
        Where we do something different from the paper.
    datasets : tuple of str
        The data sets, computed one after the other. Those without a file are left out.
    recipe : callable
        (data set) -> everything that the numbers depend on except the rows: learners, orders, limits.
    compute : callable
        (data set, number of threads) -> the numbers to draw.
    picture : callable
        (numbers by data set) -> a matplotlib figure.
    claims : tuple of Claim
        The claims of the text about it.
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
        """Its name in reports."""
        return f"{self.key}, Figure {self.number}"

    @property
    def digest(self) -> str:
        """A digest of everything the figure is made from. A picture with another digest is out of date."""
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
            departs += (f"Not drawn, because the data is missing: {', '.join(missing)}.",)
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
            raise DataError(f"{self.title}: the files of its data sets are missing ({names}).") from last
        return shown, missing


@dataclass(frozen=True)
class Drawn:
    """A drawn figure: the file of the picture, and the texts about it."""

    path: Path
    title: str
    caption: str
    departs: tuple[str, ...]
    claims: tuple[Verdict, ...]
    digest: str

    def keep(self, picture: bytes) -> None:
        """Write the picture and, next to it, the texts as JSON."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        said = {name: value for name, value in asdict(self).items() if name != "path"}
        write(self.path, picture)
        text = json.dumps(said, indent=1, ensure_ascii=False) + "\n"
        write(self.path.with_suffix(".json"), text.encode())

    @classmethod
    def kept(cls, path: Path, digest: str) -> Self | None:
        """A figure drawn before; None if the picture or its texts are missing, or the digest is another."""
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
    """The path of a figure's picture."""
    return folder / f"{key}_fig{number}.png"


def _png(picture: Any) -> bytes:
    """The picture as PNG with 256 colours: a third of the size, and no visible difference."""
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
