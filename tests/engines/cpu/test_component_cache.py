"""The cache of components: a slot of which two threads have written a part each holds no key that is looked for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cusubmatch.engines.cpu.conditioning.component_cache import (
    FEW_SLOTS,
    MASK,
    SLOT_WORDS,
    _mixed,
    all_are_used,
    empty_shares,
    empty_table,
    number_of_slots,
    with_room,
)
from cusubmatch.engines.cpu.primitives.cache_lines import LINE_BYTES
from cusubmatch.engines.cpu.primitives.jit import jit

KEYS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), (0x94D049BB133111EB, 0xD6E8FEB86659FD93)


@jit
def mixed(key_1, key_2, low, rest):
    return _mixed(key_1, key_2, low, rest)


def words(*numbers):
    return tuple(np.uint64(number) for number in numbers)


# Counts whose words differ in one bit each: 2^i here and 2^j in the high word there.
@pytest.mark.parametrize(
    "counts", [[(1 << i, 0), (0, 1 << j)] for i, j in ((0, 32), (32, 0), (40, 8), (5, 48), (0, 43))]
)
def test_parts_of_two_entries_are_no_entry(counts):
    entries = [(*words(*key), *words(*count)) for key, count in zip(KEYS, counts, strict=True)]
    slots = [(*mixed(*entry), *entry[2:]) for entry in entries]
    for of_word in product(range(2), repeat=4):
        slot = tuple(slots[entry][word] for word, entry in enumerate(of_word))
        found = tuple(map(int, mixed(*slot)))
        known = [key for key in KEYS if key == found]
        assert known == ([KEYS[of_word[0]]] if len(set(of_word)) == 1 else [])


@pytest.mark.parametrize("slots", [2, 1 << 10, 1 << 15, 1 << 23])
def test_a_table_is_empty_and_begins_with_a_line(slots):
    table = empty_table(slots)
    assert len(table) == SLOT_WORDS * slots
    assert table.ctypes.data % LINE_BYTES == 0
    assert not table[:8].any()
    table[-1] = 1
    assert table[-1] == 1


def test_a_table_that_memory_does_not_hold_is_refused():
    with pytest.raises(MemoryError, match="no memory for a table of"):
        empty_table(1 << 55)


def test_a_table_with_more_room_has_the_same_entries():
    table, shared = empty_table(FEW_SLOTS), empty_shares(FEW_SLOTS)
    assert not all_are_used(shared)
    used = SLOT_WORDS * (int(shared[MASK]) + 1)
    table[:used] = np.arange(1, used + 1)
    larger = with_room(table, shared, 4 * FEW_SLOTS)
    assert np.array_equal(larger[:used], table[:used])
    assert len(larger) == 4 * len(table)
    assert not larger[used:].any()
    assert number_of_slots(shared) == 4 * FEW_SLOTS
