"""The order in which vertices are branched on: an elimination order, last vertex first.

Eliminating a vertex joins its neighbours; those form a bag of a tree decomposition, and counting takes about as many
steps as the bags have maps. The next vertex to eliminate is one with the smallest bag, by the product of the numbers of
candidates (min-weight; Bodlaender & Koster 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["branching_order"]


def branching_order(neighbours: Sequence[int], sizes: Sequence[float]) -> list[int]:
    """The vertices, the first to branch on first.

    Parameters
    ----------
    neighbours : sequence of int
        Of each vertex, as bits.
    sizes : sequence of float
        Candidates of each vertex.
    """
    rows, left = list(neighbours), set(range(len(neighbours)))
    logs = [math.log2(size + 1) for size in sizes]
    bags = [_bag(rows, logs, v) for v in left]
    order: list[int] = []
    while left:
        best = min(left, key=lambda v: (bags[v], -logs[v], v))
        order.append(best)
        left.discard(best)
        around = _members(rows[best])
        for u in around:
            rows[u] = (rows[u] | rows[best]) & ~(1 << u) & ~(1 << best)
            bags[u] = _bag(rows, logs, u)
    return order[::-1]


def _members(bits: int) -> list[int]:
    members = []
    while bits:
        members.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return members


def _bag(rows: Sequence[int], logs: Sequence[float], v: int) -> float:
    return logs[v] + sum(logs[u] for u in _members(rows[v]))
