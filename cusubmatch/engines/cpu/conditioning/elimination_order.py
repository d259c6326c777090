"""The order in which vertices are branched on: an elimination order, last vertex first.

Eliminating a vertex joins its neighbours; those form a bag of a tree decomposition, and counting takes about as many
steps as the bags have maps. The next vertex to eliminate is one with the smallest bag, by the product of the numbers of
candidates (min-weight; Bodlaender & Koster 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros

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
    logs = np.array([math.log2(size + 1) for size in sizes])
    return _eliminated(np.array(neighbours, np.uint32), logs)[::-1].tolist()


@jit
def _eliminated(rows, logs):
    """The vertices as they are eliminated; writes over `rows`."""
    size = len(logs)
    bags, order, left = np.empty(size), np.empty(size, np.int64), np.ones(size, np.bool_)
    for v in range(size):
        bags[v] = _bag(rows, logs, v)
    for step in range(size):
        best = -1
        for v in range(size):
            if left[v] and (best < 0 or bags[v] < bags[best] or (bags[v] == bags[best] and logs[v] > logs[best])):
                best = v
        order[step], left[best] = best, False
        around = rows[best]
        rest = around
        while rest:
            u = trailing_zeros(rest)
            rows[u] = (rows[u] | around) & ~((np.uint32(1) << np.uint32(u)) | (np.uint32(1) << np.uint32(best)))
            bags[u] = _bag(rows, logs, u)
            rest &= rest - np.uint32(1)
    return order


@inner
def _bag(rows, logs, v):
    """The logarithm of the maps of a vertex and those that it is joined to."""
    total, rest = 0.0, rows[v]
    while rest:
        total += logs[trailing_zeros(rest)]
        rest &= rest - np.uint32(1)
    return logs[v] + total
