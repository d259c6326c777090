"""Pairs of vertices by what lies between them: a block takes one end and adds up paths in rows of one number a vertex.

Each vertex that a path of the first kind reaches is noted once; what stands in the rows there is raised to powers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64, void

from cusubmatch.gpu.cuda import Target
from cusubmatch.gpu.residue import residue_functions
from cusubmatch.gpu.warp import warp_functions
from cusubmatch.gpu.wedges import TICKET

__all__ = ["make_pairs", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64


@functools.cache
def make_pairs(target: Target, threads: int, lanes: int) -> Any:
    """The kernel that adds up, over pairs (x, y), the paths of two between them to a power, times weights of both.

    One kind of path is weighted a[x, z] b[z, y], another, if its power `other` is not 0, c and d; its row stands after
    that of the first. With `below`, only pairs y < x are looked at; equal ones only if not `apart`.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to, (times, _) = warp_functions(target).add_to, residue_functions(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads

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
        offsets, targets, _upper, mate, ends, start, stop, a, a_mask, b, b_mask, power, c, c_mask, d, d_mask, other,
        x_weights, x_mask, y_weights, y_mask, below, apart, prime, rows, seen, stride, state,
    ):  # fmt: skip
        drawn = cuda.shared.array(2, uint32)
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        listed, total = S(cuda.blockIdx.x) * stride, L(0)
        row = 2 * listed
        second_row = row + stride
        while True:
            cuda.syncthreads()
            if thread == U(0):
                drawn[0] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
                drawn[1] = U(0)
            cuda.syncthreads()
            item = U(drawn[0])
            if item >= stop:
                break
            x = S(ends[item])
            e = offsets[x] + S(U(thread >> U(SHIFT)))
            while e < offsets[x + 1]:
                z, first, second = S(targets[e]), L(a[e & a_mask]), L(c[e & c_mask])
                f, end = offsets[z] + S(U(thread & U(LANES - 1))), offsets[z + 1]
                if below != U(0):
                    end = mate[e]
                while f < end:
                    y = S(targets[f])
                    more = times(first, b[f & b_mask], prime)
                    if more != L(0) and L(cuda.atomic.add(rows, row + y, more)) == L(0):
                        seen[listed + S(cuda.atomic.add(drawn, 1, U(1)))] = np.int32(y)
                    if other > 0:
                        cuda.atomic.add(rows, second_row + y, times(second, d[f & d_mask], prime))
                    f += LANES
                e += GROUPS
            cuda.syncthreads()
            k, reached, found = S(thread), S(drawn[1]), L(0)
            while k < reached:
                y = S(seen[listed + k])
                value = L(cuda.atomic.exch(rows, row + y, L(0)))
                if value != L(0) and (y != x or apart == U(0)):
                    product = to_power(L(y_weights[y & y_mask]), value, power, prime)
                    if other > 0:
                        product = to_power(product, L(rows[second_row + y]), other, prime)
                    found = L(found + product)
                k += THREADS
            if prime != L(0):
                found = L(found % prime)
            total = L(total + times(found, x_weights[x & x_mask], prime))
            if other > 0:
                cuda.syncthreads()
                e = offsets[x] + S(U(thread >> U(SHIFT)))
                while e < offsets[x + 1]:
                    z = S(targets[e])
                    f, end = offsets[z] + S(U(thread & U(LANES - 1))), offsets[z + 1]
                    while f < end:
                        rows[second_row + S(targets[f])] = L(0)
                        f += LANES
                    e += GROUPS
        if prime != L(0):
            total = L(total % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return pairs


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, numbers = int32[::1], int64[::1], uint64[::1]
    weight, kind = (numbers, int64), (numbers, int64, numbers, int64, int64)
    span = (places, ids, places, places, ids, uint32, uint32)
    signature = void(*span, *kind, *kind, *weight, *weight, uint32, uint32, uint64, numbers, ids, int64, numbers)
    return [("pairs", make_pairs(target, threads, lanes), signature)]
