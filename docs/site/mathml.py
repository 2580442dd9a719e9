"""Formulas as MathML, which browsers draw themselves: no script, no font and no other host is asked."""

from __future__ import annotations

from typing import Any


def formula(latex: str, display: str) -> str:
    """A formula as MathML; display is "inline" or "block"."""
    from latex2mathml.converter import convert

    return str(convert(latex, display=display))


def inline(translator: Any, node: Any) -> None:
    """Write a formula within a line."""
    translator.body.append(formula(node.astext(), "inline"))
    _skip()


def block(translator: Any, node: Any) -> None:
    """Write a formula of its own line."""
    translator.body.append(f'<div class="formula">{formula(node.astext(), "block")}</div>')
    _skip()


def _skip() -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
