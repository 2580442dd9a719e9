"""Speed beside peers, and the table and pictures of the README. Each script runs as ``python -m benchmarks.NAME``."""
