"""Conditions that are no masks and no windows: each lane runs their programs on what is bound.

The programs are those of `plan.conditions.condition_program`, which has the table of what each instruction does. A
stack element is an int64 or a float64, and whether it is known; the stacks lie in global memory, those of neighbouring
lanes beside each other.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_arithmetic import arithmetic_functions
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.plan.conditions.condition_program import Opcode

__all__ = ["Places", "places_of", "row_conditions"]

U, T = np.uint32, np.int64
PUSH_INT, PUSH_FLOAT, PUSH_NULL, LOAD_INT, LOAD_FLOAT = (
    int(op) for op in (Opcode.PUSH_INT, Opcode.PUSH_FLOAT, Opcode.PUSH_NULL, Opcode.LOAD_INT, Opcode.LOAD_FLOAT)
)
ADD_INT, MODULO_FLOAT, MEMBER_INT, AND, OR = (
    int(op) for op in (Opcode.ADD_INT, Opcode.MODULO_FLOAT, Opcode.MEMBER_INT, Opcode.AND, Opcode.OR)
)
SEARCH_WORDS = 2  # of an edge that is searched for: the next position, and where its rows end


class Places(NamedTuple):
    """Device functions: where a thread's words stand.

    Attributes
    ----------
    word : (k) -> int64
        The k-th int64, or float64, of this thread.
    """

    word: Any


@functools.cache
def places_of(target: Target) -> Places:
    """The device functions for one target."""
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    @target.device
    def word(k):
        thread = T(cuda.blockIdx.x) * T(cuda.blockDim.x) + T(U(warp_of() * U(WARP))) + T(lane_of())
        return T(k) * (T(cuda.gridDim.x) * T(cuda.blockDim.x)) + thread

    return Places(word)


@functools.cache
def row_conditions(target: Target, stack: RowStack) -> Any:
    """A device function (sh, w, t, bound, condition, data, scratch) -> bool: whether a condition is true.

    `bound` is (slot of level t - 1, position, vertex, group): the candidate of step t.
    """
    word, load = places_of(target).word, _load_function(target, stack)
    calculate, compare, join, change = arithmetic_functions(target, word)

    @target.device
    def push(sh, w, t, bound, record, top, operation, data, scratch):
        """Push a constant, or the value of a column at what is bound."""
        opcode, operand, depth = operation[0], operation[1], U(sh[f.STACK_DEPTH])
        at, known = word(top), word(U(depth + top))
        scratch.ints[known] = T(1)
        if opcode == U(PUSH_INT):
            scratch.ints[at] = data.ints[U(U(sh[U(record + U(f.INTS))]) + operand)]
        elif opcode == U(PUSH_FLOAT):
            scratch.floats[at] = data.floats[U(U(sh[U(record + U(f.FLOATS))]) + operand)]
        elif opcode == U(PUSH_NULL):
            scratch.ints[at] = T(0)
            scratch.ints[known] = T(0)
        else:
            column = U(U(sh[U(record + U(f.COLUMNS_READ))]) + U(operand * U(f.COLUMN)))
            place = load(sh, w, t, bound, column, data, scratch)
            valid = U(sh[U(column + U(f.VALID))])
            if valid != U(f.ALL_VALID):
                if data.valid[T(valid) + T(place)] == 0:
                    scratch.ints[known] = T(0)
            values = T(U(sh[U(column + U(f.VALUES))])) + T(place)
            if opcode == U(LOAD_INT):
                scratch.ints[at] = data.ints[values]
            else:
                scratch.floats[at] = data.floats[values]

    @target.device
    def holds(sh, w, t, bound, condition, data, scratch):
        record = U(U(sh[f.CONDITIONS]) + U(condition * U(f.CONDITION)))
        i, end, top = U(sh[U(record + U(f.CODE))]), U(sh[U(record + U(f.CODE_END))]), U(0)  # top: elements
        depth = U(sh[f.STACK_DEPTH])
        while i < end:
            opcode, operand = U(sh[i]), U(sh[U(i + U(1))])
            if opcode <= U(LOAD_FLOAT):
                push(sh, w, t, bound, record, top, (opcode, operand), data, scratch)
                top = U(top + U(1))
            elif (opcode >= U(ADD_INT) and opcode < U(MEMBER_INT)) or opcode >= U(AND):
                top = U(top - U(1))
                if opcode <= U(MODULO_FLOAT):
                    calculate(U(top - U(1)), depth, opcode, scratch)
                elif opcode >= U(AND):
                    join(U(top - U(1)), depth, opcode == U(OR), scratch)
                else:
                    compare(U(top - U(1)), depth, opcode, operand, scratch)
            else:
                change(sh, record, U(top - U(1)), (depth, opcode, operand), data, scratch)
            i = U(i + U(2))
        return scratch.ints[word(depth)] != T(0) and scratch.ints[word(U(0))] != T(0)

    return holds


def _load_function(target, stack):
    """Where a column is read."""
    image, position, word = stack.image, stack.position, places_of(target).word

    @target.device
    def load(sh, w, t, bound, column, data, scratch):
        slot, place, x, group = bound
        kind, which = U(sh[U(column + U(f.AT))]), U(sh[U(column + U(f.OF))])
        if kind == U(f.AT_VERTEX):
            if which == U(sh[U(U(sh[f.STEP_RECORDS]) + U(t * U(f.STEP)) + U(f.BINDS))]):
                return U(x)
            if t == U(0):
                return U(group)
            return image(sh, w, U(t - U(1)), slot, which)
        if kind == U(f.AT_SEARCHED):
            k = U(U(U(sh[f.STACK_DEPTH]) * U(2)) + U(which * U(SEARCH_WORDS)))
            return U(data.rows[U(scratch.ints[word(k)] - T(1))])
        if which == t:
            return U(data.rows[place])
        return U(data.rows[position(sh, w, U(t - U(1)), slot, which)])

    return load
