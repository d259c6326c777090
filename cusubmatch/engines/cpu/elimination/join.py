"""Joining two factors: their entries that agree on what both scopes have, with products of their values.

One of them is put in the order of the common fields; each entry of the other one has the range there that it agrees
with. Where the join is the last one before a vertex is eliminated, it is summed over that vertex at once: at a place of
its own for each key if keys are few, and otherwise by sorting (expand, sort, compress: Dalton, Olson & Bell 2015).
Where `ended` is not 0 any more all of this stops, and what it returns is of no use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import plus, times
from cusubmatch.engines.cpu.elimination.factor import moved, sort_entries, sum_equal
from cusubmatch.engines.cpu.elimination.lookups import WORD_BITS, are_in, multiply_by_values, place_in_bitmap
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound, upper_bound

__all__ = ["Matched", "Ordered", "in_order", "joined", "ranges_of", "summed_by_place", "summed_by_sorting"]

PLACES_FOR_A_KEY = 4  # of a table of ranges, at most


class Ordered(NamedTuple):
    """The factor of a join that is in the order of the common fields, which are the highest ones of its keys.

    Attributes
    ----------
    keys : uint64 (n,)
    values : uint64 (n, kinds)
    moves : uint64 (fields, 2)
        Positions of fields in a key, and in the key of the result.
    """

    keys: np.ndarray
    values: np.ndarray
    moves: np.ndarray


class Matched(NamedTuple):
    """The other factor, in any order.

    Attributes
    ----------
    keys, values, moves
        As of `Ordered`.
    begins, ends : int32 (n,)
        The range of the ordered factor's entries that each entry agrees with.
    """

    keys: np.ndarray
    values: np.ndarray
    moves: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


@jit
def in_order(keys, values, moves, mask, digits, ended):
    """Entries with their fields moved, in the order of some digits."""
    out_keys = np.empty_like(keys)
    for i in range(len(keys)):
        out_keys[i] = moved(keys[i], moves, mask)
    return sort_entries(out_keys, values, digits, True, ended)


@jit
def ranges_of(keys, to_common, mask, ordered_keys, shift, bits, ended):
    """Where the ranges begin and end that entries agree with, in keys in the order of the bits from `shift`, and pairs.

    `to_common` moves the common fields of `keys` to so many lowest bits.
    """
    begins, ends, pairs = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32), 0
    below = (np.uint64(1) << shift) - np.uint64(1)
    by_table = 1 << bits <= PLACES_FOR_A_KEY * (len(keys) + len(ordered_keys))
    table = _offsets(ordered_keys, shift, bits) if by_table else np.empty(0, np.int32)
    for i in range(len(keys)):
        if ended[0]:
            break
        common = moved(keys[i], to_common, mask)
        if by_table:
            begins[i], ends[i] = table[common], table[common + np.uint64(1)]
        else:
            least = common << shift
            begins[i] = lower_bound(ordered_keys, 0, len(ordered_keys), least)
            ends[i] = upper_bound(ordered_keys, begins[i], len(ordered_keys), least | below)
        pairs += ends[i] - begins[i]
    return begins, ends, pairs


@inner
def _offsets(ordered_keys, shift, bits):
    """Where the entries of each number of so many bits begin."""
    table = np.zeros((1 << bits) + 1, np.int32)
    for i in range(len(ordered_keys)):
        table[np.int64(ordered_keys[i] >> shift) + 1] += 1
    for place in range(1 << bits):
        table[place + 1] += table[place]
    return table


@jit
def joined(matched, ordered, lookups, to_result, mask, pairs, kinds, ended):
    """The keys and values of a join of so many pairs, in no order."""
    return _products(matched, ordered, lookups, to_result, mask, pairs, kinds, ended)


@jit
def summed_by_sorting(matched, ordered, lookups, to_result, mask, pairs, kinds, ended, digits):
    """The keys, ascending, and values of a join of so many pairs, those of equal keys added up.

    A product that is looked up has the key of all its vertices then; `to_result` moves the fields that the result has.
    """
    keys, values = _products(matched, ordered, lookups, to_result, mask, pairs, kinds, ended)
    keys, values = sort_entries(keys, values, digits, False, ended)
    n = sum_equal(keys, values, kinds)
    return keys[:n].copy(), values[:n].copy()


@jit
def summed_by_place(matched, ordered, lookups, to_result, mask, kinds, ended, bits, scratch):
    """The same, by a place for each key of so many bits, and for each kind of arithmetic, in `scratch`."""
    seen, found = np.zeros((1 << bits) // WORD_BITS + 1, np.uint64), 0
    sums, rows = scratch[: len(kinds) << bits].reshape(-1, len(kinds)), _moved_keys(ordered, mask)
    entries = np.empty(len(lookups.first_moves) - 1, np.int64)  # in which a product is found
    looks_up = len(entries) > 0
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        matched_key = moved(matched.keys[i], matched.moves, mask)
        for j in range(matched.begins[i], matched.ends[i]):
            key = matched_key | rows[j]
            if looks_up and not are_in(lookups, key, mask, entries):
                continue
            place = moved(key, to_result, mask) if looks_up else key
            word, bit = place_in_bitmap(place)
            is_first = seen[word] & bit == 0
            seen[word] |= bit
            found += is_first
            for kind in range(len(kinds)):
                product = times(matched.values[i, kind], ordered.values[j, kind], kinds[kind])
                if looks_up:
                    product = multiply_by_values(lookups, product, entries, kind, kinds[kind])
                sums[place, kind] = product if is_first else plus(sums[place, kind], product, kinds[kind])
    return _compressed(sums, seen, found)


@inner
def _products(matched, ordered, lookups, to_result, mask, pairs, kinds, ended):
    """The keys and values of those of so many pairs that all lookups have."""
    keys, values, n = np.empty(pairs, np.uint64), np.empty((pairs, len(kinds)), np.uint64), 0
    is_once = pairs < len(ordered.keys)  # most rows are met once at the most
    rows = ordered.keys if is_once else _moved_keys(ordered, mask)
    entries = np.empty(len(lookups.first_moves) - 1, np.int64)  # in which a product is found
    looks_up = len(entries) > 0
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        if matched.begins[i] == matched.ends[i]:
            continue
        matched_key = moved(matched.keys[i], matched.moves, mask)
        for j in range(matched.begins[i], matched.ends[i]):
            key = matched_key | (moved(rows[j], ordered.moves, mask) if is_once else rows[j])
            if looks_up and not are_in(lookups, key, mask, entries):
                continue
            keys[n] = moved(key, to_result, mask) if looks_up else key
            for kind in range(len(kinds)):
                product = times(matched.values[i, kind], ordered.values[j, kind], kinds[kind])
                if looks_up:
                    product = multiply_by_values(lookups, product, entries, kind, kinds[kind])
                values[n, kind] = product
            n += 1
    return keys[:n], values[:n]


@inner
def _moved_keys(ordered, mask):
    rows = np.empty(len(ordered.keys), np.uint64)
    for j in range(len(rows)):
        rows[j] = moved(ordered.keys[j], ordered.moves, mask)
    return rows


@inner
def _compressed(sums, seen, found):
    """The places that are seen, and their sums."""
    keys, values, n = np.empty(found, np.uint64), np.empty((found, sums.shape[1]), np.uint64), 0
    for word in range(len(seen)):
        rest, place = seen[word], word << 6
        while rest:
            if rest & np.uint64(1):
                keys[n] = np.uint64(place)
                for kind in range(sums.shape[1]):
                    values[n, kind] = sums[place, kind]
                n += 1
            rest >>= np.uint64(1)
            place += 1
    return keys, values
