"""Cycles of four from their highest vertex: what lies two steps below it is counted in a row of one number a vertex.

A block takes a vertex u, the top, and goes over its wedges u, v, w with w < u and v < u, a few lanes a list of w; every
cycle of four is found at one top (degree ordering; Chiba & Nishizeki 1985). Tops come by falling work, and a row is
zero between two of them. The list of v ends, as far as u is concerned, where u stands in it: at the mate of the entry
(u, v). A top with few wedges takes a warp, which counts in a small hash table of its own.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.counter_rows import counter_functions
from cusubmatch.engines.gpu.tables.modular import residue_functions

__all__ = [
    "FEW",
    "FEW_THREADS",
    "SLOTS",
    "make_few_fours",
    "make_fours",
    "make_paths",
    "make_wedges",
    "signatures",
]

U, L, S = np.uint32, np.uint64, np.int64

FEW_THREADS = 256
SLOTS = 512  # of a warp's hash table: 32 KB a block
FEW = SLOTS // 2  # wedges


@functools.cache
def make_clear(target: Target, threads: int, lanes: int, packed: bool) -> Any:
    """A device function that sets a row to zero where the wedges of a top lead.

    A `dense` window is set to zero as a whole: it has fewer words than there are wedges.
    """
    device, counters = target.device, counter_functions(target, packed)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads
    wipe, EACH = counters.clear, counters.EACH

    @device
    def clear(offsets, targets, reverse, first, last, thread, base, window, near, rest, row, dense):
        if dense:
            i = S(thread)
            while i * EACH < window:
                near[i] = U(0)
                i += THREADS
        e = first + S(U(thread) >> U(SHIFT))
        while e < last:
            f, end = offsets[targets[e]] + S(U(thread) & U(LANES - 1)), reverse[e]
            while f < end:
                w = S(targets[f])
                if dense and w >= base:
                    break
                wipe(near, rest, base, row, w)
                f += LANES
            e += GROUPS

    return clear


@functools.cache
def make_fours(target: Target, threads: int, lanes: int, packed: bool) -> Any:
    """The kernel that counts cycles of four, each once: a wedge makes one with each that came to its end before."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to, clear = warp_functions(target).add_to, make_clear(target, threads, lanes, packed)
    counters = counter_functions(target, packed)
    add, EACH, draw = counters.add, counters.EACH, make_draw(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads

    @kernel
    def fours(offsets, targets, upper, reverse, tops, start, stop, dense, window, rest, words, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(1, uint32)
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        row, total = S(cuda.blockIdx.x) * words, L(0)
        i = S(thread)
        while i * EACH < window:
            near[i] = U(0)
            i += THREADS
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            u = tops[item]
            first, last, base = offsets[u], upper[u], S(u) - window
            e = first + S(U(thread >> U(SHIFT)))
            while e < last:
                f, end = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e]
                while f < end:
                    total = L(total + L(add(near, rest, base, row, S(targets[f]), U(1))))
                    f += LANES
                e += GROUPS
            cuda.syncthreads()
            clear(offsets, targets, reverse, first, last, thread, base, window, near, rest, row, item < dense)
        cuda.syncwarp()
        add_to(state, lane, total)

    return fours


@functools.cache
def make_few_fours(target: Target, threads: int, slots: int) -> Any:
    """`fours` at tops with few wedges, at most half of the slots of a table: a warp a top, a lane a list.

    The table holds ends, and how often they were reached.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to = warp_functions(target).add_to
    SLOTS, WARPS, ALL, EMPTY = slots, threads // target.WARP, slots * (threads // target.WARP), 0xFFFFFFFF

    @kernel
    def few_fours(offsets, targets, upper, reverse, tops, start, stop, state):
        ends = cuda.shared.array(ALL, uint32)
        counts = cuda.shared.array(ALL, uint32)
        lane, total = lane_of(), L(0)
        table = U(warp_of() * U(SLOTS))
        k = S(start) + S(cuda.blockIdx.x) * WARPS + S(warp_of())
        while k < stop:
            i = lane
            while i < U(SLOTS):
                ends[U(table + i)] = U(EMPTY)
                counts[U(table + i)] = U(0)
                i = U(i + U(WARP))
            cuda.syncwarp()
            u = tops[k]
            e, last = offsets[u] + S(lane), upper[u]
            while e < last:
                f, end = offsets[targets[e]], reverse[e]
                while f < end:
                    w = U(targets[f])
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

    return few_fours


@functools.cache
def make_wedges(target: Target, threads: int, lanes: int, packed: bool) -> Any:
    """The kernel that adds to each entry the cycles of four that it is in as the first of (u, v), (v, w), u the top."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    clear, counters = make_clear(target, threads, lanes, packed), counter_functions(target, packed)
    add, get, EACH, draw = counters.add, counters.get, counters.EACH, make_draw(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads

    @kernel
    def wedges(offsets, targets, upper, reverse, tops, start, stop, dense, window, rest, words, out, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(1, uint32)
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        row = S(cuda.blockIdx.x) * words
        i = S(thread)
        while i * EACH < window:
            near[i] = U(0)
            i += THREADS
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            u = tops[item]
            first, last, base = offsets[u], upper[u], S(u) - window
            e = first + S(U(thread >> U(SHIFT)))
            while e < last:
                f, end = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e]
                while f < end:
                    add(near, rest, base, row, S(targets[f]), U(1))
                    f += LANES
                e += GROUPS
            cuda.syncthreads()
            e = first + S(U(thread >> U(SHIFT)))
            while e < last:
                f, end, found = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e], L(0)
                while f < end:
                    others = U(get(near, rest, base, row, S(targets[f])) - U(1))
                    if others != U(0):
                        cuda.atomic.add(out, f, L(others))
                        found = L(found + L(others))
                    f += LANES
                if found != L(0):
                    cuda.atomic.add(out, e, found)
                e += GROUPS
            cuda.syncthreads()
            clear(offsets, targets, reverse, first, last, thread, base, window, near, rest, row, item < dense)

    return wedges


@functools.cache
def make_paths(target: Target, threads: int, lanes: int) -> Any:
    """The kernel of weighted cycles u, v, w, v' below the top: one way round is a[u, v] b[v, w], the other c and d.

    Their product is added to the entry (u, v') of the other way, if `towards_top`, or to (v', w). A weight is an array
    over the entries, or a single 1 with the mask 0.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    (times, minus), draw = residue_functions(target), make_draw(target)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @kernel
    def paths(
        offsets, targets, upper, reverse, tops, start, stop, a, a_mask, b, b_mask, c, c_mask, d, d_mask, towards_top,
        prime, rows, stride, out, state,
    ):  # fmt: skip
        drawn = cuda.shared.array(1, uint32)
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        row = S(cuda.blockIdx.x) * stride
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            u = tops[item]
            first, last = offsets[u] + S(U(thread >> U(SHIFT))), upper[u]
            e = first
            while e < last:
                f, end, weight = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e], L(a[e & a_mask])
                if weight != L(0):
                    while f < end:
                        cuda.atomic.add(rows, row + S(targets[f]), times(weight, L(b[f & b_mask]), prime))
                        f += LANES
                e += GROUPS
            cuda.syncthreads()
            e = first
            while e < last:
                f, end, found = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e], L(0)
                weight, other = L(a[e & a_mask]), L(c[e & c_mask])
                if other != L(0):
                    while f < end:
                        more = L(rows[row + S(targets[f])])
                        if prime != L(0):
                            more = L(more % prime)
                        more = minus(more, times(weight, L(b[f & b_mask]), prime), prime)
                        if more != L(0):
                            more = times(more, times(other, L(d[f & d_mask]), prime), prime)
                            if towards_top != U(0):
                                found = L(found + more)
                            else:
                                cuda.atomic.add(out, f, more)
                        f += LANES
                if found != L(0):
                    cuda.atomic.add(out, e, found)
                e += GROUPS
            cuda.syncthreads()
            e = first
            while e < last:
                f, end = offsets[targets[e]] + S(U(thread & U(LANES - 1))), reverse[e]
                while f < end:
                    rows[row + S(targets[f])] = L(0)
                    f += LANES
                e += GROUPS

    return paths


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, words, numbers = int32[::1], int64[::1], uint32[::1], uint64[::1]
    below = (places, ids, places, places, ids, uint32, uint32)
    weights = (numbers, int64) * 4
    found = [
        ("few fours", make_few_fours(target, FEW_THREADS, SLOTS), void(*below[:5], int64, int64, numbers)),
        (
            "paths",
            make_paths(target, threads, lanes),
            void(*below, *weights, uint32, uint64, numbers, int64, numbers, numbers),
        ),
    ]
    for packed in (False, True):
        name, rest = " packed" * packed, (uint32, int64, words, int64)
        found.append((f"fours{name}", make_fours(target, threads, lanes, packed), void(*below, *rest, numbers)))
        wedges = make_wedges(target, threads, lanes, packed)
        found.append((f"wedges{name}", wedges, void(*below, *rest, numbers, numbers)))
    return found
