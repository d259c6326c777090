"""Lists of what bridges are made of: the corners of all triangles, at the edge opposite and at their own vertex.

A triangle has three corners, each of which is a common neighbour of the edge opposite. Lists have no order. They may be
restricted to corners in a range of vertices, where all would take too much memory.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.tables.triangle_tables import make_around

__all__ = ["make_corners", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64


@functools.cache
def make_corners(target: Target, threads: int, lanes: int, fill: bool, placed: bool) -> Any:
    """The kernel that counts the corners of each edge and of each vertex, or lists them where `fill`.

    `by_edge` and `by_vertex` have a number for each entry and each vertex, to which what is found is added: zeros, or
    where its list begins. A corner y of the edge (w, z) is listed in `corners`; in `opposite` at its vertex the entry
    (w, z). If `placed`, the entries (w, y) and (z, y) are in `places`, and `known` says at the vertex where they are.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    LANES, GROUPS, SHIFT, FILL, PLACED = lanes, threads // lanes, lanes.bit_length() - 1, fill, placed

    @target.device
    def note(
        edge, y, one, other, low, high, first, last, by_edge, by_vertex, corners, places, opposite, known
    ):  # fmt: skip
        at = L(0)
        if low <= y < high:
            at = L(cuda.atomic.add(by_edge, edge, L(1)))
            if FILL:
                corners[at] = np.int32(y)
                if PLACED:
                    places[L(2) * at], places[L(2) * at + L(1)] = one, other
        if first <= y < last:
            place = L(cuda.atomic.add(by_vertex, y, L(1)))
            if FILL:
                opposite[place] = edge
                if PLACED:
                    known[L(2) * place], known[L(2) * place + L(1)] = one, other

    @target.device
    def visit(e, f, g, u, v, w, reverse, *lists):
        note(e, w, g, f, *lists)
        note(f, u, reverse[e], reverse[g], *lists)
        note(g, v, e, reverse[f], *lists)
        return L(0)

    around = make_around(target, lanes, visit)

    @kernel
    def corners_of(
        offsets, targets, upper, reverse, lows, edges, start, stop, low, high, first, last, by_edge, by_vertex, corners,
        places, opposite, known,
    ):  # fmt: skip
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        k = S(start) + S(cuda.blockIdx.x) * GROUPS + S(U(thread >> U(SHIFT)))
        given = (reverse, low, high, first, last, by_edge, by_vertex, corners, places, opposite, known)
        while k < stop:
            around(offsets, targets, upper, edges[k], S(lows[k]), U(thread & U(LANES - 1)), given)
            k += S(cuda.gridDim.x) * GROUPS

    return corners_of


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, numbers = int32[::1], int64[::1], uint64[::1]
    signature = void(
        places, ids, places, places, ids, places, int64, int64, *(int64,) * 4, numbers, numbers, ids, places, places,
        places,
    )  # fmt: skip
    return [
        (
            f"corners{' listed' * fill}{' placed' * placed}",
            make_corners(target, threads, lanes, fill, placed),
            signature,
        )
        for fill, placed in ((False, False), (True, False), (True, True))
    ]
