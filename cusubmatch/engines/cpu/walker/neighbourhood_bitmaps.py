"""The universe of the bitmap walker: the neighbourhood of a matched root, renumbered, with its rows as bitmaps.

Where restrictions put every vertex on one side of the root, only that side of its neighbourhood is taken, so that the
hubs' neighbourhoods stay small (Danisch, Balalau, Sozio, WWW 2018, for cliques). A universe that does not fit is
refused, and its root is left to the list walker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import advance, bundled
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound, upper_bound
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.local_candidates import hub_row, row_of

__all__ = ["BitmapState", "enter_root", "new_bitmap_state", "on_bitmap_state"]


class BitmapState(NamedTuple):
    """Where one thread is.

    `local` are the matched vertices' indices in `universe`; `index_of` is the index of each data vertex (-1 outside).

    Bitmaps, uint64: `rows` of each inner relation and universe vertex; `first` the part of the universe in each of the
    root's relations; `allowed` the part that passes each pattern vertex's filter; `sets` the candidate sets.
    """

    registers: np.ndarray
    matched: np.ndarray
    local: np.ndarray
    begin: np.ndarray
    position: np.ndarray
    end: np.ndarray
    universe: np.ndarray
    spare: np.ndarray
    index_of: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    allowed: np.ndarray
    sets: np.ndarray
    capacity: int
    stride: int


INT32, UINT64 = ("universe", "spare", "index_of"), ("rows", "first", "allowed", "sets")
NUMBERS = "capacity", "stride"
on_bitmap_state = bundled(
    BitmapState,
    dict.fromkeys(INT32, types.int32) | dict.fromkeys(UINT64, types.uint64) | dict.fromkeys(NUMBERS),
)


def new_bitmap_state(program: p.Program, view: p.View, max_universe: int) -> BitmapState:
    """State for universes of up to so many vertices."""
    levels, relations = int(program.header[p.LEVELS]), view.relations
    capacity = max(1, max_universe)
    words = (capacity + 63) // 64
    inner = int(program.inner.max(initial=-1)) + 1
    return BitmapState(
        np.zeros(p.REGISTERS, np.int64),
        matched=np.zeros(levels, np.int64),
        local=np.zeros(levels, np.int64),
        begin=np.zeros(levels, np.int64),
        position=np.zeros(levels, np.int64),
        end=np.zeros(levels, np.int64),
        universe=np.zeros(capacity, np.int32),
        spare=np.zeros(capacity, np.int32),
        index_of=np.full(view.stride, -1, np.int32),
        rows=np.zeros(max(inner, 1) * capacity * words, np.uint64),
        first=np.zeros(relations * words, np.uint64),
        allowed=np.zeros(levels * words, np.uint64),
        sets=np.zeros(max(len(program.bases), 1) * words, np.uint64),
        capacity=capacity,
        stride=words,
    )


@inner
def _gather_universe(program, view, state, root):
    """Fill `universe` with the neighbours of the root that can be matched; their number, or -1 if they do not fit."""
    size, capacity = 0, state.capacity
    for relation in range(view.relations):
        if not program.outer[relation] & 1:
            continue
        begin, end = row_of(view, relation, root)
        if program.header[p.ONE_SIDED]:
            if program.header[p.ASCENDING]:
                begin = upper_bound(view.targets, begin, end, root)
            else:
                end = lower_bound(view.targets, begin, end, root)
        if size == 0:
            if end - begin > capacity:
                return -1
            for i in range(begin, end):
                state.universe[i - begin] = view.targets[i]
            size = end - begin
            continue
        old, merged = 0, 0  # elements of the universe so far, and of the union
        while begin < end or old < size:
            if merged == capacity:
                return -1
            if begin == end or (old < size and state.universe[old] < view.targets[begin]):
                state.spare[merged] = state.universe[old]
                old += 1
            else:
                old += old < size and state.universe[old] == view.targets[begin]
                state.spare[merged] = view.targets[begin]
                begin += 1
            merged += 1
        for i in range(merged):
            state.universe[i] = state.spare[i]
        size = merged
    return size


@inner
def _mark_row(view, state, relation, vertex, begin, end, low, high, bitmap, out):
    """Set in the bitmap at out[bitmap:] the indices, within [low, high), of the vertices in targets[begin:end)."""
    hub = hub_row(view, relation, vertex)
    if hub >= 0 and high - low < end - begin:
        for i in range(low, high):
            x = state.universe[i]
            bit = np.uint64((view.bits[hub + (x >> 5)] >> np.uint32(x & 31)) & np.uint32(1))
            out[bitmap + (i >> 6)] = out[bitmap + (i >> 6)] | (bit << np.uint64(i & 63))
        return
    for i in range(begin, end):
        index = state.index_of[view.targets[i]]
        if index >= 0:
            out[bitmap + (index >> 6)] = out[bitmap + (index >> 6)] | (np.uint64(1) << np.uint64(index & 63))


@inner
def enter_root(program, view, state, root):
    """Match the root: build its universe and bitmaps. The size; 0 if too small, -1 if it does not fit."""
    levels, header = program.header[p.LEVELS], program.header
    size = _gather_universe(program, view, state, root)
    if size < 0 or (size < levels - 1 and header[p.INJECTIVE]) or size == 0:
        return min(size, 0)
    words = (size + 63) >> 6
    state.matched[0] = root
    state.registers[p.UNIVERSE] = size
    state.local[0] = lower_bound(state.universe, 0, size, root)
    low, high = state.universe[0], state.universe[size - 1]
    for i in range(size):
        state.index_of[state.universe[i]] = i
    for relation in range(view.relations):
        if program.outer[relation]:
            first = advance(state.first, relation * state.stride)
            for w in range(words):
                first[w] = 0
            begin, end = row_of(view, relation, root)
            for i in range(begin, end):
                index = state.index_of[view.targets[i]]
                if index >= 0:
                    first[index >> 6] |= np.uint64(1) << np.uint64(index & 63)
        inner = program.inner[relation]
        if inner < 0:
            continue
        for w in range(inner * size * words, (inner + 1) * size * words):
            state.rows[w] = 0
        for i in range(size):
            vertex = state.universe[i]
            begin, end = row_of(view, relation, vertex)
            first_index, end_index = 0, size
            if header[p.CHAINED]:  # later vertices only
                if header[p.ASCENDING]:
                    begin, first_index = upper_bound(view.targets, begin, end, vertex), i + 1
                else:
                    end, end_index = lower_bound(view.targets, begin, end, vertex), i
            if end - begin > 2 * size:
                begin = lower_bound(view.targets, begin, end, low)
                end = upper_bound(view.targets, begin, end, high)
            bitmap = (inner * size + i) * words
            _mark_row(view, state, relation, vertex, begin, end, first_index, end_index, bitmap, state.rows)
    for u in range(levels):
        if (header[p.FILTERS] >> u) & 1:
            allowed = advance(state.allowed, u * state.stride)
            for w in range(words):
                allowed[w] = 0
            for i in range(size):
                bit = np.uint64((view.masks[state.universe[i]] >> np.uint32(u)) & np.uint32(1))
                allowed[i >> 6] |= bit << np.uint64(i & 63)
    for i in range(size):
        state.index_of[state.universe[i]] = -1
    return size
