"""The steps of a row walk: a step opens a range of rows, paths or vertices, and binds one after the other."""

from __future__ import annotations

from numba import int64

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import advance, call_at
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound, upper_bound
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.meeting import ends_a_path, enter_group
from cusubmatch.engines.cpu.row_walk.row_tests import (
    FIRST_TIME,
    LAST_TIME,
    accepts_row,
    accepts_vertex,
    arc_between,
    beside_of,
    edge_row,
    fits_beside,
    limits_beside,
    neighbours_of,
    offsets_of,
    rows_of,
    step_row,
    times_of,
    window_of,
)

__all__ = ["FOUND", "NO_MORE", "NO_ROOM", "SPENT", "advance_step", "open_rows", "open_step"]

NO_MORE, FOUND, NO_ROOM, SPENT = 0, 1, 2, 3
ROOTS_AT_ONCE = 1 << 12  # rows of the first step that are passed over before the budget is looked at


@inner
def fulfils_conditions(program, view, state, level):
    """Whether what is bound fulfils the conditions of a step (`row_calls`)."""
    step = step_row(program, level)
    if step[q.CONDITION] == step[q.CONDITION_END] and step[q.SEARCH] == 0:
        return True
    return call_at(program.header[q.FULFILS], program, view, state, level) != 0


@inner
def open_rows(program, state, level):
    """Open the rows of a scan or of an arc within the window that the bound rows leave."""
    step, edge = step_row(program, level), step_row(program, level)[q.EDGE]
    if step[q.KIND] == q.SCAN:
        number, group = step[q.LIST], state.image[step[q.START]]
    else:
        fields = edge_row(program, edge)
        number = fields[q.ROWS_OF_ARC]
        group = arc_between(program, fields[q.ARCS], state.image[fields[q.SOURCE]], state.image[fields[q.TARGET]])
        if group < 0:
            state.position[level] = state.end[level] = 0
            return
    offsets = offsets_of(program, number)
    end = offsets[group + 1]
    low, high = window_of(program, state, edge)
    state.position[level] = lower_bound(times_of(program, number), offsets[group], end, low)
    state.end[level], state.latest[level] = end, high


@inner
def open_step(program, state, level):
    """Open the range of a step."""
    step = step_row(program, level)
    kind = step[q.KIND]
    if kind in (q.SCAN, q.CLOSE):
        open_rows(program, state, level)
    elif kind == q.MEET:
        state.position[level] = state.chains[state.image[step[q.START]] * s.CHAIN_FIELDS + s.HEAD]
        state.end[level] = s.NONE  # the last path of a run whose inner vertex is accepted
        state.latest[level] = window_of(program, state, step[q.EDGE])[1]
    elif kind == q.NEIGHBOURS:
        offsets, x = offsets_of(program, step[q.LIST]), state.image[step[q.START]]
        state.position[level], state.end[level] = offsets[x], offsets[x + 1]
    elif kind == q.ARC:
        fields = edge_row(program, step[q.EDGE])
        source, target = state.image[fields[q.SOURCE]], state.image[fields[q.TARGET]]
        arc = arc_between(program, fields[q.ARCS], source, target)
        state.arc[step[q.EDGE]] = arc
        state.position[level], state.end[level] = 0, arc >= 0
    state.begin[level] = state.position[level]


@inner
def _next_root(program, view, state, level):
    """Bind the next row of the first step, whose level is 0."""
    registers, step = state.registers, step_row(program, level)
    edge, start, other, number = step[q.EDGE], step[q.START], step[q.VERTEX], step[q.LIST]
    offsets, ends = offsets_of(program, number), neighbours_of(program, number)
    times, rows = times_of(program, number), rows_of(program, number)
    meeting, filtered = program.header[q.MEETING] >= 0, program.header[q.FILTERED]
    passed = 0
    while state.position[0] < state.end[0]:
        position = state.position[0]
        passed += 1
        if passed > ROOTS_AT_ONCE:
            return SPENT
        if registers[s.GROUP] < 0 or position >= registers[s.GROUP_END]:
            group = registers[s.GROUP]
            if group < 0:
                group = upper_bound(offsets, 0, view.vertices, position) - 1
            while offsets[group + 1] <= position:
                group += 1
            if meeting:
                enter_group(program, state, group)
            registers[s.GROUP], registers[s.GROUP_END] = group, offsets[group + 1]
            state.image[start] = group
            if not accepts_vertex(program, view, state, start, group):
                state.position[0] = min(registers[s.GROUP_END], state.end[0])
                continue
        if meeting:
            if call_at(program.header[q.SLIDES], program, view, state, times[position]) == 0:
                return NO_ROOM
            if registers[s.KEPT_BEGIN] == registers[s.KEPT_END]:
                state.position[0] = position + 1
                continue
        state.position[0] = position + 1
        x = int64(ends[position])
        if filtered == other and not ends_a_path(state, x):
            continue
        if accepts_vertex(program, view, state, other, x):
            state.image[other] = x
            state.time[edge], state.row[edge] = times[position], rows[position]
            if program.header[q.TESTS_BESIDE]:
                state.beside[edge] = beside_of(program, number)[position]
            if fulfils_conditions(program, view, state, level):
                return FOUND
    return NO_MORE


