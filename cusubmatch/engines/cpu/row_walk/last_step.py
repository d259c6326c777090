"""Counting the last step of a row walk at once, where its rows are compared with nothing but vertices and times."""

from __future__ import annotations

from numba import int64

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.row_tests import (
    FIRST_TIME,
    LAST_TIME,
    accepts_vertex,
    beside_of,
    edge_row,
    fits_beside,
    limits_beside,
    neighbours_of,
    step_row,
    times_of,
    window_of,
)
from cusubmatch.engines.cpu.row_walk.step_ranges import open_rows

__all__ = ["count_paths", "count_rows"]


@inner
def count_rows(program, view, state, level):
    """The rows of a scan, or of an arc, that fit; and how many were looked at."""
    step = step_row(program, level)
    open_rows(program, state, level)
    begin, end, last = state.position[level], state.end[level], state.latest[level]
    scan, vertex = step[q.KIND] == q.SCAN, step[q.VERTEX]
    number = step[q.LIST] if scan else edge_row(program, step[q.EDGE])[q.ROWS_OF_ARC]
    times, ends = times_of(program, number), neighbours_of(program, number)
    n, position = 0, begin
    tested, low, high, beside = program.header[q.TESTS_BESIDE], FIRST_TIME, LAST_TIME, times
    if tested:
        beside = beside_of(program, number)
        low, high = limits_beside(program, state, step[q.EDGE])
    while position < end and times[position] <= last:
        if tested and not low <= beside[position] <= high:
            position += 1
            continue
        if not scan or accepts_vertex(program, view, state, vertex, int64(ends[position])):
            n += 1
        position += 1
    return n, position - begin


@inner
def count_paths(program, view, state, level):
    """The kept paths at the image of a vertex that fit; and how many were looked at."""
    step = step_row(program, level)
    vertex, edge, hop_edge = step[q.VERTEX], step[q.EDGE], step[q.HOP_EDGE]
    hops = program.header[q.HOPS] == 2
    low, high = window_of(program, state, edge)
    hop_low, hop_high = window_of(program, state, hop_edge) if hops else (low, high)
    tested, hop_list = program.header[q.TESTS_BESIDE], step[q.HOP_LIST]
    slot = state.chains[state.image[step[q.START]] * s.CHAIN_FIELDS + s.HEAD]
    n = looked_at = 0
    while slot >= 0:
        first = advance(state.kept, slot * s.KEPT_FIELDS)
        looked_at += 1
        if first[s.TIME] > high:
            break
        last = first[s.RUN_LAST]
        if hops and not accepts_vertex(program, view, state, vertex, first[s.INNER]):
            slot = state.kept[last * s.KEPT_FIELDS + s.FOLLOWING]
            continue
        after = state.kept[last * s.KEPT_FIELDS + s.FOLLOWING]
        while slot != after:
            path = advance(state.kept, slot * s.KEPT_FIELDS)
            looked_at += 1
            fits = low <= path[s.TIME] <= high and hop_low <= path[s.HOP_TIME] <= hop_high
            if fits and tested:
                fits = fits_beside(program, state, edge, step[q.LIST], path[s.POSITION])
                fits = fits and (not hops or fits_beside(program, state, hop_edge, hop_list, path[s.HOP_POSITION]))
            if fits:
                n += 1
            slot = path[s.FOLLOWING]
    return n, looked_at
