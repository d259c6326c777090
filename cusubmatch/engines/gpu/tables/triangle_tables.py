"""What is added up triangle by triangle: tables over entries, and what cycles of five that pinch themselves count.

A triangle u < v < w is found at its lowest edge (u, v), by a few lanes that search the longer of the lists of higher
neighbours for the elements of the shorter. It is three entries e = (u, v), f = (v, w), g = (u, w), and their mates.
A weight is an array over the entries, or a single 1 with the mask 0.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.tables.modular import residue_functions

__all__ = [
    "make_around",
    "make_degenerate",
    "make_sides",
    "make_third",
    "make_triangles",
    "make_weighted_degenerate",
    "make_weighted_triangles",
    "signatures",
]

U, L, S = np.uint32, np.uint64, np.int64


@functools.cache
def make_sides(target: Target) -> Any:
    """A device function: where the higher neighbours of both ends of an edge begin and end, the shorter list first.

    (offsets, upper, e, u, v) -> begin, end, begin, end, and whether the first list is that of v; what stands before e
    in the list of u is no third vertex.
    """

    @target.device
    def sides(offsets, upper, e, u, v):
        begin, end, other, other_end = S(upper[v]), S(offsets[v + 1]), S(e + 1), S(offsets[u + 1])
        of_v = end - begin <= other_end - other
        if not of_v:
            begin, end, other, other_end = other, other_end, begin, end
        return begin, end, other, other_end, of_v

    return sides


@functools.cache
def make_third(target: Target) -> Any:
    """A device function: the place of a vertex in a sorted list that begins and ends somewhere, or -1."""

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


def make_around(target: Target, lanes: int, visit: Any) -> Any:
    """A device function that sums up what `visit` returns for the triangles of a lowest edge e = (u, v).

    (offsets, targets, upper, e, u, lane, given) -> uint64, where the `lanes` lanes of a group share the triangles, and
    `visit` is given (e, f, g, u, v, w, *given).
    """
    sides, third, LANES = make_sides(target), make_third(target), lanes

    @target.device
    def around(offsets, targets, upper, e, u, lane, given):
        v, total = S(targets[e]), L(0)
        begin, end, other, other_end, of_v = sides(offsets, upper, e, u, v)
        f = begin + S(lane)
        while f < end:
            w = S(targets[f])
            g = third(targets, other, other_end, w)
            if g >= 0:
                total = L(total + visit(e, f if of_v else g, g if of_v else f, u, v, w, *given))
            f += LANES
        return total

    return around


@functools.cache
def make_triangles(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that adds to each entry (x, y), x < y, the triangles that it is in."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def visit(e, f, g, u, v, w, out):
        cuda.atomic.add(out, f, L(1))
        cuda.atomic.add(out, g, L(1))
        return L(1)

    around = make_around(target, lanes, visit)

    @kernel
    def triangles(offsets, targets, upper, _mate, lows, edges, start, stop, out):
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        k = S(start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT)))
        while k < stop:
            e = edges[k]
            found = around(offsets, targets, upper, e, S(lows[k]), U(thread & U(LANES - 1)), (out,))
            if found != L(0):
                cuda.atomic.add(out, e, found)
            k += S(cuda.gridDim.x) * GROUPS

    return triangles


@functools.cache
def make_weighted_triangles(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that adds to each entry (x, y) the sum over z of a[x, z] b[z, y]."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    times, _ = residue_functions(target)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def visit(e, f, g, u, v, w, reverse, a, a_mask, b, b_mask, prime, out):
        back, f_back, g_back = reverse[e], reverse[f], reverse[g]
        cuda.atomic.add(out, e, times(a[g & a_mask], b[f_back & b_mask], prime))
        cuda.atomic.add(out, back, times(a[f & a_mask], b[g_back & b_mask], prime))
        cuda.atomic.add(out, g, times(a[e & a_mask], b[f & b_mask], prime))
        cuda.atomic.add(out, g_back, times(a[f_back & a_mask], b[back & b_mask], prime))
        cuda.atomic.add(out, f, times(a[back & a_mask], b[g & b_mask], prime))
        cuda.atomic.add(out, f_back, times(a[g_back & a_mask], b[e & b_mask], prime))
        return L(0)

    around = make_around(target, lanes, visit)

    @kernel
    def weighted_triangles(
        offsets, targets, upper, reverse, lows, edges, start, stop, a, a_mask, b, b_mask, prime, out
    ):  # fmt: skip
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        k = S(start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT)))
        given = (reverse, a, a_mask, b, b_mask, prime, out)
        while k < stop:
            around(offsets, targets, upper, edges[k], S(lows[k]), U(thread & U(LANES - 1)), given)
            k += S(cuda.gridDim.x) * GROUPS

    return weighted_triangles


@functools.cache
def make_degenerate(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that counts, for each vertex of a triangle, its neighbours above all three, twice."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to = warp_functions(target).add_to
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def visit(e, f, g, u, v, w, offsets, upper):
        above = (offsets[v + 1] - f - 1) + (offsets[u + 1] - g - 1) + (offsets[w + 1] - upper[w])
        return L(2 * above)

    around = make_around(target, lanes, visit)

    @kernel
    def degenerate(offsets, targets, upper, _mate, lows, edges, start, stop, state):
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        k, total = S(start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT))), L(0)
        while k < stop:
            found = around(
                offsets, targets, upper, edges[k], S(lows[k]), U(thread & U(LANES - 1)), (offsets, upper)
            )  # fmt: skip
            total = L(total + found)
            k += S(cuda.gridDim.x) * GROUPS
        cuda.syncwarp()
        add_to(state, lane, total)

    return degenerate


@functools.cache
def make_weighted_degenerate(target: Target, threads: int, lanes: int) -> Any:
    """`degenerate` with weights: `two`, `three`, `four` on the ways round the triangle.

    `sums` are running sums over the entries of the weight of going to the neighbour above and back.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    times, _ = residue_functions(target)
    add_to = warp_functions(target).add_to
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def visit(
        e, f, g, u, v, w, offsets, upper, reverse, two, two_mask, three, three_mask, four, four_mask, sums, prime
    ):  # fmt: skip
        at, corner, total = S(0), u, L(0)
        ab, bc, ca = e, f, reverse[g]  # the way round from u; then from v, from w
        ac, cb, ba = g, reverse[f], reverse[e]
        while at < 3:
            last = ac if at == 0 else ab
            if at == 2:
                last = upper[w] - 1
            above = L(sums[offsets[corner + 1]] - sums[last + 1])
            if above != L(0):
                if prime != L(0):
                    above = L(above % prime)
                way = times(two[ab & two_mask], three[bc & three_mask], prime)
                way = times(way, four[ca & four_mask], prime)
                round_ = times(two[ac & two_mask], three[cb & three_mask], prime)
                way = L(way + times(round_, four[ba & four_mask], prime))
                if prime != L(0):
                    way = L(way % prime)
                total = L(total + times(above, way, prime))
            ab, bc, ca = bc, ca, ab
            ac, cb, ba = ba, ac, cb
            corner = v if at == 0 else w
            at += 1
        return total

    around = make_around(target, lanes, visit)

    @kernel
    def weighted_degenerate(
        offsets, targets, upper, reverse, lows, edges, start, stop, two, two_mask, three, three_mask, four, four_mask,
        sums, prime, state,
    ):  # fmt: skip
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        k, total = S(start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT))), L(0)
        given = (offsets, upper, reverse, two, two_mask, three, three_mask, four, four_mask, sums, prime)
        while k < stop:
            found = around(offsets, targets, upper, edges[k], S(lows[k]), U(thread & U(LANES - 1)), given)
            total = L(total + found)
            k += S(cuda.gridDim.x) * GROUPS
        if prime != L(0):
            total = L(total % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return weighted_degenerate


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, numbers = int32[::1], int64[::1], uint64[::1]
    edges, weight = (places, ids, places, places, ids, places, int64, int64), (numbers, int64)
    weighted = void(*edges, *weight, *weight, uint64, numbers)
    degenerate = void(*edges, *weight, *weight, *weight, numbers, uint64, numbers)
    return [
        ("triangles", make_triangles(target, threads, lanes), void(*edges, numbers)),
        ("weighted triangles", make_weighted_triangles(target, threads, lanes), weighted),
        ("pinched", make_degenerate(target, threads, lanes), void(*edges, numbers)),
        ("weighted pinched", make_weighted_degenerate(target, threads, lanes), degenerate),
    ]
