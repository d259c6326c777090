"""Counting: what each vertex of the leaf, the last level that is visited, adds to the count.

The counted level's candidate set, of size n, gives n, or n(n-1)/2, n(n-1), n*n where the last two levels draw from one
set. The set may be the same for the whole leaf, lose the leaf's vertex, be cut by it, or be intersected with its row:
one loop each. Vertices that are matched already and lie in the set are taken off. Sums are kept in three limbs of base
2**31, so that no count wraps.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inlined, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import count_common, count_marked, has, lower_bound, upper_bound
from cusubmatch.engines.cpu.search import program as p
from cusubmatch.engines.cpu.search.local_candidates import (
    adjacent,
    cut,
    hub_row,
    level_row,
    make_sets,
    row_of,
    step_row,
)

__all__ = ["FULL_SUM", "add_to_count", "common_size", "count_leaf", "unmark", "value_of"]

FULL_SUM = 1 << 62
GENERAL_UNITS = 8


@jit
def value_of(leaf_mode, n):
    """What a candidate set of size n adds."""
    if leaf_mode == p.SIZE:
        return n
    if leaf_mode == p.CHOOSE:
        return n * (n - 1) // 2
    if leaf_mode == p.ORDERED:
        return n * (n - 1)
    return n * n


@jit
def add_to_count(state, times, value):
    """Add times * value (times < 2**31, value < 2**62) to the count."""
    registers, mask = state.registers, (1 << p.LIMB_BITS) - 1
    low = registers[p.COUNT_0] + times * (value & mask)
    high = registers[p.COUNT_1] + times * (value >> p.LIMB_BITS) + (low >> p.LIMB_BITS)
    registers[p.COUNT_0] = low & mask
    registers[p.COUNT_1] = high & mask
    registers[p.COUNT_2] += high >> p.LIMB_BITS


@jit
def _last_range(program, view, state, leaf):
    """Array kind and range of the counted level's set, within the restrictions by levels before the leaf."""
    fields = level_row(program, program.header[p.LAST])
    if fields[p.KIND] == p.ROW:
        begin, end = row_of(view, fields[p.SOURCE_A], state.matched[fields[p.SOURCE_B]])
    else:
        begin, end = program.bases[fields[p.SOURCE_A]], state.set_end[fields[p.SOURCE_A]]
    for r in range(fields[p.BOUND], fields[p.BOUND_END]):
        if program.refs[r] < leaf:
            if fields[p.KIND] == p.ROW:
                begin, end = cut(program, state, view.targets, begin, end, r, r + 1)
            else:
                begin, end = cut(program, state, state.pool, begin, end, r, r + 1)
    return fields[p.KIND], begin, end


@jit
def _matched_within(program, state, fields, upto, array, begin, end):
    """Collect the vertices of levels before `upto` that the set array[begin:end) must lose; how many."""
    found = 0
    for d in range(fields[p.INJECTIVITY], fields[p.INJECTIVITY_END]):
        level = program.refs[d]
        if level < upto and has(array, begin, end, state.matched[level]):
            fresh = True
            for i in range(found):
                fresh = fresh and state.excluded[i] != state.matched[level]
            if fresh:
                state.excluded[found] = state.matched[level]
                found += 1
    return found


@jit
def _barred(program, state, fields, x):
    """Whether x is the vertex of a level that this level must differ from."""
    for d in range(fields[p.INJECTIVITY], fields[p.INJECTIVITY_END]):
        if state.matched[program.refs[d]] == x:
            return True
    return False


@jit
def _is_member(program, view, state, x):
    """Whether the leaf's vertex x lies in the rows of the membership test."""
    for t in range(program.header[p.TEST], program.header[p.TEST_END], 2):
        if not adjacent(view, program.refs[t], state.matched[program.refs[t + 1]], x):
            return False
    return True


@jit
def _count_members(program, view, state, array, begin, end):
    """How many of array[begin:end) pass the membership test."""
    first, last = program.header[p.TEST], program.header[p.TEST_END]
    if first == last:
        return end - begin
    if last - first == 2:
        relation, vertex = program.refs[first], state.matched[program.refs[first + 1]]
        bitmap = hub_row(view, relation, vertex)
        if bitmap >= 0:
            return count_marked(array, begin, end, view.bits, bitmap)
        r0, r1 = row_of(view, relation, vertex)
        return count_common(array, begin, end, view.targets, r0, r1)
    members = 0
    for i in range(begin, end):
        members += _is_member(program, view, state, array[i])
    return members


