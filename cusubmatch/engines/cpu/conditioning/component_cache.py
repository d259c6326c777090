"""The cache of counted components: open addressing, by two words of 64 random bits.

A component's count depends on its vertices, their domains, its waived conflicts and its pending images. Its key is a
sum of random words of all these, so that two different components have one key with a chance of about 2^-128 (Zobrist
1970; the same is done in model counting, Sang et al. 2004). When the table has reached its greatest size, new entries
replace old ones.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros

__all__ = ["SLOT_WORDS", "key_of", "lookup", "remember"]

PROBES = 8
SLOT_WORDS = 4  # two of the key, a count, a bound


@jit
def key_of(s, component):
    """The two words that stand for a component."""
    first = np.uint64(component) * s.factors[0]
    second = np.uint64(component) * s.factors[1]
    touched, rest = s.registers[c.TOUCHED], component
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        waived = s.all_conflicts[w] & ~s.conflicts[w] & component
        if waived:
            first += np.uint64(waived) * s.factors[64 + w]
            second += np.uint64(waived) * s.factors[96 + w]
        if (touched >> w) & 1:
            first += s.fingerprint_1[w] * s.factors[32 + w]
            second += s.fingerprint_2[w] * s.factors[32 + w]
            continue
        others, seen = s.conflicts[w] & s.registers[c.MATCHED], np.int64(0)
        while others:
            v = trailing_zeros(others)
            others &= others - 1
            x = s.image[v]
            if (s.masks[x] >> w) & 1:
                again, earlier = False, seen
                while earlier:
                    again |= s.image[trailing_zeros(earlier)] == x
                    earlier &= earlier - 1
                if not again:
                    first += s.words_1[x] * s.factors[128 + w]
                    second += s.words_2[x] * s.factors[128 + w]
                    seen |= np.int64(1) << v
    return first, second


@jit
def _place(first, second):
    return np.int64((first ^ (second >> np.uint64(31))) >> np.uint64(2))


@jit
def lookup(s, first, second):
    """The slot of a key, or -1."""
    mask = s.registers[c.TABLE_MASK]
    at = _place(first, second)
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        if s.table[slot] == first and s.table[slot + 1] == second:
            return slot
        if s.table[slot] == 0 and s.table[slot + 1] == 0:
            return -1
    return -1


@inner
def _put(s, first, second, value, bound_word):
    """Write an entry to a free slot, or over another entry; the slot."""
    mask = s.registers[c.TABLE_MASK]
    at = _place(first, second)
    chosen = (at & mask) * SLOT_WORDS
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        if s.table[slot] == 0 and s.table[slot + 1] == 0:
            s.registers[c.ENTRIES] += 1
            chosen = slot
            break
    s.table[chosen], s.table[chosen + 1] = first, second
    s.table[chosen + 2], s.table[chosen + 3] = value, bound_word
    return chosen


@inner
def _grow(s):
    """Use four times as much of the table."""
    slots = s.registers[c.TABLE_MASK] + 1
    old = np.empty(slots * SLOT_WORDS, np.uint64)
    for i in range(slots * SLOT_WORDS):
        old[i] = s.table[i]
        s.table[i] = 0
    s.registers[c.TABLE_MASK] = min(4 * slots - 1, s.registers[c.CAPACITY_MASK])
    s.registers[c.ENTRIES] = 0
    for i in range(slots):
        at = i * SLOT_WORDS
        if old[at] != 0 or old[at + 1] != 0:
            _put(s, old[at], old[at + 1], old[at + 2], old[at + 3])


@inner
def remember(s, first, second, value, bound):
    """Keep the count of a component."""
    mask = s.registers[c.TABLE_MASK]
    if 2 * s.registers[c.ENTRIES] > mask and mask < s.registers[c.CAPACITY_MASK]:
        _grow(s)
    slot = _put(s, first, second, value, np.uint64(0))
    s.bounds[slot + 3] = bound