@inner
def _next_row(program, view, state, level):
    """Bind the next row of a scan or of an arc."""
    step = step_row(program, level)
    edge, scan, vertex = step[q.EDGE], step[q.KIND] == q.SCAN, step[q.VERTEX]
    number = step[q.LIST] if scan else edge_row(program, edge)[q.ROWS_OF_ARC]
    ends, times, rows = neighbours_of(program, number), times_of(program, number), rows_of(program, number)
    filtered = program.header[q.FILTERED] == vertex and scan
    position, end, last = state.position[level], state.end[level], state.latest[level]
    tested, low, high, beside = program.header[q.TESTS_BESIDE], FIRST_TIME, LAST_TIME, times
    if tested:
        beside = beside_of(program, number)
        low, high = limits_beside(program, state, edge)
    while position < end and times[position] <= last:
        at = position
        position += 1
        if tested and not low <= beside[at] <= high:
            continue
        x = int64(ends[at]) if scan else 0
        if filtered and not ends_a_path(state, x):
            continue
        if scan and not accepts_vertex(program, view, state, vertex, x):
            continue
        if not accepts_row(program, state, edge, rows[at]):
            continue
        if scan:
            state.image[vertex] = x
        state.time[edge], state.row[edge] = times[at], rows[at]
        if tested:
            state.beside[edge] = beside[at]
        if fulfils_conditions(program, view, state, level):
            state.position[level] = position
            return FOUND
    state.position[level] = position
    return NO_MORE


@inner
def _bind_path(program, view, state, level, path):
    """Bind a kept path whose vertices are accepted, if its rows are; whether they are."""
    step, hops = step_row(program, level), program.header[q.HOPS]
    edge, hop_edge = step[q.EDGE], step[q.HOP_EDGE]
    time, hop_time, tested = path[s.TIME], path[s.HOP_TIME], program.header[q.TESTS_BESIDE]
    low, high = window_of(program, state, edge)
    if not low <= time <= high:
        return False
    if hops == 2:
        low, high = window_of(program, state, hop_edge)
        if not low <= hop_time <= high:
            return False
    if tested and not fits_beside(program, state, edge, step[q.LIST], path[s.POSITION]):
        return False
    if tested and hops == 2 and not fits_beside(program, state, hop_edge, step[q.HOP_LIST], path[s.HOP_POSITION]):
        return False
    row = rows_of(program, step[q.LIST])[path[s.POSITION]]
    if not accepts_row(program, state, edge, row):
        return False
    state.time[edge], state.row[edge] = time, row
    if hops == 2:
        row = rows_of(program, step[q.HOP_LIST])[path[s.HOP_POSITION]]
        if not accepts_row(program, state, hop_edge, row):
            return False
        state.time[hop_edge], state.row[hop_edge] = hop_time, row
    return fulfils_conditions(program, view, state, level)


@inner
def _next_path(program, view, state, level):
    """Bind the next kept path that ends at the image of a vertex; runs through a vertex are passed over together."""
    vertex = step_row(program, level)[q.VERTEX]
    slot, run_last = state.position[level], state.end[level]
    while slot >= 0:
        path = advance(state.kept, slot * s.KEPT_FIELDS)
        if path[s.TIME] > state.latest[level]:
            break
        if run_last < 0:
            run_last = path[s.RUN_LAST]
            if vertex >= 0:
                if not accepts_vertex(program, view, state, vertex, path[s.INNER]):
                    slot, run_last = state.kept[run_last * s.KEPT_FIELDS + s.FOLLOWING], s.NONE
                    continue
                state.image[vertex] = path[s.INNER]
        following = path[s.FOLLOWING]
        if slot == run_last:
            run_last = s.NONE
        if _bind_path(program, view, state, level, path):
            state.position[level], state.end[level] = following, run_last
            return FOUND
        slot = following
    state.position[level] = s.NONE
    return NO_MORE


@inner
def _next_vertex(program, view, state, level):
    """Bind the next vertex of a list of roots or of arcs."""
    step = step_row(program, level)
    vertex, roots = step[q.VERTEX], step[q.KIND] == q.VERTICES
    while state.position[level] < state.end[level]:
        position = state.position[level]
        state.position[level] = position + 1
        x = int64(view.roots[position] if roots else neighbours_of(program, step[q.LIST])[position])
        if accepts_vertex(program, view, state, vertex, x):
            state.image[vertex] = x
            if not roots:
                edge = step[q.EDGE]
                into = step[q.START] != edge_row(program, edge)[q.SOURCE]
                state.arc[edge] = times_of(program, step[q.LIST])[position] if into else position
            if fulfils_conditions(program, view, state, level):
                return FOUND
    return NO_MORE


@inner
def _next_arc(program, view, state, level):
    """Pass an arc that exists, once."""
    if state.position[level] >= state.end[level]:
        return NO_MORE
    state.position[level] += 1
    return FOUND if fulfils_conditions(program, view, state, level) else NO_MORE


@inner
def advance_step(program, view, state, level):
    """Bind the next of a step's range: FOUND, NO_MORE, and of the first step NO_ROOM or SPENT."""
    kind = step_row(program, level)[q.KIND]
    if kind == q.ROWS:
        return _next_root(program, view, state, level)
    if kind in (q.SCAN, q.CLOSE):
        return _next_row(program, view, state, level)
    if kind == q.MEET:
        return _next_path(program, view, state, level)
    if kind == q.ARC:
        return _next_arc(program, view, state, level)
    return _next_vertex(program, view, state, level)
