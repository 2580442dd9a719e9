"""One BLAS thread per test worker: the matrices here are small."""

import os

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
