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
from cusubmatch.engines.cpu.elimination.factor_kernels import move_fields, sort_entries, sum_equal
from cusubmatch.engines.cpu.elimination.lookups import BITMAP_BITS, are_in, multiply_by_values, place_in_bitmap
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = ["Matched", "Ordered", "Parts", "in_order", "joined", "ranges_of", "summed_by_place", "summed_by_sorting"]

PLACES_FOR_A_KEY = 4  # of a table of ranges, at most


class Parts(NamedTuple):
    """What keys of a factor give to several keys of a product: to its own, and to those that are looked up.

    Attributes
    ----------
    moves : uint64 (m, 4)
        Places of fields in a key of the factor, and in a row of these keys, one after the other.
    words : int
        Of the product's own key.
    columns : int
        Words of all keys.
    """

    moves: np.ndarray
    words: int
    columns: int


class Ordered(NamedTuple):
    """The factor of a join that is in the order of the common fields, which are the highest ones of its keys.

    Attributes
    ----------
    keys : uint64 (n, words)
    values : uint64 (n, kinds)
    parts : Parts
    """

    keys: np.ndarray
    values: np.ndarray
    parts: Parts


class Matched(NamedTuple):
    """The other factor, in any order.

    Attributes
    ----------
    keys, values, parts
        As of `Ordered`.
    begins, ends : int32 (n,)
        The range of the ordered factor's entries that each entry agrees with.
    """

    keys: np.ndarray
    values: np.ndarray
    parts: Parts
    begins: np.ndarray
    ends: np.ndarray


@jit
def in_order(keys, values, moves, mask, digits, ended):
    """Entries with their fields moved, in the order of some digits."""
    out_keys = np.empty_like(keys)
    for i in range(len(keys)):
        move_fields(keys, i, moves, mask, out_keys, i)
    return sort_entries(out_keys, values, digits, True, ended)


@jit
def ranges_of(keys, to_common, mask, ordered_keys, common_bits, shift, bits, ended):
    """Where the ranges begin and end that entries agree with, in keys in the order of `common_bits`, and pairs.

    `common_bits` are masks of the first words of these keys, and `to_common` moves fields of `keys` to them. A table
    has ranges by the highest of the `bits` bits from `shift` of the first word.
    """
    begins, ends, pairs = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32), 0
    rest = 0  # lower bits, by which a range of the table is searched
    while 1 << bits - rest > PLACES_FOR_A_KEY * (len(keys) + len(ordered_keys)):
        rest += 1
    of_table = shift + np.uint64(rest)
    table = _offsets(ordered_keys, of_table, bits - rest)
    common = np.empty((1, len(common_bits)), np.uint64)
    for i in range(len(keys)):
        if ended[0]:
            break
        move_fields(keys, i, to_common, mask, common, 0)
        place = common[0, 0] >> of_table
        begin, end = table[place], table[place + np.uint64(1)]
        if rest or len(common_bits) > 1:
            begin = _bound(ordered_keys, begin, end, common, common_bits, False)
            end = _bound(ordered_keys, begin, end, common, common_bits, True)
        begins[i], ends[i] = begin, end
        pairs += end - begin
    return begins, ends, pairs


@inner
def _bound(ordered_keys, begin, end, common, common_bits, is_upper):
    """The first entry of a range that is not below the common fields, or that is above them."""
    while begin < end:
        middle, order = (begin + end) >> 1, 0
        for word in range(len(common_bits)):
            bits = ordered_keys[middle, word] & common_bits[word]
            if bits != common[0, word]:
                order = -1 if bits < common[0, word] else 1
                break
        if order < 0 or (is_upper and order == 0):
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def _offsets(ordered_keys, shift, bits):
    """Where the entries of each number of so many bits begin."""
    table = np.zeros((1 << bits) + 1, np.int32)
    for i in range(len(ordered_keys)):
        table[np.int64(ordered_keys[i, 0] >> shift) + 1] += 1
    for place in range(1 << bits):
        table[place + 1] += table[place]
    return table


@jit
def joined(matched, ordered, lookups, mask, pairs, kinds, ended):
    """The keys and values of a join of so many pairs, in no order."""
    return _products(matched, ordered, lookups, mask, pairs, kinds, ended)


