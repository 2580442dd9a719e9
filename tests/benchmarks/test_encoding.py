"""The benchmark of encoding runs, and both ways see all rows."""

from benchmarks import encoding


def test_encoding():
    lines = list(encoding.measure(1100, seconds=0.0))
    assert [line[:2] for line in lines] == [[k, r] for k in ("csv", "parquet") for r in ("1000", "10000")]
    assert all(float(line[-1]) > 0 for line in lines)
