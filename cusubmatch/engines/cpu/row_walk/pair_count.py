"""Counting the last two steps at once: pairs of rows that only a window joins.

The rows of the one step are visited in order of time, while a window of the rows of the other one slides on. A count
for each vertex of the rows in the window takes off the pairs that end in one vertex. The work is the number of rows of
both steps, whatever the number of pairs.
"""

from __future__ import annotations

from numba import int64

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk.row_tests import (
    FIRST_TIME,
    accepts_vertex,
    edge_row,
    neighbours_of,
    step_row,
    times_of,
)
from cusubmatch.engines.cpu.row_walk.step_ranges import open_rows
from cusubmatch.plan.conditions.bounds import NO_BOUND

__all__ = ["count_pairs"]


@inner
def _list_number(program, step):
    """The list that a scan or a close reads."""
    return step[q.LIST] if step[q.KIND] == q.SCAN else edge_row(program, step[q.EDGE])[q.ROWS_OF_ARC]


@inner
def count_pairs(program, view, state, level):
    """The pairs of rows of step `level` and the one after it, and the rows that were looked at."""
    header, one, other = program.header, step_row(program, level), step_row(program, level + 1)
    open_rows(program, state, level)
    open_rows(program, state, level + 1)
    i, end, last = state.position[level], state.end[level], state.latest[level]
    begin, other_end, other_last = state.position[level + 1], state.end[level + 1], state.latest[level + 1]
    if i >= end or begin >= other_end:
        return 0, 2
    number, other_number = _list_number(program, one), _list_number(program, other)
    times, other_times = times_of(program, number), times_of(program, other_number)
    ends, other_ends = neighbours_of(program, number), neighbours_of(program, other_number)
    vertex, other_vertex = one[q.VERTEX], other[q.VERTEX]
    low, high, differs = header[q.BETWEEN_LOW], header[q.BETWEEN_HIGH], header[q.PAIR_DIFFERS]
    first, position, window, pairs = i, begin, 0, 0
    while i < end and times[i] <= last:
        time = times[i]
        until = other_last if high >= NO_BOUND else min(other_last, time + high)
        since = FIRST_TIME if low <= -NO_BOUND else time + low
        while position < other_end and other_times[position] <= until:
            if other_vertex < 0:
                window += 1
            elif accepts_vertex(program, view, state, other_vertex, int64(other_ends[position])):
                window += 1
                if differs:
                    state.counter[other_ends[position]] += 1
            position += 1
        while begin < position and other_times[begin] < since:
            if other_vertex < 0:
                window -= 1
            elif accepts_vertex(program, view, state, other_vertex, int64(other_ends[begin])):
                window -= 1
                if differs:
                    state.counter[other_ends[begin]] -= 1
            begin += 1
        if vertex < 0:
            pairs += window
        elif accepts_vertex(program, view, state, vertex, int64(ends[i])):
            pairs += window
            if differs:
                pairs -= state.counter[ends[i]]
        i += 1
    if differs:
        for j in range(begin, position):
            state.counter[other_ends[j]] = 0
    return pairs, i - first + position - state.position[level + 1]
