"""Measurements, and what draws and writes the tables of the pages. README.md has a line for each script."""
