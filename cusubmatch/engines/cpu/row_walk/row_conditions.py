"""Conditions that are no masks and no windows: their programs, run on what is bound.

The programs are those of `plan.conditions.condition_program`, which has the table of what each instruction does. A
stack element is an int64 or a float64, each in an array of its own, and whether it is known.
"""

from __future__ import annotations

import math

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, inner
from cusubmatch.engines.cpu.primitives.pointers import advance, bool_at, float64_at, int64_at
from cusubmatch.engines.cpu.primitives.sorted_sets import has
from cusubmatch.engines.cpu.row_walk import condition_code as c
from cusubmatch.plan.conditions.condition_program import EQUAL, GREATER, LESS, Opcode

__all__ = ["holds"]

PUSH_INT, PUSH_FLOAT, PUSH_NULL = int(Opcode.PUSH_INT), int(Opcode.PUSH_FLOAT), int(Opcode.PUSH_NULL)
LOAD_INT, LOAD_FLOAT, TO_FLOAT = int(Opcode.LOAD_INT), int(Opcode.LOAD_FLOAT), int(Opcode.TO_FLOAT)
NEGATE_INT, NEGATE_FLOAT = int(Opcode.NEGATE_INT), int(Opcode.NEGATE_FLOAT)
ABSOLUTE_INT, ABSOLUTE_FLOAT = int(Opcode.ABSOLUTE_INT), int(Opcode.ABSOLUTE_FLOAT)
ADD_INT, ADD_FLOAT, SUBTRACT_INT = int(Opcode.ADD_INT), int(Opcode.ADD_FLOAT), int(Opcode.SUBTRACT_INT)
SUBTRACT_FLOAT, MULTIPLY_INT = int(Opcode.SUBTRACT_FLOAT), int(Opcode.MULTIPLY_INT)
MULTIPLY_FLOAT, DIVIDE_INT = int(Opcode.MULTIPLY_FLOAT), int(Opcode.DIVIDE_INT)
DIVIDE_FLOAT, MODULO_INT, MODULO_FLOAT = int(Opcode.DIVIDE_FLOAT), int(Opcode.MODULO_INT), int(Opcode.MODULO_FLOAT)
COMPARE_INT, COMPARE_FLOAT = int(Opcode.COMPARE_INT), int(Opcode.COMPARE_FLOAT)
COMPARE_INT_FLOAT, MEMBER_INT = int(Opcode.COMPARE_INT_FLOAT), int(Opcode.MEMBER_INT)
MEMBER_FLOAT, IS_NULL, NOT = int(Opcode.MEMBER_FLOAT), int(Opcode.IS_NULL), int(Opcode.NOT)
AND, OR = int(Opcode.AND), int(Opcode.OR)
TWO_63 = 2.0**63


@inner
def holds(program, state, condition):
    """Whether a condition is true of what is bound."""
    row = advance(program.conditions, condition * c.CONDITION_FIELDS)
    top = -1
    for i in range(row[c.CODE], row[c.CODE_END], 2):
        opcode, operand = program.code[i], program.code[i + 1]
        if opcode <= LOAD_FLOAT:
            top += 1
            _push(program, state, row, top, opcode, operand)
        elif ADD_INT <= opcode < MEMBER_INT or opcode >= AND:
            top -= 1
            if opcode <= MODULO_FLOAT:
                _calculate(state, top, opcode)
            elif opcode >= AND:
                _join(state, top, opcode == OR)
            else:
                _compare(state, top, opcode, operand)
        else:
            _change(state, row, top, opcode, operand)
    return state.known[0] != 0 and state.ints[0] != 0


@inlined
def _push(program, state, row, top, opcode, operand):
    """Push a constant, or the value of a column at what is bound."""
    state.known[top] = 1
    if opcode == PUSH_INT:
        state.ints[top] = int64_at(row[c.INTS])[operand]
    elif opcode == PUSH_FLOAT:
        state.floats[top] = float64_at(row[c.FLOATS])[operand]
    elif opcode == PUSH_NULL:
        state.ints[top] = 0
        state.known[top] = 0
    else:
        column = advance(program.columns, row[c.COLUMNS] + operand * c.COLUMN_FIELDS)
        at = state.row[column[c.INDEX]] if column[c.IS_EDGE] else state.image[column[c.INDEX]]
        if column[c.VALID] != 0 and not bool_at(column[c.VALID])[at]:
            state.known[top] = 0
        if opcode == LOAD_INT:
            state.ints[top] = int64_at(column[c.VALUES])[at]
        else:
            state.floats[top] = float64_at(column[c.VALUES])[at]


