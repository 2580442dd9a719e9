"""Speed beside peers, and the table and pictures of the README: ``python -m benchmarks.NAME``."""
