"""Factors: sparse tables of numbers over the candidates of a few pattern vertices.

An entry's key holds a local index of each vertex of the scope, one field of bits each, the first vertex in the highest
field; absent entries are 0. Keys ascend, so factors of one scope are multiplied and added by merging. An entry has a
value in each of a few kinds of arithmetic. Where `ended` is not 0 any more, what sorts stops, and returns what is of no
use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import one, plus, times
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = [
    "Factor",
    "Fields",
    "apart",
    "arcs_of",
    "combined",
    "entries_of_images",
    "moved",
    "moved_by_some",
    "multiplied",
    "rearranged",
    "sort_entries",
    "sum_equal",
    "summed_out",
]

KEY_BITS = 64
DIGIT_BITS = 11  # of the keys that a pass of sorting goes by, at most


class Factor(NamedTuple):
    """A table of numbers.

    Attributes
    ----------
    scope : tuple of int
        Pattern vertices, ascending.
    keys : uint64 (n,)
        Ascending, each once.
    values : uint64 (n, kinds)
    """

    scope: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray


class Fields:
    """Where vertices have their fields in the keys of factors.

    Parameters
    ----------
    size : int
        Local indices are below it.

    Attributes
    ----------
    bits : int
        Of a field.
    mask : uint64
        Of a field.
    """

    def __init__(self, size: int):
        self.bits = max((size - 1).bit_length(), 1)
        self.mask = np.uint64((1 << self.bits) - 1)

    def fit(self, vertices: int) -> bool:
        """Whether a key has room for so many."""
        return vertices * self.bits <= KEY_BITS

    def position(self, scope: Sequence[int], vertex: int) -> int:
        """The lowest bit of the field of a vertex."""
        return self.bits * (len(scope) - 1 - scope.index(vertex))

    def moves(self, scope: Sequence[int], result: Sequence[int]) -> np.ndarray:
        """uint64 (fields, 2): where the vertices of two scopes have their fields in the first one, and in the other."""
        both = [u for u in scope if u in result]
        moves = [(self.position(scope, u), self.position(result, u)) for u in both]
        return np.array(moves, np.uint64).reshape(-1, 2)

    def digits(self, scope: Sequence[int], order: Sequence[int]) -> np.ndarray:
        """uint64 (digits, 2): positions and masks of what keys are sorted by, the least first.

        Keys of a scope are sorted by some of its vertices, `order`, which follow each other in it.
        """
        if not order:
            return np.empty((0, 2), np.uint64)
        first, bits = self.position(scope, order[-1]), self.bits * len(order)
        width = -(-bits // -(-bits // DIGIT_BITS))
        return np.array([(first + b, (1 << min(width, bits - b)) - 1) for b in range(0, bits, width)], np.uint64)


@inner
def moved(key, moves, mask):
    """The fields of a key at other places; `moves`: rows of positions (from, to)."""
    return moved_by_some(key, moves, 0, len(moves), mask)


@inner
def moved_by_some(key, moves, begin, end, mask):
    """The same by the rows from `begin` to `end`: a slice would take longer than the moves."""
    result = np.uint64(0)
    for move in range(begin, end):
        result |= ((key >> moves[move, 0]) & mask) << moves[move, 1]
    return result


@jit
def arcs_of(offsets, targets, bits, kinds):
    """The keys and values, all 1, of the arcs of one relation's rows."""
    begin, arcs = offsets[0], offsets[-1] - offsets[0]
    keys, values = np.empty(arcs, np.uint64), np.empty((arcs, len(kinds)), np.uint64)
    for x in range(len(offsets) - 1):
        for j in range(offsets[x] - begin, offsets[x + 1] - begin):
            keys[j] = (np.uint64(x) << bits) | np.uint64(targets[begin + j])
            for kind in range(len(kinds)):
                values[j, kind] = one(kinds[kind])
    return keys, values


