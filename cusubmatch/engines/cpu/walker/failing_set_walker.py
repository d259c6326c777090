"""The list walker with failing sets, for rows: a dead end tells which levels have caused it (DAF, Han et al. 2019).

The failing set of a partial match without a match is a set of levels such that no partial match with the same images at
these levels has one. Where a level draws from an empty set, it is the levels that the set is made of; where a candidate
is taken already, that level and the one that has it. If the failing set of a candidate does not hold its own level, its
siblings fail for the same reason and are left out. Otherwise the failing set one level up is the union over all
candidates and of the levels that these depend on. Where a match was found it is the set of all levels.

Rows are written level by level: that of an image at an upper level is filled in for all its rows at once, when the
next image comes there or the walk pauses. On a candidate graph an image is written as its internal vertex or its id.
Where rows are many, and are read by nobody before the caller has them, they are written past the caches, which takes
half as long.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance, order_writes, pointer, write_past_caches
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.list_walker import differs, enter, next_vertex, on_state
from cusubmatch.engines.cpu.walker.local_candidates import level_row, make_sets, on_program, on_view, open_level

__all__ = ["enter_failing_sets", "walk_failing_sets"]
FINAL = 1 << 40  # the failing set is that of one candidate; the siblings were left out


@jit
def enter_failing_sets(program, view, state, prefix, depth, begin, end):
    """Begin a task, as `enter` does."""
    enter(program, view, state, prefix, depth, begin, end)
    state.failing[depth] = 0


@inner
def _taken_at(program, state, level, x):
    """The level, among those that `level` must differ from, whose image x is; -1 if none has it."""
    for d in range(level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]):
        if state.matched[program.refs[d]] == x:
            return program.refs[d]
    return -1


@inner
def _fail(state, level, failing):
    """Note the failing set of a candidate of a level."""
    if (failing >> level) & 1:
        state.failing[level] |= failing
    else:
        state.failing[level] = failing | FINAL
        state.position[level] = state.end[level]


@inner
def _fail_leaf(program, view, state, leaf):
    """Note the failing set of a leaf all of whose candidates are taken."""
    state.position[leaf] = state.begin[leaf]
    while state.position[leaf] < state.end[leaf]:
        other = _taken_at(program, state, leaf, next_vertex(view, state, leaf))
        state.failing[leaf] |= (np.int64(1) << leaf) | (np.int64(1) << max(other, 0))


@inner
def _open_range(view, state, level):
    """What the positions of a level's open range are in."""
    if state.kind[level] == p.SET:
        return state.pool
    return view.targets if state.kind[level] == p.ROW else view.roots


@inner
def _emit_leaf(program, view, state, leaf, out, row, capacity):
    """Write the vertices of the leaf's open range, one a row, from `row` on, until the buffer is full."""
    fields = level_row(program, leaf)
    column, names = fields[p.COLUMN], fields[p.NAMES]
    written, drawn = advance(out, max(column, 0) * capacity), _open_range(view, state, leaf)
    position, end, begin = state.position[leaf], state.end[leaf], row
    if fields[p.INJECTIVITY] == fields[p.INJECTIVITY_END]:
        end = min(end, position + capacity - row)
        row += end - position
        if column >= 0:
            for i in range(end - position):
                x = drawn[position + i]
                written[begin + i] = program.bases[names + x] if names >= 0 else x
        state.position[leaf] = end
        return row
    while row < capacity and position < end:
        x = drawn[position]
        position += 1
        if differs(program, state, leaf, x):
            if column >= 0:
                written[row] = program.bases[names + x] if names >= 0 else x
            row += 1
    state.position[leaf] = position
    return row


@inner
def _fill(program, state, level, out, end, capacity):
    """Write the image at a level to the rows up to `end` that were found with it."""
    fields, begin = level_row(program, level), state.written[level]
    column, names, x = fields[p.COLUMN], fields[p.NAMES], state.matched[level]
    if column >= 0:
        written = program.bases[names + x] if names >= 0 else x
        _write(advance(out, column * capacity), begin, end, written, program.header[p.PAST_CACHES])
    state.written[level] = end


@inner
def _write(column, begin, end, value, past_caches):
    """Write a value to a range of a column."""
    if past_caches:
        for row in range(begin, end):
            write_past_caches(column, row, value)
    else:
        for row in range(begin, end):
            column[row] = value


@jit
def walk_failing_sets(program, view, state, out, budget):
    """Go on with the task in `state` as `walk` does, for plans that write rows."""
    capacity = out.shape[1]
    program, view, state, out = on_program(program), on_view(view), on_state(state), pointer(out)
    registers, leaf = state.registers, program.header[p.LEAF]
    for level in range(leaf):
        state.written[level] = registers[p.FILLED]
    status, level, left = _walk(program, view, state, out, capacity, budget)
    registers[p.LEVEL], registers[p.LEFT] = level, left
    for level in range(leaf):
        _fill(program, state, level, out, registers[p.FILLED], capacity)
    order_writes()
    return status


@jit
def _walk(program, view, state, out, capacity, budget):
    """Go on with the task: why the walk returns, its level, and what is left of the budget."""
    registers, leaf = state.registers, program.header[p.LEAF]
    level, floor = registers[p.LEVEL], registers[p.FLOOR]
    while budget > 0:
        if level == leaf and state.position[level] < state.end[level]:
            rows = _emit_leaf(program, view, state, leaf, out, registers[p.FILLED], capacity) - registers[p.FILLED]
            registers[p.FILLED] += rows
            budget -= rows + 1
            if rows > 0:
                state.failing[leaf] = p.ALL_LEVELS
            if state.position[leaf] < state.end[leaf]:
                return p.FULL, level, budget
            if state.failing[leaf] == 0:
                _fail_leaf(program, view, state, leaf)
        if state.position[level] == state.end[level]:
            if level == floor:
                return p.DONE, level, budget
            failing = state.failing[level]
            if not failing & FINAL:
                failing |= np.int64(level_row(program, level)[p.DEPENDS]) & p.ALL_LEVELS
            level -= 1
            _fail(state, level, failing & p.ALL_LEVELS & ~(np.int64(1) << (level + 1)))
            continue
        x = next_vertex(view, state, level)
        budget -= 1 + ((view.offsets[x + 1] - view.offsets[x]) >> 6)
        other = _taken_at(program, state, level, x)
        if other >= 0:
            state.failing[level] |= (np.int64(1) << level) | (np.int64(1) << other)
            continue
        if state.written[level] < registers[p.FILLED]:
            _fill(program, state, level, out, registers[p.FILLED], capacity)
        state.matched[level] = x
        if not make_sets(program, view, state, level):
            _fail(state, level, registers[p.FAILED] & p.ALL_LEVELS)
        elif not open_level(program, view, state, level + 1):
            _fail(state, level, np.int64(level_row(program, level + 1)[p.DEPENDS]) & p.ALL_LEVELS)
        else:
            level += 1
            state.failing[level] = 0
    return p.PAUSED, level, budget
