"""The list walker: depth-first search whose candidate sets are sorted lists.

All that it knows lies in a `State`, so it can stop anywhere (a full output buffer, a spent budget), go on later, and
have its shallowest open range cut in two for an idle thread. The leaf, the last level that is visited, is a loop of its
own: `emit` writes rows, `count_leaf` counts.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.leaf import count_leaf
from cusubmatch.engines.cpu.walker.local_candidates import level_row, make_sets, open_level
from cusubmatch.engines.cpu.walker.program import on_program, on_state, on_view

__all__ = ["descend", "differs", "emit", "enter", "next_vertex", "walk"]

LEAF_WINDOW_UNITS = 1 << 14  # work in the leaf between two looks at the budget


@inner
def next_vertex(view, state, level):
    """The next vertex of a level's open range."""
    position = state.position[level]
    state.position[level] = position + 1
    if state.kind[level] == p.SET:
        return state.pool[position]
    if state.kind[level] == p.ROW:
        return view.targets[position]
    return view.roots[position]


@jit
def differs(program, state, level, x):
    """Whether x is no vertex that a level must differ from."""
    for d in range(level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]):
        if state.matched[program.refs[d]] == x:
            return False
    return True


@inner
def emit(program, view, state, leaf, out, capacity):
    """Write one row per vertex of the leaf's open range, until the buffer is full; columns are rows of `out`."""
    first = row = state.registers[p.FILLED]
    column, names = level_row(program, leaf)[p.COLUMN], level_row(program, leaf)[p.NAMES]
    while row < capacity and state.position[leaf] < state.end[leaf]:
        x = next_vertex(view, state, leaf)
        if differs(program, state, leaf, x):
            if column >= 0:
                out[column * capacity + row] = program.bases[names + x] if names >= 0 else x
            row += 1
    for level in range(leaf):
        column = level_row(program, level)[p.COLUMN]
        if column >= 0:
            names, x = level_row(program, level)[p.NAMES], state.matched[level]
            x = program.bases[names + x] if names >= 0 else x
            for i in range(first, row):
                out[column * capacity + i] = x
    state.registers[p.FILLED] = row
    return row - first


@jit
def enter(program, view, state, prefix, depth, begin, end):
    """Begin a task: match the first `depth` vertices of `prefix` and open the range [begin, end) of the next level.

    Program, view and state are given as tables (`pointers.table_of`). The range is counted from the first candidate;
    end -1 means all.
    """
    program, view, state = on_program(program), on_view(view), on_state(state)
    state.registers[p.LEVEL] = depth
    state.registers[p.FLOOR] = depth
    for level in range(depth):
        state.matched[level] = prefix[level]
        if not make_sets(program, view, state, level):  # a root that bitmaps left has not been looked at before
            state.kind[depth] = p.ROOTS
            state.begin[depth] = state.position[depth] = state.end[depth] = 0
            return
    open_level(program, view, state, depth)
    if end >= 0:
        state.end[depth] = state.begin[depth] + end
    state.position[depth] = state.begin[depth] + begin


@jit
def descend(program, view, state):
    """Match the next vertex of the deepest open range and open the level after it, as the only one.

    Returns PAUSED, or DONE if there is no such vertex or nothing below it.
    """
    program, view, state = on_program(program), on_view(view), on_state(state)
    level = state.registers[p.LEVEL]
    if state.position[level] >= state.end[level]:
        return p.DONE
    x = next_vertex(view, state, level)
    if not differs(program, state, level, x):
        return p.DONE
    state.matched[level] = x
    if not (make_sets(program, view, state, level) and open_level(program, view, state, level + 1)):
        return p.DONE
    state.registers[p.LEVEL] = level + 1
    state.registers[p.FLOOR] = level + 1
    return p.PAUSED


@jit
def walk(program, view, state, out, budget):
    """Go on with the task in `state`, for about `budget` units of work: a vertex, or 64 elements of a list.

    Returns DONE (task finished), PAUSED (budget spent) or FULL (no room in `out`); counts and the rows written are in
    the registers.
    """
    capacity = out.shape[1]
    program, view, state, out = on_program(program), on_view(view), on_state(state), pointer(out)
    registers, header = state.registers, program.header
    leaf, emitting = header[p.LEAF], header[p.LEAF_MODE] == p.EMIT
    level, floor = registers[p.LEVEL], registers[p.FLOOR]
    while budget > 0:
        if level == leaf:
            if emitting:
                budget -= emit(program, view, state, leaf, out, capacity)
                if state.position[leaf] < state.end[leaf]:
                    registers[p.LEVEL], registers[p.LEFT] = level, budget
                    return p.FULL
            else:
                budget -= count_leaf(program, view, state, leaf, LEAF_WINDOW_UNITS) + 2
                if state.position[leaf] < state.end[leaf]:
                    continue
        if state.position[level] == state.end[level]:
            if level == floor:
                registers[p.LEFT] = budget
                return p.DONE
            level -= 1
            continue
        x = next_vertex(view, state, level)
        budget -= 1 + ((view.offsets[x + 1] - view.offsets[x]) >> 6)
        if not differs(program, state, level, x):
            continue
        state.matched[level] = x
        if make_sets(program, view, state, level) and open_level(program, view, state, level + 1):
            level += 1
    registers[p.LEVEL], registers[p.LEFT] = level, budget
    return p.PAUSED
