"""The cache of counted components: open addressing, by two words of 64 random bits.

A component's count depends on its vertices, their domains, its waived conflicts and its pending images. Its key is a
sum of random words of all these, so that two different components have one key with a chance of about 2^-128 (Zobrist
1970; the same is done in model counting, Sang et al. 2004). A part of the table is used, which grows as it fills; once
that is all of the table, new entries replace old ones.

Threads share a table without locks (Hyatt and Mann, "A lock-less transposition table implementation for parallel
search", 2002): the words of a key are written mixed with those of the count, so that a slot of which two threads have
written a part each holds no key that is looked for. One of them moves the entries when the table grows, while others
go on: these look for an entry where it was, too, until it is done. An entry that is lost is only counted again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.count_arithmetic import EXACT_BELOW, as_float, has_residues
from cusubmatch.engines.cpu.conditioning.representation import domains_key
from cusubmatch.engines.cpu.primitives.cache_lines import LINE_BYTES, on_lines, zeros_on_lines
from cusubmatch.engines.cpu.primitives.jit import inner, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, fetch_add, prefetch
from cusubmatch.system.host_memory import reserved

__all__ = [
    "FEW_SLOTS",
    "all_are_used",
    "ask_for",
    "empty_shares",
    "empty_table",
    "forget",
    "key_of",
    "key_of_block",
    "lookup",
    "number_of_slots",
    "remember",
    "with_room",
]

PROBES = 8
SLOT_WORDS = 4  # two of the key, mixed with the others; the low word of a count; its high word, or the bits of a bound,
IS_POSITIVE = np.uint64(1) << np.uint64(63)  # or of residues, with this bit, that no residue has: the bound is above 0
LEAST_BOUND_BITS = np.uint64(1) << np.uint64(62)  # of a bound that is not below EXACT_BELOW: no high word has as much
LINE_WORDS = LINE_BYTES // 8
# Words that threads share, in lines of their own: slots that are used, those before they grew, and all, less one each;
# entries, also those that were written over; whether a thread moves these.
MASK, FORMER_MASK, CAPACITY_MASK, ENTRIES, MOVING = 0, 1, 2, LINE_WORDS, 2 * LINE_WORDS
SHARED_WORDS = 3 * LINE_WORDS
ADDED_AT_ONCE = 16  # entries of a thread, to those of all
FIRST_SLOTS, FEW_SLOTS = 1 << 10, 1 << 12  # that are used first, and of a small table
GROWTH = 4
FULL_PART = 5  # eighths of the table that are filled when it grows


def empty_table(slots: int) -> np.ndarray:
    """A table of so many slots, two to each line of the caches; memory is taken as it is used where they are many.

    Raises
    ------
    MemoryError
    """
    words = SLOT_WORDS * slots
    try:
        return on_lines(_reserved_zeros, words, np.uint64)
    except MemoryError as error:
        raise MemoryError(f"no memory for a table of {np.dtype(np.uint64).itemsize * words:,} bytes") from error


def _reserved_zeros(size: int, dtype: DTypeLike) -> np.ndarray:
    return reserved(size * np.dtype(dtype).itemsize, zeros=True).view(dtype)


def number_of_slots(shared: np.ndarray) -> int:
    """The slots of a table, by what threads share besides it."""
    return int(shared[CAPACITY_MASK]) + 1


def all_are_used(shared: np.ndarray) -> bool:
    """Whether all slots of a table are in use, so that new entries will replace others."""
    return bool(shared[MASK] == shared[CAPACITY_MASK])


def _in_use(table: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """The part of a table that is in use."""
    return table[: SLOT_WORDS * (int(shared[MASK]) + 1)]


def with_room(table: np.ndarray, shared: np.ndarray, slots: int) -> np.ndarray:
    """A table of so many slots, at least as many, with the same entries; no thread uses the table meanwhile."""
    larger = empty_table(slots)
    _in_use(larger, shared)[:] = _in_use(table, shared)
    shared[CAPACITY_MASK] = slots - 1
    return larger


def empty_shares(slots: int) -> np.ndarray:
    """What threads share besides a table of so many slots: it begins with few of them."""
    shared = zeros_on_lines(SHARED_WORDS, np.int64)
    shared[MASK] = shared[FORMER_MASK] = min(FIRST_SLOTS, slots) - 1
    shared[CAPACITY_MASK] = slots - 1
    return shared


def forget(table: np.ndarray, shared: np.ndarray) -> None:
    """Empty a table, which no thread uses meanwhile."""
    _in_use(table, shared)[:] = 0
    shared[:] = empty_shares(number_of_slots(shared))


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
    prefetch(advance(s.table, (_place(first, second) & s.shared[MASK]) * SLOT_WORDS))


@inner
def _mixed(key_1, key_2, low, rest):
    """The words of a key mixed with those of a count; or as they were, if they are mixed.

    The turns differ, so that words of two entries agree in both only where their counts are equal, or all bits differ.
    """
    return key_1 ^ low ^ _turned(rest, np.uint64(32)), key_2 ^ rest ^ _turned(low, np.uint64(21))


@inner
def _turned(word, bits):
    """A word, rotated to the left by so many bits."""
    return (word << bits) | (word >> (np.uint64(64) - bits))


@inner
def lookup(s, first, second):
    """Whether a component is known, its count, and the bound on that."""
    mask, former = s.shared[MASK], s.shared[FORMER_MASK]
    known, low, rest = _lookup(s, mask, first, second)
    if not known and former != mask:
        known, low, rest = _lookup(s, former, first, second)
    if has_residues(s):
        return known, (low, rest & ~IS_POSITIVE), np.float64(rest & IS_POSITIVE != 0)
    if rest < LEAST_BOUND_BITS:
        return known, (low, rest), as_float((low, rest))
    return known, (low, np.uint64(0)), np.uint64(rest).view(np.float64)


@inner
def _lookup(s, mask, first, second):
    """Whether it is among so many slots and one more, and the words of the count and its bound."""
    at = _place(first, second)
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        key_1, key_2, low, rest = s.table[slot], s.table[slot + 1], s.table[slot + 2], s.table[slot + 3]
        is_free = (key_1 | key_2 | low | rest) == 0
        key_1, key_2 = _mixed(key_1, key_2, low, rest)
        if key_1 == first and key_2 == second:
            return True, low, rest
        if is_free:
            break
    return False, np.uint64(0), np.uint64(0)


@inner
def _put(s, mask, key_1, key_2, low, rest):
    """Write an entry to a free slot, or over another entry; the words are those of the slot, its key's mixed."""
    first, second = _mixed(key_1, key_2, low, rest)
    at = _place(first, second)
    chosen = (at & mask) * SLOT_WORDS
    for probe in range(PROBES):
        slot = ((at + probe) & mask) * SLOT_WORDS
        if (s.table[slot] | s.table[slot + 1] | s.table[slot + 2] | s.table[slot + 3]) == 0:
            chosen = slot
            break
    s.table[chosen], s.table[chosen + 1] = key_1, key_2
    s.table[chosen + 2], s.table[chosen + 3] = low, rest


