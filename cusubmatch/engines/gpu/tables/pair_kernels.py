"""Pairs of vertices by what lies between them: a block takes one end and adds up in rows of one number a vertex.

Between x and y lie paths of two, through a common neighbour, or bridges, pairs of adjacent common neighbours. Each y
that the first kind leads to is noted once; the second kind is added up only there. Then what stands in the rows is
raised to powers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.modular import residue_functions

__all__ = ["make_pairs", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64


@functools.cache
def make_pairs(target: Target, threads: int, lanes: int, bridges: tuple[bool, bool], plain: bool) -> Any:
    """The kernel that adds up, over pairs (x, y), what lies between them to powers, times weights of both.

    `bridges` says which kinds are bridges; the values of a kind are (x, z) and (z, y), or (x, w), (x, z), (w, z),
    (w, y) and (z, y). If `plain`, bridges have none. The second kind's row stands after that of the first; it is not
    there if its power is 0. With `below`, only pairs y < x are looked at; equal ones unless `distinct_pairs`. Bridges
    lead
    to y in the lists of `bridges.make_corners` alone.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to, (times, _) = warp_functions(target).add_to, residue_functions(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads
    (FIRST, SECOND), PLAIN, draw = bridges, plain, make_draw(target)

    @target.device
    def put(rows, row, y, more, only_where, seen, listed, stride, drawn):
        """Add to a row: the first one, noting a vertex that is new there, or the second where the first is not zero.

        Sums that come back to zero, modulo 2^64, are noted again; the list may then be too short.
        """
        if only_where >= 0:
            if rows[only_where + y] != L(0):
                cuda.atomic.add(rows, row + y, more)
        elif more != L(0) and L(cuda.atomic.add(rows, row + y, more)) == L(0):
            place = S(cuda.atomic.add(drawn, 1, U(1)))
            if place < stride:
                seen[listed + place] = np.int32(y)

    @target.device
    def along_paths(
        offsets, targets, reverse, x, a, a_mask, b, b_mask, below, prime, thread, rows, row, only_where, seen, listed,
        stride, drawn,
    ):  # fmt: skip
        e = offsets[x] + S(U(thread >> U(SHIFT)))
        while e < offsets[x + 1]:
            z, first = S(targets[e]), L(a[e & a_mask])
            f, end = offsets[z] + S(U(thread & U(LANES - 1))), offsets[z + 1]
            if below != U(0):
                end = reverse[e]
            while f < end:
                more = times(first, b[f & b_mask], prime)
                put(rows, row, S(targets[f]), more, only_where, seen, listed, stride, drawn)
                f += LANES
            e += GROUPS

    @target.device
    def along_bridges(
        reverse, x, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask, lists, below, prime, thread, rows, row,
        only_where, seen, listed, stride, drawn,
    ):  # fmt: skip
        by_edge, by_vertex, corners, places, opposite, known = lists
        i, last = S(by_vertex[x]) + S(U(thread >> U(SHIFT))), S(by_vertex[x + 1])
        while i < last:
            wz = opposite[i]
            here, there = L(2), L(0)  # from x by way of w, z in this order, and in the other
            zw = wz
            if not PLAIN:
                xw, xz, zw = reverse[known[2 * i]], reverse[known[2 * i + 1]], reverse[wz]
                here = times(times(a[xw & a_mask], b[xz & b_mask], prime), c[wz & c_mask], prime)
                there = times(times(a[xz & a_mask], b[xw & b_mask], prime), c[zw & c_mask], prime)
            k, end = S(by_edge[wz]) + S(U(thread & U(LANES - 1))), S(by_edge[wz + 1])
            while k < end:
                y, more = S(corners[k]), here
                if below == U(0) or y < x:
                    if not PLAIN:
                        wy, zy = places[2 * k], places[2 * k + 1]
                        more = times(times(here, d[wy & d_mask], prime), e[zy & e_mask], prime)
                        more = L(more + times(times(there, d[zy & d_mask], prime), e[wy & e_mask], prime))
                    put(rows, row, y, more, only_where, seen, listed, stride, drawn)
                k += LANES
            i += GROUPS

    @target.device
    def to_power(product, value, power, prime):
        if prime != L(0):
            value = L(value % prime)
        i = S(0)
        while i < power:
            product = times(product, value, prime)
            i += 1
        return product

    @kernel
    def pairs(
        offsets, targets, _upper, reverse, ends, start, stop, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask,
        power,
        a2, a2_mask, b2, b2_mask, c2, c2_mask, d2, d2_mask, e2, e2_mask, other, x_weights, x_mask, y_weights, y_mask,
        by_edge, by_vertex, corners, places, opposite, known, below, distinct_pairs, prime, rows, seen, stride, state,
    ):  # fmt: skip
        drawn = cuda.shared.array(2, uint32)  # the item; how many y are noted
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        listed, total = S(cuda.blockIdx.x) * stride, L(0)
        row, nowhere = 2 * listed, S(-1)
        second_row = row + stride
        lists = (by_edge, by_vertex, corners, places, opposite, known)
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            x = S(ends[item])
            if FIRST:
                along_bridges(
                    reverse, x, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask, lists, below, prime, thread,
                    rows,
                    row, nowhere, seen, listed, stride, drawn,
                )  # fmt: skip
            else:
                along_paths(
                    offsets, targets, reverse, x, a, a_mask, b, b_mask, below, prime, thread, rows, row, nowhere, seen,
                    listed, stride, drawn,
                )  # fmt: skip
            cuda.syncthreads()
            if other > 0:
                if SECOND:
                    along_bridges(
                        reverse, x, a2, a2_mask, b2, b2_mask, c2, c2_mask, d2, d2_mask, e2, e2_mask, lists, below,
                        prime,
                        thread, rows, second_row, row, seen, listed, stride, drawn,
                    )  # fmt: skip
                elif drawn[1] > U(0):
                    along_paths(
                        offsets, targets, reverse, x, a2, a2_mask, b2, b2_mask, below, prime, thread, rows, second_row,
                        row, seen, listed, stride, drawn,
                    )  # fmt: skip
                cuda.syncthreads()
            k, reached, found = S(thread), S(drawn[1]), L(0)
            every = reached > stride
            if every:
                reached = stride
            while k < reached:
                y = k
                if not every:
                    y = S(seen[listed + k])
                value, second = L(cuda.atomic.exch(rows, row + y, L(0))), L(0)
                if other > 0 and value != L(0):  # of those who have y twice in the list the one with the first number
                    second = L(rows[second_row + y])
                    rows[second_row + y] = L(0)
                if value != L(0) and (y != x or distinct_pairs == U(0)):
                    product = to_power(L(y_weights[y & y_mask]), value, power, prime)
                    found = L(found + to_power(product, second, other, prime))
                k += THREADS
            if prime != L(0):
                found = L(found % prime)
            total = L(total + times(found, x_weights[x & x_mask], prime))
        if prime != L(0):
            total = L(total % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return pairs


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, numbers = int32[::1], int64[::1], uint64[::1]
    weight = (numbers, int64)
    span, lists = (places, ids, places, places, ids, uint32, uint32), (numbers, numbers, ids, places, places, places)
    kind = (*weight * 5, int64)
    rest = (uint32, uint32, uint64, numbers, ids, int64, numbers)
    signature = void(*span, *kind, *kind, *weight, *weight, *lists, *rest)
    return [
        (f"pairs {bridges}{' plain' * plain}", make_pairs(target, threads, lanes, bridges, plain), signature)
        for bridges in ((False, False), (True, False), (True, True))
        for plain in ((True, False) if bridges[0] else (True,))
    ]
