"""Cycles of four, each from its highest vertex u: two wedges u, v, w with v < u and w < u to one w.

A block takes a vertex u and counts its wedges in a row of one number a vertex, a few lanes for each list of w (degree
ordering: Chiba & Nishizeki 1985). Vertices come by falling work, and the row is zero between two of them. The row of v
is read up to u, which stands there at the reverse arc of (u, v). A vertex with few wedges is left to a warp, which
counts in a small hash table of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, types, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.counter_rows import counter_functions
from cusubmatch.engines.gpu.tables.parameters import (
    BLOCK_ROWS,
    COUNTER_ROWS,
    ROWS,
    VALUES,
    VERTEX_BATCH,
    make_value_at,
)
from cusubmatch.engines.gpu.tables.wedge_counts import wedge_functions

__all__ = [
    "FEW_THREADS",
    "FEW_WEDGES",
    "SLOTS",
    "make_few_four_cycles",
    "make_four_cycles",
    "make_three_step_paths",
    "make_weighted_three_step_paths",
    "signatures",
]

U, L, S = np.uint32, np.uint64, np.int64

FEW_THREADS = 256
SLOTS = 512  # of a warp's hash table: 32 KB a block
FEW_WEDGES = SLOTS // 2


@kernel_factory
def make_four_cycles(target: Target, threads: int, lanes: int, packed: bool) -> Any:
    """The kernel that counts cycles of four, each once: a wedge makes one with each that came to its end before.

    The first `dense` vertices have more wedges than the window has words.
    """
    cuda, WARP, lane_of, warp_of, draw = target.cuda, target.WARP, target.lane, target.warp, make_draw(target)
    add_to, clear_window = warp_functions(target).add_to, counter_functions(target, packed).clear_window
    (add_all, clear), THREADS = wedge_functions(target, threads, lanes, packed), threads

    @target.kernel
    def four_cycles(rows, batch, dense, counters, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(1, uint32)
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        row, total = S(cuda.blockIdx.x) * counters.stride, L(0)
        clear_window(near, counters.window, thread, THREADS)
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            u = batch.vertices[item]
            total = L(total + add_all(rows, u, thread, near, counters, row))
            cuda.syncthreads()
            clear(rows, u, thread, near, counters, row, item < dense)
        cuda.syncwarp()
        add_to(state, lane, total)

    return four_cycles


@kernel_factory
def make_few_four_cycles(target: Target, threads: int, slots: int) -> Any:
    """`four_cycles` at vertices with few wedges, at most half of the slots of a table: a warp a vertex, a lane a row.

    The table holds ends of wedges, and how often they were reached.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    add_to = warp_functions(target).add_to
    SLOTS, WARPS, ALL, EMPTY = slots, threads // target.WARP, slots * (threads // target.WARP), 0xFFFFFFFF

    @target.kernel
    def few_four_cycles(rows, batch, state):
        ends = cuda.shared.array(ALL, uint32)
        counts = cuda.shared.array(ALL, uint32)
        lane, total = lane_of(), L(0)
        table = U(warp_of() * U(SLOTS))
        k = S(batch.start) + S(cuda.blockIdx.x) * WARPS + S(warp_of())
        while k < batch.stop:
            i = lane
            while i < U(SLOTS):
                ends[U(table + i)] = U(EMPTY)
                counts[U(table + i)] = U(0)
                i = U(i + U(WARP))
            cuda.syncwarp()
            u = batch.vertices[k]
            e, last = rows.offsets[u] + S(lane), rows.upper[u]
            while e < last:
                f, end = rows.offsets[rows.targets[e]], rows.reverse[e]
                while f < end:
                    w = U(rows.targets[f])
                    slot = U(U(w * U(2654435769)) & U(SLOTS - 1))
                    found = U(cuda.atomic.cas(ends, U(table + slot), U(EMPTY), w))
                    while found != U(EMPTY) and found != w:
                        slot = U(U(slot + U(1)) & U(SLOTS - 1))
                        found = U(cuda.atomic.cas(ends, U(table + slot), U(EMPTY), w))
                    total = L(total + L(cuda.atomic.add(counts, U(table + slot), U(1))))
                    f += 1
                e += WARP
            cuda.syncwarp()
            k += S(cuda.gridDim.x) * WARPS
        cuda.syncwarp()
        add_to(state, lane, total)

    return few_four_cycles


