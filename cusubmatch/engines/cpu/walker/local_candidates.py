"""The candidates of a level: making a plan's sets as vertices are matched, opening the range a level draws from.

The entry points of the walkers are given tables (`pointers.table_of`), and make bundles of them; all else works on
those.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.primitives.sorted_sets import (
    intersect,
    intersect_marked,
    keep_masked,
    lower_bound,
    subtract,
    subtract_marked,
    upper_bound,
)
from cusubmatch.engines.cpu.walker import program as p

__all__ = [
    "adjacent",
    "cut",
    "hub_row",
    "level_row",
    "make_sets",
    "open_level",
    "row_of",
    "step_row",
]


@inner
def level_row(program, level):
    """The fields of a level."""
    return advance(program.levels, level * p.LEVEL_FIELDS)


@jit
def step_row(program, index):
    """The fields of a step."""
    return advance(program.steps, index * p.STEP_FIELDS)


@jit
def row_of(view, relation, vertex):
    """The range of targets that is row `vertex` of `relation`."""
    at = relation * view.stride + vertex
    return view.offsets[at], view.offsets[at + 1]


@inner
def hub_row(view, relation, vertex):
    """Where the bitmap of a hub's row begins, or -1 if the vertex is no hub."""
    if vertex < view.hub:
        return -1
    hubs = view.stride - 1 - view.hub
    return (relation * hubs + vertex - view.hub) * view.words


@jit
def adjacent(view, relation, vertex, x):
    """Whether x lies in row `vertex` of `relation`."""
    bitmap = hub_row(view, relation, vertex)
    if bitmap >= 0:
        return (view.bits[bitmap + (x >> 5)] >> (x & 31)) & 1 != 0
    begin, end = row_of(view, relation, vertex)
    position = lower_bound(view.targets, begin, end, x)
    return position < end and view.targets[position] == x


@jit
def cut(program, state, array, begin, end, first, last):
    """The part of the sorted array[begin:end) that the restrictions refs[first:last] allow."""
    ascending = program.header[p.ASCENDING]
    for r in range(first, last):
        bound = state.matched[program.refs[r]]
        if ascending:
            begin = upper_bound(array, begin, end, bound)
        else:
            end = lower_bound(array, begin, end, bound)
    return begin, end


@inner
def _combine(view, state, source, s0, s1, source_bitmap, operation, relation, vertex, out):
    """Write source[s0:s1) intersected with, or without, row `vertex` to the pool at `out`; its length.

    `source_bitmap` is where the bitmap of the row that the source is begins, or -1.
    """
    if s0 >= s1:
        return 0
    pool = state.pool
    begin, end = row_of(view, relation, vertex)
    bitmap = hub_row(view, relation, vertex)
    if operation == p.SUBTRACT:
        if bitmap >= 0:
            return subtract_marked(source, s0, s1, view.bits, bitmap, pool, out)
        return subtract(source, s0, s1, view.targets, begin, end, pool, out)
    begin = lower_bound(view.targets, begin, end, source[s0])  # the bounds cut the source, so they cut the row too
    end = upper_bound(view.targets, begin, end, source[s1 - 1])
    if bitmap >= 0 and (source_bitmap < 0 or s1 - s0 <= end - begin):
        return intersect_marked(source, s0, s1, view.bits, bitmap, pool, out)
    if source_bitmap >= 0:
        return intersect_marked(view.targets, begin, end, view.bits, source_bitmap, pool, out)
    return intersect(source, s0, s1, view.targets, begin, end, pool, out)


@inner
def make_sets(program, view, state, level):
    """Make the sets that are due when `level` is matched; False if one is too small."""
    matched, pool = state.matched, state.pool
    for index in range(level_row(program, level)[p.STEP], level_row(program, level)[p.STEP_END]):
        step = step_row(program, index)
        target, first, last = step[p.TARGET], step[p.CUT], step[p.CUT_END]
        out = program.bases[target]
        operation, relation, operand = step[p.OPERATION], step[p.WITH_A], matched[step[p.WITH_B]]
        if step[p.FROM_KIND] == p.ROW:
            vertex = matched[step[p.FROM_B]]
            s0, s1 = row_of(view, step[p.FROM_A], vertex)
            s0, s1 = cut(program, state, view.targets, s0, s1, first, last)
            if operation == p.FILTER:
                length = keep_masked(view.targets, s0, s1, view.masks, step[p.MASK], pool, out)
            else:
                bitmap = hub_row(view, step[p.FROM_A], vertex)
                length = _combine(view, state, view.targets, s0, s1, bitmap, operation, relation, operand, out)
                if step[p.MASK] >= 0:
                    length = keep_masked(pool, out, out + length, view.masks, step[p.MASK], pool, out)
        else:
            source = step[p.FROM_A]
            s0, s1 = program.bases[source], state.set_end[source]
            s0, s1 = cut(program, state, pool, s0, s1, first, last)
            length = _combine(view, state, pool, s0, s1, -1, operation, relation, operand, out)
        state.set_end[target] = out + length
        if length < step[p.NEED]:
            state.registers[p.FAILED] = step[p.SET_DEPENDS]
            return False
    return True


@inner
def open_level(program, view, state, level):
    """Set the range that `level` draws from, within its deferred restrictions; False if it is empty."""
    fields = level_row(program, level)
    kind = fields[p.KIND]
    if kind == p.ROW:
        begin, end = row_of(view, fields[p.SOURCE_A], state.matched[fields[p.SOURCE_B]])
        begin, end = cut(program, state, view.targets, begin, end, fields[p.BOUND], fields[p.BOUND_END])
    elif kind == p.SET:
        begin, end = program.bases[fields[p.SOURCE_A]], state.set_end[fields[p.SOURCE_A]]
        begin, end = cut(program, state, state.pool, begin, end, fields[p.BOUND], fields[p.BOUND_END])
    else:
        begin, end = 0, view.root_count
    state.kind[level] = kind
    state.begin[level] = begin
    state.position[level] = begin
    state.end[level] = end
    return begin < end
