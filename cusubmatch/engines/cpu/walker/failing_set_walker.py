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

from cusubmatch.engines.cpu.primitives.jit import inlined, inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance, order_writes, pointer, write_past_caches
from cusubmatch.engines.cpu.primitives.sorted_sets import intersect
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.list_walker import enter, next_vertex
from cusubmatch.engines.cpu.walker.local_candidates import (
    level_row,
    make_sets,
    open_level,
    row_of,
    step_row,
)
from cusubmatch.engines.cpu.walker.program import on_program, on_state, on_view

__all__ = ["enter_failing_sets", "walk_failing_sets"]
FINAL = 1 << 40  # the failing set is that of one candidate; the siblings were left out


@jit
def enter_failing_sets(program, view, state, prefix, depth, begin, end):
    """Begin a task, as `enter` does."""
    enter(program, view, state, prefix, depth, begin, end)
    on_state(state).failing[depth] = 0


@inner
def _taken_at(fields, refs, matched, x):
    """The level, among those that the level with these fields must differ from, whose image x is; -1 if none has it."""
    for d in range(fields[p.INJECTIVITY], fields[p.INJECTIVITY_END]):
        if matched[refs[d]] == x:
            return refs[d]
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
def _failing_of_leaf(program, state, leaf, drawn, begin, end):
    """The failing set of a leaf all of whose candidates, drawn[begin:end), are taken."""
    fields = level_row(program, leaf)
    failing = (np.int64(fields[p.DEPENDS]) & p.ALL_LEVELS) | (np.int64(1) << leaf)
    for i in range(begin, end):
        failing |= np.int64(1) << max(_taken_at(fields, program.refs, state.matched, drawn[i]), 0)
    return failing


@inner
def _open_range(view, state, kind):
    """What the positions of an open range of a kind are in."""
    if kind == p.SET:
        return state.pool
    return view.targets if kind == p.ROW else view.roots


@inner
def _emit(fields, refs, bases, matched, drawn, position, end, out, row, capacity):
    """Write those of drawn[position:end) that a level may take, one a row, until the buffer is full.

    Where that stops, and the next row.
    """
    column, names = fields[p.COLUMN], fields[p.NAMES]
    written = advance(out, max(column, 0) * capacity)
    if fields[p.INJECTIVITY] == fields[p.INJECTIVITY_END]:
        begin, end = position, min(end, position + capacity - row)
        if column >= 0:
            for i in range(end - begin):
                x = drawn[begin + i]
                written[row + i] = bases[names + x] if names >= 0 else x
        return end, row + end - begin
    while row < capacity and position < end:
        x = drawn[position]
        position += 1
        if _taken_at(fields, refs, matched, x) < 0:
            if column >= 0:
                written[row] = bases[names + x] if names >= 0 else x
            row += 1
    return position, row


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


@inner
def _is_plain(program):
    """Whether all sets of a plan are intersections of rows, and no level is cut by restrictions."""
    leaf = program.header[p.LEAF]
    for level in range(leaf + 1):
        fields = level_row(program, level)
        if fields[p.BOUND] < fields[p.BOUND_END]:
            return False
        for index in range(fields[p.STEP], fields[p.STEP_END]):
            step = step_row(program, index)
            if step[p.OPERATION] != p.INTERSECT or step[p.CUT] < step[p.CUT_END] or step[p.MASK] >= 0:
                return False
    return True


@inlined
def _make_intersections(program, view, state, level):
    """`make_sets` where all sets are intersections of rows, most of them short; the failing set, 0 if none is empty."""
    targets, matched, pool, fields = view.targets, state.matched, state.pool, level_row(program, level)
    for index in range(fields[p.STEP], fields[p.STEP_END]):
        step = step_row(program, index)
        row, row_end = row_of(view, step[p.WITH_A], matched[step[p.WITH_B]])
        out = program.bases[step[p.TARGET]]
        if step[p.FROM_KIND] == p.ROW:
            begin, end = row_of(view, step[p.FROM_A], matched[step[p.FROM_B]])
            length = intersect(targets, begin, end, targets, row, row_end, pool, out)
        else:
            begin, end = program.bases[step[p.FROM_A]], state.set_end[step[p.FROM_A]]
            length = intersect(pool, begin, end, targets, row, row_end, pool, out)
        state.set_end[step[p.TARGET]] = out + length
        if length < step[p.NEED]:
            return np.int64(step[p.SET_DEPENDS]) & p.ALL_LEVELS
    return np.int64(0)


@inlined
def _open_plainly(program, view, state, level):
    """`open_level` where no level is cut."""
    fields = level_row(program, level)
    if fields[p.KIND] == p.ROW:
        begin, end = row_of(view, fields[p.SOURCE_A], state.matched[fields[p.SOURCE_B]])
    else:
        begin, end = program.bases[fields[p.SOURCE_A]], state.set_end[fields[p.SOURCE_A]]
    state.kind[level], state.begin[level], state.position[level], state.end[level] = fields[p.KIND], begin, begin, end
    return begin < end