@jit
def _count_fixed(program, view, state, leaf, array, begin, end, last, l0, l1, member):
    """The leaf array[begin:end) where the counted set last[l0:l1) is fixed, but may hold the leaf's vertex."""
    leaf_mode, fields = program.header[p.LEAF_MODE], level_row(program, leaf)
    losses = _matched_within(program, state, level_row(program, program.header[p.LAST]), leaf, last, l0, l1)
    n = l1 - l0 - losses
    tests = program.header[p.TEST] >= 0
    visited, members = end - begin, 0
    lost_already = (
        0  # a leaf's vertex that is taken off as another level's image (homomorphisms) is not taken off twice
    )
    for i in range(losses):
        x = state.excluded[i]
        lost_already += member and has(array, begin, end, x) and not _barred(program, state, fields, x)
    if member:
        if tests:
            members = _count_members(program, view, state, array, begin, end)
        else:
            members = count_common(array, begin, end, last, l0, l1)
        members -= lost_already
    barred = _matched_within(program, state, fields, leaf, array, begin, end)
    for i in range(barred):
        x = state.excluded[i]
        visited -= 1
        if member:
            members -= _is_member(program, view, state, x) if tests else has(last, l0, l1, x)
    if visited > members:
        add_to_count(state, visited - members, value_of(leaf_mode, n))
    if members > 0:
        add_to_count(state, members, value_of(leaf_mode, n - 1))


@jit
def _count_bounded(program, state, leaf, array, begin, end, last, l0, l1):
    """The leaf array[begin:end) where each vertex bounds the counted set last[l0:l1)."""
    leaf_mode, ascending, fields = program.header[p.LEAF_MODE], program.header[p.ASCENDING], level_row(program, leaf)
    losses = _matched_within(program, state, level_row(program, program.header[p.LAST]), leaf, last, l0, l1)
    total, place, steep = 0, l0, (end - begin) * 8 < l1 - l0
    for i in range(begin, end):
        x = array[i]
        if steep:
            place = lower_bound(last, place, l1, x)
        else:
            while place < l1 and last[place] < x:
                place += 1
        if _barred(program, state, fields, x):
            continue
        if ascending:
            n = l1 - place - (place < l1 and last[place] == x)
        else:
            n = place - l0
        for j in range(losses):
            n -= state.excluded[j] > x if ascending else state.excluded[j] < x
        total += value_of(leaf_mode, n)
        if total >= FULL_SUM:
            add_to_count(state, 1, total)
            total = 0
    add_to_count(state, 1, total)


@jit
def _mark(state, array, begin, end):
    for i in range(begin, end):
        x = array[i]
        state.marks[x >> 5] = state.marks[x >> 5] | (1 << (x & 31))


@jit
def unmark(state, array, begin, end):
    for i in range(begin, end):
        state.marks[array[i] >> 5] = 0


@inlined
def common_size(view, state, source, s0, s1, a0, a1, low, high, relation, x, marked):
    """How many of source[a0:a1), from low to high, lie in a row of x; whether source[s0:s1) is marked now."""
    bitmap = hub_row(view, relation, x)
    r0, r1 = row_of(view, relation, x)
    if bitmap >= 0 and a1 - a0 <= r1 - r0:
        n = count_marked(source, a0, a1, view.bits, bitmap)
    else:
        r0 = lower_bound(view.targets, r0, r1, low)
        r1 = upper_bound(view.targets, r0, r1, high)
        if bitmap >= 0 and a1 - a0 <= r1 - r0:
            n = count_marked(source, a0, a1, view.bits, bitmap)
        elif (r1 - r0) > 16 * (a1 - a0):
            n = count_common(source, a0, a1, view.targets, r0, r1)
        else:
            if not marked:
                _mark(state, source, s0, s1)
                marked = True
            n = count_marked(view.targets, r0, r1, state.marks, 0)
    return n, marked


@jit
def _count_common_rows(program, view, state, leaf, array, begin, end, source, s0, s1, step):
    """The leaf array[begin:end) where the counted set is source[s0:s1) within the row of the leaf's vertex."""
    leaf_mode, ascending, fields = program.header[p.LEAF_MODE], program.header[p.ASCENDING], level_row(program, leaf)
    relation = step[p.WITH_A]
    bounded = False
    for r in range(step[p.CUT], step[p.CUT_END]):
        if program.refs[r] == leaf:
            bounded = True
        else:
            s0, s1 = cut(program, state, source, s0, s1, r, r + 1)
    losses = _matched_within(program, state, level_row(program, program.header[p.LAST]), leaf, source, s0, s1)
    if s0 == s1:
        return
    low, high, marked, total = source[s0], source[s1 - 1], False, 0
    for i in range(begin, end):
        x = array[i]
        if _barred(program, state, fields, x):
            continue
        a0, a1 = s0, s1
        if bounded:
            if ascending:
                a0 = upper_bound(source, s0, s1, x)
            else:
                a1 = lower_bound(source, s0, s1, x)
            if a0 == a1:
                continue
            low, high = source[a0], source[a1 - 1]
        n, marked = common_size(view, state, source, s0, s1, a0, a1, low, high, relation, x, marked)
        for j in range(losses):
            y = state.excluded[j]
            if (not bounded or (y > x if ascending else y < x)) and adjacent(view, relation, x, y):
                n -= 1
        total += value_of(leaf_mode, n)
        if total >= FULL_SUM:
            add_to_count(state, 1, total)
            total = 0
    if marked:
        unmark(state, source, s0, s1)
    add_to_count(state, 1, total)