@jit
def summed_by_sorting(matched, ordered, lookups, mask, pairs, kinds, ended, digits):
    """The keys, ascending, and values of a join of so many pairs, those of equal keys added up."""
    keys, values = _products(matched, ordered, lookups, mask, pairs, kinds, ended)
    keys, values = sort_entries(keys, values, digits, False, ended)
    n = sum_equal(keys, values, kinds)
    return keys[:n].copy(), values[:n].copy()


@jit
def summed_by_place(matched, ordered, lookups, mask, kinds, ended, bits, scratch):
    """The same, by a place for each key of so many bits, and for each kind of arithmetic, in `scratch`."""
    seen, found = np.zeros((1 << bits) // BITMAP_BITS + 1, np.uint64), 0
    sums, others = scratch[: len(kinds) << bits].reshape(-1, len(kinds)), _parts_of_all(ordered, mask)
    parts = np.empty((1, others.shape[1]), np.uint64)
    entries = np.empty(parts.shape[1] - 1, np.int64)  # in which a product is found
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        move_fields(matched.keys, i, matched.parts.moves, mask, parts, 0)
        for j in range(matched.begins[i], matched.ends[i]):
            if not are_in(lookups, parts, others, j, 1, entries):
                continue
            place = parts[0, 0] | others[j, 0]
            word, bit = place_in_bitmap(place)
            is_first = seen[word] & bit == 0
            seen[word] |= bit
            found += is_first
            for kind in range(len(kinds)):
                product = times(matched.values[i, kind], ordered.values[j, kind], kinds[kind])
                product = multiply_by_values(lookups, product, entries, kind, kinds[kind])
                sums[place, kind] = product if is_first else plus(sums[place, kind], product, kinds[kind])
    return _compressed(sums, seen, found)


@inner
def _products(matched, ordered, lookups, mask, pairs, kinds, ended):
    """The keys and values of those of so many pairs that all lookups have."""
    words, columns = matched.parts.words, matched.parts.columns
    keys, values, n = np.empty((pairs, words), np.uint64), np.empty((pairs, len(kinds)), np.uint64), 0
    parts = np.empty((1, columns), np.uint64)
    entries = np.empty(columns - words, np.int64)  # in which a product is found
    is_once = pairs < len(ordered.keys)  # most entries are met once at the most
    others = np.empty_like(parts) if is_once else _parts_of_all(ordered, mask)
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        if matched.begins[i] == matched.ends[i]:
            continue
        move_fields(matched.keys, i, matched.parts.moves, mask, parts, 0)
        for j in range(matched.begins[i], matched.ends[i]):
            row = 0 if is_once else j
            if is_once:
                move_fields(ordered.keys, j, ordered.parts.moves, mask, others, 0)
            if not are_in(lookups, parts, others, row, words, entries):
                continue
            for word in range(words):
                keys[n, word] = parts[0, word] | others[row, word]
            for kind in range(len(kinds)):
                product = times(matched.values[i, kind], ordered.values[j, kind], kinds[kind])
                values[n, kind] = multiply_by_values(lookups, product, entries, kind, kinds[kind])
            n += 1
    return keys[:n], values[:n]


@inner
def _parts_of_all(ordered, mask):
    """uint64 (n, words of a product's keys): the parts that each entry's key gives to them."""
    others = np.empty((len(ordered.keys), ordered.parts.columns), np.uint64)
    for j in range(len(others)):
        move_fields(ordered.keys, j, ordered.parts.moves, mask, others, j)
    return others


@inner
def _compressed(sums, seen, found):
    """The places that are seen, and their sums."""
    keys, values, n = np.empty((found, 1), np.uint64), np.empty((found, sums.shape[1]), np.uint64), 0
    for word in range(len(seen)):
        rest, place = seen[word], word << 6
        while rest:
            if rest & np.uint64(1):
                keys[n, 0] = np.uint64(place)
                for kind in range(sums.shape[1]):
                    values[n, kind] = sums[place, kind]
                n += 1
            rest >>= np.uint64(1)
            place += 1
    return keys, values
