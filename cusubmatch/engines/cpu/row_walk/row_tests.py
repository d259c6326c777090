"""What a vertex and a row must fulfil to be bound, the lists of a program, and the window that bound rows leave."""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import advance, int32_at, int64_at
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk.row_bounds import BOUND_FIELDS, HIGH, HIGH_TABLE, LOW, LOW_TABLE, OTHER
from cusubmatch.engines.cpu.row_walk.row_lists import LIST_FIELDS
from cusubmatch.plan.conditions.bounds import NO_BOUND

__all__ = [
    "accepts_row",
    "accepts_vertex",
    "arc_between",
    "beside_of",
    "earliest_by",
    "edge_row",
    "fits_beside",
    "latest_by",
    "limits_beside",
    "neighbours_of",
    "offsets_of",
    "rows_of",
    "step_row",
    "times_of",
    "vertex_row",
    "window_of",
]

FIRST_TIME, LAST_TIME = -(1 << 63) + 1, (1 << 63) - 1


@inner
def step_row(program, step):
    """The fields of a step."""
    return advance(program.steps, step * q.STEP_FIELDS)


@inner
def vertex_row(program, vertex):
    """The fields of a pattern vertex."""
    return advance(program.vertices, vertex * q.VERTEX_FIELDS)


@inner
def edge_row(program, edge):
    """The fields of a pattern edge."""
    return advance(program.edges, edge * q.EDGE_FIELDS)


@inner
def offsets_of(program, number):
    """The offsets of a list, int64."""
    return int64_at(program.lists[number * LIST_FIELDS])


@inner
def neighbours_of(program, number):
    """The other ends of a list's rows or arcs, int32."""
    return int32_at(program.lists[number * LIST_FIELDS + 1])


@inner
def times_of(program, number):
    """The times of a list's rows, or the numbers of its arcs, int64."""
    return int64_at(program.lists[number * LIST_FIELDS + 2])


@inner
def rows_of(program, number):
    """The positions of a list's rows in the edge table, int64."""
    return int64_at(program.lists[number * LIST_FIELDS + 3])


@inner
def beside_of(program, number):
    """What is tested beside the times of a list's rows, int64; as many."""
    return int64_at(program.lists[number * LIST_FIELDS + 4])


@inner
def earliest_by(refs, bound, value):
    """The least value that a bound leaves beside another one."""
    if refs[bound + LOW_TABLE] != 0:
        return int64_at(refs[bound + LOW_TABLE])[value]
    return FIRST_TIME if refs[bound + LOW] <= -NO_BOUND else value + refs[bound + LOW]


@inner
def latest_by(refs, bound, value):
    """The largest value that a bound leaves beside another one."""
    if refs[bound + HIGH_TABLE] != 0:
        return int64_at(refs[bound + HIGH_TABLE])[value]
    return LAST_TIME if refs[bound + HIGH] >= NO_BOUND else value + refs[bound + HIGH]


@inner
def _limits(refs, values, begin, end):
    """The least and the largest value that bounds leave beside those of bound rows."""
    low, high = FIRST_TIME, LAST_TIME
    for i in range(begin, end, BOUND_FIELDS):
        value = values[refs[i + OTHER]]
        low, high = max(low, earliest_by(refs, i, value)), min(high, latest_by(refs, i, value))
    return low, high


@inner
def window_of(program, state, edge):
    """The first and the last time that the row of an edge may have, given the rows bound before it."""
    row = edge_row(program, edge)
    return _limits(program.refs, state.time, row[q.WINDOW], row[q.WINDOW_END])


@inner
def limits_beside(program, state, edge):
    """The least and the largest value beside its time that the row of an edge may have."""
    row = edge_row(program, edge)
    return _limits(program.refs, state.beside, row[q.BESIDE], row[q.BESIDE_END])


@inner
def fits_beside(program, state, edge, number, position):
    """Whether a row of a list may be that of an edge by its value beside the time; it is then bound."""
    low, high = limits_beside(program, state, edge)
    value = beside_of(program, number)[position]
    state.beside[edge] = value
    return low <= value <= high


@inner
def arc_between(program, number, x, y):
    """The number of the arc (x, y) in a list of arcs; -1 if there is none."""
    offsets, ends = offsets_of(program, number), neighbours_of(program, number)
    end = offsets[x + 1]
    position = lower_bound(ends, offsets[x], end, y)
    return position if position < end and ends[position] == y else -1


@inner
def accepts_vertex(program, view, state, vertex, x):
    """Whether a pattern vertex may be mapped to x, given the vertices bound before it."""
    row, refs = vertex_row(program, vertex), program.refs
    for i in range(row[q.DIFFERS], row[q.DIFFERS_END]):
        if state.image[refs[i]] == x:
            return False
    return not row[q.MORE] or _accepts_more(program, view, state, vertex, x)


@inner
def _accepts_more(program, view, state, vertex, x):
    """What is seldom asked of a vertex: a mask, orders and forbidden arcs."""
    row, refs = vertex_row(program, vertex), program.refs
    if row[q.MASKED] and not (view.masks[x] >> vertex) & 1:
        return False
    for i in range(row[q.ABOVE], row[q.ABOVE_END]):
        if state.image[refs[i]] >= x:
            return False
    for i in range(row[q.BELOW], row[q.BELOW_END]):
        if state.image[refs[i]] <= x:
            return False
    for i in range(row[q.FORBIDDEN], row[q.FORBIDDEN_END], 3):
        other = state.image[refs[i + 1]]
        source, target = (x, other) if refs[i + 2] else (other, x)
        if arc_between(program, refs[i], source, target) >= 0:
            return False
    return True


@inner
def accepts_row(program, state, edge, row):
    """Whether an edge may take a row, given the rows bound before it."""
    fields, refs = edge_row(program, edge), program.refs
    for i in range(fields[q.OTHER_ROW], fields[q.OTHER_ROW_END]):
        if state.row[refs[i]] == row:
            return False
    for i in range(fields[q.AFTER], fields[q.AFTER_END]):
        if state.row[refs[i]] >= row:
            return False
    for i in range(fields[q.BEFORE], fields[q.BEFORE_END]):
        if state.row[refs[i]] <= row:
            return False
    return True
