"""Operations on the entries of factors (`engines/factors`), compiled.

Keys ascend, so factors of one scope are multiplied and added by merging. Where `ended` is not 0 any more, what sorts
stops, and returns what is of no use.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import one, plus, times
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = [
    "apart",
    "arcs_of",
    "combined",
    "compare",
    "entries_of_images",
    "move_fields",
    "multiplied",
    "rearranged",
    "sort_entries",
    "sum_equal",
    "summed_out",
]


@inner
def move_fields(keys, i, moves, mask, out, row):
    """Set a row of `out` to fields of key i; `moves`: rows of places (from a word, its bit, to a column, its bit)."""
    for column in range(out.shape[1]):
        out[row, column] = 0
    for move in range(len(moves)):
        field = (keys[i, moves[move, 0]] >> moves[move, 1]) & mask
        out[row, moves[move, 2]] |= field << moves[move, 3]


@inner
def compare(keys, i, others, j):
    """Negative, 0 or positive: key i is below key j of others, equals it, or is above it."""
    for word in range(keys.shape[1]):
        if keys[i, word] != others[j, word]:
            return -1 if keys[i, word] < others[j, word] else 1
    return 0


@jit
def arcs_of(offsets, targets, bits, kinds):
    """The keys and values, all 1, of the arcs of one relation's rows."""
    begin, arcs = offsets[0], offsets[-1] - offsets[0]
    keys, values = np.empty((arcs, 1), np.uint64), np.empty((arcs, len(kinds)), np.uint64)
    for x in range(len(offsets) - 1):
        for j in range(offsets[x] - begin, offsets[x + 1] - begin):
            keys[j, 0] = (np.uint64(x) << bits) | np.uint64(targets[begin + j])
            for kind in range(len(kinds)):
                values[j, kind] = one(kinds[kind])
    return keys, values


@jit
def multiplied(keys, values, other_keys, other_values, kinds):
    """The product of two factors of one scope."""
    most = min(len(keys), len(other_keys))
    out_keys, out_values = np.empty((most, keys.shape[1]), np.uint64), np.empty((most, len(kinds)), np.uint64)
    n = i = j = 0
    while i < len(keys) and j < len(other_keys):
        order = compare(keys, i, other_keys, j)
        if order == 0:
            _copy_row(keys, i, out_keys, n)
            for kind in range(len(kinds)):
                out_values[n, kind] = times(values[i, kind], other_values[j, kind], kinds[kind])
            n += 1
        i, j = i + (order <= 0), j + (order >= 0)
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def combined(keys, values, weights, other_keys, other_values, other_weights, kinds):
    """The sum of two factors of one scope, each times its weight, which has a number in each kind of arithmetic."""
    most = len(keys) + len(other_keys)
    out_keys, out_values = np.empty((most, keys.shape[1]), np.uint64), np.empty((most, len(kinds)), np.uint64)
    n = i = j = 0
    while i < len(keys) or j < len(other_keys):
        if i == len(keys) or j == len(other_keys):
            order = 1 if i == len(keys) else -1
        else:
            order = compare(keys, i, other_keys, j)
        if order <= 0:
            _copy_row(keys, i, out_keys, n)
        else:
            _copy_row(other_keys, j, out_keys, n)
        kept = False
        for kind in range(len(kinds)):
            value = np.uint64(0)
            if order <= 0:
                value = times(values[i, kind], weights[kind], kinds[kind])
            if order >= 0:
                value = plus(value, times(other_values[j, kind], other_weights[kind], kinds[kind]), kinds[kind])
            out_values[n, kind] = value
            kept |= value != 0
        i, j, n = i + (order <= 0), j + (order >= 0), n + kept
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def rearranged(keys, values, moves, mask, equal, words, digits, ended):
    """The entries with their fields moved, to keys of so many words, in order.

    Where `equal` has two places, only entries whose fields there are equal are kept.
    """
    out_keys, out_values, n = np.empty((len(keys), words), np.uint64), np.empty_like(values), 0
    for i in range(len(keys)):
        if len(equal) and _differ(keys, i, equal, mask):
            continue
        move_fields(keys, i, moves, mask, out_keys, n)
        _copy_row(values, i, out_values, n)
        n += 1
    return sort_entries(out_keys[:n].copy(), out_values[:n].copy(), digits, False, ended)


