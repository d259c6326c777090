"""The lists of a partial match: rows of the graph, bitmaps of hubs, and the first list cut by the restrictions.

A slot of level t has a list for each anchor and non-neighbour of the level: where a row begins and how long it is, or
the number of a hub's bitmap. The shortest anchor stands first; its elements are the candidates, and the other lists are
asked whether they hold one. A set that is only counted, and all of whose lists are bitmaps, is drawn by words instead
where its restrictions leave fewer words than candidates: hubs rank highest, so a restriction leaves few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.search import program as p

__all__ = ["Lists", "list_functions"]

U = np.uint32
HUB_FLAG = 0x80000000  # in place of a length: the list is a bitmap, its base the number of the hub
WORD_FLAG = 0xC0000000  # in place of the second list's, with the first one's hub: the first list is a range of words


class Lists(NamedTuple):
    """Device functions; `sh` is a block's shared memory, beginning with the program; `w` is where the stack begins."""

    adjacent: Any
    ahead: Any
    base_of: Any
    field: Any
    length_of: Any
    make: Any
    member: Any
    row: Any
    store: Any
    word_hub: Any


def list_functions(
    target: Target, slots: int, wide: bool, weighed: bool = False, counting: bool = False, suffixed: bool = False
) -> Lists:
    """The functions for `slots` partial matches a level.

    `wide`: rows may begin past 2**32; `weighed`: with weights; `counting`: a set may be drawn by words; `suffixed`:
    what is known of a suffix is carried.
    """
    device, find, contains = target.device, *warp_functions(target, wide)[:2]
    SLOTS, LIST, HEADER, RECORD = slots, (3 if wide else 2) * slots, p.HEADER, p.RECORD
    LEVEL_MASK, LEVEL_BITS = (1 << p.LEVEL_BITS) - 1, p.LEVEL_BITS
    BACKWARD_NEIGHBOURS, FORBIDDEN, INJECTIVITY, BOUNDS = p.BACKWARD_NEIGHBOURS, p.FORBIDDEN, p.INJECTIVITY, p.BOUNDS
    NEED, REFERENCES, PREFIX, LISTS = p.NEED, p.REFERENCES, p.PREFIX, p.LISTS
    STRIDE, HUB, HUBS, HUB_WORDS, ASCENDING = p.STRIDE, p.HUB, p.HUBS, p.HUB_WORDS, p.ASCENDING
    WEIGH, WEIGHED, NOWHERE, FLAG, WIDE, HAS_WEIGHTS = p.WEIGH, p.WEIGHED, p.NOWHERE, HUB_FLAG, wide, weighed
    WORDWISE, BY_WORDS, COUNTING, P = p.WORDWISE, WORD_FLAG, counting, np.int64 if wide else U
    HAS_SUFFIX, LAST, VARIABLES, TEST_WORDS = suffixed, p.LAST, p.VARIABLES, p.TEST_WORDS
    MEASURED_END, LEAST = p.MEASURED_END, p.LEAST
    LENGTH = 2 * slots if wide else slots

    @device
    def field(sh, t, which):
        """A field of record t."""
        return U(sh[U(U(HEADER + RECORD * t) + which)])

    @device
    def store(sh, place, base, length):
        if WIDE:
            sh[place] = U(np.int64(base) & 0xFFFFFFFF)
            sh[U(place + SLOTS)] = U(np.int64(base) >> 32)
            sh[U(place + 2 * SLOTS)] = length
        else:
            sh[place] = base
            sh[U(place + SLOTS)] = length

    @device
    def base_of(sh, place):
        if WIDE:
            return np.int64(sh[place]) | (np.int64(sh[U(place + SLOTS)]) << 32)
        return U(sh[place])

    @device
    def length_of(sh, place):
        if WIDE:
            return U(sh[U(place + 2 * SLOTS)])
        return U(sh[U(place + SLOTS)])

    @device
    def ahead(base, distance):
        """A base moved on."""
        if WIDE:
            return np.int64(base) + np.int64(distance)
        return U(base + distance)

    @device
    def row(sh, off, reference, vertex):
        """Where the row of a vertex begins, and its length."""
        if WIDE:
            place = np.int64(U(reference >> LEVEL_BITS)) * np.int64(sh[STRIDE]) + np.int64(vertex)
            begin = np.int64(off[place])
            return begin, U(np.int64(off[place + 1]) - begin)
        first = U(U(U(reference) >> U(LEVEL_BITS)) * U(sh[STRIDE]) + vertex)
        start = U(off[first])
        return start, U(U(off[U(first + 1)]) - start)

    @device
    def hub_of(sh, reference, vertex):
        """The number of a hub's bitmap."""
        return U(U(U(reference >> LEVEL_BITS) * U(sh[HUBS])) + U(vertex - U(sh[HUB])))

    @device
    def marked(sh, bits, hub, x):
        """Whether x is in a hub's bitmap."""
        word = U(bits[U(hub * U(sh[HUB_WORDS]) + U(x >> U(5)))])
        return U(word >> U(x & U(31))) & U(1) != U(0)

    @device
    def make(sh, w, t, slot, off, col):
        """Make the lists of a slot of level t: the shortest anchor first, cut by the restrictions; its length."""
        references, prefix = field(sh, t, REFERENCES), U(w + field(sh, t, PREFIX) + slot)
        place = U(w + field(sh, t, LISTS) + slot)
        backward_neighbours = field(sh, t, BACKWARD_NEIGHBOURS)
        shortest, least, i = U(0), U(NOWHERE), U(0)
        while i < backward_neighbours:
            reference = U(sh[U(references + i)])
            _, length = row(sh, off, reference, U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)]))
            if length < least:
                least, shortest = length, i
            i = U(i + 1)
        end, out, i, lowest = U(backward_neighbours + field(sh, t, FORBIDDEN)), U(place + LIST), U(0), U(NOWHERE)
        while i < end:
            if i != shortest:
                reference = U(sh[U(references + i)])
                vertex = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
                lowest = min(lowest, vertex)
                if vertex >= U(sh[HUB]):
                    store(sh, out, hub_of(sh, reference, vertex), U(FLAG))
                else:
                    base, length = row(sh, off, reference, vertex)
                    store(sh, out, base, length)
                out = U(out + LIST)
            i = U(i + 1)
        reference = U(sh[U(references + shortest)])
        nearest = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
        base, length = row(sh, off, reference, nearest)
        bounds, first_word, last_word = field(sh, t, BOUNDS), U(0), U(sh[HUB_WORDS])
        if bounds > U(0):
            first = U(references + end + field(sh, t, INJECTIVITY))
            ascending, i = U(sh[ASCENDING]), U(1)
            bound = U(sh[U(prefix + U(sh[first]) * SLOTS)])
            while i < bounds:
                other = U(sh[U(prefix + U(sh[U(first + i)]) * SLOTS)])
                if ascending:
                    bound = max(bound, other)
                else:
                    bound = min(bound, other)
                i = U(i + 1)
            if ascending:
                below = find(col, base, length, U(bound + 1))
                base = ahead(base, below)
                length = U(length - below)
                first_word = U(bound >> U(5))
            else:
                length = find(col, base, length, bound)
                last_word = U(U(bound >> U(5)) + U(1))
        if length < field(sh, t, NEED):
            length = U(0)
        if COUNTING:
            if field(sh, t, WORDWISE) and min(lowest, nearest) >= U(sh[HUB]) and U(last_word - first_word) < length:
                base, length = P(first_word), U(last_word - first_word)
                sh[U(U(place + LIST) + LENGTH)] = U(U(BY_WORDS) | hub_of(sh, reference, nearest))
        if HAS_WEIGHTS:
            if t >= U(sh[WEIGH]) and t != U(sh[WEIGHED]) and U(sh[U(prefix + t * SLOTS)]) == U(0):
                length = U(0)  # nothing to count behind it
        if HAS_SUFFIX:
            if t <= U(sh[LAST]):
                first = U(sh[VARIABLES])
                i, end, out = first, field(sh, t, MEASURED_END), U(prefix + U(t + U(sh[TEST_WORDS])) * SLOTS)
                while i < end:
                    if U(sh[U(out + U(i - first) * SLOTS)]) < field(sh, i, LEAST):
                        length = U(0)
                    i = U(i + 1)
        store(sh, place, base, length)
        return length

    @device
    def member(sh, place, col, bits, x):
        """Whether x is in the list at `place`."""
        length = length_of(sh, place)
        if length == U(FLAG):
            return marked(sh, bits, U(base_of(sh, place)), x)
        return contains(col, base_of(sh, place), length, x)

    @device
    def adjacent(sh, off, col, bits, reference, vertex, x):
        """Whether x is in the row of a vertex."""
        if vertex >= U(sh[HUB]):
            return marked(sh, bits, hub_of(sh, reference, vertex), x)
        base, length = row(sh, off, reference, vertex)
        return contains(col, base, length, x)

    @device
    def word_hub(sh, place):
        """The hub of the first list, at `place`, if it is a range of words, else NOWHERE; there is a second list."""
        length = length_of(sh, U(place + LIST))
        if length >= U(BY_WORDS):
            return U(length - U(BY_WORDS))
        return U(NOWHERE)

    return Lists(adjacent, ahead, base_of, field, length_of, make, member, row, store, word_hub)
