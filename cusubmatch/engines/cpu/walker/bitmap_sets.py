"""Candidate bitmaps of the bitmap walker: making a plan's sets as vertices are matched, and going through them.

A bitmap's bit i stands for vertex i of the universe.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.local_candidates import level_row, step_row

__all__ = [
    "ONES",
    "allowed_range",
    "candidate_bitmap",
    "differs_from_matched",
    "is_set",
    "make_bitmaps",
    "next_bit",
    "open_bitmap",
]

ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner
def make_bitmaps(program, state, level):
    """Make the sets that are due when `level` is matched; False if one is too small."""
    size = state.registers[p.UNIVERSE]
    words = (size + 63) >> 6
    for index in range(level_row(program, level)[p.STEP], level_row(program, level)[p.STEP_END]):
        step = step_row(program, index)
        out = advance(state.sets, step[p.TARGET] * state.stride)
        if step[p.FROM_KIND] == p.ROW:
            source = advance(state.first, step[p.FROM_A] * state.stride)
        else:
            source = advance(state.sets, step[p.FROM_A] * state.stride)
        operation, relation, operand = step[p.OPERATION], step[p.WITH_A], step[p.WITH_B]
        if operation == p.FILTER:
            for w in range(words):
                out[w] = source[w]
        elif operand == 0:
            other = advance(state.first, relation * state.stride)
            for w in range(words):
                out[w] = source[w] & (other[w] if operation == p.INTERSECT else ~other[w])
        else:
            row = (program.inner[relation] * size + state.local[operand]) * words
            if operation == p.INTERSECT:
                for w in range(words):
                    out[w] = source[w] & state.rows[row + w]
            else:
                for w in range(words):
                    out[w] = source[w] & ~state.rows[row + w]
        if step[p.MASK] >= 0:
            mask = advance(state.allowed, step[p.MASK] * state.stride)
            for w in range(words):
                out[w] &= mask[w]
        if step[p.NEED] > 2:  # smaller ones cost less than counting them would save
            length = np.int64(0)
            for w in range(words):
                length += np.int64(popcount(out[w]))
            if length < step[p.NEED]:
                return False
    return True


@inner
def allowed_range(program, state, level, before_level):
    """The places that the restrictions by levels before `before_level` leave to a level."""
    low, high = np.int64(0), state.registers[p.UNIVERSE]
    ascending = program.header[p.ASCENDING]
    for r in range(level_row(program, level)[p.RESTRICTED], level_row(program, level)[p.RESTRICTED_END]):
        by = program.refs[r]
        if by >= before_level:
            continue
        if ascending:
            low = max(low, state.local[by] + (by > 0))
        else:
            high = min(high, state.local[by])
    return low, high


@inner
def open_bitmap(program, state, level):
    """Set the range that a level draws from, within its restrictions; False if it is empty."""
    low, high = allowed_range(program, state, level, level)
    state.begin[level] = 0
    state.position[level] = low
    state.end[level] = high
    return low < high


@inner
def candidate_bitmap(program, state, level):
    """The candidate bitmap of a level."""
    if level_row(program, level)[p.KIND] == p.ROW:
        return advance(state.first, level_row(program, level)[p.SOURCE_A] * state.stride)
    return advance(state.sets, level_row(program, level)[p.SOURCE_A] * state.stride)


@inner
def next_bit(bitmap, begin, end):
    """The first set bit in [begin, end), or `end`."""
    if begin >= end:
        return end
    w = begin >> 6
    word = bitmap[w] & (ONES << np.uint64(begin & 63))
    last = (end - 1) >> 6
    while word == 0:
        w += 1
        if w > last:
            return end
        word = bitmap[w]
    return min((w << 6) + np.int64(trailing_zeros(word)), end)


@inner
def differs_from_matched(program, state, level, i):
    """Whether the universe's vertex i is no vertex that a level must differ from."""
    for d in range(level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]):
        by = program.refs[d]
        if by > 0 and state.local[by] == i:
            return False
    return True


@jit
def is_set(bitmap, i):
    """Bit i, 0 or 1."""
    return np.int64((bitmap[i >> 6] >> np.uint64(i & 63)) & np.uint64(1))