@jit
def multiplied(keys, values, other_keys, other_values, kinds):
    """The product of two factors of one scope."""
    most = min(len(keys), len(other_keys))
    out_keys, out_values, n, j = np.empty(most, np.uint64), np.empty((most, len(kinds)), np.uint64), 0, 0
    for i in range(len(keys)):
        while j < len(other_keys) and other_keys[j] < keys[i]:
            j += 1
        if j < len(other_keys) and other_keys[j] == keys[i]:
            out_keys[n] = keys[i]
            for kind in range(len(kinds)):
                out_values[n, kind] = times(values[i, kind], other_values[j, kind], kinds[kind])
            n += 1
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def combined(keys, values, weights, other_keys, other_values, other_weights, kinds):
    """The sum of two factors of one scope, each times its weight, which has a number in each kind of arithmetic."""
    most = len(keys) + len(other_keys)
    out_keys, out_values, n, i, j = np.empty(most, np.uint64), np.empty((most, len(kinds)), np.uint64), 0, 0, 0
    while i < len(keys) or j < len(other_keys):
        first = j == len(other_keys) or (i < len(keys) and keys[i] <= other_keys[j])
        second = i == len(keys) or (j < len(other_keys) and other_keys[j] <= keys[i])
        out_keys[n], kept = keys[i] if first else other_keys[j], False
        for kind in range(len(kinds)):
            value = np.uint64(0)
            if first:
                value = times(values[i, kind], weights[kind], kinds[kind])
            if second:
                value = plus(value, times(other_values[j, kind], other_weights[kind], kinds[kind]), kinds[kind])
            out_values[n, kind] = value
            kept |= value != 0
        i, j, n = i + first, j + second, n + kept
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def rearranged(keys, values, moves, mask, equal, digits, ended):
    """The entries with their fields moved, in order.

    Where `equal` is a pair of positions, only entries whose fields there are equal are kept.
    """
    out_keys, out_values, n = np.empty_like(keys), np.empty_like(values), 0
    for i in range(len(keys)):
        if len(equal) and ((keys[i] >> equal[0]) ^ (keys[i] >> equal[1])) & mask:
            continue
        out_keys[n] = moved(keys[i], moves, mask)
        _copy_values(values, i, out_values, n)
        n += 1
    return sort_entries(out_keys[:n].copy(), out_values[:n].copy(), digits, False, ended)


@jit
def summed_out(keys, values, moves, mask, digits, kinds, ended):
    """A factor with some of its fields, summed over the others."""
    out_keys = np.empty_like(keys)
    for i in range(len(keys)):
        out_keys[i] = moved(keys[i], moves, mask)
    out_keys, out_values = sort_entries(out_keys, values.copy(), digits, False, ended)
    n = sum_equal(out_keys, out_values, kinds)
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def apart(keys, values, first, second, mask):
    """The entries whose fields at two positions differ."""
    out_keys, out_values, n = np.empty_like(keys), np.empty_like(values), 0
    for i in range(len(keys)):
        out_keys[n] = keys[i]
        _copy_values(values, i, out_values, n)
        n += ((keys[i] >> first) ^ (keys[i] >> second)) & mask != 0
    return out_keys[:n].copy(), out_values[:n].copy()


@jit
def entries_of_images(keys, field, mask, size):
    """float64 (size,): how many entries each image has of the vertex whose field is at a position."""
    entries = np.zeros(size)
    for i in range(len(keys)):
        entries[np.int64((keys[i] >> field) & mask)] += 1
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
        shift, mask = digits[d, 0], digits[d, 1]
        places = np.zeros(np.int64(mask) + 2, np.int64)
        ascending, before = True, np.uint64(0)
        for i in range(len(keys)):
            digit = (keys[i] >> shift) & mask
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
            digit = np.int64((keys[i] >> shift) & mask)
            free_keys[places[digit]] = keys[i]
            _copy_values(values, i, free_values, places[digit])
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
        if n and keys[n - 1] == keys[i]:
            for kind in range(len(kinds)):
                values[n - 1, kind] = plus(values[n - 1, kind], values[i, kind], kinds[kind])
        else:
            keys[n] = keys[i]
            _copy_values(values, i, values, n)
            n += 1
    return n


@inner
def _copy_values(values, i, out, n):
    for kind in range(values.shape[1]):
        out[n, kind] = values[i, kind]
