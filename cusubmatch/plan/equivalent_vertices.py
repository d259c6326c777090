"""Equivalent vertices: pattern vertices that ask for the same and nothing of each other.

As the last two levels, a count takes them together: the pairs of a candidate set are counted from its size.
"""

from __future__ import annotations

from itertools import combinations

__all__ = ["equivalent_pairs", "same_candidates"]


def equivalent_pairs(constraints, filters):
    """Pairs of vertices with the same neighbours, label, filter and inequalities, which share no edge."""
    required, labels = constraints.required, constraints.labels
    asked = [{} for _ in labels]  # by neighbour, the relations that it asks for
    for (x, u), relations in required.items():
        asked[u][x] = relations
    alike: dict[tuple, list[int]] = {}
    for u, relations in enumerate(asked):
        alike.setdefault((labels[u], filters[u], frozenset(relations.items())), []).append(u)
    classes = [several for several in alike.values() if len(several) > 1]
    if not classes:
        return set()
    differs: list[set[int]] = [set() for _ in labels]
    for u, w in constraints.distinct:
        differs[u].add(w)
        differs[w].add(u)
    with_itself = [{u, *others} for u, others in enumerate(differs)]
    pairs = set()
    for several in classes:
        for u, w in combinations(several, 2):
            sets = with_itself if w in differs[u] else differs
            if (w, u) not in required and sets[u] == sets[w]:
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
