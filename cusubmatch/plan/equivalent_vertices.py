"""Twins: pattern vertices that ask for the same and nothing of each other, so that a count takes two at once."""

from __future__ import annotations

__all__ = ["interchangeable", "same_set"]


def interchangeable(pattern, constraints, masks):
    """Pairs of vertices that ask for the same and nothing of each other."""
    size, found = len(pattern), set()
    required = constraints.required
    for u in range(size):
        for w in range(u):
            if (u, w) in required or constraints.labels[u] != constraints.labels[w] or masks[u] != masks[w]:
                continue
            others = [x for x in range(size) if x not in (u, w)]
            same = all(required.get((x, u)) == required.get((x, w)) for x in others)
            alike = same and all(
                ((min(x, u), max(x, u)) in constraints.distinct) == ((min(x, w), max(x, w)) in constraints.distinct)
                for x in others
            )
            if alike:
                found.add(frozenset((u, w)))
    return found


def same_set(first, last, level):
    """Whether the last two levels draw from one set under the same conditions but for one another."""
    return (
        first.source == last.source
        and set(last.injectivity_checks) - {level} == set(first.injectivity_checks)
        and (set(last.bounds) == {level} if level in last.bounds else set(last.bounds) == set(first.bounds))
    )
