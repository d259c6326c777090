"""How a component is found, and divided: by setting a vertex apart, by waiving a conflict, or by matching a vertex.

A vertex without pattern neighbours in its component is set apart where it shares few candidates, or where the others
are counted at once; a conflict between two parts without a pattern edge is waived where there are few. The vertex to
match has the fewest candidates for each neighbour whose domain that narrows (dom/deg; Bessiere & Regin 1996).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.representation import choices, may_collide, most_at_once, most_waived, overlap
from cusubmatch.engines.cpu.primitives.jit import inner, jit, popcount, trailing_zeros

__all__ = ["MATCH", "SET_APART", "WAIVE", "component_of", "division", "scarcest"]

MATCH, WAIVE, SET_APART = range(3)  # ways to count a component
DEGREE_UNIT = 1 << 12  # candidates are divided by degrees in fractions of so much
MANY = np.int64(1) << 62
LEAF_TERMS = 2  # candidates that a vertex set apart shares, for each candidate of another one, at the most


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
def component_of(s, vertices):
    """The vertices that edges and possible collisions join to the first one."""
    reached = frontier = _connected(s, vertices, vertices & -vertices)
    while frontier and reached != vertices:
        v = trailing_zeros(frontier)
        frontier &= frontier - 1
        others = s.conflicts[v] & vertices & ~reached
        while others:
            w = trailing_zeros(others)
            others &= others - 1
            if may_collide(s, v, w):
                new = _connected(s, vertices, np.int64(1) << w)
                reached |= new
                frontier |= new
                others &= ~new
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
def _branch_vertex(s, component):
    """The vertex to match next: the one with the fewest candidates for its degree, or if none is touched the first."""
    touched = component & s.registers[c.TOUCHED]
    rest = touched or component
    best, fewest = -1, np.int64(0)
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        rank = s.priority[w]
        if touched:
            by_degree = choices(s, w) * DEGREE_UNIT // (1 + _degree(s, w, component))
            rank += by_degree * c.MAX_VERTICES
        if best < 0 or rank < fewest:
            best, fewest = w, rank
    return best


@inner
def _conflict_to_waive(s, component, fewest):
    """The conflict that joins two parts of a component and shares the fewest candidates; -1 if there is none to waive.

    That is where edges alone join the component, or where there are too many such conflicts for the `fewest` candidates
    of a vertex: each doubles the terms.
    """
    part = _connected(s, component, component & -component)
    best, best_u, best_w, joining, most = np.int64(1) << 62, -1, -1, 0, most_waived(s, fewest)
    rest = part if part != component else np.int64(0)
    while rest:
        u = trailing_zeros(rest)
        rest &= rest - 1
        others = s.conflicts[u] & component & ~part
        while others:
            w = trailing_zeros(others)
            others &= others - 1
            shared = overlap(s, u, w)
            joining += 1 if shared else 0
            if joining > most:
                return -1, -1
            if 0 < shared < best:
                best, best_u, best_w = shared, u, w
    return best_u, best_w


@inner
def scarcest(s, component):
    """The touched vertex with the fewest candidates, and their number; -1 and many where none is touched."""
    rest, best, fewest = component & s.registers[c.TOUCHED], -1, np.int64(1) << 62
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        size = choices(s, w)
        if size < fewest:
            best, fewest = w, size
    return best, fewest


@inner
def _leaf_to_set_apart(s, component, fewest):
    """A vertex without neighbours in a component that shares few candidates with those in conflict with it; or -1.

    Where all others are counted at once it may share many.
    """
    best, least, rest = -1, LEAF_TERMS * fewest, component
    if popcount(np.uint64(component)) <= 1 + most_at_once(s):
        least = MANY
    while rest:
        v = trailing_zeros(rest)
        rest &= rest - 1
        if s.neighbours[v] & component == 0:
            terms = _shared_candidates(s, v, component, least)
            if 0 <= terms <= least:
                best, least = v, terms
    return best


@inner
def _shared_candidates(s, v, component, most):
    """The candidates that v shares with those in conflict with it; -1 where two of these need not differ."""
    others, met, n = s.conflicts[v] & component, np.int64(0), 0
    while others and n <= most:
        u = trailing_zeros(others)
        others &= others - 1
        shared = overlap(s, u, v)
        if shared:
            if met & ~(s.conflicts[u] | s.neighbours[u]):
                return -1
            met |= np.int64(1) << u
            n += shared
    return n


@inner
def division(s, component, fewest):
    """How a component is counted: the way, and the vertices that are matched to candidates, those that w may take, too.

    MATCH: a vertex is matched; there is no w. WAIVE: the maps without the conflict of w and another, less those that
    send both to one image. SET_APART: the maps of the others times the candidates of w, less those that send one of
    them to a candidate of w. `fewest` candidates has the vertex that has the fewest.
    """
    w = _leaf_to_set_apart(s, component, fewest)
    if w >= 0:
        return SET_APART, s.conflicts[w] & component, w
    u, w = _conflict_to_waive(s, component, fewest)
    if u >= 0:
        return WAIVE, np.int64(1) << u, w
    return MATCH, np.int64(1) << _branch_vertex(s, component), -1
