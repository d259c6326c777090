"""Domains: matching a vertex narrows those of its neighbours and of the vertices that it is in conflict with.

What changes is kept on a trail and restored by `undo`. A touched domain never holds the image of a vertex that it must
differ from. The images that an untouched vertex must not take are *pending*.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.state import NONE, TRAIL_FIELDS, UNKNOWN
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.sorted_sets import has, intersect, intersect_marked, without

__all__ = [
    "LONG_ROW",
    "assign",
    "candidates",
    "choices",
    "is_image",
    "is_pending",
    "mark_row",
    "number_of_locals",
    "put_row",
    "restart",
    "row_of",
    "save",
    "set_domain",
    "undo",
]

LONG_ROW = 16  # a row that is longer than a domain by this factor is searched for its candidates


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
def number_of_locals(s):
    """The number of local indices."""
    return s.stride - 1


@inner
def mark_row(s, v, w, x, marks, times):
    """Add 1 to the marks that are `times` of those that x, an image of v, leaves of w."""
    begin, end = row_of(s, v, w, x)
    for at in range(begin, end):
        y = s.store[at]
        marks[y] += np.uint8(marks[y] == times)


@inner
def put_row(s, v, w, x, elements, size, out):
    """Put those of some elements, ascending, that x, an image of v, leaves of w into the set at a pointer."""
    at, end = row_of(s, v, w, x)
    place = 0
    while at < end and place < size:
        y = s.store[at]
        if y == elements[place]:
            out[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        at, place = at + (y <= elements[place]), place + (y >= elements[place])


@inner
def save(s, w):
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
def set_domain(s, w, begin, end):
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
    save(s, w)
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
        set_domain(s, w, begin, out)
    return begin < out


@jit
def _remove(s, w, x):
    """Take x out of a touched domain; whether anything is left."""
    if not has(s.store, s.begin[w], s.end[w], x):
        return True
    save(s, w)
    begin = s.registers[c.POOL_TOP]
    out = begin + without(s.store, s.begin[w], s.end[w], x, s.store, begin)
    set_domain(s, w, begin, out)
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
