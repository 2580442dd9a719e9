"""Which learner each printed name stands for: one module for each paper, one line for each name."""
