"""Fuzzers: ``python -m fuzz.NAME --minutes 10``."""
