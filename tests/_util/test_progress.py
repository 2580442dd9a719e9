"""The progress bar."""

import io
import os

import pytest

from budgetron._util.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_on_a_terminal_and_erased():
    file = Terminal()
    with Progress(10, "work", file, patience=0) as progress:
        progress.advance(4)
        assert "work [" in file.getvalue()
        assert "40%" in file.getvalue()
    assert file.getvalue().endswith("\r\x1b[K")


def test_no_bar_where_nobody_looks_or_nothing_takes_long():
    for file, patience in ((io.StringIO(), 0), (Terminal(), 60)):
        with Progress(10, "work", file, patience=patience) as progress:
            progress.advance(4)
        assert file.getvalue() == ""


def test_a_bar_without_a_total_counts():
    file = Terminal()
    with Progress(None, "rows", file, patience=0) as progress:
        progress.advance(12_345)
        assert "rows 12,345" in file.getvalue()


def test_a_bar_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    file = Terminal()
    with Progress(10, "a long label of work", file, patience=0) as progress:
        progress.advance(4)
        [line] = file.getvalue().replace("\x1b[K", "").split("\r")[1:]
    assert 0 < len(line) < 20


def test_a_terminal_that_went_away_does_not_end_the_run():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as file:
        file.isatty = lambda: True
        with Progress(10, "work", file, patience=0) as progress:
            progress.advance(4)
            progress.advance(4)
        assert progress.done == 8
        with pytest.raises(OSError, match="Broken pipe"):
            file.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)


def test_a_bar_inside_another_is_not_drawn():
    outer, inner = Terminal(), Terminal()
    with Progress(10, "outer", outer, patience=0) as progress:
        with Progress(5, "inner", inner, patience=0) as other:
            other.advance(2)
        progress.advance()
    assert inner.getvalue() == ""
    assert "outer" in outer.getvalue()
    with Progress(5, "later", inner, patience=0) as other:
        other.advance()
    assert "later" in inner.getvalue()
