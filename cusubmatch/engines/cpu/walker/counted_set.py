"""The counted level's candidate set while the leaf is open: its range, and the matched vertices that it must lose."""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.sorted_sets import Slice, count_common, count_marked, has
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.local_candidates import adjacent, cut, hub_row, level_row, row_of

__all__ = ["collect_losses", "count_members", "counted_range", "is_excluded", "is_member"]


@inner
def counted_range(program, view, state, leaf):
    """The counted level's set, within the restrictions by levels before the leaf."""
    fields = level_row(program, program.header[p.LAST])
    array = view.targets if fields[p.KIND] == p.ROW else state.pool
    if fields[p.KIND] == p.ROW:
        begin, end = row_of(view, fields[p.SOURCE_A], state.matched[fields[p.SOURCE_B]])
    else:
        begin, end = program.bases[fields[p.SOURCE_A]], state.set_end[fields[p.SOURCE_A]]
    for r in range(fields[p.BOUND], fields[p.BOUND_END]):
        if program.refs[r] < leaf:
            begin, end = cut(program, state, array, begin, end, r, r + 1)
    return Slice(array, begin, end)


@inner
def collect_losses(program, state, fields, before_level, candidates):
    """Write the vertices of levels before `before_level` that the set must lose to `excluded`; how many."""
    losses = 0
    for d in range(fields[p.INJECTIVITY], fields[p.INJECTIVITY_END]):
        level = program.refs[d]
        if level < before_level and has(candidates.array, candidates.begin, candidates.end, state.matched[level]):
            fresh = True
            for i in range(losses):
                fresh = fresh and state.excluded[i] != state.matched[level]
            if fresh:
                state.excluded[losses] = state.matched[level]
                losses += 1
    return losses


@inner
def is_excluded(program, state, fields, x):
    """Whether x is the vertex of a level that this level must differ from."""
    for d in range(fields[p.INJECTIVITY], fields[p.INJECTIVITY_END]):
        if state.matched[program.refs[d]] == x:
            return True
    return False


@inner
def is_member(program, view, state, x):
    """Whether the leaf's vertex x lies in the rows of the membership test."""
    for t in range(program.header[p.TEST], program.header[p.TEST_END], 2):
        if not adjacent(view, program.refs[t], state.matched[program.refs[t + 1]], x):
            return False
    return True


@inner
def count_members(program, view, state, candidates):
    """How many of the candidates pass the membership test."""
    first, last = program.header[p.TEST], program.header[p.TEST_END]
    array, begin, end = candidates.array, candidates.begin, candidates.end
    if first == last:
        return end - begin
    if last - first == 2:
        relation, vertex = program.refs[first], state.matched[program.refs[first + 1]]
        bitmap = hub_row(view, relation, vertex)
        if bitmap >= 0:
            return count_marked(array, begin, end, view.bits, bitmap)
        row_begin, row_end = row_of(view, relation, vertex)
        return count_common(array, begin, end, view.targets, row_begin, row_end)
    members = 0
    for i in range(begin, end):
        members += is_member(program, view, state, array[i])
    return members