@inlined
def _change(state, row, top, opcode, operand):
    """An operation on the top of the stack."""
    ints, floats = state.ints, state.floats
    if opcode == TO_FLOAT:
        floats[top] = float(ints[top])
    elif opcode == NEGATE_INT:
        ints[top] = -ints[top]
    elif opcode == NEGATE_FLOAT:
        floats[top] = -floats[top]
    elif opcode == ABSOLUTE_INT:
        ints[top] = abs(ints[top])
    elif opcode == ABSOLUTE_FLOAT:
        floats[top] = abs(floats[top])
    elif opcode == NOT:
        ints[top] = 1 - ints[top]
    elif opcode == IS_NULL:
        ints[top] = 1 - state.known[top]
        state.known[top] = 1
    else:
        lists = int64_at(row[c.LISTS])
        begin, end = lists[2 * operand], lists[2 * operand + 1]
        if opcode == MEMBER_INT:
            ints[top] = has(int64_at(row[c.INTS]), begin, end, ints[top])
        else:
            ints[top] = has(float64_at(row[c.FLOATS]), begin, end, floats[top])


@inlined
def _join(state, top, is_or):
    """AND and OR of three truth values."""
    decided = 1 if is_or else 0
    a_known, b_known = state.known[top] != 0, state.known[top + 1] != 0
    if (a_known and state.ints[top] == decided) or (b_known and state.ints[top + 1] == decided):
        state.ints[top], state.known[top] = decided, 1
    else:
        state.ints[top], state.known[top] = 1 - decided, int(a_known and b_known)


@inlined
def _compare(state, top, opcode, signs):
    """A comparison of the two elements at the top of the stack."""
    if opcode == COMPARE_INT:
        less, greater = state.ints[top] < state.ints[top + 1], state.ints[top] > state.ints[top + 1]
    elif opcode == COMPARE_FLOAT:
        less, greater = state.floats[top] < state.floats[top + 1], state.floats[top] > state.floats[top + 1]
    else:  # the whole part decides, and then the rest
        left, right = state.ints[top], state.floats[top + 1]
        floor = math.floor(right)
        if right >= -TWO_63 and right < TWO_63:
            less = left < int(floor) or (left == int(floor) and right > floor)
            greater = left > int(floor)
        else:
            less, greater = right > 0, right < 0
    state.known[top] &= state.known[top + 1]
    sign = LESS if less else GREATER if greater else EQUAL
    state.ints[top] = 1 if signs & sign else 0


@inlined
def _calculate(state, top, opcode):
    """Arithmetic of the two elements at the top of the stack."""
    ints, floats, known = state.ints, state.floats, state.known
    known[top] &= known[top + 1]
    if opcode == ADD_INT:
        ints[top] += ints[top + 1]
    elif opcode == SUBTRACT_INT:
        ints[top] -= ints[top + 1]
    elif opcode == MULTIPLY_INT:
        ints[top] *= ints[top + 1]
    elif opcode == ADD_FLOAT:
        floats[top] += floats[top + 1]
    elif opcode == SUBTRACT_FLOAT:
        floats[top] -= floats[top + 1]
    elif opcode == MULTIPLY_FLOAT:
        floats[top] *= floats[top + 1]
    elif opcode in (DIVIDE_FLOAT, MODULO_FLOAT):
        if floats[top + 1] == 0.0:
            known[top] = 0
        elif opcode == DIVIDE_FLOAT:
            floats[top] = floats[top] / floats[top + 1]
        else:
            floats[top] = np.fmod(floats[top], floats[top + 1])
    else:
        _divide(state, top, opcode)


@inlined
def _divide(state, top, opcode):
    """The quotient of ints rounded towards 0, or the remainder with the sign of the dividend."""
    ints, left, right = state.ints, state.ints[top], state.ints[top + 1]
    if right == 0:
        state.known[top] = 0
        return
    if right == -1:  # the least int by -1 overflows
        ints[top] = -left if opcode == DIVIDE_INT else 0
        return
    quotient = left // right
    rest = left - quotient * right
    if rest != 0 and (rest < 0) != (left < 0):
        quotient, rest = quotient + 1, rest - right
    ints[top] = quotient if opcode == DIVIDE_INT else rest
