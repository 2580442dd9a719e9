"""The default learner beside its peers on streams: ``make streams``.

Every row is predicted before it is learned. Everybody gets the same rows in the same order. Results are
kept in results.jsonl, one line for each stream and learner: the table can be made without the peers.
"""