@jit
def summed_out(keys, values, moves, mask, words, digits, kinds, ended):
    """A factor with some of its fields, in keys of so many words, summed over the others."""
    out_keys = np.empty((len(keys), words), np.uint64)
    for i in range(len(keys)):
        move_fields(keys, i, moves, mask, out_keys, i)
    out_keys, out_values = sort_entries(out_keys, values.copy(), digits, False, ended)
    n = sum_equal(out_keys, out_values, kinds)
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def apart(keys, values, places, mask):
    """The entries whose fields at two places differ."""
    out_keys, out_values, n = np.empty_like(keys), np.empty_like(values), 0
    for i in range(len(keys)):
        _copy_row(keys, i, out_keys, n)
        _copy_row(values, i, out_values, n)
        n += _differ(keys, i, places, mask)
    return out_keys[:n].copy(), out_values[:n].copy()


@inner
def _differ(keys, i, places, mask):
    """Whether the fields of a key at two places differ."""
    first, second = keys[i, places[0, 0]] >> places[0, 1], keys[i, places[1, 0]] >> places[1, 1]
    return (first ^ second) & mask != 0


@jit
def entries_of_images(keys, word, bit, mask, size):
    """float64 (size,): how many entries each image has of the vertex whose field is at a place."""
    entries = np.zeros(size)
    for i in range(len(keys)):
        entries[np.int64((keys[i, word] >> bit) & mask)] += 1
    return entries


@inner
def sort_entries(keys, values, digits, keep, ended):
    """The entries in the order of some digits of their keys (`Fields.digits`); equal ones stay as they were.

    Unless they are to be kept, the arrays may be written to, and hold something else afterwards.
    """
    free_keys, free_values = keys[:0], values[:0]  # to write to
    for d in range(len(digits)):
        if ended[0]:
            break
        word, shift, mask = digits[d, 0], digits[d, 1], digits[d, 2]
        places = np.zeros(np.int64(mask) + 2, np.int64)
        ascending, before = True, np.uint64(0)
        for i in range(len(keys)):
            digit = (keys[i, word] >> shift) & mask
            ascending &= before <= digit
            before = digit
            places[np.int64(digit) + 1] += 1
        if ascending:
            continue
        for digit in range(len(places) - 1):
            places[digit + 1] += places[digit]
        if len(free_keys) == 0:
            free_keys, free_values = np.empty_like(keys), np.empty_like(values)
        for i in range(len(keys)):
            digit = np.int64((keys[i, word] >> shift) & mask)
            _copy_row(keys, i, free_keys, places[digit])
            _copy_row(values, i, free_values, places[digit])
            places[digit] += 1
        sorted_keys, sorted_values = free_keys, free_values
        free_keys, free_values = (keys[:0], values[:0]) if keep else (keys, values)
        keys, values, keep = sorted_keys, sorted_values, False
    return keys, values


@inner
def sum_equal(keys, values, kinds):
    """Add up values of equal keys, which lie together; the number of keys."""
    n = 0
    for i in range(len(keys)):
        if n and compare(keys, n - 1, keys, i) == 0:
            for kind in range(len(kinds)):
                values[n - 1, kind] = plus(values[n - 1, kind], values[i, kind], kinds[kind])
        else:
            _copy_row(keys, i, keys, n)
            _copy_row(values, i, values, n)
            n += 1
    return n


@inner
def _copy_row(rows, i, out, n):
    for column in range(rows.shape[1]):
        out[n, column] = rows[i, column]