@inlined
def _match(program, view, state, level, x, is_plain):
    """Match a level to x and open the next one; the failing set of x, 0 if there is something to match next."""
    state.matched[level] = x
    if is_plain:
        failing = _make_intersections(program, view, state, level)
        if failing:
            return failing
        is_open = _open_plainly(program, view, state, level + 1)
    elif make_sets(program, view, state, level):
        is_open = open_level(program, view, state, level + 1)
    else:
        return state.registers[p.FAILED] & p.ALL_LEVELS
    if is_open:
        return np.int64(0)
    return np.int64(level_row(program, level + 1)[p.DEPENDS]) & p.ALL_LEVELS


@inner
def _walk_pairs(program, view, state, out, capacity, budget, is_plain):
    """Match the level before the leaf to its candidates, and write rows; whether there is room left, and the budget.

    Most of a walk's steps are these: a loop of their own reads once what stays the same.
    """
    registers, refs, leaf = state.registers, program.refs, program.header[p.LEAF]
    before, fields, of_leaf = leaf - 1, level_row(program, leaf - 1), level_row(program, leaf)
    drawn, drawn_by_leaf = _open_range(view, state, state.kind[before]), _open_range(view, state, of_leaf[p.KIND])
    while budget > 0 and state.position[before] < state.end[before]:
        x = drawn[state.position[before]]
        state.position[before] += 1
        budget -= 1
        other = _taken_at(fields, refs, state.matched, x)
        if other >= 0:
            state.failing[before] |= (np.int64(1) << before) | (np.int64(1) << other)
            continue
        row = registers[p.FILLED]
        if state.written[before] < row:
            _fill(program, state, before, out, row, capacity)
        failing = _match(program, view, state, before, x, is_plain)
        if not failing:
            begin, end = state.begin[leaf], state.end[leaf]
            asked = of_leaf, refs, program.bases, state.matched, drawn_by_leaf
            position, filled = _emit(*asked, begin, end, out, row, capacity)
            registers[p.FILLED] = filled
            budget -= filled - row + 1
            failing = np.int64(p.ALL_LEVELS if filled > row else 0)
            if position < end:
                state.position[leaf], state.failing[leaf] = position, failing
                return False, budget
            failing = failing or _failing_of_leaf(program, state, leaf, drawn_by_leaf, begin, end)
        _fail(state, before, failing & ~(np.int64(1) << leaf))
    return True, budget


@jit
def _walk(program, view, state, out, capacity, budget):
    """Go on with the task: why the walk returns, its level, and what is left of the budget."""
    registers, leaf = state.registers, program.header[p.LEAF]
    level, floor, is_plain = registers[p.LEVEL], registers[p.FLOOR], _is_plain(program)
    while budget > 0:
        fields = level_row(program, level)
        if level == leaf and state.position[level] < state.end[level]:
            row, drawn = registers[p.FILLED], _open_range(view, state, state.kind[leaf])
            asked = fields, program.refs, program.bases, state.matched, drawn, state.position[leaf], state.end[leaf]
            state.position[leaf], registers[p.FILLED] = _emit(*asked, out, row, capacity)
            budget -= registers[p.FILLED] - row + 1
            if registers[p.FILLED] > row:
                state.failing[leaf] = p.ALL_LEVELS
            if state.position[leaf] < state.end[leaf]:
                return p.FULL, level, budget
            if state.failing[leaf] == 0:
                begin, end = state.begin[leaf], state.end[leaf]
                state.failing[leaf] = _failing_of_leaf(program, state, leaf, drawn, begin, end)
        elif level == leaf - 1:
            has_room, budget = _walk_pairs(program, view, state, out, capacity, budget, is_plain)
            if not has_room:
                return p.FULL, leaf, budget
            if state.position[level] < state.end[level]:  # the budget is spent
                break
        if state.position[level] == state.end[level]:
            if level == floor:
                return p.DONE, level, budget
            failing = state.failing[level]
            if not failing & FINAL:
                failing |= np.int64(fields[p.DEPENDS]) & p.ALL_LEVELS
            level -= 1
            _fail(state, level, failing & p.ALL_LEVELS & ~(np.int64(1) << (level + 1)))
            continue
        x = next_vertex(view, state, level)
        budget -= 1 + ((view.offsets[x + 1] - view.offsets[x]) >> 6)
        other = _taken_at(fields, program.refs, state.matched, x)
        if other >= 0:
            state.failing[level] |= (np.int64(1) << level) | (np.int64(1) << other)
            continue
        if state.written[level] < registers[p.FILLED]:
            _fill(program, state, level, out, registers[p.FILLED], capacity)
        failing = _match(program, view, state, level, x, is_plain)
        if failing:
            _fail(state, level, failing)
        else:
            level += 1
            state.failing[level] = 0
    return p.PAUSED, level, budget
