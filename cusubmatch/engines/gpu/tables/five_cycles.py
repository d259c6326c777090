"""Cycles of five from their highest vertex u: u, a, b, c, d and back, all of them different.

A block takes a vertex u and counts its wedges u, a, b below it; along the edges b, c between their ends the products
add up. That also counts walks in which a is c or b is d, which are subtracted on the way, and those in which a is d: a
triangle with a neighbour above it (`triangle_tables.make_degenerate`). The ends of wedges are listed once, those with
many lower neighbours apart: the whole block reads the rows of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.counter_rows import counter_functions
from cusubmatch.engines.gpu.tables.parameters import (
    BLOCK_LISTS,
    BLOCK_ROWS,
    COUNTER_ROWS,
    ROWS,
    VALUES,
    VERTEX_BATCH,
    make_value_at,
)
from cusubmatch.engines.gpu.tables.wedge_sums import make_add_wedges, make_join_wedges

__all__ = ["LONG_ROW", "FiveCycleValues", "make_five_cycles", "make_weighted_five_cycles", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64

LONG_ROW = 256  # lower neighbours, from which on a whole block reads a row


class FiveCycleValues(NamedTuple):
    """Weights of the five steps u, a, b, c, d, u; those of `x_back` are transposed: at (q, p) the value of (p, q)."""

    first: Any
    second: Any
    second_back: Any
    third: Any
    third_back: Any
    fourth: Any
    fourth_back: Any
    fifth_back: Any


@kernel_factory
def make_five_cycles(target: Target, threads: int, lanes: int, packed: bool, long_row: int = LONG_ROW) -> Any:
    """The kernel that counts closed walks of five steps below their highest vertex, less those with a = c or b = d.

    The flag of a counter says whether the vertex is a neighbour of u.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    add_to, counter = warp_functions(target).add_to, counter_functions(target, packed)
    (add, get, clear, clear_window, FLAG, _), draw = counter, make_draw(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads
    LONG = long_row

    @target.device
    def sum_counts(near, counters, base, row, rows, begin, end, step):
        """The sum of the counts of vertices in a list."""
        sums = L(0)
        while begin < end:
            sums = L(sums + L(get(near, counters.words, base, row, S(rows.targets[begin]))))
            begin += step
        return sums

    @target.kernel
    def five_cycles(rows, batch, counters, reached, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(3, uint32)  # the item; how many ends have a short row, and a long one
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        member, group = S(U(thread & U(LANES - 1))), S(U(thread >> U(SHIFT)))
        row, listed, total = S(cuda.blockIdx.x) * counters.stride, S(cuda.blockIdx.x) * reached.stride, L(0)
        backwards = listed + reached.stride - 1  # those with a long row are listed from here
        clear_window(near, counters.window, thread, THREADS)
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            u = batch.vertices[item]
            first, last, base = rows.offsets[u], rows.upper[u], S(u) - counters.window
            e = first + S(thread)
            while e < last:
                add(near, counters.words, base, row, S(rows.targets[e]), U(FLAG))
                e += THREADS
            cuda.syncthreads()
            e = first + group
            while e < last:
                begin, end = rows.offsets[rows.targets[e]], rows.reverse[e]
                f, twice = begin + member, L(2 * (end - begin) - 1)
                while f < end:
                    w = S(rows.targets[f])
                    old = add(near, counters.words, base, row, w, U(1))
                    if old >= U(FLAG):
                        total = L(total - twice)
                    if U(old & U(FLAG - 1)) == U(0):
                        if rows.upper[w] - rows.offsets[w] > LONG:
                            position = backwards - S(cuda.atomic.add(drawn, 2, U(1)))
                        else:
                            position = listed + S(cuda.atomic.add(drawn, 1, U(1)))
                        reached.words[position] = np.int32(w)
                    f += LANES
                e += GROUPS
            cuda.syncthreads()
            short_rows, long_rows = S(drawn[1]), S(drawn[2])
            k = group
            while k < short_rows:
                b = S(reached.words[listed + k])
                twice = L(2) * L(get(near, counters.words, base, row, b))
                sums = sum_counts(near, counters, base, row, rows, rows.offsets[b] + member, rows.upper[b], LANES)
                total = L(total + L(twice * sums))
                k += GROUPS
            k = S(0)
            while k < long_rows:
                b = S(reached.words[backwards - k])
                twice = L(2) * L(get(near, counters.words, base, row, b))
                sums = sum_counts(near, counters, base, row, rows, rows.offsets[b] + S(thread), rows.upper[b], THREADS)
                total = L(total + L(twice * sums))
                k += 1
            cuda.syncthreads()
            k = S(thread)
            while k < short_rows + long_rows:
                position = listed + k
                if k >= short_rows:
                    position = backwards - (k - short_rows)
                clear(near, counters.words, base, row, S(reached.words[position]))
                k += THREADS
            e = first + S(thread)
            while e < last:
                clear(near, counters.words, base, row, S(rows.targets[e]))
                e += THREADS
        cuda.syncwarp()
        add_to(state, lane, total)

    return five_cycles


@kernel_factory
def make_weighted_five_cycles(target: Target, threads: int) -> Any:
    """The kernel of `five_cycles` with a weight on each of the five steps, the first of which starts at u.

    A block has four rows one after another in `sums`.
    """
    cuda, WARP, lane_of, warp_of, draw = target.cuda, target.WARP, target.lane, target.warp, make_draw(target)
    add_to, value_at = warp_functions(target).add_to, make_value_at(target)
    add_wedges, join_wedges = make_add_wedges(target, threads), make_join_wedges(target, threads)
    WARPS, THREADS = threads // target.WARP, threads

    @target.kernel
    def weighted_five_cycles(rows, batch, values, prime, sums, reached, state):
        drawn = cuda.shared.array(2, uint32)  # the item; how many ends were reached
        lane, warp = lane_of(), warp_of()
        thread = S(U(U(warp * U(WARP)) + lane))
        listed, to_b = S(cuda.blockIdx.x) * sums.stride, 4 * S(cuda.blockIdx.x) * sums.stride
        to_c, to_a, to_d = to_b + sums.stride, to_b + 2 * sums.stride, to_b + 3 * sums.stride
        total, degenerate = L(0), L(0)
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            u = batch.vertices[item]
            first, last = rows.offsets[u], rows.upper[u]
            e = first + thread
            while e < last:
                sums.words[to_a + S(rows.targets[e])] = L(value_at(values.first, e))
                sums.words[to_d + S(rows.targets[e])] = L(value_at(values.fifth_back, e))
                e += THREADS
            cuda.syncthreads()
            more = add_wedges(rows, u, warp, lane, values, prime, sums, to_b, drawn, reached, listed)
            degenerate = L(degenerate + more)
            cuda.syncthreads()
            joined = join_wedges(rows, u, warp, lane, values.third, prime, sums, to_b, S(drawn[1]), reached, listed)
            total = L(total + joined)
            cuda.syncthreads()
            e = first + S(warp)
            while e < last:
                v, f, end = S(rows.targets[e]), rows.offsets[rows.targets[e]] + S(lane), rows.reverse[e]
                if lane == U(0):
                    sums.words[to_a + v] = L(0)
                    sums.words[to_d + v] = L(0)
                while f < end:
                    sums.words[to_c + S(rows.targets[f])] = L(0)
                    f += WARP
                e += WARPS
            if prime != L(0):
                total, degenerate = L(total % prime), L(degenerate % prime)
        total = L(total - degenerate)
        if prime != L(0):
            total = L(L(total + prime) % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return weighted_five_cycles


def signatures(threads: int, lanes: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    numbers = uint64[::1]
    counting = void(ROWS, VERTEX_BATCH, COUNTER_ROWS, BLOCK_LISTS, numbers)
    weighted = void(
        ROWS, VERTEX_BATCH, block_of(FiveCycleValues, *[VALUES] * 8), uint64, BLOCK_ROWS, BLOCK_LISTS, numbers
    )
    return [
        DeclaredKernel("five cycles", make_five_cycles.recipe(threads, lanes, False), counting),
        DeclaredKernel("five cycles packed", make_five_cycles.recipe(threads, lanes, True), counting),
        DeclaredKernel("weighted five cycles", make_weighted_five_cycles.recipe(threads), weighted),
    ]
