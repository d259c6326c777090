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

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.bits.state import on_bits
from cusubmatch.engines.cpu.conditioning.lists.state import on_lists
from cusubmatch.engines.cpu.conditioning.representation import domains_key
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, prefetch

__all__ = ["SLOT_WORDS", "ask_for", "empty_table", "key_of", "key_of_block", "lookup", "refill", "remember"]

PROBES = 8
SLOT_WORDS = 4  # two of the key, mixed with the others; a count; the bits of a bound on it
LINE_WORDS = 8  # of a line of a cache
GROWTH = 4
FULL_PART = 5  # eighths of the table that are filled when it grows
HALF = np.uint64(32)


def empty_table(slots: int) -> np.ndarray:
    """A table of so many slots, two to each line of a cache; memory is taken as it is used."""
    table = np.zeros(SLOT_WORDS * slots + LINE_WORDS, np.uint64)
    first = -(table.ctypes.data >> 3) % LINE_WORDS
    return table[first : first + SLOT_WORDS * slots]


@inner
def key_of(s, component):
    """The two words that stand for a component."""
    first, second = domains_key(s, component)
    first += np.uint64(component) * s.factors[0]
    second += np.uint64(component) * s.factors[1]
    rest = component
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        waived = s.all_conflicts[w] & ~s.conflicts[w] & component
        if waived:
            first += np.uint64(waived) * s.factors[64 + w]
            second += np.uint64(waived) * s.factors[96 + w]
    return first, second


@inner
def key_of_block(s, first, second, u, number):
    """The two words that stand for a block of the candidates of u, where these are matched in a component."""
    return (
        first + np.uint64(u + 1) * s.factors[2] + np.uint64(number + 1) * s.factors[3],
        second + np.uint64(u + 1) * s.factors[4] + np.uint64(number + 1) * s.factors[5],
    )


@inner
def _place(first, second):
    return np.int64((first ^ (second >> np.uint64(31))) >> np.uint64(2))


@inner
def ask_for(s, first, second):
    """Let the slot of a component be read into a near cache, while something else is done."""
    prefetch(advance(s.table, (_place(first, second) & s.registers[c.TABLE_MASK]) * SLOT_WORDS))


@inner
def _swapped(word):
    """A word with its halves exchanged."""
    return (word << HALF) | (word >> HALF)


@inner
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
    """Use four times as much of the table: entries stay, or move to what is used from now on, which is empty.

    An entry whose probes went round the end may be lost.
    """
    before = s.registers[c.TABLE_MASK] + 1
    s.registers[c.TABLE_MASK] = min(GROWTH * before - 1, s.registers[c.CAPACITY_MASK])
    s.registers[c.ENTRIES] = 0
    for at in range(0, before * SLOT_WORDS, SLOT_WORDS):
        key_1, key_2, value, bound = s.table[at], s.table[at + 1], s.table[at + 2], s.table[at + 3]
        if (key_1 | key_2 | value | bound) != 0:
            for i in range(at, at + SLOT_WORDS):
                s.table[i] = 0
            _put(s, key_1, key_2, value, bound)


@inner
def _put_all(s, old):
    """Write the entries of another table to this one."""
    for at in range(0, len(old), SLOT_WORDS):
        if (old[at] | old[at + 1] | old[at + 2] | old[at + 3]) != 0:
            _put(s, old[at], old[at + 1], old[at + 2], old[at + 3])


@jit
def refill(table, old, of_bits):
    """Write the entries of another cache to the one of the state in a table of one kind or the other."""
    if of_bits:
        _put_all(on_bits(table), old)
    else:
        _put_all(on_lists(table), old)


@inner
def remember(s, first, second, value, bound):
    """Keep the count of a component."""
    mask = s.registers[c.TABLE_MASK]
    if 8 * s.registers[c.ENTRIES] > FULL_PART * mask and mask < s.registers[c.CAPACITY_MASK]:
        _grow(s)
    bits = np.float64(bound).view(np.uint64)
    _put(s, first ^ value ^ _swapped(bits), second ^ bits ^ _swapped(value), value, bits)
