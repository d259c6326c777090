"""How a component is found, and divided: by setting a vertex apart, or by matching one.

A vertex without pattern neighbours in its component is set apart: only conflicts join it to the others. The vertex to
match has the fewest candidates for each neighbour whose domain that narrows (dom/deg; Bessiere & Regin 1996).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.representation import choices, may_collide, overlap
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros

__all__ = ["component_of", "scarcest", "vertex_to_match", "vertex_to_set_apart"]

DEGREE_UNIT = 1 << 12  # candidates are divided by degrees in fractions of so much
LEAF_TERMS = 2  # for each candidate of another vertex, at the most


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
            if may_collide(s, v, w):
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
def vertex_to_set_apart(s, component, fewest):
    """A vertex without neighbours in a component that shares few candidates with those in conflict with it; or -1."""
    best, least, rest = -1, LEAF_TERMS * fewest, component
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
            if met & ~s.apart[u]:
                return -1
            met |= np.int64(1) << u
            n += shared
    return n


@inner
def vertex_to_match(s, component):
    """The vertex with the fewest candidates for its degree, or if none is touched the first."""
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
