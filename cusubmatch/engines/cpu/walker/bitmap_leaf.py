"""Counting by bitmaps: what each vertex of the leaf adds to the count, as `leaf` does for lists."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.bitmap_sets import (
    ONES,
    allowed_range,
    candidate_bitmap,
    differs_from_matched,
    is_set,
    make_bitmaps,
    next_bit,
)
from cusubmatch.engines.cpu.walker.count_limbs import FULL_SUM, add_to_count, value_of
from cusubmatch.engines.cpu.walker.local_candidates import level_row, step_row

__all__ = ["count_bitmaps"]


@inner
def _count_between(a, b, shift, low, high):
    """The number of bits in [low, high) of a & b[shift:]; of a alone if shift is negative."""
    if low >= high:
        return 0
    first, last = low >> 6, (high - 1) >> 6
    head, tail = ONES << np.uint64(low & 63), ONES >> np.uint64(63 - ((high - 1) & 63))
    if shift < 0:
        if first == last:
            return np.int64(popcount(a[first] & head & tail))
        size = np.int64(popcount(a[first] & head)) + np.int64(popcount(a[last] & tail))
        for w in range(first + 1, last):
            size += np.int64(popcount(a[w]))
        return size
    if first == last:
        return np.int64(popcount(a[first] & b[shift + first] & head & tail))
    size = np.int64(popcount(a[first] & b[shift + first] & head))
    size += np.int64(popcount(a[last] & b[shift + last] & tail))
    for w in range(first + 1, last):
        size += np.int64(popcount(a[w] & b[shift + w]))
    return size


@jit
def _losses(program, state, level, before_level, bitmap, other, shift, low, high):
    """How many matched vertices of levels before `before_level`, which the level must differ from, lie in its set."""
    losses = 0
    first, last = level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]
    for d in range(first, last):
        by = program.refs[d]
        i = state.local[by]
        if by == 0 or by >= before_level or i < low or i >= high or not is_set(bitmap, i):
            continue
        if shift >= 0 and not is_set(other, (shift << 6) + i):
            continue
        fresh = True
        for e in range(first, d):
            fresh = fresh and (program.refs[e] == 0 or state.local[program.refs[e]] != i)
        losses += fresh
    return losses


@inner
def _count_chain(state, candidates, counted, inner, words, ascending, leaf):
    """The leaf where every level bounds the next, as in cliques: rows hold later vertices only."""
    total, visited, position, end = np.int64(0), 0, state.position[leaf], state.end[leaf]
    for w in range(position >> 6, (end + 63) >> 6):
        word = candidates[w]
        if w == position >> 6:
            word &= ONES << np.uint64(position & 63)
        if w == end >> 6:
            word &= ~(ONES << np.uint64(end & 63))
        first, last = (w, words) if ascending else (0, w + 1)
        while word:
            row = (inner + (w << 6) + np.int64(trailing_zeros(word))) * words
            for v in range(first, last):
                total += np.int64(popcount(counted[v] & state.rows[row + v]))
            word &= word - np.uint64(1)
            visited += 1
    state.position[leaf] = end
    add_to_count(state, 1, total)
    return visited


@inner
def count_bitmaps(program, state, leaf):
    """Count the whole open range of the leaf; how many vertices it had."""
    header = program.header
    case, leaf_mode, last = header[p.CASE], header[p.LEAF_MODE], header[p.LAST]
    size = state.registers[p.UNIVERSE]
    words = (size + 63) >> 6
    candidates = candidate_bitmap(program, state, leaf)
    step = step_row(program, level_row(program, leaf)[p.STEP] if case == p.COMMON else 0)
    total, visited = 0, 0
    shift = np.int64(-1)
    if case == p.COMMON:
        bitmaps = state.first if step[p.FROM_KIND] == p.ROW else state.sets
        counted = advance(bitmaps, step[p.FROM_A] * state.stride)
        inner = program.inner[step[p.WITH_A]] * size
    else:
        counted, inner = candidate_bitmap(program, state, last), np.int64(0)
    low, high = allowed_range(program, state, last, leaf)
    bounded = False
    for r in range(level_row(program, last)[p.RESTRICTED], level_row(program, last)[p.RESTRICTED_END]):
        bounded = bounded or program.refs[r] == leaf
    plain = level_row(program, leaf)[p.INJECTIVITY] == level_row(program, leaf)[p.INJECTIVITY_END]
    lossless = level_row(program, last)[p.INJECTIVITY] == level_row(program, last)[p.INJECTIVITY_END]
    if case == p.COMMON and header[p.CHAINED] and plain and lossless and leaf_mode == p.SIZE:
        return _count_chain(state, candidates, counted, inner, words, header[p.ASCENDING] != 0, leaf)
    i, end = next_bit(candidates, state.position[leaf], state.end[leaf]), state.end[leaf]
    while i < end:
        if plain or differs_from_matched(program, state, leaf, i):
            visited += 1
            state.local[leaf] = i
            if case == p.COMMON:
                shift = (inner + i) * words
            elif case == p.GENERAL:
                make_bitmaps(program, state, leaf)
            if bounded:
                if header[p.ASCENDING]:
                    low = max(low, i + 1)
                else:
                    high = i
            n = _count_between(counted, state.rows, shift, low, high)
            if not lossless:
                n -= _losses(program, state, last, last, counted, state.rows, shift, low, high)
            total += value_of(leaf_mode, n)
            if total >= FULL_SUM:
                add_to_count(state, 1, total)
                total = 0
        i = next_bit(candidates, i + 1, end)
    state.position[leaf] = end
    add_to_count(state, 1, total)
    return visited
