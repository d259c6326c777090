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
from cusubmatch.engines.cpu.elimination.factor import moved, moved_by_some, sort_entries, sum_equal
from cusubmatch.engines.cpu.elimination.lookups import WORD_BITS, are_in, multiply_by_values, place_in_bitmap
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound, upper_bound

__all__ = ["Matched", "Ordered", "Parts", "in_order", "joined", "ranges_of", "summed_by_place", "summed_by_sorting"]

PLACES_FOR_A_KEY = 4  # of a table of ranges, at most


class Parts(NamedTuple):
    """What keys of a factor give to several keys of a product: to its own, and to those that are looked up.

    Attributes
    ----------
    moves : uint64 (m, 2)
        Positions of fields in a key of the factor, and in a key of the product.
    firsts : int64 (keys + 1,)
        Where the moves to each key of the product begin.
    """

    moves: np.ndarray
    firsts: np.ndarray


class Ordered(NamedTuple):
    """The factor of a join that is in the order of the common fields, which are the highest ones of its keys.

    Attributes
    ----------
    keys : uint64 (n,)
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
        out_keys[i] = moved(keys[i], moves, mask)
    return sort_entries(out_keys, values, digits, True, ended)


@jit
def ranges_of(keys, to_common, mask, ordered_keys, shift, bits, ended):
    """Where the ranges begin and end that entries agree with, in keys in the order of the bits from `shift`, and pairs.

    `to_common` moves the common fields of `keys` to so many lowest bits; a table has ranges by the highest of these.
    """
    begins, ends, pairs = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32), 0
    rest = 0  # lower bits, by which a range of the table is searched
    while 1 << bits - rest > PLACES_FOR_A_KEY * (len(keys) + len(ordered_keys)):
        rest += 1
    of_rest, below = np.uint64(rest), (np.uint64(1) << shift) - np.uint64(1)
    table = _offsets(ordered_keys, shift + of_rest, bits - rest)
    for i in range(len(keys)):
        if ended[0]:
            break
        common = moved(keys[i], to_common, mask)
        begin, end = table[common >> of_rest], table[(common >> of_rest) + np.uint64(1)]
        if rest:
            least = common << shift
            begin = lower_bound(ordered_keys, begin, end, least)
            end = upper_bound(ordered_keys, begin, end, least | below)
        begins[i], ends[i] = begin, end
        pairs += end - begin
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
    seen, found = np.zeros((1 << bits) // WORD_BITS + 1, np.uint64), 0
    sums, others = scratch[: len(kinds) << bits].reshape(-1, len(kinds)), _parts_of_all(ordered, mask)
    parts = np.empty((1, others.shape[1]), np.uint64)
    entries = np.empty(parts.shape[1] - 1, np.int64)  # in which a product is found
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        _put_parts(matched.keys[i], matched.parts, mask, parts, 0)
        for j in range(matched.begins[i], matched.ends[i]):
            if not are_in(lookups, parts, others, j, entries):
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
    keys, values, n = np.empty(pairs, np.uint64), np.empty((pairs, len(kinds)), np.uint64), 0
    parts = np.empty((1, len(matched.parts.firsts) - 1), np.uint64)
    entries = np.empty(parts.shape[1] - 1, np.int64)  # in which a product is found
    is_once = pairs < len(ordered.keys)  # most entries are met once at the most
    others = np.empty_like(parts) if is_once else _parts_of_all(ordered, mask)
    for i in range(len(matched.keys)):
        if ended[0]:
            break
        if matched.begins[i] == matched.ends[i]:
            continue
        _put_parts(matched.keys[i], matched.parts, mask, parts, 0)
        for j in range(matched.begins[i], matched.ends[i]):
            row = 0 if is_once else j
            if is_once:
                _put_parts(ordered.keys[j], ordered.parts, mask, others, 0)
            if not are_in(lookups, parts, others, row, entries):
                continue
            keys[n] = parts[0, 0] | others[row, 0]
            for kind in range(len(kinds)):
                product = times(matched.values[i, kind], ordered.values[j, kind], kinds[kind])
                values[n, kind] = multiply_by_values(lookups, product, entries, kind, kinds[kind])
            n += 1
    return keys[:n], values[:n]


@inner
def _parts_of_all(ordered, mask):
    """uint64 (n, keys of a product): the parts of each entry's key."""
    others = np.empty((len(ordered.keys), len(ordered.parts.firsts) - 1), np.uint64)
    for j in range(len(others)):
        _put_parts(ordered.keys[j], ordered.parts, mask, others, j)
    return others


@inner
def _put_parts(key, parts, mask, out, row):
    """Set a row of `out` to what a key gives to each key of a product."""
    for number in range(out.shape[1]):
        out[row, number] = moved_by_some(key, parts.moves, parts.firsts[number], parts.firsts[number + 1], mask)


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
