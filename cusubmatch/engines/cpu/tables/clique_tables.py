"""Tables of cliques of four vertices over arcs: each clique is found at its lowest vertex.

Kernel conventions are those of `triangle_tables`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, jit
from cusubmatch.engines.cpu.tables.modular import ONE, times
from cusubmatch.engines.cpu.tables.parameters import value_at
from cusubmatch.engines.cpu.tables.triangle_tables import forget_positions, note_positions

__all__ = ["CliqueScratch", "cliques"]


class CliqueScratch(NamedTuple):
    """Memory of a thread: positions of the arcs of u and of v at their targets, and arcs of v to common neighbours."""

    of_u: Any
    of_v: Any
    common: Any


@inlined
def _add_all_ways(arcs, values, prime, out):
    """Add one clique to its twelve arcs: `arcs` has the arc between any two of its vertices."""
    a, b, c, d, e = values
    for p in range(4):
        for q in range(4):
            if p == q:
                continue
            for r in range(4):
                if r in (p, q):
                    continue
                s = 6 - p - q - r
                way = times(value_at(a, arcs[p, r]), value_at(b, arcs[p, s]), prime)
                way = times(way, value_at(c, arcs[r, s]), prime)
                way = times(way, value_at(d, arcs[r, q]), prime)
                out[arcs[p, q]] += times(way, value_at(e, arcs[s, q]), prime)


@jit
def cliques(rows, reverse, plain, values, begin, end, budget, prime, scratch, out):
    """Add to every arc (x, y) the sum over w, z of a[x, w] b[x, z] c[w, z] d[w, y] e[z, y], for five `values`.

    If `plain`, all values are 1 and only the arcs (x, y), x < y, are added to.
    """
    steps, offsets, targets, upper = 0, rows.offsets, rows.targets, rows.upper
    of_u, of_v, common = scratch.of_u, scratch.of_v, scratch.common
    arcs = np.zeros((4, 4), np.int64)
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 3:
            continue
        note_positions(targets, first, last, of_u)
        for uv in range(first, last):
            v, size = targets[uv], 0
            for vw in range(upper[v], offsets[v + 1]):
                if of_u[targets[vw]] >= 0:
                    of_v[targets[vw]] = vw
                    common[size] = vw
                    size += 1
            for k in range(size):
                vw = common[k]
                w = targets[vw]
                uw = of_u[w]
                for wz in range(upper[w], offsets[w + 1]):
                    z = targets[wz]
                    if of_v[z] < 0:
                        continue
                    if plain:
                        for arc in (uv, uw, of_u[z], vw, of_v[z], wz):
                            out[arc] += ONE + ONE
                        continue
                    arcs[0, 1], arcs[0, 2], arcs[0, 3] = uv, uw, of_u[z]
                    arcs[1, 2], arcs[1, 3], arcs[2, 3] = vw, of_v[z], wz
                    for p in range(4):
                        for q in range(p):
                            arcs[p, q] = reverse[arcs[q, p]]
                    _add_all_ways(arcs, values, prime, out)
                steps += offsets[w + 1] - upper[w] + 1
            for k in range(size):
                of_v[targets[common[k]]] = -1
            steps += offsets[v + 1] - upper[v] + 1
        forget_positions(targets, first, last, of_u)
        if steps > budget:
            return u + 1
    return end
