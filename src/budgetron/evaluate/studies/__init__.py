"""Studies: many learners on many data sets in one run, their tables and tests."""
