"""Operations on sorted int32 lists: the inner loops of the list walker.

A list is a slice array[begin:end). Two lists are intersected by a merge when they are of like length, by galloping
through the longer one when not (Demaine, López-Ortiz, Munro 2000), and by one bit test an element when the longer one
belongs to a hub, whose neighbours are also kept as a bitmap (`search.graph_view`). Bitmap words are 32 bits wide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import Pointer

__all__ = [
    "GALLOP_RATIO",
    "Slice",
    "count_common",
    "count_marked",
    "has",
    "have_common",
    "intersect",
    "intersect_marked",
    "keep_masked",
    "lower_bound",
    "subtract",
    "subtract_marked",
    "upper_bound",
    "without",
]

GALLOP_RATIO = 16  # lists that differ in length by more than this factor are not merged


class Slice(NamedTuple):
    """A sorted list: array[begin:end)."""

    array: Pointer
    begin: int
    end: int


@inner
def lower_bound(array, begin, end, x):
    """The first position in array[begin:end) whose value is at least x."""
    while begin < end:
        middle = (begin + end) >> 1
        if array[middle] < x:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def upper_bound(array, begin, end, x):
    """The first position in array[begin:end) whose value is more than x."""
    while begin < end:
        middle = (begin + end) >> 1
        if array[middle] <= x:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def has(array, begin, end, x):
    """Whether x is in array[begin:end)."""
    position = lower_bound(array, begin, end, x)
    return position < end and array[position] == x


@inner
def _gallop(array, begin, end, x):
    """`lower_bound` by doubling steps from the front: cheap when the answer is near."""
    step = 1
    while begin + step < end and array[begin + step] < x:
        begin += step
        step <<= 1
    return lower_bound(array, begin, min(begin + step + 1, end), x)


@inner
def intersect(a, a0, a1, b, b0, b1, out, o):
    """Write the intersection of a[a0:a1) and b[b0:b1) to out[o:]; its length."""
    start = o
    if (a1 - a0) * GALLOP_RATIO < b1 - b0:
        for i in range(a0, a1):
            b0 = _gallop(b, b0, b1, a[i])
            if b0 == b1:
                break
            if b[b0] == a[i]:
                out[o] = a[i]
                o += 1
    elif (b1 - b0) * GALLOP_RATIO < a1 - a0:
        for i in range(b0, b1):
            a0 = _gallop(a, a0, a1, b[i])
            if a0 == a1:
                break
            if a[a0] == b[i]:
                out[o] = b[i]
                o += 1
    else:
        while a0 < a1 and b0 < b1:
            x, y = a[a0], b[b0]
            out[o] = x
            o += x == y
            a0 += x <= y
            b0 += y <= x
    return o - start


@inner
def count_common(a, a0, a1, b, b0, b1):
    """The size of the intersection of a[a0:a1) and b[b0:b1)."""
    size = 0
    if (a1 - a0) * GALLOP_RATIO < b1 - b0:
        for i in range(a0, a1):
            b0 = _gallop(b, b0, b1, a[i])
            if b0 == b1:
                break
            size += b[b0] == a[i]
    elif (b1 - b0) * GALLOP_RATIO < a1 - a0:
        for i in range(b0, b1):
            a0 = _gallop(a, a0, a1, b[i])
            if a0 == a1:
                break
            size += a[a0] == b[i]
    else:
        while a0 < a1 and b0 < b1:
            x, y = a[a0], b[b0]
            size += x == y
            a0 += x <= y
            b0 += y <= x
    return size


@inner
def have_common(a, a0, a1, b, b0, b1):
    """Whether a[a0:a1) and b[b0:b1) have an element in common."""
    while a0 < a1 and b0 < b1:
        if a[a0] == b[b0]:
            return True
        if a[a0] < b[b0]:
            a0 = _gallop(a, a0, a1, b[b0])
        else:
            b0 = _gallop(b, b0, b1, a[a0])
    return False


@inner
def subtract(a, a0, a1, b, b0, b1, out, o):
    """Write the elements of a[a0:a1) that are not in b[b0:b1) to out[o:]; their number."""
    start = o
    for i in range(a0, a1):
        x = a[i]
        if b0 < b1:
            b0 = _gallop(b, b0, b1, x)
        if b0 >= b1 or b[b0] != x:
            out[o] = x
            o += 1
    return o - start


@inner
def without(a, a0, a1, x, out, o):
    """Write the elements of a[a0:a1) but x to out[o:] (may be in place); their number."""
    position = lower_bound(a, a0, a1, x)
    rest = position + 1 if position < a1 and a[position] == x else position
    for i in range(position - a0):
        out[o + i] = a[a0 + i]
    o += position - a0
    for i in range(a1 - rest):
        out[o + i] = a[rest + i]
    return position - a0 + a1 - rest


@inner
def intersect_marked(a, a0, a1, bits, row, out, o):
    """Write the elements of a[a0:a1) whose bit is set in the bitmap at bits[row:] to out[o:]; their number."""
    start = o
    for i in range(a0, a1):
        x = a[i]
        out[o] = x
        o += (bits[row + (x >> 5)] >> np.uint32(x & 31)) & np.uint32(1)
    return o - start


@inner
def subtract_marked(a, a0, a1, bits, row, out, o):
    """Write the elements of a[a0:a1) whose bit is not set in the bitmap at bits[row:] to out[o:]; their number."""
    start = o
    for i in range(a0, a1):
        x = a[i]
        out[o] = x
        o += 1 - ((bits[row + (x >> 5)] >> np.uint32(x & 31)) & np.uint32(1))
    return o - start


@inner
def count_marked(a, a0, a1, bits, row):
    """How many elements of a[a0:a1) have their bit set in the bitmap at bits[row:]."""
    size = np.uint32(0)
    for i in range(a0, a1):
        x = a[i]
        size += (bits[row + (x >> 5)] >> np.uint32(x & 31)) & np.uint32(1)
    return np.int64(size)


@inner
def keep_masked(a, a0, a1, masks, bit, out, o):
    """Write the elements of a[a0:a1) whose mask has `bit` to out[o:] (may be in place); their number."""
    start = o
    for i in range(a0, a1):
        x = a[i]
        out[o] = x
        o += (masks[x] >> np.uint32(bit)) & np.uint32(1)
    return o - start
