"""How the tables of an elimination are made: which vertices are gone through how, and where the numbers lie.

The table of a vertex is about those that it is joined to when it is eliminated. Up to three of these are inner ones,
whose combinations the lanes have; the others are levels. The numbers lie as the table that is made from them reads
them: candidates of its first inner vertex next to each other, then its other ones, then those that are summed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["INNER", "MOST_COMBINATIONS", "inner_function", "layout_function"]

U = np.uint32
INNER = 3  # vertices
MOST_COMBINATIONS = 512  # of their candidates, unless one of them has more


def inner_function(target: Target) -> Any:
    """A device function (inner, i) -> the i-th inner vertex of all that one word has; MAX_VERTICES for none."""

    @target.device
    def inner_of(inner, i):
        return U(U(inner >> U(U(i) << U(3))) & U(0xFF))

    return inner_of


def layout_function(target: Target) -> Any:
    """A device function (sh, parts, n, number, room), for an order of so many vertices, with their tables; for a warp.

    It writes the inner vertices, levels, strides, places and factors of all tables. `room` is that of a block's part.
    """
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    bits = bit_functions(target)
    first_of, without_first, has, without = bits.first_of, bits.without_first, bits.has, bits.without
    inner_of = inner_function(target)

    @target.device
    def largest_of(sh, vertices, most):
        """The vertex with most candidates, but no more than so many; and how many. MAX_VERTICES and 1 if none has."""
        largest, size = U(f.MAX_VERTICES), U(1)
        while vertices != U(0):
            u = first_of(vertices)
            vertices = without_first(vertices)
            of_u = U(sh[U(U(f.SIZES) + u)])
            if of_u > size and of_u <= most:
                largest, size = u, of_u
        return largest, size

    @target.device
    def choose_inner(sh, vertices):
        """The inner vertices, a byte each."""
        most, inner = U(0xFFFFFFFF), U(0)
        for i in range(INNER):
            v, size = largest_of(sh, vertices, most)
            inner = U(inner | U(v << U(8 * i)))
            if v != U(f.MAX_VERTICES):
                vertices = without(vertices, v)
            most = U(min(most, U(MOST_COMBINATIONS)) // size)
        return inner

    @target.device
    def put_strides(sh, strides, n, vertices, inner, summed):
        """Write the strides of a table, for the inner vertices of the one that is made from it; how many places."""
        stride = U(1)
        for u in range(n):
            sh[U(strides + U(u))] = U(0)
        for i in range(INNER + 1):
            u = inner_of(inner, i) if i < INNER else summed
            if u < U(f.MAX_VERTICES) and has(vertices, u):
                sh[U(strides + u)] = stride
                stride, vertices = U(stride * U(sh[U(U(f.SIZES) + u)])), without(vertices, u)
        while vertices != U(0):
            u = first_of(vertices)
            sh[U(strides + u)] = stride
            stride, vertices = U(stride * U(sh[U(U(f.SIZES) + u)])), without_first(vertices)
        return stride

    @target.device
    def put_levels(sh, levels, vertices, inner):
        """Write the others so that each is joined to many before it, those with few candidates first."""
        chosen = U(0)
        for i in range(INNER):
            u = inner_of(inner, i)
            if u < U(f.MAX_VERTICES):
                vertices = without(vertices, u)
        while vertices != U(0):
            best, most, size, rest = U(0), U(0), U(0xFFFFFFFF), vertices
            while rest != U(0):
                v = first_of(rest)
                rest = without_first(rest)
                near = U(cuda.popc(U(U(sh[U(U(f.JOINED) + v)]) & chosen)))
                of_v = U(sh[U(U(f.SIZES) + v)])
                if near > most or (near == most and of_v < size):
                    best, most, size = v, near, of_v
            sh[U(levels + U(cuda.popc(chosen)))] = best
            chosen, vertices = U(chosen | U(U(1) << best)), without(vertices, best)

    @target.device
    def lay_out(sh, parts, n, number, room):
        step = U(lane_of())
        while step < number:
            sh[U(U(f.INNERS) + step)] = choose_inner(sh, U(sh[U(U(f.BAGS) + step)]))
            sh[U(U(f.USED) + step)] = sh[U(U(f.LOW_BITS) + step)] = sh[U(U(f.HIGH_BITS) + step)] = U(0)
            step = U(step + U(WARP))
        cuda.syncwarp()
        step = U(lane_of())
        while step < number:
            vertices, places = U(sh[U(U(f.BAGS) + step)]), U(0)
            if vertices != U(0):
                reader = U(step + U(1))
                while not has(vertices, U(sh[U(U(f.ORDER) + reader)])):
                    reader = U(reader + U(1))
                cuda.atomic.or_(sh, U(U(f.USED) + reader), U(U(1) << step))
                inner, summed = U(sh[U(U(f.INNERS) + reader)]), U(sh[U(U(f.ORDER) + reader)])
                places = put_strides(sh, U(U(parts.strides) + U(step * n)), n, vertices, inner, summed)
                put_levels(sh, U(U(parts.levels) + U(step * n)), vertices, U(sh[U(U(f.INNERS) + step)]))
            sh[U(U(f.PLACES) + step)] = places
            step = U(step + U(WARP))
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[f.WIDE] = sh[f.ROUNDED] = U(0)
            end = U(U(sh[f.PART]) * room)
            for i in range(number):
                places = U(sh[U(U(f.PLACES) + U(i))])
                sh[U(U(f.PLACES) + U(i))], end = end, U(end + places)
        cuda.syncwarp()

    return lay_out
