"""Sizes of one set's intersections with the rows of many vertices: the set's bitmap is made once, when it pays."""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inlined, inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import (
    GALLOP_RATIO,
    count_common,
    count_marked,
    lower_bound,
    upper_bound,
)
from cusubmatch.engines.cpu.walker.local_candidates import hub_row, row_of

__all__ = ["common_size", "unmark"]


@jit
def _mark(state, source):
    for i in range(source.begin, source.end):
        x = source.array[i]
        state.marks[x >> 5] = state.marks[x >> 5] | (1 << (x & 31))


@inner
def unmark(state, source):
    """Clear the bitmap of a set."""
    for i in range(source.begin, source.end):
        state.marks[source.array[i] >> 5] = 0


@inlined
def common_size(view, state, source, begin, end, low, high, relation, x, marked):
    """How many of the source's elements from `begin` to `end` lie in a row of x; whether the source is marked now.

    `low` and `high` are the least and the greatest of them.
    """
    bitmap = hub_row(view, relation, x)
    row_begin, row_end = row_of(view, relation, x)
    if bitmap >= 0 and end - begin <= row_end - row_begin:
        n = count_marked(source.array, begin, end, view.bits, bitmap)
    else:
        row_begin = lower_bound(view.targets, row_begin, row_end, low)
        row_end = upper_bound(view.targets, row_begin, row_end, high)
        if bitmap >= 0 and end - begin <= row_end - row_begin:
            n = count_marked(source.array, begin, end, view.bits, bitmap)
        elif (row_end - row_begin) > GALLOP_RATIO * (end - begin):
            n = count_common(source.array, begin, end, view.targets, row_begin, row_end)
        else:
            if not marked:
                _mark(state, source)
                marked = True
            n = count_marked(view.targets, row_begin, row_end, state.marks, 0)
    return n, marked
