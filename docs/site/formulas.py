"""Formulas as SVG, drawn when the site is built: to see them takes no script, font or other host."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

TALLEST = 10  # em; a bracket that stretches without end is a fault of the renderer
EM = 16  # pixels in which formulas are measured; on the page they scale with the text


@cache
def formula(latex: str, inline: bool) -> str:
    """A formula as SVG in the colour of the text, with its baseline on that of the line."""
    import ziamath

    drawn = ziamath.Latex(latex, size=EM, color="currentColor", inline=inline)
    svg = drawn.svg()
    opening, rest = svg[: svg.index(">")], svg[svg.index(">") :]
    box = opening[opening.index("viewBox=") :]
    width, height = (float(number) / EM for number in box.split('"')[1].split()[2:])
    if height > TALLEST:
        raise ValueError(f"The formula {latex!r} is drawn {height:.0f} em high; write it in another way.")
    style = f"width:{width:.3f}em;height:{height:.3f}em;vertical-align:{drawn.getyofst() / EM:.3f}em"
    label = escape(" ".join(latex.split()))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="formula" role="img" aria-label="{label}"'
    return f'{head} style="{style}" {box}{rest}'


def inline(translator: Any, node: Any) -> None:
    """Write a formula within a line."""
    translator.body.append(formula(node.astext(), inline=True))
    _skip()


def block(translator: Any, node: Any) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="formula">{formula(node.astext(), inline=False)}</div>')
    _skip()


def _skip() -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("svg", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
