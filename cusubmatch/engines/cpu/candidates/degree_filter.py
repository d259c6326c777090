"""Candidates by label and degree: of each pattern vertex a list, in ranges of the vertices by label."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer

__all__ = ["lists_by_degree"]


@inner
def lists_by_degree(offsets, degrees, by_label, ranges, range_ends, needed, need_ends, masks, lengths):
    """The lists, each with room for all of its ranges, and where each begins; set the masks and the lists' lengths."""
    size, longest = len(lengths), 0
    begins = np.zeros(size + 1, np.int64)
    for u in range(size):
        begins[u + 1] = begins[u]
        for r in range(range_ends[u], range_ends[u + 1]):
            begins[u + 1] += ranges[r, 1] - ranges[r, 0]
            longest = max(longest, ranges[r, 1] - ranges[r, 0])
    lists, keeps = np.empty(begins[size] + 1, np.int32), np.empty((longest >> 3) + 1, np.uint64)
    for u in range(size):
        some, asked = advance(pointer(lists), begins[u]), needed[need_ends[u] : need_ends[u + 1]]
        for r in range(range_ends[u], range_ends[u + 1]):
            begin, end = ranges[r, 0], ranges[r, 1]
            _find_with_degrees(offsets, degrees, by_label, begin, end, asked, keeps)
            lengths[u] += _list_kept(keeps, by_label, begin, end, u, masks, advance(some, lengths[u]))
        has_one_label = range_ends[u + 1] == range_ends[u] + 1 and end - begin < len(masks)
        if not len(degrees) and not has_one_label:
            _list_marked(masks, u, some)
    return lists, begins


@inner
def _find_with_degrees(offsets, degrees, by_label, begin, end, needed, keeps):
    """Set byte i of `keeps` to whether by_label[begin + i] has the degrees needed in each relation, to begin + i < end.

    Each relation is gone through once, without a branch. Where there are `degrees`, by_label[i] is i.
    """
    keep, places, size = pointer(keeps.view(np.uint8)), advance(pointer(by_label), begin), end - begin
    keeps[: (size >> 3) + 1] = 0
    for i in range(size):
        keep[i] = 1
    for k in range(len(needed)):
        relation, least = needed[k, 0], needed[k, 1]
        if len(degrees):
            enough, some = np.uint8(least), advance(pointer(degrees[relation]), begin)
            for i in range(size):
                keep[i] &= some[i] >= enough
        else:
            rows = pointer(offsets[relation])
            for i in range(size):
                keep[i] &= rows[places[i] + 1] - rows[places[i]] >= least


@inner
def _list_kept(keeps, by_label, begin, end, u, masks, some):
    """Write those that are kept of by_label[begin:end], and set their bit u; how many."""
    places, words, n = advance(pointer(by_label), begin), pointer(masks), 0
    for word in range((end - begin + 7) >> 3):
        rest = keeps[word]  # a byte of each, 0 or 1
        while rest:
            v = places[(word << 3) + (trailing_zeros(rest) >> 3)]
            words[v] |= np.uint32(1) << np.uint32(u)
            some[n] = v
            n += 1
            rest &= rest - np.uint64(1)
    return n


@inner
def _list_marked(masks, u, some):
    """Write those that have bit u, ascending, as pairs are sampled."""
    words, n = pointer(masks), 0
    for v in range(len(masks)):
        if (words[v] >> np.uint32(u)) & np.uint32(1):
            some[n] = v
            n += 1
