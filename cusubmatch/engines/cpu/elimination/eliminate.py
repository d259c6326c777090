"""Eliminating a vertex: the product of the factors that hold it, summed over its candidates.

For each candidate the entries of the factors are joined, those agreeing that share further vertices. The results are
summed where they belong if their keys are few, and otherwise sorted by key and then summed (expand, sort, compress:
Dalton, Olson & Bell 2015).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import one, plus, times
from cusubmatch.engines.cpu.elimination.factor import sort_entries, sum_equal
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = ["eliminated", "products"]

WORD_BITS = 64


@jit
def products(keys, ends, fields, mask, size):
    """How many products eliminating a vertex takes, at most."""
    factors, total = len(ends) - 1, 0.0
    lengths = np.zeros((factors, size), np.int64)
    for f in range(factors):
        for i in range(ends[f], ends[f + 1]):
            lengths[f, np.int64((keys[i] >> fields[f]) & mask)] += 1
    for y in range(size):
        of_candidate = 1.0
        for f in range(factors):
            of_candidate *= lengths[f, y]
        total += of_candidate
    return total


@inner
def _group(keys, values, begin, end, field, mask, moves, offsets, rows, weights):
    """Write the entries of one factor by candidate, what is left of their keys moved to the places of the result."""
    offsets[:] = 0
    for i in range(begin, end):
        offsets[np.int64((keys[i] >> field) & mask) + 1] += 1
    offsets[0] = begin
    for y in range(len(offsets) - 1):
        offsets[y + 1] += offsets[y]
    for i in range(begin, end):
        y = np.int64((keys[i] >> field) & mask)
        at, moved = offsets[y], np.uint64(0)
        for move in range(len(moves)):
            moved |= ((keys[i] >> moves[move, 0]) & moves[move, 2]) << moves[move, 1]
        rows[at], weights[at] = moved, values[i]
        offsets[y] += 1
    for y in range(len(offsets) - 1, 0, -1):
        offsets[y] = offsets[y - 1]
    offsets[0] = begin


@jit
def eliminated(keys, values, ends, fields, moves, shared, mask, size, modulus, bits, most, dense, scratch):
    """The keys and values of the factor that is left when a vertex is eliminated.

    Parameters
    ----------
    keys, values : uint64
        Entries of the factors that hold the vertex, one factor after another.
    ends : int64 (factors + 1,)
        Where the entries of each factor begin, and the last ones end.
    fields : uint64 (factors,)
        Positions of the vertex in the keys.
    moves : uint64 (factors, fields, 3)
        Positions of further fields, their positions in the result, and masks of them; 0 where there is none.
    shared : uint64 (factors,)
        The bits of the result that earlier factors have, too.
    mask : uint64
        Of a field.
    size : int
        Candidates of the vertex are below it.
    modulus : uint64
    bits : int
        Of the keys of the result.
    most : int
        Products, at most (`products`).
    dense : bool
        Whether there is a place for each key in `scratch`; else products are sorted.
    scratch : uint64
        Memory that is written over.
    """
    factors = len(ends) - 1
    offsets = np.empty((factors, size + 1), np.int64)
    rows, weights = np.empty_like(keys), np.empty_like(values)
    for f in range(factors):
        _group(keys, values, ends[f], ends[f + 1], fields[f], mask, moves[f], offsets[f], rows, weights)
    sums = scratch if dense else np.empty(most, np.uint64)
    seen = np.zeros((1 << bits) // WORD_BITS + 1 if dense else 0, np.uint64)
    out_keys, emitted, last = np.empty(0 if dense else most, np.uint64), 0, factors - 1
    joined = np.empty((2, 2, 64), np.uint64)  # keys and values, before and after a factor
    for y in range(size):
        widest = _widest(offsets, y)
        if widest == 0:
            continue
        if widest > joined.shape[2]:
            joined = np.empty((2, 2, 2 * widest), np.uint64)
        n, before = _join_all_but_last(offsets, y, rows, weights, shared, joined, modulus)
        begin, end = offsets[last, y], offsets[last, y + 1]
        for i in range(n):
            key, value = before[0, i], before[1, i]
            for j in range(begin, end):
                if not (key ^ rows[j]) & shared[last]:
                    product = times(value, weights[j], modulus)
                    if dense:
                        emitted += _add(key | rows[j], product, sums, seen, modulus)
                    else:
                        out_keys[emitted], sums[emitted] = key | rows[j], product
                        emitted += 1
    if dense:
        return _compressed(sums, seen, emitted)
    out_keys, sums = out_keys[:emitted], sums[:emitted]
    sort_entries(out_keys, sums, bits)
    n = sum_equal(out_keys, sums, modulus)
    return out_keys[:n].copy(), sums[:n].copy()


@inner
def _widest(offsets, y):
    """The entries that a candidate has before the last factor is joined, at most; 0 if a factor has none."""
    entries, last = 1, len(offsets) - 1
    for f in range(last):
        entries *= offsets[f, y + 1] - offsets[f, y]
    return entries if offsets[last, y + 1] > offsets[last, y] else 0


@inner
def _join_all_but_last(offsets, y, rows, weights, shared, joined, modulus):
    """Join the entries of all factors but the last one for one candidate: how many, and their keys and values."""
    joined[0, 0, 0], joined[0, 1, 0], n, turn = np.uint64(0), one(modulus), 1, 0
    for f in range(len(offsets) - 1):
        before, after, found = joined[turn], joined[1 - turn], 0
        for i in range(n):
            key, value = before[0, i], before[1, i]
            for j in range(offsets[f, y], offsets[f, y + 1]):
                if not (key ^ rows[j]) & shared[f]:
                    after[0, found], after[1, found] = key | rows[j], times(value, weights[j], modulus)
                    found += 1
        n, turn = found, 1 - turn
    return n, joined[turn]


@inner
def _add(key, product, sums, seen, modulus):
    """Add a product to the sum at its key; whether it is the first one there."""
    word, bit = np.int64(key >> np.uint64(6)), np.uint64(1) << (key & np.uint64(WORD_BITS - 1))
    if seen[word] & bit:
        sums[key] = plus(sums[key], product, modulus)
        return 0
    seen[word] |= bit
    sums[key] = product
    return 1


@inner
def _compressed(sums, seen, found):
    """The places that are seen, and their sums."""
    keys, values, n = np.empty(found, np.uint64), np.empty(found, np.uint64), 0
    for word in range(len(seen)):
        rest, place = seen[word], word << 6
        while rest:
            if rest & np.uint64(1):
                keys[n], values[n] = np.uint64(place), sums[place]
                n += 1
            rest >>= np.uint64(1)
            place += 1
    return keys, values
