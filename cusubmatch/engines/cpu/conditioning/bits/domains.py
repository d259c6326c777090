"""Domains as bits: matching a vertex narrows those of its neighbours and of the vertices that it is in conflict with.

What changes is kept on a trail and restored by `undo`.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.primitives.bitsets import (
    SET_WORDS,
    any_common,
    copy,
    count,
    count_common,
    intersect,
    mixed,
    remove,
)
from cusubmatch.engines.cpu.primitives.jit import inner, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance

__all__ = [
    "are_adjacent",
    "assign",
    "candidates",
    "choices",
    "domain",
    "domains_key",
    "free_set",
    "in_conflict",
    "mark_domains",
    "mark_row",
    "may_collide",
    "most_waived",
    "number_of_locals",
    "overlap",
    "put_row",
    "restart",
    "restrict",
    "row_of",
    "undo",
    "unmark_domains",
    "write_overlap",
]

FACTORS = SET_WORDS * c.MAX_VERTICES  # of one kind


@inner
def restart(s, pool_begin):
    """Nothing is matched: all domains are whole, all conflicts live."""
    registers = s.registers
    registers[c.TOUCHED] = registers[c.MATCHED] = registers[c.TRAIL_TOP] = registers[c.ABORTED] = 0
    registers[c.POOL_TOP] = pool_begin
    for v in range(c.MAX_VERTICES):
        s.conflicts[v] = s.all_conflicts[v]
        copy(domain(s, v), advance(s.whole, SET_WORDS * v))


@inner
def are_adjacent(s, u, w):
    """1 where a pattern edge joins two vertices, else 0."""
    return (s.neighbours[u] >> w) & 1


@inner
def in_conflict(s, u, w):
    """1 where two vertices must have different images, which no edge sees to, else 0."""
    return (s.conflicts[u] >> w) & 1


@inner
def domain(s, w):
    """The domain of w, a set."""
    return advance(s.domains, SET_WORDS * w)


@inner
def free_set(s):
    """A set that is nobody's, until the next domain is saved: the next one of the trail."""
    return advance(s.trail_sets, SET_WORDS * s.registers[c.TRAIL_TOP])


@inner
def row_of(s, v, w, x):
    """The row of x, an image of v, among the candidates of w."""
    return advance(s.rows, (s.relations[(v << 5) + w] * s.locals + x) * s.width)


@inner
def number_of_locals(s):
    """The number of local indices."""
    return s.locals


@inner
def mark_row(s, v, w, x, marks, times):
    """Add 1 to the marks that are `times` of those that x, an image of v, leaves of w."""
    row = row_of(s, v, w, x)
    for y in range(s.locals):
        is_left = np.uint8(row[y >> 6] >> np.uint64(y & 63) & np.uint64(1))
        marks[y] += is_left & np.uint8(marks[y] == times)


@inner
def put_row(s, v, w, x, elements, size, out):
    """Put those of some elements, ascending, that x, an image of v, leaves of w into the set at a pointer."""
    row = row_of(s, v, w, x)
    for place in range(size):
        y = np.int64(elements[place])
        out[place >> 6] |= (row[y >> 6] >> np.uint64(y & 63) & np.uint64(1)) << np.uint64(place & 63)


@inner
def _save(s, w):
    """Put the domain of w on the trail."""
    top = s.registers[c.TRAIL_TOP]
    s.trail[2 * top], s.trail[2 * top + 1] = w, s.registers[c.TOUCHED]
    copy(advance(s.trail_sets, SET_WORDS * top), domain(s, w))
    s.registers[c.TRAIL_TOP] = top + 1


@inner
def undo(s, trail_top, pool_top, matched):
    """Go back to an earlier state."""
    top = s.registers[c.TRAIL_TOP]
    while top > trail_top:
        top -= 1
        copy(domain(s, s.trail[2 * top]), advance(s.trail_sets, SET_WORDS * top))
        s.registers[c.TOUCHED] = s.trail[2 * top + 1]
    s.registers[c.TRAIL_TOP] = trail_top
    s.registers[c.POOL_TOP] = pool_top
    s.registers[c.MATCHED] = matched


@inner
def assign(s, v, x, others):
    """Match v to x and narrow the domains of `others`; False if one is empty."""
    s.registers[c.MATCHED] |= np.int64(1) << v
    near = s.neighbours[v] & others
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        _save(s, w)
        s.registers[c.TOUCHED] |= np.int64(1) << w
        if not intersect(domain(s, w), domain(s, w), row_of(s, v, w, x)):
            return False
    near, bit = s.conflicts[v] & others, np.uint64(1) << np.uint64(x & 63)
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        at = SET_WORDS * w + (x >> 6)
        if s.domains[at] & bit:
            _save(s, w)
            if not remove(domain(s, w), np.int64(x)):
                return False
    return True


@inner
def candidates(s, v):
    """The candidates that v may take, put into the pool: a range of the store."""
    begin = end = s.registers[c.POOL_TOP]
    for i in range(SET_WORDS):
        end = _put_elements(s, s.domains[SET_WORDS * v + i], i << 6, end)
    s.registers[c.POOL_TOP] = end
    return begin, end


@inner
def _put_elements(s, word, first, end):
    """Write the elements of a word, whose first is `first`, to the store at `end`; its new end."""
    while word:
        s.store[end] = first + np.int64(trailing_zeros(word))
        end += 1
        word &= word - np.uint64(1)
    return end


@inner
def mark_domains(_s, _v, _begin, _end, _others):
    """Domains are bitmaps."""
    return np.int64(0)


@inner
def unmark_domains(_s, _marked):
    """Nothing has been marked."""


@inner
def choices(s, w):
    """The number of candidates that w may take."""
    return count(domain(s, w))


@inner
def may_collide(s, u, w):
    """Whether two vertices in conflict can still take the same candidate."""
    return any_common(domain(s, u), domain(s, w))


@inner
def most_waived(_s, fewest):
    """How many conflicts between two parts are waived, at most, where all vertices have so many candidates."""
    return fewest // 4


@inner
def overlap(s, u, w):
    """The number of candidates that both u and w may take."""
    return count_common((domain(s, u), domain(s, w)))


@inner
def write_overlap(s, u, w):
    """The candidates that both u and w may take, put into the pool: a range of the store."""
    begin = end = s.registers[c.POOL_TOP]
    for i in range(SET_WORDS):
        end = _put_elements(s, s.domains[SET_WORDS * u + i] & s.domains[SET_WORDS * w + i], i << 6, end)
    s.registers[c.POOL_TOP] = end
    return begin, end


@inner
def restrict(s, u, w):
    """Take from the domain of u what w may not take; whether anything is left."""
    _save(s, u)
    s.registers[c.TOUCHED] |= np.int64(1) << u
    return intersect(domain(s, u), domain(s, u), domain(s, w))


@inner
def domains_key(s, component):
    """The two words that stand for the domains of a component."""
    first = second = np.uint64(0)
    rest = component
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        factors = advance(s.set_factors, SET_WORDS * w)
        first += mixed(domain(s, w), factors, advance(factors, FACTORS))
        second += mixed(domain(s, w), advance(factors, 2 * FACTORS), advance(factors, 3 * FACTORS))
    return first, second
