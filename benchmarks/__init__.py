"""Benchmarks against other libraries, and the table and pictures of the README. Run ``benchmarks.NAME``."""
