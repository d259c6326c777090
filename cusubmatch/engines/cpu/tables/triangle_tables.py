"""Sums over triangles: tables over arcs, and the degenerate walks that counts of five cycles subtract.

A triangle u < v < w is found at its lowest vertex u: the positions of the arcs of u to higher vertices are written to
one number a vertex, and the higher neighbours of each v are looked up there (Chiba & Nishizeki 1985). A kernel works on
the rows begin, ..., end - 1 and returns the row to continue with once it has done `budget` steps; `position` is -1 for
every vertex, before and after. Numbers are modulo 2^64, or modulo `prime` unless that is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, jit
from cusubmatch.engines.cpu.tables.modular import ONE, ZERO, reduced, times
from cusubmatch.engines.cpu.tables.parameters import value_at

__all__ = [
    "degenerate_walks",
    "forget_positions",
    "note_positions",
    "triangles",
    "weighted_degenerate_walks",
    "weighted_triangles",
]

EVERY_ARC, ONE_NUMBER = -1, 0  # masks of the index of an arc in `out`


class Triangle(NamedTuple):
    """Vertices u < v < w, and the arcs between them."""

    u: int
    v: int
    w: int
    uv: int
    vw: int
    uw: int


@inlined
def note_positions(targets, first, last, position):
    """Write the position of each arc first, ..., last - 1 to its target."""
    for e in range(first, last):
        position[targets[e]] = e


@inlined
def forget_positions(targets, first, last, position):
    """Write -1 to the targets of the arcs first, ..., last - 1."""
    for e in range(first, last):
        position[targets[e]] = -1


@inlined
def over_triangles(rows, visit, given, mask, prime, begin, end, budget, position, out):
    """Add to out[uv & mask] what visit(rows, triangle, given, out) returns for every triangle."""
    steps, offsets, targets, upper = 0, rows.offsets, rows.targets, rows.upper
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 2:
            continue
        note_positions(targets, first, last, position)
        for uv in range(first, last):
            v, total = targets[uv], ZERO
            for vw in range(upper[v], offsets[v + 1]):
                w = targets[vw]
                uw = position[w]
                if uw >= 0:
                    total += visit(rows, Triangle(u, v, w, uv, vw, uw), given, out)
            out[uv & mask] = reduced(out[uv & mask] + total, prime)
            steps += offsets[v + 1] - upper[v] + 1
        forget_positions(targets, first, last, position)
        if steps > budget:
            return u + 1
    return end


@inlined
def _count_triangle(_rows, triangle, _given, out):
    out[triangle.vw] += ONE
    out[triangle.uw] += ONE
    return ONE


@jit
def triangles(rows, begin, end, budget, position, out):
    """Add to every arc (x, y), x < y, the triangles that it is in."""
    return over_triangles(rows, _count_triangle, (), EVERY_ARC, ZERO, begin, end, budget, position, out)


@inlined
def _weigh_triangle(_rows, triangle, given, out):
    reverse, a, b, prime = given
    uv, vw, uw = triangle.uv, triangle.vw, triangle.uw
    vu, wv, wu = reverse[uv], reverse[vw], reverse[uw]
    out[vu] += times(value_at(a, vw), value_at(b, wu), prime)
    out[uw] += times(value_at(a, uv), value_at(b, vw), prime)
    out[wu] += times(value_at(a, wv), value_at(b, vu), prime)
    out[vw] += times(value_at(a, vu), value_at(b, uw), prime)
    out[wv] += times(value_at(a, wu), value_at(b, uv), prime)
    return times(value_at(a, uw), value_at(b, wv), prime)


@jit
def weighted_triangles(rows, reverse, values, begin, end, budget, prime, position, out):
    """Add to every arc (x, y) the sum over z of a[x, z] b[z, y], for `values` a and b."""
    given = (reverse, values[0], values[1], prime)
    return over_triangles(rows, _weigh_triangle, given, EVERY_ARC, ZERO, begin, end, budget, position, out)


@inlined
def _count_above(rows, triangle, _given, _out):
    offsets = rows.offsets
    above_u = offsets[triangle.u + 1] - triangle.uw - 1
    above_v = offsets[triangle.v + 1] - triangle.vw - 1
    above_w = offsets[triangle.w + 1] - rows.upper[triangle.w]
    return np.uint64(2 * (above_u + above_v + above_w))


@jit
def degenerate_walks(rows, begin, end, budget, position, out):
    """Add to out[0], twice, every triangle with a neighbour of one of its vertices that is above all three."""
    return over_triangles(rows, _count_above, (), ONE_NUMBER, ZERO, begin, end, budget, position, out)


@inlined
def _weigh_above(rows, triangle, given, _out):
    reverse, second, third, fourth, sums, prime = given
    offsets, total = rows.offsets, ZERO
    uv, vw, uw = triangle.uv, triangle.vw, triangle.uw
    vu, wv, wu = reverse[uv], reverse[vw], reverse[uw]
    for a in range(3):
        if a == 0:
            above = sums[offsets[triangle.u + 1]] - sums[uw + 1]
            ab, bc, ca, ac, cb, ba = uv, vw, wu, uw, wv, vu
        elif a == 1:
            above = sums[offsets[triangle.v + 1]] - sums[vw + 1]
            ab, bc, ca, ac, cb, ba = vw, wu, uv, vu, uw, wv
        else:
            above = sums[offsets[triangle.w + 1]] - sums[rows.upper[triangle.w]]
            ab, bc, ca, ac, cb, ba = wu, uv, vw, wv, vu, uw
        if above != ZERO:
            way = times(times(value_at(second, ab), value_at(third, bc), prime), value_at(fourth, ca), prime)
            way += times(times(value_at(second, ac), value_at(third, cb), prime), value_at(fourth, ba), prime)
            total += times(reduced(above, prime), reduced(way, prime), prime)
    return total


@jit
def weighted_degenerate_walks(rows, reverse, values, sums, begin, end, budget, prime, position, out):
    """Add to out[0] the degenerate walks with weights on their second, third and fourth step.

    `sums` are running sums over the arcs of the weight of going to the vertex above and back.
    """
    given = (reverse, values[0], values[1], values[2], sums, prime)
    return over_triangles(rows, _weigh_above, given, ONE_NUMBER, prime, begin, end, budget, position, out)
