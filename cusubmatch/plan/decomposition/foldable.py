"""Whether a pattern can be folded into tables at all, found from its structure alone before tables are looked for.

The eliminations of `elimination` are applied to the bare graph while one applies, whatever it would cost. Each of them
leaves the others possible, so one sequence says what any would.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from cusubmatch.pattern.connectivity import reachable_from

__all__ = ["is_foldable"]

CYCLE_LENGTHS = (4, 5)  # that there is a kernel for


def is_foldable(neighbours: Sequence[Sequence[int]]) -> bool:
    """Whether eliminations reduce a connected graph to one vertex, or to a shape that there is a term for."""
    near = {v: set(adjacent) for v, adjacent in enumerate(neighbours)}
    while len(near) > 1:
        dropped = _of_low_degree(near) or _tree_below_an_apex(near)
        if not dropped:
            return _is_cycle(near) or _is_pairs(near)
        for v in dropped:
            for w in near.pop(v):
                if w in near:
                    near[w].discard(v)
    return True


def _of_low_degree(near):
    """Vertices that are a leaf, or one or two between two adjacent ones."""
    for v, adjacent in near.items():
        if len(adjacent) == 1:
            return {v}
        if len(adjacent) == 2:
            x, y = adjacent
            if y in near[x]:
                return {v}
        if len(adjacent) not in (2, 3):
            continue
        for w in adjacent:
            if len(near[w]) != len(adjacent):
                continue
            ends = (adjacent | near[w]) - {v, w}
            if len(ends) == 2:
                x, y = ends
                if y in near[x]:
                    return {v, w}
    return set()


def _tree_below_an_apex(near):
    """A component of the graph without a vertex, if it is a tree of two vertices or more."""
    for x, adjacent in near.items():
        rest = near.keys() - {x}
        while rest:
            inside = reachable_from(min(rest), near, rest)
            rest = rest - inside
            arcs = sum(len(near[v] & inside) for v in inside)
            if len(inside) > 1 and len(adjacent & inside) > 1 and arcs == 2 * (len(inside) - 1):
                return inside
    return set()


def _is_cycle(near):
    return len(near) in CYCLE_LENGTHS and all(len(adjacent) == 2 for adjacent in near.values())


def _is_pairs(near):
    """Whether all vertices but two are adjacent to both of these, and at most in twos."""
    ends = [v for v, adjacent in near.items() if len(adjacent) == len(near) - 2]
    return any(y not in near[x] and all(len(near[v] - {x, y}) <= 1 for v in near[x]) for x, y in combinations(ends, 2))
