"""Equivalent vertices: pattern vertices that ask for the same and nothing of each other.

As the last two levels, a count takes them together: the pairs of a candidate set are counted from its size.
"""

from __future__ import annotations

from itertools import combinations

__all__ = ["equivalent_pairs", "same_candidates"]


def equivalent_pairs(pattern, constraints, filters):
    """Pairs of vertices with the same neighbours, label, filter and inequalities, which share no edge."""
    size, required = len(pattern), constraints.required
    pairs = set()
    for u, w in combinations(range(size), 2):
        if (w, u) in required or constraints.labels[u] != constraints.labels[w] or filters[u] != filters[w]:
            continue
        others = [x for x in range(size) if x not in (u, w)]
        if all(
            required.get((x, u)) == required.get((x, w))
            and constraints.must_differ(x, u) == constraints.must_differ(x, w)
            for x in others
        ):
            pairs.add(frozenset((u, w)))
    return pairs


def same_candidates(first, last, level):
    """Whether the last two levels draw from one set, under the same conditions but for those on one another.

    `level` is the number of the first of them.
    """
    return (
        first.source == last.source
        and set(last.injectivity_checks) - {level} == set(first.injectivity_checks)
        and (set(last.bounds) == {level} if level in last.bounds else set(last.bounds) == set(first.bounds))
    )
