"""Merge models that learned different rows into one, as if it had learned all of them.

``merge`` is the entry, in ``models``. Each module merges one kind of part, from its saved fields:
``weights`` those of explicit features, with ``gaussian`` if they have a covariance, ``union`` support
vectors, ``scaling`` the statistics of columns and targets, ``stacks`` experts and their filter.
``promises`` chooses among them and says what each promises; ``label_order`` brings outputs into the same
order; ``fields`` has the fields of one part of several models, which say themselves how they are merged.
"""
