"""A part of a product of parameters in which every pair of values occurs."""

from itertools import combinations


def covering(rows):
    """The places of rows that together hold every pair of values that any row holds.

    Each row is a dict from the name of a parameter to a number that stands for its value. Rows that bring
    many new pairs are taken first, so that few are taken.

    >>> product = [{"a": a, "b": b, "c": c} for a in range(2) for b in range(2) for c in range(2)]
    >>> [product[place] for place in sorted(covering(product))]
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'a': 0, 'b': 0, 'c': 0}, {'a': 0, 'b': 1, 'c': 1},
     {'a': 1, 'b': 0, 'c': 1}, {'a': 1, 'b': 1, 'c': 0}]
    """
    pairs = [set(combinations(sorted(row.items()), 2)) for row in rows]
    seen, taken = set(), set()
    for least in range(max(map(len, pairs), default=0), 0, -1):
        for place, own in enumerate(pairs):
            if len(own - seen) >= least:
                seen |= own
                taken.add(place)
    return taken
