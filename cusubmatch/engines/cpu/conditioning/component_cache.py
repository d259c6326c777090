"""The cache of counted components: open addressing, by two words of 64 random bits.

A component's count depends on its vertices, their domains, its waived conflicts and its pending images. Its key is a
sum of random words of all these, so that two different components have one key with a chance of about 2^-128 (Zobrist
1970; the same is done in model counting, Sang et al. 2004). When the table has reached its greatest size, new entries
replace old ones.

Threads share a table without locks (Hyatt and Mann, "A lock-less transposition table implementation for parallel
search", 2002): the words of a key are written mixed with those of the count, so that a slot of which two threads have
written a part each holds no key that is looked for.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros

__all__ = ["SLOT_WORDS", "key_of", "lookup", "refill", "remember"]

PROBES = 8
SLOT_WORDS = 4  # two of the key, mixed with the others; a count; the bits of a bound on it
HALF = np.uint64(32)


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


@inner
def _swapped(word):
    """A word with its halves exchanged."""
    return (word << HALF) | (word >> HALF)


@jit
def lookup(s, first, second):
    """Whether a component is known, its count, and the bound on that."""
    mask = s.registers[c.TABLE_MASK]
    at = _place(first, second)
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        key_1, key_2, value, bound = s.table[slot], s.table[slot + 1], s.table[slot + 2], s.table[slot + 3]
        if key_1 ^ value ^ _swapped(bound) == first and key_2 ^ bound ^ _swapped(value) == second:
            return True, value, np.uint64(bound).view(np.float64)
        if (key_1 | key_2 | value | bound) == 0:
            break
    return False, np.uint64(0), 0.0


@inner
def _put(s, key_1, key_2, value, bound):
    """Write an entry to a free slot, or over another entry; the words are those of the slot, its key's mixed."""
    mask = s.registers[c.TABLE_MASK]
    at = _place(key_1 ^ value ^ _swapped(bound), key_2 ^ bound ^ _swapped(value))
    chosen = (at & mask) * SLOT_WORDS
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        if (s.table[slot] | s.table[slot + 1] | s.table[slot + 2] | s.table[slot + 3]) == 0:
            s.registers[c.ENTRIES] += 1
            chosen = slot
            break
    s.table[chosen], s.table[chosen + 1] = key_1, key_2
    s.table[chosen + 2], s.table[chosen + 3] = value, bound


@inner
def _grow(s):
    """Use four times as much of the table."""
    words = (s.registers[c.TABLE_MASK] + 1) * SLOT_WORDS
    old = np.empty(words, np.uint64)
    for i in range(words):
        old[i] = s.table[i]
    s.registers[c.TABLE_MASK] = min(4 * (s.registers[c.TABLE_MASK] + 1) - 1, s.registers[c.CAPACITY_MASK])
    for i in range((s.registers[c.TABLE_MASK] + 1) * SLOT_WORDS):
        s.table[i] = 0
    _put_all(s, old)


@inner
def _put_all(s, old):
    """Write the entries of another table to an empty one."""
    s.registers[c.ENTRIES] = 0
    for at in range(0, len(old), SLOT_WORDS):
        if (old[at] | old[at + 1] | old[at + 2] | old[at + 3]) != 0:
            _put(s, old[at], old[at + 1], old[at + 2], old[at + 3])


@jit
def refill(arrays, old):
    """Write the entries of another table to an empty one."""
    _put_all(c.on_arrays(arrays), old)


@inner
def remember(s, first, second, value, bound):
    """Keep the count of a component."""
    mask = s.registers[c.TABLE_MASK]
    if 2 * s.registers[c.ENTRIES] > mask and mask < s.registers[c.CAPACITY_MASK]:
        _grow(s)
    bits = np.float64(bound).view(np.uint64)
    _put(s, first ^ value ^ _swapped(bits), second ^ bits ^ _swapped(value), value, bits)
