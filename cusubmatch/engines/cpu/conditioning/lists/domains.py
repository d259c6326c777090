"""Domains: matching a vertex narrows those of its neighbours and of the vertices that it is in conflict with.

What changes is kept on a trail and restored by `undo`. A touched domain never holds the image of a vertex that it must
differ from. The images that an untouched vertex must not take are *pending*.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.state import NONE, TRAIL_FIELDS
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.sorted_sets import (
    GALLOP_RATIO,
    count_common,
    has,
    have_common,
    intersect,
    intersect_marked,
    without,
)

__all__ = [
    "LONG_ROW",
    "UNKNOWN",
    "assign",
    "candidates",
    "choices",
    "domains_key",
    "is_image",
    "is_pending",
    "mark_domains",
    "may_collide",
    "most_waived",
    "overlap",
    "restart",
    "restrict",
    "row_of",
    "undo",
    "unmark_domains",
    "write_overlap",
]

MIN_MARKED = 4  # candidates of a domain that is kept as a bitmap, too
MERGED = 2  # times as long as to set or to test a bit, for each element of two lists that are merged,
GALLOPED = 8  # and for each of the shorter one that is searched for in the other
WORDS_AT_ONCE = 8  # of a bitmap, that are emptied in the time that it takes to set a bit
LONG_ROW = 16  # a row that is longer than a domain by this factor is searched for its candidates
UNKNOWN = np.uint64(0)  # in place of a fingerprint that nobody has asked for


@inner
def restart(s, pool_begin):
    """Nothing is matched: all domains are whole, all conflicts live."""
    registers = s.registers
    registers[c.TOUCHED] = registers[c.MATCHED] = registers[c.TRAIL_TOP] = registers[c.ABORTED] = 0
    registers[c.POOL_TOP] = pool_begin
    for v in range(c.MAX_VERTICES):
        s.conflicts[v] = s.all_conflicts[v]
        s.bitmap[v] = NONE


@jit
def row_of(s, v, w, x):
    """The row of x, an image of v, among the candidates of w."""
    at = s.relations[(v << 5) + w] * s.stride + x
    return s.offsets[at], s.offsets[at + 1]


@inner
def _save(s, w):
    """Put the domain of w on the trail."""
    top = s.registers[c.TRAIL_TOP]
    at = TRAIL_FIELDS * top
    s.trail[at], s.trail[at + 1], s.trail[at + 2] = w, s.begin[w], s.end[w]
    s.trail[at + 3], s.trail[at + 4] = s.registers[c.TOUCHED], s.bitmap[w]
    s.trail_fingerprints[2 * top] = s.fingerprint_1[w]
    s.trail_fingerprints[2 * top + 1] = s.fingerprint_2[w]
    s.registers[c.TRAIL_TOP] = top + 1


@jit
def undo(s, trail_top, pool_top, matched):
    """Go back to an earlier state."""
    top = s.registers[c.TRAIL_TOP]
    while top > trail_top:
        top -= 1
        at = TRAIL_FIELDS * top
        w = s.trail[at]
        s.begin[w], s.end[w] = s.trail[at + 1], s.trail[at + 2]
        s.registers[c.TOUCHED], s.bitmap[w] = s.trail[at + 3], s.trail[at + 4]
        s.fingerprint_1[w], s.fingerprint_2[w] = s.trail_fingerprints[2 * top], s.trail_fingerprints[2 * top + 1]
    s.registers[c.TRAIL_TOP] = trail_top
    s.registers[c.POOL_TOP] = pool_top
    s.registers[c.MATCHED] = matched


@inner
def is_pending(s, w, x):
    """Whether x is the image of a vertex that w must differ from."""
    return is_image(s, s.conflicts[w] & s.registers[c.MATCHED], x)


@inner
def is_image(s, vertices, x):
    """Whether x is the image of one of some vertices."""
    while vertices:
        if s.image[trailing_zeros(vertices)] == x:
            return True
        vertices &= vertices - 1
    return False


@inner
def _set_domain(s, w, begin, end):
    """Let the domain of w be a part of the pool that has just been written."""
    s.begin[w], s.end[w], s.bitmap[w] = begin, end, NONE
    s.fingerprint_1[w] = UNKNOWN
    s.registers[c.TOUCHED] |= np.int64(1) << w
    s.registers[c.POOL_TOP] = end


@inner
def _set_row(s, w, row, row_end):
    """Let the domain of w be a row, whose fingerprint is known."""
    s.begin[w], s.end[w], s.bitmap[w] = row, row_end, NONE
    s.fingerprint_1[w] = s.prefix_1[row_end] - s.prefix_1[row]
    s.fingerprint_2[w] = s.prefix_2[row_end] - s.prefix_2[row]
    s.registers[c.TOUCHED] |= np.int64(1) << w


@inner
def _narrow(s, w, row, row_end):
    """Intersect the domain of w with a row; whether anything is left."""
    _save(s, w)
    out = begin = s.registers[c.POOL_TOP]
    store = s.store
    if not (s.registers[c.TOUCHED] >> w) & 1:
        pending = s.conflicts[w] & s.registers[c.MATCHED]
        others, lost = pending, False
        while others and not lost:
            lost = has(store, row, row_end, s.image[trailing_zeros(others)])
            others &= others - 1
        if not lost:
            _set_row(s, w, row, row_end)
            return row < row_end
        first, end = row, row_end
        while pending:
            out = begin + without(store, first, end, s.image[trailing_zeros(pending)], store, begin)
            first, end = begin, out
            pending &= pending - 1
    elif s.bitmap[w] != NONE and row_end - row < LONG_ROW * (s.end[w] - s.begin[w]):
        out += intersect_marked(store, row, row_end, store, s.bitmap[w], store, out)
    else:
        out += intersect(store, s.begin[w], s.end[w], store, row, row_end, store, out)
    if (s.registers[c.TOUCHED] >> w) & 1 and out - begin == s.end[w] - s.begin[w]:  # nothing is lost
        s.registers[c.TRAIL_TOP] -= 1
    elif out - begin == row_end - row:
        _set_row(s, w, row, row_end)
    else:
        _set_domain(s, w, begin, out)
    return begin < out


@jit
def _remove(s, w, x):
    """Take x out of a touched domain; whether anything is left."""
    if not has(s.store, s.begin[w], s.end[w], x):
        return True
    _save(s, w)
    begin = s.registers[c.POOL_TOP]
    out = begin + without(s.store, s.begin[w], s.end[w], x, s.store, begin)
    _set_domain(s, w, begin, out)
    return begin < out


@jit
def assign(s, v, x, others):
    """Match v to x and narrow the domains of `others`; False if one is empty."""
    s.image[v] = x
    s.registers[c.MATCHED] |= np.int64(1) << v
    near = s.neighbours[v] & others
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        row, row_end = row_of(s, v, w, x)
        if not _narrow(s, w, row, row_end):
            return False
    near = s.conflicts[v] & others & s.registers[c.TOUCHED]
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        if not _remove(s, w, x):
            return False
    return True


@inner
def _pays_to_mark(s, v, w, begin, end):
    """Whether candidates of v, a range of the store, narrow the domain of w in less time if it is a bitmap, too."""
    size, saved = s.end[w] - s.begin[w], 0
    if size < MIN_MARKED:
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


@jit
def choices(s, w):
    """The number of candidates of w that it may take."""
    if (s.registers[c.TOUCHED] >> w) & 1:
        return s.end[w] - s.begin[w]
    n, others = s.list_end[w] - s.list_begin[w], s.conflicts[w] & s.registers[c.MATCHED]
    seen = np.int64(0)
    while others:
        v = trailing_zeros(others)
        others &= others - 1
        if (s.masks[s.image[v]] >> w) & 1:
            n -= not is_image(s, seen, s.image[v])
            seen |= np.int64(1) << v
    return n


@inner
def candidates(s, v):
    """The candidates that v may take: a range of the store."""
    if (s.registers[c.TOUCHED] >> v) & 1:
        return s.begin[v], s.end[v]
    begin = end = s.registers[c.POOL_TOP]
    for i in range(s.list_begin[v], s.list_end[v]):
        if not is_pending(s, v, s.store[i]):
            s.store[end] = s.store[i]
            end += 1
    s.registers[c.POOL_TOP] = end
    return begin, end


@jit
def may_collide(s, u, w):
    """Whether two vertices in conflict can still take the same candidate."""
    touched = s.registers[c.TOUCHED]
    if not (touched >> u) & 1:
        u, w = w, u
    if not (touched >> u) & 1:
        return True
    if (touched >> w) & 1:
        return have_common(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w])
    for i in range(s.begin[u], s.end[u]):
        x = s.store[i]
        if (s.masks[x] >> w) & 1 and not is_pending(s, w, x):
            return True
    return False


@inner
def most_waived(_s, fewest):
    """How many conflicts between two parts are waived, at most, where all vertices have so many candidates."""
    return fewest


@inner
def overlap(s, u, w):
    """The number of candidates that both u and w may take."""
    return _overlap(s, u, w, -1)


@inner
def write_overlap(s, u, w):
    """The candidates that both u and w may take, put into the pool: a range of the store."""
    begin = s.registers[c.POOL_TOP]
    s.registers[c.POOL_TOP] = end = begin + _overlap(s, u, w, begin)
    return begin, end


@inner
def restrict(s, u, w):
    """Take from the domain of u what w may not take; whether anything is left."""
    _save(s, u)
    begin, end = write_overlap(s, u, w)
    _set_domain(s, u, begin, end)
    return begin < end


@jit
def _overlap(s, u, w, out):
    """Write the candidates that both u and w may take to the store at `out`, or with out < 0 count them; how many."""
    touched, n = s.registers[c.TOUCHED], 0
    if (touched >> u) & (touched >> w) & 1:
        if s.store[s.end[u] - 1] < s.store[s.begin[w]] or s.store[s.end[w] - 1] < s.store[s.begin[u]]:
            return 0
        if out < 0:
            return count_common(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w])
        return intersect(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w], s.store, out)
    if not (touched >> u) & 1:
        u, w = w, u
    of_lists = not (touched >> u) & 1
    begin, end = (s.list_begin[u], s.list_end[u]) if of_lists else (s.begin[u], s.end[u])
    for i in range(begin, end):
        x = s.store[i]
        if (s.masks[x] >> w) & 1 and not is_pending(s, w, x) and not (of_lists and is_pending(s, u, x)):
            if out >= 0:
                s.store[out + n] = x
            n += 1
    return n


@inner
def _add_up(s, w):
    """Make the fingerprint of the domain of w."""
    first, second = np.uint64(0), np.uint64(0)
    for i in range(s.begin[w], s.end[w]):
        x = s.store[i]
        first += s.words_1[x]
        second += s.words_2[x]
    s.fingerprint_1[w], s.fingerprint_2[w] = first, second


@jit
def domains_key(s, component):
    """The two words that stand for the domains of a component, and for its pending images."""
    first = second = np.uint64(0)
    touched, rest = s.registers[c.TOUCHED], component
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        if (touched >> w) & 1:
            if s.fingerprint_1[w] == UNKNOWN:
                _add_up(s, w)
            first += s.fingerprint_1[w] * s.factors[32 + w]
            second += s.fingerprint_2[w] * s.factors[32 + w]
            continue
        others, seen = s.conflicts[w] & s.registers[c.MATCHED], np.int64(0)
        while others:
            v = trailing_zeros(others)
            others &= others - 1
            x = s.image[v]
            if (s.masks[x] >> w) & 1 and not is_image(s, seen, x):
                first += s.words_1[x] * s.factors[128 + w]
                second += s.words_2[x] * s.factors[128 + w]
                seen |= np.int64(1) << v
    return first, second