@kernel_factory
def make_three_step_paths(target: Target, threads: int, lanes: int, packed: bool) -> Any:
    """The kernel that adds to each arc the cycles of four in which it is (u, v) or (v, w), u being the highest vertex.

    The first `dense` vertices have more wedges than the window has words.
    """
    cuda, WARP, lane_of, warp_of, draw = target.cuda, target.WARP, target.lane, target.warp, make_draw(target)
    (add_all, clear), counter = wedge_functions(target, threads, lanes, packed), counter_functions(target, packed)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads
    get, clear_window = counter.get, counter.clear_window

    @target.device
    def add_others(rows, u, thread, near, counters, row, out):
        """Add to the arcs of each wedge the other ones with the same end."""
        base, e, last = S(u) - counters.window, rows.offsets[u] + S(U(thread >> U(SHIFT))), rows.upper[u]
        while e < last:
            f, end, total = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e], L(0)
            while f < end:
                others = U(get(near, counters.words, base, row, S(rows.targets[f])) - U(1))
                if others != U(0):
                    cuda.atomic.add(out, f, L(others))
                    total = L(total + L(others))
                f += LANES
            if total != L(0):
                cuda.atomic.add(out, e, total)
            e += GROUPS

    @target.kernel
    def three_step_paths(rows, batch, dense, counters, out, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(1, uint32)
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        row = S(cuda.blockIdx.x) * counters.stride
        clear_window(near, counters.window, thread, THREADS)
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            u = batch.vertices[item]
            add_all(rows, u, thread, near, counters, row)
            cuda.syncthreads()
            add_others(rows, u, thread, near, counters, row, out)
            cuda.syncthreads()
            clear(rows, u, thread, near, counters, row, item < dense)

    return three_step_paths


@kernel_factory
def make_weighted_three_step_paths(target: Target, threads: int, lanes: int) -> Any:
    """The kernel of cycles u, v, w, v' with u highest: one way round is weighted a[u, v] b[v, w], the other c and d.

    Their product is added to the arc (u, v') of the other way, if `at_highest`, or to (v', w).
    """
    cuda, WARP, lane_of, warp_of, draw = target.cuda, target.WARP, target.lane, target.warp, make_draw(target)
    (times, minus), value_at = residue_functions(target), make_value_at(target)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.kernel
    def weighted_three_step_paths(rows, batch, values, at_highest, prime, sums, out, state):
        drawn = cuda.shared.array(1, uint32)
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        row, words, (a, b, c, d) = S(cuda.blockIdx.x) * sums.stride, sums.words, values
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            u = batch.vertices[item]
            first, last = rows.offsets[u] + S(U(thread >> U(SHIFT))), rows.upper[u]
            e = first
            while e < last:
                f, end = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e]
                weight = L(value_at(a, e))
                if weight != L(0):
                    while f < end:
                        cuda.atomic.add(words, row + S(rows.targets[f]), times(weight, L(value_at(b, f)), prime))
                        f += LANES
                e += GROUPS
            cuda.syncthreads()
            e = first
            while e < last:
                f, end, paths = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e], L(0)
                weight, other = L(value_at(a, e)), L(value_at(c, e))
                if other != L(0):
                    while f < end:
                        more = L(words[row + S(rows.targets[f])])
                        if prime != L(0):
                            more = L(more % prime)
                        more = minus(more, times(weight, L(value_at(b, f)), prime), prime)
                        if more != L(0):
                            more = times(more, times(other, L(value_at(d, f)), prime), prime)
                            if at_highest != U(0):
                                paths = L(paths + more)
                            else:
                                cuda.atomic.add(out, f, more)
                        f += LANES
                if paths != L(0):
                    cuda.atomic.add(out, e, paths)
                e += GROUPS
            cuda.syncthreads()
            e = first
            while e < last:
                f, end = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e]
                while f < end:
                    words[row + S(rows.targets[f])] = L(0)
                    f += LANES
                e += GROUPS

    return weighted_three_step_paths


def signatures(threads: int, lanes: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    numbers = uint64[::1]
    few_batch = block_of(VERTEX_BATCH.instance_class, VERTEX_BATCH.types[0], int64, int64)
    weighted = void(ROWS, VERTEX_BATCH, types.UniTuple(VALUES, 4), uint32, uint64, BLOCK_ROWS, numbers, numbers)
    kernels = [
        DeclaredKernel(
            "few four cycles", make_few_four_cycles.recipe(FEW_THREADS, SLOTS), void(ROWS, few_batch, numbers)
        ),
        DeclaredKernel("weighted three-step paths", make_weighted_three_step_paths.recipe(threads, lanes), weighted),
    ]
    counting = ROWS, VERTEX_BATCH, uint32, COUNTER_ROWS
    for packed in (False, True):
        name, how = " packed" * packed, (threads, lanes, packed)
        kernels.append(DeclaredKernel(f"four cycles{name}", make_four_cycles.recipe(*how), void(*counting, numbers)))
        paths = void(*counting, numbers, numbers)
        kernels.append(DeclaredKernel(f"three-step paths{name}", make_three_step_paths.recipe(*how), paths))
    return kernels
