"""Sums over triangles: tables over arcs, and the degenerate walks that counts of five cycles subtract.

A triangle u < v < w is found at its lowest edge (u, v), by a few lanes that search the longer of the lists of higher
neighbours for the elements of the shorter. It has three arcs uv, vw, uw, and their reverse arcs.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import types, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.tables.parameters import ARC_BATCH, ROWS, VALUES, make_value_at

__all__ = [
    "Triangle",
    "make_degenerate",
    "make_over_triangles",
    "make_sides",
    "make_third",
    "make_triangles",
    "make_weighted_degenerate",
    "make_weighted_triangles",
    "signatures",
]

U, L, S = np.uint32, np.uint64, np.int64


class Triangle(NamedTuple):
    """Vertices u < v < w, and the arcs between them."""

    u: Any
    v: Any
    w: Any
    uv: Any
    vw: Any
    uw: Any


@functools.cache
def make_sides(target: Target) -> Any:
    """A device function: where the higher neighbours of both ends of an edge begin and end, the shorter list first.

    (rows, e, u, v) -> begin, end, begin, end, and whether the first list is that of v. Targets before that of e in the
    row of u are no third vertices.
    """

    @target.device
    def sides(rows, e, u, v):
        begin, end = S(rows.upper[v]), S(rows.offsets[v + 1])
        other, other_end = S(e + 1), S(rows.offsets[u + 1])
        of_v = end - begin <= other_end - other
        if not of_v:
            begin, end, other, other_end = other, other_end, begin, end
        return begin, end, other, other_end, of_v

    return sides


@functools.cache
def make_third(target: Target) -> Any:
    """A device function (targets, begin, end, w): the position of w in the sorted list targets[begin:end], or -1."""

    @target.device
    def third(targets, begin, end, w):
        low, high = begin, end
        while low < high:
            middle = (low + high) >> 1
            if targets[middle] < w:
                low = middle + 1
            else:
                high = middle
        if low < end and targets[low] == w:
            return low
        return S(-1)

    return third


@functools.cache
def _found_total(target: Target) -> Any:
    """For `make_over_triangles`: the sum of an edge is added to the sum of the lane."""

    @target.device
    def finish(e, total, given):
        return total

    return finish


def make_over_triangles(target: Target, threads: int, lanes: int, visit: Any, result_of: Any = None) -> Any:
    """A device function that visits the triangles of a batch of edges, each of which a group of lanes shares.

    (rows, batch, given) -> uint64, the sum of what a lane's calls of finish(uv, total, given) return, where `total` is
    the sum of visit(rows, triangle, given) at one edge.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    sides, third, result_of = make_sides(target), make_third(target), result_of or _found_total(target)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def at_edge(rows, e, u, lane, given):
        v, total = S(rows.targets[e]), L(0)
        begin, end, other, other_end, of_v = sides(rows, e, u, v)
        f = begin + S(lane)
        while f < end:
            w = S(rows.targets[f])
            g = third(rows.targets, other, other_end, w)
            if g >= 0:
                triangle = Triangle(u, v, w, e, f if of_v else g, g if of_v else f)
                total = L(total + visit(rows, triangle, given))
            f += LANES
        return total

    @target.device
    def over_triangles(rows, batch, given):
        thread, total = U(U(warp_of() * U(WARP)) + lane_of()), L(0)
        k = S(batch.start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT)))
        while k < batch.stop:
            e = batch.arcs[k]
            found = at_edge(rows, e, S(batch.sources[k]), U(thread & U(LANES - 1)), given)
            total = L(total + result_of(e, found, given))
            k += S(cuda.gridDim.x) * GROUPS
        return total

    return over_triangles


