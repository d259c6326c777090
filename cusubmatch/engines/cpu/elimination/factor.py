"""Factors: sparse tables of numbers over the candidates of a few pattern vertices.

An entry's key holds a local index of each vertex of the scope, one field of bits each, the first vertex in the highest
field; absent entries are 0. Keys ascend, so factors of one scope are multiplied and added by merging.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import one, plus, times
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = ["Factor", "arcs_of", "combined", "multiplied", "rearranged", "sort_entries", "sum_equal"]

DIGIT_BITS = 11  # of the keys, that a pass of sorting goes by


class Factor(NamedTuple):
    """A table of numbers.

    Attributes
    ----------
    scope : tuple of int
        Pattern vertices, ascending.
    keys : uint64 (n,)
        Ascending, each once.
    values : uint64 (n,)
    """

    scope: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray


@jit
def arcs_of(offsets, targets, bits, modulus):
    """The keys and values, all 1, of the arcs of one relation's rows."""
    begin, arcs = offsets[0], offsets[-1] - offsets[0]
    keys, values = np.empty(arcs, np.uint64), np.full(arcs, one(modulus), np.uint64)
    for x in range(len(offsets) - 1):
        for j in range(offsets[x], offsets[x + 1]):
            keys[j - begin] = (np.uint64(x) << bits) | np.uint64(targets[j])
    return keys, values


@jit
def multiplied(keys, values, other_keys, other_values, modulus):
    """The product of two factors of one scope."""
    most = min(len(keys), len(other_keys))
    out_keys, out_values, n, j = np.empty(most, np.uint64), np.empty(most, np.uint64), 0, 0
    for i in range(len(keys)):
        while j < len(other_keys) and other_keys[j] < keys[i]:
            j += 1
        if j < len(other_keys) and other_keys[j] == keys[i]:
            out_keys[n], out_values[n] = keys[i], times(values[i], other_values[j], modulus)
            n += 1
    return out_keys[:n], out_values[:n]


@jit
def combined(keys, values, weight, other_keys, other_values, other_weight, modulus):
    """The sum of two factors of one scope, each times its weight."""
    most = len(keys) + len(other_keys)
    out_keys, out_values, n, i, j = np.empty(most, np.uint64), np.empty(most, np.uint64), 0, 0, 0
    while i < len(keys) or j < len(other_keys):
        first = j == len(other_keys) or (i < len(keys) and keys[i] <= other_keys[j])
        second = i == len(keys) or (j < len(other_keys) and other_keys[j] <= keys[i])
        out_keys[n], out_values[n] = keys[i] if first else other_keys[j], np.uint64(0)
        if first:
            out_values[n] = times(values[i], weight, modulus)
            i += 1
        if second:
            out_values[n] = plus(out_values[n], times(other_values[j], other_weight, modulus), modulus)
            j += 1
        n += out_values[n] != 0
    return out_keys[:n], out_values[:n]


@jit
def rearranged(keys, values, moves, mask, equal, bits):
    """The entries with their fields moved, in order; `moves`: rows of positions (from, to).

    Where `equal` is a pair of positions, only entries whose fields there are equal are kept.
    """
    out_keys, out_values, n = np.empty_like(keys), np.empty_like(values), 0
    for i in range(len(keys)):
        key = keys[i]
        if len(equal) and ((key >> equal[0]) ^ (key >> equal[1])) & mask:
            continue
        moved = np.uint64(0)
        for move in range(len(moves)):
            moved |= ((key >> moves[move, 0]) & mask) << moves[move, 1]
        out_keys[n], out_values[n] = moved, values[i]
        n += 1
    out_keys, out_values = out_keys[:n], out_values[:n]
    for i in range(1, n):
        if out_keys[i] < out_keys[i - 1]:
            sort_entries(out_keys, out_values, bits)
            break
    return out_keys, out_values


@inner
def sort_entries(keys, values, bits):
    """Sort entries by keys of so many bits, digit by digit."""
    n, digits = len(keys), np.uint64((1 << DIGIT_BITS) - 1)
    source_keys, source_values = keys, values
    target_keys, target_values = np.empty_like(keys), np.empty_like(values)
    for shift in range(0, bits, DIGIT_BITS):
        places = np.zeros((1 << DIGIT_BITS) + 1, np.int64)
        for i in range(n):
            places[np.int64((source_keys[i] >> np.uint64(shift)) & digits) + 1] += 1
        for digit in range(1 << DIGIT_BITS):
            places[digit + 1] += places[digit]
        for i in range(n):
            digit = np.int64((source_keys[i] >> np.uint64(shift)) & digits)
            target_keys[places[digit]], target_values[places[digit]] = source_keys[i], source_values[i]
            places[digit] += 1
        source_keys, source_values, target_keys, target_values = target_keys, target_values, source_keys, source_values
    if ((bits + DIGIT_BITS - 1) // DIGIT_BITS) % 2:
        keys[:], values[:] = source_keys, source_values


@inner
def sum_equal(keys, values, modulus):
    """Add up values of equal keys, which lie together; the number of keys."""
    n = 0
    for i in range(len(keys)):
        if n and keys[n - 1] == keys[i]:
            values[n - 1] = plus(values[n - 1], values[i], modulus)
        else:
            keys[n], values[n] = keys[i], values[i]
            n += 1
    return n
