"""The default learner beside its peers on whole streams, up to 581,012 rows: part of ``make streams``.

Every row is predicted before it is learned. Everybody gets the same rows in the same order. Results are
kept in results.jsonl, one line for each stream and learner: page and pictures need no peers.
"""
