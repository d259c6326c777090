"""Counts of components of up to five vertices, from the sizes of their domains and rows.

Those are counted whose edges join two or three vertices: the others are *beside* these (`beside.py`). So are two edges,
and up to four vertices without an edge.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning.bits.beside import (
    count_edge,
    count_edge_and_others,
    count_path_and_others,
    count_triangle_and_other,
)
from cusubmatch.engines.cpu.conditioning.bits.domains import are_adjacent, choices, domain, in_conflict, overlap, row_of
from cusubmatch.engines.cpu.primitives.bitsets import SET_WORDS, count_common
from cusubmatch.engines.cpu.primitives.jit import inner, popcount, trailing_zeros

__all__ = ["count_small", "most_at_once", "takes_long"]

MOST_VERTICES, MOST_ISOLATED = 5, 4


@inner
def count_small(s, component):
    """The count of a component of few vertices; -1 for others, and those that take long."""
    vertices = popcount(np.uint64(component))
    if vertices == 1:
        return choices(s, trailing_zeros(component))
    if vertices > MOST_VERTICES:
        return -1
    isolated, rest = np.int64(0), component
    while rest:
        v = trailing_zeros(rest)
        rest &= rest - 1
        if s.neighbours[v] & component == 0:
            isolated |= np.int64(1) << v
    joined = component & ~isolated
    a, rest = trailing_zeros(joined or component), joined & (joined - 1)
    b, rest = trailing_zeros(rest), rest & (rest - 1)
    if joined == 0:
        return _count_isolated(s, component) if vertices <= MOST_ISOLATED else -1
    if rest == 0:
        return count_edge_and_others(s, a, b, isolated) if isolated else count_edge(s, a, b)
    d = trailing_zeros(rest)
    rest &= rest - 1
    if rest:
        are_pairs = isolated == 0 and _are_pairs(s, joined)
        return _count_two_edges(s, a, b, d, trailing_zeros(rest)) if are_pairs else -1
    if not are_adjacent(s, a, b):
        return count_path_and_others(s, d, a, b, isolated)
    if not are_adjacent(s, a, d):
        return count_path_and_others(s, b, a, d, isolated)
    if not are_adjacent(s, b, d):
        return count_path_and_others(s, a, b, d, isolated)
    return count_triangle_and_other(s, a, b, d, isolated)


@inner
def _are_pairs(s, vertices):
    """Whether vertices, each of which has neighbours among them, have one each."""
    rest = vertices
    while rest:
        near = s.neighbours[trailing_zeros(rest)] & vertices
        rest &= rest - 1
        if near & (near - 1):
            return False
    return True


@inner
def _count_two_edges(s, a, b, d, e):
    """The count of four vertices with two edges: all pairs of maps of these, less those with an image in common.

    Such maps have one image in common, or both.
    """
    if not are_adjacent(s, a, b):
        b, d = d, b
        if not are_adjacent(s, a, b):
            b, e = e, b
    n = count_edge(s, a, b) * count_edge(s, d, e)
    n -= _count_met(s, a, b, d, e, in_conflict(s, b, e)) + _count_met(s, a, b, e, d, in_conflict(s, b, d))
    return n - _count_met(s, b, a, d, e, 0) - _count_met(s, b, a, e, d, 0)


@inner
def _count_met(s, u, v, w, x, once):
    """The maps of two edges, u v and w x, that have u and w at one image; if `once`, not those with v and x at one."""
    n = 0
    if not in_conflict(s, u, w):
        return n
    set_v, set_x = domain(s, v), domain(s, x)
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * u + i] & s.domains[SET_WORDS * w + i]
        while word:
            image = (i << 6) + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            to_v, to_x = row_of(s, u, v, image), row_of(s, w, x, image)
            n += count_common((set_v, to_v)) * count_common((set_x, to_x))
            if once:
                n -= count_common((set_v, to_v, set_x, to_x))
    return n


@inner
def _count_isolated(s, component):
    """The count of up to four vertices without an edge, by inclusion and exclusion.

    That is the sum over their partitions into sets with one image. Such a set counts with the coefficient of the linear
    term of the chromatic polynomial of its conflicts (Whitney 1932).
    """
    a, rest = trailing_zeros(component), component & (component - 1)
    b, rest = trailing_zeros(rest), rest & (rest - 1)
    of_a, of_b, ab = choices(s, a), choices(s, b), overlap(s, a, b)
    if rest == 0:
        return of_a * of_b - ab
    d, rest = trailing_zeros(rest), rest & (rest - 1)
    set_a, set_b, set_d, of_d = domain(s, a), domain(s, b), domain(s, d), choices(s, d)
    a_b, a_d, b_d = in_conflict(s, a, b), in_conflict(s, a, d), in_conflict(s, b, d)
    ab, ad, bd = a_b * ab, a_d * overlap(s, a, d), b_d * overlap(s, b, d)
    n = of_a * of_b * of_d - ab * of_d - ad * of_b - bd * of_a
    if a_b + a_d + b_d > 1:
        n += (a_b + a_d + b_d - 1) * count_common((set_a, set_b, set_d))
    if rest == 0:
        return n
    v = trailing_zeros(rest)
    set_v, of_v = domain(s, v), choices(s, v)
    a_v, b_v, d_v = in_conflict(s, a, v), in_conflict(s, b, v), in_conflict(s, d, v)
    av, bv, dv = a_v * overlap(s, a, v), b_v * overlap(s, b, v), d_v * overlap(s, d, v)
    n = n * of_v + ab * dv + ad * bv + bd * av - av * of_b * of_d - bv * of_a * of_d - dv * of_a * of_b
    if a_v + b_v + a_b > 1:
        n += (a_v + b_v + a_b - 1) * count_common((set_a, set_b, set_v)) * of_d
    if a_v + d_v + a_d > 1:
        n += (a_v + d_v + a_d - 1) * count_common((set_a, set_d, set_v)) * of_b
    if b_v + d_v + b_d > 1:
        n += (b_v + d_v + b_d - 1) * count_common((set_b, set_d, set_v)) * of_a
    conflicts = a_b + a_d + b_d + a_v + b_v + d_v
    is_cycle = conflicts == 4 and a_b + a_d + a_v == 2 and a_b + b_d + b_v == 2 and a_d + b_d + d_v == 2
    coefficient = conflicts - 2 + is_cycle if conflicts < 5 else 2 * conflicts - 6
    return n - coefficient * count_common((set_a, set_b, set_d, set_v))


@inner
def most_at_once(_s):
    """The number of vertices up to which `count_small` counts a component, but for some."""
    return 4


@inner
def takes_long(_s, _component):
    """Whether the count of a component of few vertices takes longer than to look it up: never."""
    return False
