"""The row walker: depth-first search over the steps of a row plan.

All that it knows lies in a `State`, so it can stop anywhere (a full output buffer, a spent budget) and go on later. The
last step that is visited binds its rows one by one; where a plan counts, the steps after it are counted at once.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import call_at, pointer
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.row_state import on_program, on_state, on_view
from cusubmatch.engines.cpu.row_walk.row_tests import edge_row, vertex_row
from cusubmatch.engines.cpu.row_walk.step_ranges import FOUND, NO_ROOM, SPENT, advance_step, open_step

__all__ = ["DONE", "FULL", "GROW", "PAUSED", "enter_rows", "walk_rows"]

DONE, PAUSED, FULL, GROW = 0, 1, 2, 3  # why the walker returned
PASSED_UNITS = 1 << 10  # work of passing over rows of the first step


def enter_rows(state, begin, end):
    """Begin a task: a range of the first step."""
    registers = state.registers
    registers[s.DEPTH] = 0
    registers[s.GROUP] = s.NO_GROUP
    state.begin[0] = state.position[0] = begin
    state.end[0] = end


@inner
def _write(program, state, vertices, rows, n_vertices, n_edges, vertex_capacity, at):
    """Write the match that is bound as column `at` of the output."""
    for v in range(n_vertices):
        column = vertex_row(program, v)[q.COLUMN]
        if column >= 0:
            vertices[column * vertex_capacity + at] = state.image[v]
    for e in range(n_edges):
        column = edge_row(program, e)[q.ROW_COLUMN]
        if column >= 0:
            rows[column * vertex_capacity + at] = state.row[e]


@inner
def _walk(program, view, state, vertices, rows, capacity, budget):
    """Go on with the task in `state`."""
    n_vertices, n_edges = view.images, view.rows
    registers, last, leaf = state.registers, program.header[q.LAST], program.header[q.LEAF]
    level = registers[s.DEPTH]
    while budget > 0:
        if leaf == q.EMIT and registers[s.FILLED] == capacity:
            registers[s.DEPTH] = level
            return FULL
        found = advance_step(program, view, state, level)
        budget -= 1
        if found == FOUND:
            if level < last:
                level += 1
                open_step(program, state, level)
            elif leaf == q.EMIT:
                _write(program, state, vertices, rows, n_vertices, n_edges, capacity, registers[s.FILLED])
                registers[s.FILLED] += 1
            elif leaf == q.VISIT:
                registers[s.COUNT] += 1
            else:
                registers[s.WORK] = 0
                registers[s.COUNT] += call_at(program.header[q.COUNTS], program, view, state, level + 1)
                budget -= registers[s.WORK]
        elif found == SPENT:
            budget -= PASSED_UNITS
        elif found == NO_ROOM:
            registers[s.DEPTH] = level
            return GROW
        elif level == 0:
            return DONE
        else:
            level -= 1
    registers[s.DEPTH] = level
    return PAUSED


@jit
def walk_rows(program, view, state, vertices, rows, budget):
    """Go on with a task, for about `budget` units of work: a row that is bound or counted.

    Program, view and state are given as tables (`pointers.table_of`).
    Matches are written to `vertices` (pattern vertices, capacity) and `rows` (bound edges, capacity). Returns DONE
    (task finished), PAUSED (budget spent), FULL (no room in the output) or GROW (no room for the paths at a vertex).
    """
    capacity, out_vertices, out_rows = vertices.shape[1], pointer(vertices), pointer(rows)
    return _walk(on_program(program), on_view(view), on_state(state), out_vertices, out_rows, capacity, budget)
