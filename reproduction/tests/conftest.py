"""One BLAS thread per test worker, since matrices here are small; figures without a screen."""

import os

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402


@pytest.fixture
def numbered(monkeypatch, tmp_path):
    """A data set whose rows contain their own number; the label is odd or even."""
    lines = [f"{i % 2} 1:{i + 1} 2:1" for i in range(500)]
    (tmp_path / "numbered.svm").write_text("\n".join(lines))
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
