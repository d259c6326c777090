"""Compressed sparse rows out of edge arrays: sorting, removing repeats, offsets. `xp` is NumPy or CuPy.

An edge is one int64 key, its source in the high word and its target in the low one, so that one sort orders rows and,
within them, neighbours. The sort is in place and the low words are taken as a view: building needs little more than the
keys.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

__all__ = [
    "all_of",
    "any_of",
    "contains",
    "distinct",
    "edge_keys",
    "first_higher",
    "low_words",
    "module_of",
    "number_of",
    "offsets_of",
    "ranges_of_rows",
    "row_lengths",
    "running_sums",
    "sorted_keys",
]


MOST_RANGES, RANGE_ARCS = 16, 1 << 16  # of rows that are searched together


def any_of(mask) -> bool:
    """Whether a value is true: by a maximum, which CuPy has compiled, while `any` takes its compiler some seconds."""
    return len(mask) > 0 and bool(mask.view(np.int8).max())


def all_of(mask) -> bool:
    """Whether all values are true: by a minimum."""
    return len(mask) == 0 or bool(mask.view(np.int8).min())


def number_of(xp, mask):
    """How many values are true: with CuPy a sum of int64, which it has compiled, in 8 bytes a value."""
    return xp.count_nonzero(mask) if xp is np else mask.astype(np.int64).sum()


def edge_keys(xp, high, low):
    keys = high.astype(xp.int64)
    keys <<= 32
    keys |= low
    return keys


def sorted_keys(xp, rank, ends, labels, symmetric):
    """Distinct (source, destination, label) triples, sorted, as keys and label codes."""
    source, destination = ends
    ends = [(source, destination), (destination, source)] if symmetric else [(source, destination)]
    keys = xp.empty(len(ends) * len(source), xp.int64)
    for part, (high, low) in enumerate(ends):
        half = keys[part * len(source) : (part + 1) * len(source)]
        half[:] = rank[high]
        half[:] <<= 32
        half[:] |= rank[low]
    labels = xp.concatenate([labels, labels]) if symmetric else labels
    order = xp.argsort(labels, kind="stable")
    order = order[xp.argsort(keys[order], kind="stable")]
    keys, labels = keys[order], labels[order]
    if len(keys):
        new = xp.ones(len(keys), bool)
        new[1:] = (keys[1:] != keys[:-1]) | (labels[1:] != labels[:-1])
        keys, labels = keys[new], labels[new]
    return keys, labels.astype(xp.int32)


def distinct(xp, keys):
    """Sorted keys without repeats."""
    if len(keys) == 0:
        return keys
    new = xp.ones(len(keys), bool)
    xp.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if all_of(new) else keys[new]


def offsets_of(xp, keys, n):
    return xp.searchsorted(keys, xp.arange(n + 1, dtype=xp.int64) << 32)


def low_words(xp, keys):
    return xp.ascontiguousarray(keys.view(xp.int32)[0::2])  # little endian: the low word comes first


def module_of(xp, array):
    """NumPy for an array in host memory, else `xp`, the module of the device's arrays."""
    return np if isinstance(array, np.ndarray) else xp


def row_lengths(offsets):
    return offsets[1:] - offsets[:-1]


def running_sums(xp, values, dtype):
    """The sum of what stands before each place, and of all."""
    sums = xp.zeros(len(values) + 1, dtype)
    xp.cumsum(values, out=sums[1:])
    return sums


def ranges_of_rows(xp, offsets, parts):
    """Consecutive ranges of rows with about as many arcs each, so many at most."""
    arcs = int(offsets[-1])
    inner = xp.searchsorted(offsets, xp.asarray([arcs * part // parts for part in range(1, parts)])).tolist()
    return pairwise(sorted({0, *inner, len(offsets) - 1}))


def first_higher(xp, offsets, targets):
    """Where in each row, which is ascending, the targets above the row's own number begin: int64.

    By binary searches, range by range: rows of vertices of low degree, which come first, take few steps.
    """
    found, last = offsets[1:].copy(), max(len(targets) - 1, 0)
    for begin, end in ranges_of_rows(xp, offsets, min(MOST_RANGES, len(targets) // RANGE_ARCS + 1)):
        low, high, own = offsets[begin:end], found[begin:end], xp.arange(begin, end, dtype=targets.dtype)
        while any_of(low < high):
            middle = (low + high) >> 1
            above = targets[xp.minimum(middle, last)] > own
            low = xp.where(above | (low >= high), low, middle + 1)
            high = xp.where(above, middle, high)
        found[begin:end] = high
    return found


def contains(xp, offsets, targets, a, c):
    """Whether each edge a[i] -> c[i] is stored: all the binary searches at once."""
    low, high = offsets[a].copy(), offsets[a + 1]
    end, last = high.copy(), max(len(targets) - 1, 0)
    while any_of(low < high):
        middle = (low + high) >> 1
        less = (targets[xp.minimum(middle, last)] < c) & (low < high)
        low = xp.where(less, middle + 1, low)
        high = xp.where(less | (low >= high), high, middle)
    return (low < end) & (targets[xp.minimum(low, last)] == c)
