"""Which labelled patterns variable elimination on the candidate graph suits.

Vertices with at most two neighbours are eliminated, which joins these two (series-parallel reduction; what is left of a
graph of treewidth 2 is nothing). To eliminate more takes tables over three vertices or more, which pays where few are
left; elsewhere it may still take less than any other way, which nobody knows beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable

from cusubmatch.pattern.connectivity import neighbour_sets

__all__ = ["irreducible_vertices", "suits_elimination"]

MAX_LEFT = 4  # vertices


def suits_elimination(size: int, pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether a pattern of so many vertices, and these pairs of neighbours, is worth it."""
    return irreducible_vertices(size, pairs) <= MAX_LEFT


def irreducible_vertices(size: int, pairs: Iterable[tuple[int, int]]) -> int:
    """The vertices that are left when those with at most two neighbours are eliminated."""
    neighbours = neighbour_sets(size, pairs)
    left = set(range(size))
    small = [v for v in left if len(neighbours[v]) <= 2]
    while small:
        v = small.pop()
        if v not in left or len(neighbours[v]) > 2:
            continue
        left.discard(v)
        for u in neighbours[v]:
            neighbours[u] |= neighbours[v] - {u}
            neighbours[u].discard(v)
            small.append(u)
    return len(left)