@inner
def _grow(s, mask, larger):
    """Use more of the table: entries stay, or move to what is used from now on, which is empty.

    An entry whose probes went round the end may be lost.
    """
    moved = 0
    s.shared[ENTRIES], s.shared[MASK] = 0, larger
    for at in range(0, (mask + 1) * SLOT_WORDS, SLOT_WORDS):
        key_1, key_2, low, rest = s.table[at], s.table[at + 1], s.table[at + 2], s.table[at + 3]
        if (key_1 | key_2 | low | rest) != 0:
            for i in range(at, at + SLOT_WORDS):
                s.table[i] = 0
            _put(s, larger, key_1, key_2, low, rest)
            moved += 1
    fetch_add(advance(s.shared, ENTRIES), moved)
    s.shared[FORMER_MASK] = larger


@inner
def _is_full(s):
    """Whether the table should grow, and may."""
    return 8 * s.shared[ENTRIES] > FULL_PART * s.shared[MASK] and s.shared[MASK] < s.shared[CAPACITY_MASK]


@inner
def _grow_if_full(s):
    """Use four times as much of the table where it is full, unless another thread sees to it."""
    if _is_full(s) and fetch_add(advance(s.shared, MOVING), 1) == 0:
        if _is_full(s):  # still, or another one has just seen to it
            mask = s.shared[MASK]
            _grow(s, mask, min(GROWTH * (mask + 1) - 1, s.shared[CAPACITY_MASK]))
        s.shared[MOVING] = 0


@inner
def remember(s, first, second, value, bound):
    """Keep the count of a component."""
    low, rest = value
    if has_residues(s):
        rest |= IS_POSITIVE if bound > 0.0 else np.uint64(0)
    elif bound >= EXACT_BELOW:
        rest = np.float64(bound).view(np.uint64)
    key_1, key_2 = _mixed(first, second, low, rest)
    _put(s, s.shared[MASK], key_1, key_2, low, rest)
    s.registers[c.ADDED] += 1
    if s.registers[c.ADDED] == ADDED_AT_ONCE:
        s.registers[c.ADDED] = 0
        fetch_add(advance(s.shared, ENTRIES), ADDED_AT_ONCE)
        _grow_if_full(s)