@kernel_factory
def make_triangles(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that adds to each arc (x, y), x < y, the triangles that it is in."""
    cuda = target.cuda

    @target.device
    def visit(rows, triangle, out):
        cuda.atomic.add(out, triangle.vw, L(1))
        cuda.atomic.add(out, triangle.uw, L(1))
        return L(1)

    @target.device
    def finish(e, total, out):
        if total != L(0):
            cuda.atomic.add(out, e, total)
        return L(0)

    over_triangles = make_over_triangles(target, threads, lanes, visit, finish)

    @target.kernel
    def triangles(rows, batch, out):
        over_triangles(rows, batch, out)

    return triangles


@kernel_factory
def make_weighted_triangles(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that adds to each arc (x, y) the sum over z of a[x, z] b[z, y], for `values` a and b."""
    cuda, value_at, (times, _) = target.cuda, make_value_at(target), residue_functions(target)

    @target.device
    def visit(rows, triangle, given):
        a, b, prime, out = given
        uv, vw, uw = triangle.uv, triangle.vw, triangle.uw
        vu, wv, wu = rows.reverse[uv], rows.reverse[vw], rows.reverse[uw]
        cuda.atomic.add(out, uv, times(value_at(a, uw), value_at(b, wv), prime))
        cuda.atomic.add(out, vu, times(value_at(a, vw), value_at(b, wu), prime))
        cuda.atomic.add(out, uw, times(value_at(a, uv), value_at(b, vw), prime))
        cuda.atomic.add(out, wu, times(value_at(a, wv), value_at(b, vu), prime))
        cuda.atomic.add(out, vw, times(value_at(a, vu), value_at(b, uw), prime))
        cuda.atomic.add(out, wv, times(value_at(a, wu), value_at(b, uv), prime))
        return L(0)

    over_triangles = make_over_triangles(target, threads, lanes, visit)

    @target.kernel
    def weighted_triangles(rows, batch, values, prime, out):
        over_triangles(rows, batch, (values[0], values[1], prime, out))

    return weighted_triangles


@kernel_factory
def make_degenerate(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that counts, for each vertex of a triangle, its neighbours above all three, twice."""
    cuda, lane_of, add_to = target.cuda, target.lane, warp_functions(target).add_to

    @target.device
    def visit(rows, triangle, given):
        offsets = rows.offsets
        above_u = offsets[triangle.u + 1] - triangle.uw - 1
        above_v = offsets[triangle.v + 1] - triangle.vw - 1
        above_w = offsets[triangle.w + 1] - rows.upper[triangle.w]
        return L(2 * (above_v + above_u + above_w))

    over_triangles = make_over_triangles(target, threads, lanes, visit)

    @target.kernel
    def degenerate(rows, batch, state):
        total = over_triangles(rows, batch, U(0))
        cuda.syncwarp()
        add_to(state, lane_of(), total)

    return degenerate


@kernel_factory
def make_weighted_degenerate(target: Target, threads: int, lanes: int) -> Any:
    """`degenerate` with `values` on the second, third and fourth step: on both ways round the triangle.

    `sums` are running sums over the arcs of the weight of going to the neighbour above and back.
    """
    cuda, lane_of, add_to = target.cuda, target.lane, warp_functions(target).add_to
    value_at, (times, _) = make_value_at(target), residue_functions(target)

    @target.device
    def visit(rows, triangle, given):
        (second, third, fourth), sums, prime = given
        u, v, w, uv, vw, uw = triangle
        at, corner, total = S(0), u, L(0)
        ab, bc, ca = uv, vw, rows.reverse[uw]  # the way round from u; then from v, from w
        ac, cb, ba = uw, rows.reverse[vw], rows.reverse[uv]
        while at < 3:
            last = ac if at == 0 else ab
            if at == 2:
                last = rows.upper[w] - 1
            above = L(sums[rows.offsets[corner + 1]] - sums[last + 1])
            if above != L(0):
                if prime != L(0):
                    above = L(above % prime)
                way = times(value_at(second, ab), value_at(third, bc), prime)
                way = times(way, value_at(fourth, ca), prime)
                other_way = times(value_at(second, ac), value_at(third, cb), prime)
                way = L(way + times(other_way, value_at(fourth, ba), prime))
                if prime != L(0):
                    way = L(way % prime)
                total = L(total + times(above, way, prime))
            ab, bc, ca = bc, ca, ab
            ac, cb, ba = ba, ac, cb
            corner = v if at == 0 else w
            at += 1
        return total

    over_triangles = make_over_triangles(target, threads, lanes, visit)

    @target.kernel
    def weighted_degenerate(rows, batch, values, sums, prime, state):
        total = over_triangles(rows, batch, (values, sums, prime))
        if prime != L(0):
            total = L(total % prime)
        cuda.syncwarp()
        add_to(state, lane_of(), total)

    return weighted_degenerate


def signatures(threads: int, lanes: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    numbers = uint64[::1]
    weighted = void(ROWS, ARC_BATCH, types.UniTuple(VALUES, 2), uint64, numbers)
    degenerate = void(ROWS, ARC_BATCH, types.UniTuple(VALUES, 3), numbers, uint64, numbers)
    return [
        DeclaredKernel("triangles", make_triangles.recipe(threads, lanes), void(ROWS, ARC_BATCH, numbers)),
        DeclaredKernel("weighted triangles", make_weighted_triangles.recipe(threads, lanes), weighted),
        DeclaredKernel("degenerate walks", make_degenerate.recipe(threads, lanes), void(ROWS, ARC_BATCH, numbers)),
        DeclaredKernel("weighted degenerate walks", make_weighted_degenerate.recipe(threads, lanes), degenerate),
    ]
