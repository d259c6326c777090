"""Whether some rows of the bound edges fulfil the windows and conditions together: a search nested in a vertex walk.

Where a match is its vertices, an edge that takes a row has the rows of the arc between its images, sorted by time. They
are searched in the order in which the walk reaches the edges; the first combination ends the search. The same search on
the edges reached so far prunes partial matches.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk.row_bounds import BOUND_FIELDS, HIGH, LOW, OTHER
from cusubmatch.engines.cpu.row_walk.row_conditions import holds
from cusubmatch.engines.cpu.row_walk.row_tests import edge_row, offsets_of, rows_of, times_of, window_of
from cusubmatch.plan.conditions.bounds import NO_BOUND

__all__ = ["combination_exists"]


@inner
def _open(program, state, edge, slot):
    """Open the rows of an edge's arc that the rows bound before leave."""
    number = edge_row(program, edge)[q.ROWS_OF_ARC]
    offsets = offsets_of(program, number)
    begin, end = offsets[state.arc[edge]], offsets[state.arc[edge] + 1]
    low, high = window_of(program, state, edge)
    state.position[slot] = lower_bound(times_of(program, number), begin, end, low)
    state.end[slot], state.latest[slot] = end, high


@inner
def _advance(program, state, edge, slot, step):
    """Bind the next row of an edge that fulfils the conditions decidable at a step; whether there is one."""
    fields, number = edge_row(program, edge), edge_row(program, edge)[q.ROWS_OF_ARC]
    times, rows = times_of(program, number), rows_of(program, number)
    while state.position[slot] < state.end[slot]:
        position = state.position[slot]
        if times[position] > state.latest[slot]:
            return False
        state.position[slot] = position + 1
        state.time[edge], state.row[edge] = times[position], rows[position]
        fulfilled = True
        for i in range(fields[q.TESTED], fields[q.TESTED_END], 2):
            if program.refs[i + 1] <= step and not holds(program, state, program.refs[i]):
                fulfilled = False
                break
        if fulfilled:
            return True
    return False


@inner
def _can_be_in_windows(program, state, edge):
    """Whether the first and the last time of an edge's arc leave a row of it in each window of the edges before it."""
    fields, refs = edge_row(program, edge), program.refs
    number = fields[q.ROWS_OF_ARC]
    offsets, times = offsets_of(program, number), times_of(program, number)
    first, last = times[offsets[state.arc[edge]]], times[offsets[state.arc[edge] + 1] - 1]
    for i in range(fields[q.WINDOW], fields[q.WINDOW_END], BOUND_FIELDS):
        other = refs[i + OTHER]
        number = edge_row(program, other)[q.ROWS_OF_ARC]
        offsets, times, arc = offsets_of(program, number), times_of(program, number), state.arc[other]
        if refs[i + LOW] > -NO_BOUND and times[offsets[arc]] + refs[i + LOW] > last:
            return False
        if refs[i + HIGH] < NO_BOUND and times[offsets[arc + 1] - 1] + refs[i + HIGH] < first:
            return False
    return True


@inner
def combination_exists(program, state, step, searched):
    """Whether the first `searched` edges can take rows together, at a step of the walk."""
    first = program.header[q.SEARCHED]
    if not _can_be_in_windows(program, state, program.refs[first + searched - 1]):
        return False
    below = program.header[q.STEPS]  # the slots of the steps come before those of the search
    k = 0
    _open(program, state, program.refs[first], below)
    while k >= 0:
        if not _advance(program, state, program.refs[first + k], below + k, step):
            k -= 1
        elif k + 1 == searched:
            return True
        else:
            k += 1
            _open(program, state, program.refs[first + k], below + k)
    return False