@jit
def _count_general(program, view, state, leaf, array, begin, end):
    """The leaf array[begin:end) where the counted set is made anew for each vertex."""
    leaf_mode, fields = program.header[p.LEAF_MODE], level_row(program, leaf)
    last = level_row(program, program.header[p.LAST])
    for i in range(begin, end):
        x = array[i]
        if _barred(program, state, fields, x):
            continue
        state.matched[leaf] = x
        if not make_sets(program, view, state, leaf):
            continue
        kind, l0, l1 = _last_range(program, view, state, leaf + 1)
        if kind == p.ROW:
            n = l1 - l0 - _matched_within(program, state, last, leaf + 1, view.targets, l0, l1)
        else:
            n = l1 - l0 - _matched_within(program, state, last, leaf + 1, state.pool, l0, l1)
        add_to_count(state, 1, value_of(leaf_mode, n))


@jit
def _count_range(program, view, state, leaf, array, begin, end):
    """Add what array[begin:end), a part of the leaf's candidates, contributes."""
    case = program.header[p.CASE]
    if case == p.GENERAL:
        _count_general(program, view, state, leaf, array, begin, end)
    elif case == p.COMMON:
        step = step_row(program, level_row(program, leaf)[p.STEP])
        if step[p.FROM_KIND] == p.ROW:
            s0, s1 = row_of(view, step[p.FROM_A], state.matched[step[p.FROM_B]])
            _count_common_rows(program, view, state, leaf, array, begin, end, view.targets, s0, s1, step)
        else:
            s0, s1 = program.bases[step[p.FROM_A]], state.set_end[step[p.FROM_A]]
            _count_common_rows(program, view, state, leaf, array, begin, end, state.pool, s0, s1, step)
    else:
        kind, l0, l1 = _last_range(program, view, state, leaf)
        if case == p.BOUNDED:
            if kind == p.ROW:
                _count_bounded(program, state, leaf, array, begin, end, view.targets, l0, l1)
            else:
                _count_bounded(program, state, leaf, array, begin, end, state.pool, l0, l1)
        elif kind == p.ROW:
            _count_fixed(program, view, state, leaf, array, begin, end, view.targets, l0, l1, case == p.MEMBER)
        else:
            _count_fixed(program, view, state, leaf, array, begin, end, state.pool, l0, l1, case == p.MEMBER)


@jit
def _part(program, view, state, leaf, array, begin, end, most):
    """Where a part of the leaf's array[begin:end) ends that is about `most` units of work, and the units."""
    case = program.header[p.CASE]
    if case != p.COMMON:
        unit = GENERAL_UNITS if case == p.GENERAL else 1
        end = min(end, begin + most // unit + 1)
        return end, (end - begin) * unit
    step = step_row(program, level_row(program, leaf)[p.STEP])
    if step[p.FROM_KIND] == p.SET:
        length = state.set_end[step[p.FROM_A]] - program.bases[step[p.FROM_A]]
    else:
        first, last = row_of(view, step[p.FROM_A], state.matched[step[p.FROM_B]])
        length = last - first
    units, place = length >> 6, begin
    while place < end and units < most + (length >> 6):
        first, last = row_of(view, step[p.WITH_A], array[place])
        units += 1 + (min(length, last - first) >> 6)
        place += 1
    return place, units


@jit
def count_leaf(program, view, state, leaf, most):
    """Count a part of the leaf's open range, of about `most` units of work; the units that it took."""
    begin, end, kind = state.position[leaf], state.end[leaf], state.kind[leaf]
    if kind == p.ROOTS:
        end, units = _part(program, view, state, leaf, view.roots, begin, end, most)
        _count_range(program, view, state, leaf, view.roots, begin, end)
    elif kind == p.ROW:
        end, units = _part(program, view, state, leaf, view.targets, begin, end, most)
        _count_range(program, view, state, leaf, view.targets, begin, end)
    else:
        end, units = _part(program, view, state, leaf, state.pool, begin, end, most)
        _count_range(program, view, state, leaf, state.pool, begin, end)
    state.position[leaf] = end
    return units
