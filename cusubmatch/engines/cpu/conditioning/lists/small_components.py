"""Counts of components of one or two vertices, from the sizes of their domains and rows."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.domains import LONG_ROW, choices, is_image, row_of
from cusubmatch.engines.cpu.conditioning.lists.overlaps import overlap
from cusubmatch.engines.cpu.conditioning.lists.state import UNKNOWN
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.sorted_sets import count_common, count_marked, has

__all__ = ["count_small", "most_at_once", "takes_long"]

MIN_MARKED_ROWS = 4  # rows that are intersected with one domain, for which it is worth marking in a bitmap
MIN_KEPT = 8  # candidates of both vertices, with which their count is worth keeping; or where one has fewer,
MIN_KEPT_ELEMENTS = 64  # of the rows of these
KEY_PART = 0.25  # of the time that it takes to count an element, for an element of a domain that has no key yet


@jit
def _count_arcs(s, u, w):
    """The arcs from the domain of u to that of w, where both are touched and w has no fewer candidates."""
    n, store, marks = 0, s.store, s.marks
    begin, end = s.begin[w], s.end[w]
    marked = s.end[u] - s.begin[u] >= MIN_MARKED_ROWS
    if marked:
        for i in range(begin, end):
            marks[store[i] >> 5] |= np.uint32(1) << np.uint32(store[i] & 31)
    for i in range(s.begin[u], s.end[u]):
        row, row_end = row_of(s, u, w, store[i])
        if marked and row_end - row < LONG_ROW * (end - begin):
            n += count_marked(store, row, row_end, marks, 0)
        else:
            n += count_common(store, row, row_end, store, begin, end)
    if marked:
        for i in range(begin, end):
            marks[store[i] >> 5] = np.uint32(0)
    return n


@inner
def _count_edge(s, u, w):
    """The count of a component of two adjacent vertices, one of them touched; -1 if none is."""
    touched = s.registers[c.TOUCHED]
    if not ((touched >> u) | (touched >> w)) & 1:
        return -1
    if not (touched >> u) & 1 or ((touched >> w) & 1 and s.end[w] - s.begin[w] < s.end[u] - s.begin[u]):
        u, w = w, u
    if (touched >> w) & 1:
        return _count_arcs(s, u, w)
    n, others = 0, s.conflicts[w] & s.registers[c.MATCHED]
    for i in range(s.begin[u], s.end[u]):
        row, row_end = row_of(s, u, w, s.store[i])
        n += row_end - row - _images_in(s, others, row, row_end)
    return n


@inner
def _images_in(s, vertices, row, row_end):
    """How many elements of a row are images of some vertices."""
    n, seen = 0, np.int64(0)
    while vertices:
        v = trailing_zeros(vertices)
        vertices &= vertices - 1
        if has(s.store, row, row_end, s.image[v]) and not is_image(s, seen, s.image[v]):
            n += 1
            seen |= np.int64(1) << v
    return n


@inner
def count_small(s, component):
    """The count of a component of one vertex, or of two; -1 for others."""
    rest = component & (component - 1)
    if rest == 0:
        return choices(s, trailing_zeros(component))
    if rest & (rest - 1) == 0:
        u, w = trailing_zeros(component), trailing_zeros(rest)
        if not (s.neighbours[u] >> w) & 1:
            return choices(s, u) * choices(s, w) - overlap(s, u, w)
        return _count_edge(s, u, w)
    return -1


@inner
def most_at_once(_s):
    """The number of vertices up to which `count_small` counts a component, but for some."""
    return 2


@inner
def takes_long(s, component):
    """Whether the count of a component of few vertices takes longer than to look it up."""
    rest = component & (component - 1)
    if rest == 0 or rest & (rest - 1) != 0:
        return False
    u, w = trailing_zeros(component), trailing_zeros(rest)
    if not (s.registers[c.TOUCHED] >> u) & (s.registers[c.TOUCHED] >> w) & (s.neighbours[u] >> w) & 1:
        return False
    if s.end[w] - s.begin[w] < s.end[u] - s.begin[u]:
        u, w = w, u
    size, elements = s.end[w] - s.begin[w], 0
    if s.end[u] - s.begin[u] >= MIN_KEPT or size < MIN_KEPT:
        return size >= MIN_KEPT
    for i in range(s.begin[u], s.end[u]):
        row, row_end = row_of(s, u, w, s.store[i])
        elements += row_end - row
    return elements >= MIN_KEPT_ELEMENTS and (s.fingerprint_1[w] != UNKNOWN or elements >= KEY_PART * size)
