"""Looking up products in other factors while they are made, so that only those are kept that all of them have.

The keys of a factor are bits of a bitmap, with the number of keys before each of its words: one word tells whether
there is an entry, and which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import times
from cusubmatch.engines.cpu.primitives.jit import inner, jit, popcount
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

__all__ = ["BITMAP_BITS", "Lookups", "are_in", "lookups_of", "multiply_by_values", "place_in_bitmap"]

BITMAP_BITS = 64


class Lookups(NamedTuple):
    """Some factors, one after the other.

    Attributes
    ----------
    first_words : int64 (factors + 1,)
        Where the words of each factor begin.
    words : uint64 (w,)
        Bitmaps of the keys.
    entries_before : int64 (w,)
        The number of the entry of the first bit of each word, in `values`.
    values : uint64 (n, kinds)
    """

    first_words: np.ndarray
    words: np.ndarray
    entries_before: np.ndarray
    values: np.ndarray


def lookups_of(fields: Fields, factors: Sequence[Factor], kinds: int) -> Lookups:
    """Lookups in factors whose values are of so many kinds."""
    first_words = np.array([0, *np.cumsum([_words_of_bitmap(fields, factor) for factor in factors])], np.int64)
    lookups = Lookups(
        first_words,
        np.zeros(first_words[-1], np.uint64),
        np.empty(first_words[-1], np.int64),
        np.concatenate([np.empty((0, kinds), np.uint64), *(factor.values for factor in factors)]),
    )
    before = 0
    for number, factor in enumerate(factors):
        _fill(lookups, number, factor.keys, before)
        before += len(factor.keys)
    return lookups


def _words_of_bitmap(fields: Fields, factor: Factor) -> int:
    """The length of a factor's bitmap."""
    return max(1 << fields.bits * len(factor.scope), BITMAP_BITS) // BITMAP_BITS


@jit
def _fill(lookups, number, keys, before):
    """Set the bits of the keys of one factor."""
    begin, end = lookups.first_words[number], lookups.first_words[number + 1]
    for i in range(len(keys)):
        word, bit = place_in_bitmap(keys[i, 0])
        lookups.words[begin + word] |= bit
    for word in range(begin, end):
        lookups.entries_before[word] = before
        before += np.int64(popcount(lookups.words[word]))


@inner
def place_in_bitmap(key):
    """The word and the bit of a key in a bitmap."""
    return np.int64(key >> np.uint64(6)), np.uint64(1) << (key & np.uint64(BITMAP_BITS - 1))


@inner
def are_in(lookups, parts, others, row, column, entries):
    """Whether all factors have a product; `entries` has then the number of the entry of each.

    The product's key in a factor, of one word, has two parts: one in the row of `parts`, the other in a row of
    `others`, those of the first factor in a column.
    """
    for number in range(len(entries)):
        word, bit = place_in_bitmap(parts[0, column + number] | others[row, column + number])
        word += lookups.first_words[number]
        if lookups.words[word] & bit == 0:
            return False
        below = lookups.words[word] & (bit - np.uint64(1))
        entries[number] = lookups.entries_before[word] + np.int64(popcount(below))
    return True


@inner
def multiply_by_values(lookups, value, entries, kind_number, kind):
    """A number times the values of these entries."""
    for number in range(len(entries)):
        value = times(value, lookups.values[entries[number], kind_number], kind)
    return value
