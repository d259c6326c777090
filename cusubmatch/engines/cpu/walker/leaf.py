"""Counting: what each vertex of the leaf, the last level that is visited, adds to the count.

The counted level's candidate set, of size n, gives n, or n(n-1)/2, n(n-1), n*n where the last two levels draw from one
set. The set may be the same for the whole leaf, lose the leaf's vertex, be cut by it, or be intersected with its row:
one loop each. Vertices that are matched already and lie in the set are taken off.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import Slice, count_common, has, lower_bound, upper_bound
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.common_neighbours import common_size, unmark
from cusubmatch.engines.cpu.walker.count_limbs import FULL_SUM, add_to_count, value_of
from cusubmatch.engines.cpu.walker.counted_set import (
    collect_losses,
    count_members,
    counted_range,
    is_excluded,
    is_member,
)
from cusubmatch.engines.cpu.walker.local_candidates import adjacent, cut, level_row, make_sets, row_of, step_row

__all__ = ["count_leaf"]

GENERAL_UNITS = 8  # units of work of a vertex of the leaf in the general case
STEEP_RATIO = 8  # a counted set that is longer than the leaf by this factor is searched, not passed through


@inner
def _count_fixed(program, view, state, leaf, candidates, counted, member):
    """The leaf's candidates where the counted set is fixed; `member`: it may hold the leaf's vertex."""
    leaf_mode, fields = program.header[p.LEAF_MODE], level_row(program, leaf)
    losses = collect_losses(program, state, level_row(program, program.header[p.LAST]), leaf, counted)
    array, begin, end = candidates.array, candidates.begin, candidates.end
    n = counted.end - counted.begin - losses
    tests = program.header[p.TEST] >= 0
    visited, members = end - begin, 0
    # In a homomorphism another level's image may be the leaf's vertex too: it is taken off once.
    lost_already = 0
    for i in range(losses):
        x = state.excluded[i]
        lost_already += member and has(array, begin, end, x) and not is_excluded(program, state, fields, x)
    if member:
        if tests:
            members = count_members(program, view, state, candidates)
        else:
            members = count_common(array, begin, end, counted.array, counted.begin, counted.end)
        members -= lost_already
    leaf_losses = collect_losses(program, state, fields, leaf, candidates)
    for i in range(leaf_losses):
        x = state.excluded[i]
        visited -= 1
        if member:
            if tests:
                members -= is_member(program, view, state, x)
            else:
                members -= has(counted.array, counted.begin, counted.end, x)
    if visited > members:
        add_to_count(state, visited - members, value_of(leaf_mode, n))
    if members > 0:
        add_to_count(state, members, value_of(leaf_mode, n - 1))


@inner
def _count_bounded(program, state, leaf, candidates, counted):
    """The leaf's candidates where each of them bounds the counted set."""
    leaf_mode, ascending, fields = program.header[p.LEAF_MODE], program.header[p.ASCENDING], level_row(program, leaf)
    losses = collect_losses(program, state, level_row(program, program.header[p.LAST]), leaf, counted)
    array, first, last = counted.array, counted.begin, counted.end
    total, position = 0, first
    steep = (candidates.end - candidates.begin) * STEEP_RATIO < last - first
    for i in range(candidates.begin, candidates.end):
        x = candidates.array[i]
        if steep:
            position = lower_bound(array, position, last, x)
        else:
            while position < last and array[position] < x:
                position += 1
        if is_excluded(program, state, fields, x):
            continue
        if ascending:
            n = last - position - (position < last and array[position] == x)
        else:
            n = position - first
        for j in range(losses):
            n -= state.excluded[j] > x if ascending else state.excluded[j] < x
        total += value_of(leaf_mode, n)
        if total >= FULL_SUM:
            add_to_count(state, 1, total)
            total = 0
    add_to_count(state, 1, total)


