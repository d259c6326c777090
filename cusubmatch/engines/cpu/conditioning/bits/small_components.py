"""Counts of components of up to three vertices, from the sizes of their domains and rows."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning.bits.domains import choices, domain, free_set, overlap, row_of
from cusubmatch.engines.cpu.primitives.bitsets import (
    SET_WORDS,
    count_common,
    count_common_3,
    count_common_4,
    intersect,
    unite,
)
from cusubmatch.engines.cpu.primitives.jit import inner, trailing_zeros

__all__ = ["count_small", "most_at_once", "takes_long"]

FEW_PART = 4  # times as many candidates has the middle of a path at the least, where the rows of an end are read first
MOST_ROWS = 64  # that a triangle is counted by: with more its count is worth keeping, and a vertex is matched


@inner
def count_small(s, component):
    """The count of a component of up to three vertices; -1 for a large triangle, and for others."""
    rest = component & (component - 1)
    u = trailing_zeros(component)
    if rest == 0:
        return choices(s, u)
    w, last = trailing_zeros(rest), rest & (rest - 1)
    if last == 0:
        if _adjacent(s, u, w):
            return _count_edge(s, u, w)
        return choices(s, u) * choices(s, w) - overlap(s, u, w)
    if last & (last - 1) == 0:
        return _count_three(s, u, w, trailing_zeros(last))
    return -1


@inner
def _adjacent(s, u, w):
    return (s.neighbours[u] >> w) & 1


@inner
def _in_conflict(s, u, w):
    return (s.conflicts[u] >> w) & 1


@inner
def _count_edge(s, u, w):
    """The count of two adjacent vertices."""
    if choices(s, w) < choices(s, u):
        u, w = w, u
    return _count_edge_from(s, u, u, w)


@inner
def _count_three(s, a, b, d):
    """The count of three vertices; -1 for a large triangle."""
    edges = _adjacent(s, a, b) + _adjacent(s, a, d) + _adjacent(s, b, d)
    if edges == 0:
        return _count_isolated(s, a, b, d)
    if edges == 3:
        if choices(s, b) < choices(s, a):
            a, b = b, a
        if choices(s, d) < choices(s, a):
            a, d = d, a
        few = choices(s, a) * min(choices(s, b), choices(s, d)) <= MOST_ROWS
        return _count_triangle(s, a, b, d) if few else -1
    if edges == 2:
        if not _adjacent(s, a, d):
            a, b = b, a
        elif not _adjacent(s, a, b):
            a, d = d, a
        return _count_path(s, a, b, d)
    if _adjacent(s, a, d):
        b, d = d, b
    elif _adjacent(s, b, d):
        a, d = d, a
    return _count_edge_beside(s, d, a, b)


@inner
def _count_isolated(s, a, b, d):
    """The count of three vertices without an edge, by inclusion and exclusion."""
    of_a, of_b, of_d = choices(s, a), choices(s, b), choices(s, d)
    a_b, a_d, b_d = _in_conflict(s, a, b), _in_conflict(s, a, d), _in_conflict(s, b, d)
    n = of_a * of_b * of_d
    if a_b:
        n -= overlap(s, a, b) * of_d
    if a_d:
        n -= overlap(s, a, d) * of_b
    if b_d:
        n -= overlap(s, b, d) * of_a
    return n + (a_b + a_d + b_d - 1) * count_common_3(domain(s, a), domain(s, b), domain(s, d))


@inner
def _count_edge_beside(s, v, a, b):
    """The count of two adjacent vertices and a third, less the maps in which that has the image of one of them."""
    n = choices(s, v) * _count_edge(s, a, b)
    if _in_conflict(s, v, a):
        n -= _count_edge_from(s, v, a, b)
    if _in_conflict(s, v, b):
        n -= _count_edge_from(s, v, b, a)
    return n


@inner
def _count_edge_from(s, v, a, b):
    """The count of two adjacent vertices, the first of which is mapped to what v may take, too."""
    n = 0
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * a + i] & s.domains[SET_WORDS * v + i]
        while word:
            x = (i << 6) + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            n += count_common(domain(s, b), row_of(s, a, b, x))
    return n


@inner
def _count_path(s, middle, a, b):
    """The count of a vertex and two neighbours, which may be in conflict."""
    n, conflict = 0, _in_conflict(s, a, b)
    near = _near_fewest(s, middle, a, b)
    for i in range(SET_WORDS):
        word = near[i]
        while word:
            x = (i << 6) + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            to_a, to_b = row_of(s, middle, a, x), row_of(s, middle, b, x)
            n += count_common(domain(s, a), to_a) * count_common(domain(s, b), to_b)
            if conflict:
                n -= count_common_4(domain(s, a), to_a, domain(s, b), to_b)
    return n


@inner
def _near_fewest(s, middle, a, b):
    """The candidates of a vertex; where one of two neighbours has far fewer, only those that are adjacent to these."""
    few = a if choices(s, a) < choices(s, b) else b
    if choices(s, few) * FEW_PART > choices(s, middle):
        return domain(s, middle)
    near = free_set(s)
    for i in range(SET_WORDS):
        near[i] = 0
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * few + i]
        while word:
            unite(near, near, row_of(s, few, middle, (i << 6) + np.int64(trailing_zeros(word))))
            word &= word - np.uint64(1)
    intersect(near, near, domain(s, middle))
    return near


@inner
def _count_triangle(s, a, b, d):
    """The count of three adjacent vertices, from the candidates of the first."""
    n = 0
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * a + i]
        while word:
            x = (i << 6) + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            to_b, to_d = row_of(s, a, b, x), row_of(s, a, d, x)
            for j in range(SET_WORDS):
                inside = s.domains[SET_WORDS * b + j] & to_b[j]
                while inside:
                    y = (j << 6) + np.int64(trailing_zeros(inside))
                    inside &= inside - np.uint64(1)
                    n += count_common_3(domain(s, d), to_d, row_of(s, b, d, y))
    return n


@inner
def most_at_once(_s):
    """The number of vertices up to which `count_small` counts a component, but for some."""
    return 3


@inner
def takes_long(_s, _component):
    """Whether the count of a component of few vertices takes longer than to look it up: never."""
    return False
