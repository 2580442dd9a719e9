"""Merge models that learned different rows into one, as if it had learned all of them.

``merge`` is the entry, in ``models``. Each module merges one kind of part, from its saved fields:
``features`` weights, with ``gaussian`` for those that have a covariance, ``support`` support vectors,
``scaling`` the statistics of columns and targets, ``stacks`` experts and their filter. ``ways`` chooses
among them and says what each promises; ``labels`` brings outputs into the same order; ``parts`` is what all
of them take.
"""