@inner
def _count_common_rows(program, view, state, leaf, candidates, source, step):
    """The leaf's candidates where the counted set is the source within the row of the leaf's vertex."""
    leaf_mode, ascending, fields = program.header[p.LEAF_MODE], program.header[p.ASCENDING], level_row(program, leaf)
    relation, array, first, last = step[p.WITH_A], source.array, source.begin, source.end
    bounded = False
    for r in range(step[p.CUT], step[p.CUT_END]):
        if program.refs[r] == leaf:
            bounded = True
        else:
            first, last = cut(program, state, array, first, last, r, r + 1)
    within = Slice(array, first, last)
    losses = collect_losses(program, state, level_row(program, program.header[p.LAST]), leaf, within)
    if first == last:
        return
    low, high, marked, total = array[first], array[last - 1], False, 0
    for i in range(candidates.begin, candidates.end):
        x = candidates.array[i]
        if is_excluded(program, state, fields, x):
            continue
        begin, end = first, last
        if bounded:
            if ascending:
                begin = upper_bound(array, first, last, x)
            else:
                end = lower_bound(array, first, last, x)
            if begin == end:
                continue
            low, high = array[begin], array[end - 1]
        n, marked = common_size(view, state, within, begin, end, low, high, relation, x, marked)
        for j in range(losses):
            y = state.excluded[j]
            if (not bounded or (y > x if ascending else y < x)) and adjacent(view, relation, x, y):
                n -= 1
        total += value_of(leaf_mode, n)
        if total >= FULL_SUM:
            add_to_count(state, 1, total)
            total = 0
    if marked:
        unmark(state, within)
    add_to_count(state, 1, total)


@inner
def _count_general(program, view, state, leaf, candidates):
    """The leaf's candidates where the counted set is made for each of them."""
    leaf_mode, fields = program.header[p.LEAF_MODE], level_row(program, leaf)
    last = level_row(program, program.header[p.LAST])
    for i in range(candidates.begin, candidates.end):
        x = candidates.array[i]
        if is_excluded(program, state, fields, x):
            continue
        state.matched[leaf] = x
        if not make_sets(program, view, state, leaf):
            continue
        counted = counted_range(program, view, state, leaf + 1)
        losses = collect_losses(program, state, last, leaf + 1, counted)
        add_to_count(state, 1, value_of(leaf_mode, counted.end - counted.begin - losses))


@jit
def _source_of(program, view, state, step):
    """The row or set that a step draws from."""
    if step[p.FROM_KIND] == p.ROW:
        begin, end = row_of(view, step[p.FROM_A], state.matched[step[p.FROM_B]])
        return Slice(view.targets, begin, end)
    return Slice(state.pool, program.bases[step[p.FROM_A]], state.set_end[step[p.FROM_A]])


@jit
def _count_candidates(program, view, state, leaf, candidates):
    """Add what a part of the leaf's candidates contributes."""
    case = program.header[p.CASE]
    if case == p.GENERAL:
        _count_general(program, view, state, leaf, candidates)
    elif case == p.COMMON:
        step = step_row(program, level_row(program, leaf)[p.STEP])
        _count_common_rows(program, view, state, leaf, candidates, _source_of(program, view, state, step), step)
    else:
        counted = counted_range(program, view, state, leaf)
        if case == p.BOUNDED:
            _count_bounded(program, state, leaf, candidates, counted)
        else:
            _count_fixed(program, view, state, leaf, candidates, counted, case == p.MEMBER)


@inner
def _leaf_window(program, view, state, leaf, candidates, max_units):
    """Where a part of the leaf's candidates ends that is about `max_units` of work, and its units."""
    case, begin, end = program.header[p.CASE], candidates.begin, candidates.end
    if case != p.COMMON:
        unit = GENERAL_UNITS if case == p.GENERAL else 1
        end = min(end, begin + max_units // unit + 1)
        return end, (end - begin) * unit
    step = step_row(program, level_row(program, leaf)[p.STEP])
    source = _source_of(program, view, state, step)
    length = source.end - source.begin
    units, position = length >> 6, begin
    while position < end and units < max_units + (length >> 6):
        first, last = row_of(view, step[p.WITH_A], candidates.array[position])
        units += 1 + (min(length, last - first) >> 6)
        position += 1
    return position, units


@inner
def count_leaf(program, view, state, leaf, max_units):
    """Count a part of the leaf's open range, of about `max_units` of work; the units that it took."""
    kind, begin = state.kind[leaf], state.position[leaf]
    array = view.roots if kind == p.ROOTS else view.targets if kind == p.ROW else state.pool
    end, units = _leaf_window(program, view, state, leaf, Slice(array, begin, state.end[leaf]), max_units)
    _count_candidates(program, view, state, leaf, Slice(array, begin, end))
    state.position[leaf] = end
    return units
