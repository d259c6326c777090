"""How a component is found, and divided: into parts without the conflict that joins them, or by matching a vertex.

The vertex to match has the fewest candidates for each neighbour whose domain that narrows (dom/deg; Bessiere & Regin
1996).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.conditioning.domains import choices, overlap
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.sorted_sets import count_common

__all__ = ["branch_vertex", "component_of", "conflict_to_waive"]

DEGREE_UNIT = 1 << 12  # candidates are divided by degrees in fractions of so much


@inner
def _connected(s, vertices, first):
    """The vertices that pattern edges join to `first`."""
    reached = frontier = first
    while frontier:
        v = trailing_zeros(frontier)
        frontier &= frontier - 1
        new = s.neighbours[v] & vertices & ~reached
        reached |= new
        frontier |= new
    return reached


@inner
def _may_collide(s, u, w):
    """Whether two vertices in conflict can still take the same candidate."""
    touched = s.registers[c.TOUCHED]
    if not (touched >> u) & 1 and not (touched >> w) & 1:
        return True
    if (touched >> u) & 1 and (touched >> w) & 1:
        if s.store[s.end[u] - 1] < s.store[s.begin[w]] or s.store[s.end[w] - 1] < s.store[s.begin[u]]:
            return False
        return count_common(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w]) > 0
    return overlap(s, u, w, -1) > 0


@inner
def component_of(s, vertices):
    """The vertices that edges and possible collisions join to the first one."""
    reached = frontier = vertices & -vertices
    while frontier:
        v = trailing_zeros(frontier)
        frontier &= frontier - 1
        new = s.neighbours[v] & vertices & ~reached
        others = s.conflicts[v] & vertices & ~reached & ~new
        while others:
            w = trailing_zeros(others)
            others &= others - 1
            if _may_collide(s, v, w):
                new |= np.int64(1) << w
        reached |= new
        frontier |= new
    return reached


@jit
def _degree(s, w, component):
    """The neighbours of a vertex in a component."""
    rest, n = s.neighbours[w] & component, 0
    while rest:
        rest &= rest - 1
        n += 1
    return n


@inner
def branch_vertex(s, component):
    """The vertex to match next: the one with the fewest candidates for its degree, or if none is touched the first."""
    touched = component & s.registers[c.TOUCHED]
    rest = touched or component
    best, fewest = -1, np.int64(0)
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        rank = s.priority[w]
        if touched:
            by_degree = (s.end[w] - s.begin[w]) * DEGREE_UNIT // (1 + _degree(s, w, component))
            rank += by_degree * c.MAX_VERTICES
        if best < 0 or rank < fewest:
            best, fewest = w, rank
    return best


@inner
def conflict_to_waive(s, component):
    """The conflict that joins two parts of a component and has the least domains; -1 where a vertex is to be matched.

    That is where edges alone join the component, or where there are more conflicts than candidates of some vertex.
    """
    part = _connected(s, component, component & -component)
    if part == component:
        return -1, -1
    rest, fewest = component & s.registers[c.TOUCHED], np.int64(1) << 62
    while rest:
        u = trailing_zeros(rest)
        rest &= rest - 1
        fewest = min(fewest, s.end[u] - s.begin[u])
    best, best_u, best_w, joining = np.int64(1) << 62, -1, -1, 0
    rest = part
    while rest:
        u = trailing_zeros(rest)
        rest &= rest - 1
        others = s.conflicts[u] & component & ~part
        while others:
            w = trailing_zeros(others)
            others &= others - 1
            if _may_collide(s, u, w):
                joining += 1
                if joining > fewest:
                    return -1, -1
                size = min(choices(s, u), choices(s, w))
                if size < best:
                    best, best_u, best_w = size, u, w
    return best_u, best_w
