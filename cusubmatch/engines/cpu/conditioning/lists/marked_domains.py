"""Domains that are kept as bitmaps, too, while the candidates of a vertex narrow them one after the other."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.domains import LONG_ROW, row_of
from cusubmatch.engines.cpu.conditioning.lists.state import NONE
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.sorted_sets import GALLOP_RATIO

__all__ = ["mark_domains", "unmark_domains"]

LEAST_MARKED = 4  # candidates of a domain that is kept as a bitmap, too
MERGED = 2  # times as long as to set or to test a bit, for each element of two lists that are merged,
GALLOPED = 8  # and for each of the shorter one that is searched for in the other
WORDS_AT_ONCE = 8  # of a bitmap, that are emptied in the time that it takes to set a bit


@inner
def _pays_to_mark(s, v, w, begin, end):
    """Whether candidates of v, a range of the store, narrow the domain of w in less time if it is a bitmap, too."""
    size, saved = s.end[w] - s.begin[w], 0
    if size < LEAST_MARKED:
        return False
    cost = size + s.bitmap_words // WORDS_AT_ONCE
    for i in range(begin, end):
        row, row_end = row_of(s, v, w, s.store[i])
        length = row_end - row
        fewer, more = min(length, size), max(length, size)
        if length < LONG_ROW * size:
            saved += (GALLOPED * fewer if GALLOP_RATIO * fewer < more else MERGED * (fewer + more)) - length
        if saved > cost:
            return True
    return False


@jit
def mark_domains(s, v, begin, end, others):
    """Keep domains as bitmaps, too, that candidates of v narrow; those of `others` that it is done for."""
    near, marked, store = s.neighbours[v] & others & s.registers[c.TOUCHED], np.int64(0), s.store
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        if s.bitmap[w] == NONE and _pays_to_mark(s, v, w, begin, end):
            bitmap = s.registers[c.POOL_TOP]
            s.bitmap[w], s.registers[c.POOL_TOP] = bitmap, bitmap + s.bitmap_words
            for i in range(bitmap, bitmap + s.bitmap_words):
                store[i] = 0
            for i in range(s.begin[w], s.end[w]):
                store[bitmap + (store[i] >> 5)] |= np.int32(1) << np.int32(store[i] & 31)
            marked |= np.int64(1) << w
    return marked


@inner
def unmark_domains(s, marked):
    """Forget bitmaps."""
    while marked:
        s.bitmap[trailing_zeros(marked)] = NONE
        marked &= marked - 1
