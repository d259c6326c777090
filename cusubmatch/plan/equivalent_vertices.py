"""Equivalent vertices: pattern vertices that ask for the same of all others.

As the last two levels, a count takes two of them together, if they ask nothing of each other: the pairs of a candidate
set are counted from its size. And of the ways to exchange their images, one is enough to be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from cusubmatch.plan.constraints import Constraints

__all__ = ["equivalent_pairs", "interchangeable_classes", "same_candidates"]


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


def interchangeable_classes(constraints: Constraints) -> list[Sequence[int]]:
    """Classes of vertices whose images differ, and may be exchanged.

    Equal relations lead to them, and from them, and they must differ from the same others. Relations must tell the
    labels of both ends, as those of a candidate graph do. Vertices with one neighbour are left out, and so are all
    where a relation is forbidden.
    """
    if constraints.forbidden:
        return []
    required, neighbours = constraints.required, constraints.neighbours_as_bits()
    apart: dict[tuple[int, int], list[int]] = {}  # those that have the same neighbours, and differ,
    adjacent: dict[tuple[int, int], list[int]] = {}  # or would have, if each were its own
    for v, (near, conflicts) in enumerate(zip(neighbours, constraints.conflicts_as_bits(neighbours), strict=True)):
        if near & (near - 1):
            apart.setdefault((near, conflicts | 1 << v), []).append(v)
        adjacent.setdefault((near | 1 << v, conflicts), []).append(v)

    def relations_of(v):
        return [(x, required[v, x], required[x, v]) for x in range(len(neighbours)) if neighbours[v] >> x & 1]

    classes: dict[tuple, list[int]] = {}
    for alike, several in apart.items():
        for v in several if len(several) > 1 else ():
            classes.setdefault((alike, frozenset(relations_of(v))), []).append(v)
    for alike, several in adjacent.items():
        for v in several:
            for own in {required[v, w] for w in several if w != v and required[v, w] == required[w, v]}:
                classes.setdefault((alike, frozenset([*relations_of(v), (v, own, own)])), []).append(v)
    return [several for several in classes.values() if len(several) > 1]


def same_candidates(first, last, level):
    """Whether the last two levels draw from one set, under the same conditions but for those on one another.

    `level` is the number of the first of them.
    """
    return (
        first.source == last.source
        and set(last.injectivity_checks) - {level} == set(first.injectivity_checks)
        and (set(last.bounds) == {level} if level in last.bounds else set(last.bounds) == set(first.bounds))
    )
