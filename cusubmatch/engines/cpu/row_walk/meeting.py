"""Rows and paths of two rows at the vertex that the first step groups by, kept by the vertex where they end.

The rows of the first step are visited vertex by vertex and in order of time. What closes a cycle through that vertex
lies in a window that slides on with them: the rows at the vertex that the window holds, or the paths of two rows that
begin with one of those. They form a ring in the order in which they come and go. By the vertex where they end they make
chains through the ring, and in a chain those with the same inner vertex make runs. So the last edges of a cycle are
looked up, not searched, and a bit for each vertex tells where there are none; compare the bundles by first vertex of
2SCENT (Kumar and Calders, PVLDB 2018).
"""

from __future__ import annotations

from numba import int64

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.row_tests import (
    FIRST_TIME,
    LAST_TIME,
    beside_of,
    earliest_by,
    latest_by,
    neighbours_of,
    offsets_of,
    step_row,
    times_of,
    vertex_row,
)

__all__ = ["ends_a_path", "enter_group", "slide"]


@inner
def ends_a_path(state, x):
    """Whether a kept path ends at x, or several where the walk itself is one of them."""
    return (state.present[x >> 6] >> (x & 63)) & 1


@inner
def enter_group(program, state, x):
    """Drop all kept paths and begin with the rows at x."""
    registers = state.registers
    _drop_before(state, int64(LAST_TIME), program.header[q.SEVERAL])
    registers[s.GROUP] = x
    offsets = offsets_of(program, step_row(program, program.header[q.MEETING])[q.LIST])
    registers[s.HOP_BEGIN] = registers[s.HOP_END] = offsets[x]


@inner
def slide(program, view, state, time):
    """Move the window to a row of the first step at `time`; whether there was room for all paths."""
    header, registers = program.header, state.registers
    step = step_row(program, header[q.MEETING])
    times, end = times_of(program, step[q.LIST]), offsets_of(program, step[q.LIST])[registers[s.GROUP] + 1]
    low, high = earliest_by(program.refs, header[q.SLIDE], time), latest_by(program.refs, header[q.SLIDE], time)
    begin, position = registers[s.HOP_BEGIN], registers[s.HOP_END]
    while begin < position and times[begin] < low:
        begin += 1
    registers[s.HOP_BEGIN] = begin
    _drop_before(state, begin, header[q.SEVERAL])
    while position < end and times[position] <= high:
        if times[position] >= low and not _keep_paths(program, view, state, step, position, time):
            return False
        position += 1
        registers[s.HOP_END] = position
    return True


@inner
def _drop_before(state, position, several):
    """Drop the kept paths whose first row stands before a position."""
    registers, slots = state.registers, state.registers[s.CAPACITY] - 1
    first, end = registers[s.KEPT_BEGIN], registers[s.KEPT_END]
    while first < end:
        slot = first & slots
        path = advance(state.kept, slot * s.KEPT_FIELDS)
        if path[s.POSITION] >= position:
            break
        x, following = path[s.ENDS], path[s.FOLLOWING]
        chain = advance(state.chains, x * s.CHAIN_FIELDS)
        chain[s.HEAD] = following
        if following < 0 or (several and path[s.RUN_LAST] == slot and chain[s.LAST_RUN] == following):
            state.present[x >> 6] &= ~(1 << (x & 63))
        if path[s.RUN_LAST] != slot:  # the next path is now the first of the run
            state.kept[following * s.KEPT_FIELDS + s.RUN_LAST] = path[s.RUN_LAST]
            if chain[s.LAST_RUN] == slot:
                chain[s.LAST_RUN] = following
        first += 1
    registers[s.KEPT_BEGIN] = first


@inner
def _keep_paths(program, view, state, step, position, root_time):
    """Keep the paths that begin with a row; False if there is no room, and then none of them."""
    header, refs, registers = program.header, program.refs, state.registers
    x = neighbours_of(program, step[q.LIST])[position]
    time = times_of(program, step[q.LIST])[position]
    room = registers[s.KEPT_BEGIN] + registers[s.CAPACITY]
    if header[q.HOPS] == 1:
        if registers[s.KEPT_END] >= room:
            return False
        _keep(state, x, x, time, time, position, position, header[q.SEVERAL])
        return True
    inner = step[q.VERTEX]
    if vertex_row(program, inner)[q.MASKED] and not (view.masks[x] >> inner) & 1:
        return True
    hop = step[q.HOP_LIST]
    offsets, times, ends = offsets_of(program, hop), times_of(program, hop), neighbours_of(program, hop)
    low = max(earliest_by(refs, header[q.HOP], time), earliest_by(refs, header[q.HOP_ROOT], root_time))
    high = latest_by(refs, header[q.HOP], time)
    group = registers[s.GROUP] if header[q.HOP_DIFFERS] else -1
    end = offsets[x + 1]
    begin = i = lower_bound(times, offsets[x], end, low)
    while i < end and times[i] <= high:
        i += 1
    if registers[s.KEPT_END] + (i - begin) > room:
        return False
    least, most, beside = FIRST_TIME, LAST_TIME, times
    if header[q.TESTS_BESIDE]:
        value, beside = beside_of(program, step[q.LIST])[position], beside_of(program, hop)
        least, most = earliest_by(refs, header[q.HOP_BESIDE], value), latest_by(refs, header[q.HOP_BESIDE], value)
    for j in range(begin, i):
        if ends[j] != group and (not header[q.TESTS_BESIDE] or least <= beside[j] <= most):
            _keep(state, ends[j], x, time, times[j], position, j, header[q.SEVERAL])
    return True


@inner
def _keep(state, x, inner, time, hop_time, position, hop_position, several):
    """Append a path that ends at x to the ring, and to the chain of x."""
    registers = state.registers
    slot = registers[s.KEPT_END] & (registers[s.CAPACITY] - 1)
    registers[s.KEPT_END] += 1
    path, chain = advance(state.kept, slot * s.KEPT_FIELDS), advance(state.chains, x * s.CHAIN_FIELDS)
    path[s.ENDS], path[s.INNER], path[s.TIME], path[s.HOP_TIME] = x, inner, time, hop_time
    path[s.POSITION], path[s.HOP_POSITION], path[s.FOLLOWING], path[s.RUN_LAST] = position, hop_position, s.NONE, slot
    if chain[s.HEAD] < 0:
        chain[s.HEAD] = chain[s.LAST_RUN] = slot
        if not several:
            state.present[x >> 6] |= 1 << (x & 63)
    else:
        before = advance(state.kept, chain[s.TAIL] * s.KEPT_FIELDS)
        before[s.FOLLOWING] = slot
        if before[s.INNER] == inner:
            state.kept[chain[s.LAST_RUN] * s.KEPT_FIELDS + s.RUN_LAST] = slot
        else:
            chain[s.LAST_RUN] = slot
            state.present[x >> 6] |= 1 << (x & 63)
    chain[s.TAIL] = slot
