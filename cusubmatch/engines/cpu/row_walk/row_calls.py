"""The parts of the row walker that only some plans need, called at their addresses, so that each is compiled by itself.

A function takes the addresses of the tables of a program, a view and a state, and a number.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import address_of, inner, jit
from cusubmatch.engines.cpu.row_walk import row_program as q
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.existence import combination_exists
from cusubmatch.engines.cpu.row_walk.last_step import count_paths, count_rows
from cusubmatch.engines.cpu.row_walk.meeting import slide
from cusubmatch.engines.cpu.row_walk.pair_count import count_pairs
from cusubmatch.engines.cpu.row_walk.row_conditions import holds
from cusubmatch.engines.cpu.row_walk.row_state import on_program, on_state, on_view
from cusubmatch.engines.cpu.row_walk.row_tests import step_row

__all__ = ["set_calls"]

ARGUMENTS = 4


@inner
def _fulfils_conditions(program, state, level):
    """Whether the conditions that are decidable at a step hold."""
    step = step_row(program, level)
    for i in range(step[q.CONDITION], step[q.CONDITION_END]):
        if not holds(program, state, program.refs[i]):
            return False
    return True


@jit
def _fulfils(program_table, _view_table, state_table, level):
    """Whether the conditions that are decidable at a step hold."""
    return int(_fulfils_conditions(on_program(program_table), on_state(state_table), level))


@jit
def _exists(program_table, _view_table, state_table, level):
    """Whether the conditions that are decidable at a step hold, and some rows of the edges that are searched."""
    program, state = on_program(program_table), on_state(state_table)
    searched = step_row(program, level)[q.SEARCH]
    if not _fulfils_conditions(program, state, level):
        return 0
    return int(searched == 0 or combination_exists(program, state, level, searched))


@jit
def _slides(program_table, view_table, state_table, time):
    """Move the window of a meeting to a time; whether there was room for all paths."""
    return int(slide(on_program(program_table), on_view(view_table), on_state(state_table), time))


@jit
def _counts_pairs(program_table, view_table, state_table, level):
    """The matches of the last two steps; the work is added to a register, as in the functions below."""
    program, view, state = on_program(program_table), on_view(view_table), on_state(state_table)
    n, work = count_pairs(program, view, state, level)
    state.registers[s.WORK] += work
    return n


@jit
def _counts_paths(program_table, view_table, state_table, level):
    """The matches of a last step that meets the first one."""
    program, view, state = on_program(program_table), on_view(view_table), on_state(state_table)
    n, work = count_paths(program, view, state, level)
    state.registers[s.WORK] += work
    return n


@jit
def _counts_rows(program_table, view_table, state_table, level):
    """The matches of a last step that takes rows."""
    program, view, state = on_program(program_table), on_view(view_table), on_state(state_table)
    n, work = count_rows(program, view, state, level)
    state.registers[s.WORK] += work
    return n


def set_calls(program: q.Program) -> None:
    """Write the addresses of those functions that a program needs into its header."""
    header, steps = program.header, program.steps.reshape(-1, q.STEP_FIELDS)
    if steps[:, q.SEARCH].any():
        header[q.FULFILS] = address_of(_exists, ARGUMENTS)
    elif (steps[:, q.CONDITION] < steps[:, q.CONDITION_END]).any():
        header[q.FULFILS] = address_of(_fulfils, ARGUMENTS)
    if header[q.MEETING] >= 0:
        header[q.SLIDES] = address_of(_slides, ARGUMENTS)
    if header[q.LEAF] == q.PAIRS:
        header[q.COUNTS] = address_of(_counts_pairs, ARGUMENTS)
    elif header[q.LEAF] == q.COUNT:
        meets = steps[-1, q.KIND] == q.MEET
        header[q.COUNTS] = address_of(_counts_paths if meets else _counts_rows, ARGUMENTS)
