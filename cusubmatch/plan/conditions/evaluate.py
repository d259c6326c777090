"""Running a program on arrays: all vertices, all rows, or many combinations of them at once.

Each stack element is an array of numbers with a mask of those that are known, None where all are. It serves masks
before the search, and it is what interpreters of single combinations are compared with. `xp` is NumPy or CuPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cusubmatch.plan.conditions.condition_program import EQUAL, GREATER, LESS, Opcode, Program

__all__ = ["evaluate", "holds"]

TWO_63 = 2.0**63


def holds(program: Program, xp: Any, positions: Sequence[Any], rows: int) -> Any:
    """Where a condition is true: a bool array of so many rows; the arguments are those of `evaluate`."""
    values, known = evaluate(program, xp, positions)
    true = values != 0
    if known is not None:
        true = true & known
    return xp.array(xp.broadcast_to(true, (rows,)))


def evaluate(program: Program, xp: Any, positions: Sequence[Any]) -> tuple[Any, Any]:
    """The truth of a condition, 0 or 1, and where it is known (None: everywhere).

    Parameters
    ----------
    program : Program
    xp : module
        Of the arrays of the program's columns.
    positions : sequence of (array or None)
        For each of `program.elements` the internal vertices or rows, arrays of one length; None: all of them, in order.
    """
    stack: list[tuple[Any, Any]] = []
    with np.errstate(all="ignore"):
        for opcode, operand in program.code.tolist():
            if opcode in TWO_OPERANDS:
                b, a = stack.pop(), stack.pop()
                stack.append(_combined(xp, opcode, operand, a, b))
            elif opcode in (Opcode.LOAD_INT, Opcode.LOAD_FLOAT):
                stack.append(_loaded(program, positions, operand))
            elif opcode == Opcode.PUSH_INT:
                stack.append((xp.asarray(program.ints[operand : operand + 1]), None))
            elif opcode == Opcode.PUSH_FLOAT:
                stack.append((xp.asarray(program.floats[operand : operand + 1]), None))
            elif opcode == Opcode.PUSH_NULL:
                stack.append((xp.zeros(1, xp.int64), xp.zeros(1, bool)))
            else:
                stack.append(_changed(xp, program, opcode, operand, *stack.pop()))
    ((values, known),) = stack
    return values, known


TWO_OPERANDS = frozenset([*range(Opcode.ADD_INT, Opcode.MEMBER_INT), Opcode.AND, Opcode.OR])


def _loaded(program, positions, number):
    element, values, valid = program.columns[number]
    at = positions[element]
    return (values, valid) if at is None else (values[at], None if valid is None else valid[at])


def _changed(xp, program, opcode, operand, values, known):
    """An operation on the top of the stack."""
    if opcode == Opcode.TO_FLOAT:
        return values.astype(xp.float64), known
    if opcode in (Opcode.NEGATE_INT, Opcode.NEGATE_FLOAT):
        return -values, known
    if opcode in (Opcode.ABSOLUTE_INT, Opcode.ABSOLUTE_FLOAT):
        return xp.abs(values), known
    if opcode == Opcode.NOT:
        return 1 - values, known
    if opcode == Opcode.IS_NULL:
        return (xp.zeros(len(values), xp.int64) if known is None else (~known).astype(xp.int64)), None
    begin, end = program.lists[2 * operand : 2 * operand + 2].tolist()
    members = xp.asarray((program.ints if opcode == Opcode.MEMBER_INT else program.floats)[begin:end])
    if not len(members):
        return xp.zeros(len(values), xp.int64), known
    places = xp.minimum(xp.searchsorted(members, values), len(members) - 1)
    return (members[places] == values).astype(xp.int64), known


def _combined(xp, opcode, operand, a, b):
    """An operation on the two elements at the top of the stack."""
    (left, left_known), (right, right_known) = a, b
    if opcode in (Opcode.AND, Opcode.OR):
        return _logic(xp, opcode == Opcode.OR, a, b)
    known = left_known if right_known is None else right_known if left_known is None else left_known & right_known
    if opcode in (Opcode.ADD_INT, Opcode.ADD_FLOAT):
        return left + right, known
    if opcode in (Opcode.SUBTRACT_INT, Opcode.SUBTRACT_FLOAT):
        return left - right, known
    if opcode in (Opcode.MULTIPLY_INT, Opcode.MULTIPLY_FLOAT):
        return left * right, known
    if opcode in (Opcode.DIVIDE_INT, Opcode.DIVIDE_FLOAT, Opcode.MODULO_INT, Opcode.MODULO_FLOAT):
        divides = right != 0
        known = divides if known is None else known & divides
        return _quotient(xp, opcode, left, xp.where(divides, right, 1)), known
    if opcode == Opcode.COMPARE_INT_FLOAT:
        less, greater = _int_and_float(xp, left, right)
    else:
        less, greater = left < right, left > right
    truth = xp.zeros(less.shape, bool)
    for sign, found in ((LESS, less), (GREATER, greater), (EQUAL, ~(less | greater))):
        if operand & sign:
            truth |= found
    return truth.astype(xp.int64), known


def _logic(xp, is_or, a, b):
    """AND and OR of three truth values; the one is the other of what is negated."""
    decided = 1 if is_or else 0
    decides = [(values == decided) if known is None else (values == decided) & known for values, known in (a, b)]
    truth = decides[0] | decides[1]
    if a[1] is None and b[1] is None:
        known = None
    else:
        known = truth | ((a[1] if a[1] is not None else True) & (b[1] if b[1] is not None else True))
    return (truth if is_or else ~truth).astype(xp.int64), known


def _quotient(xp, opcode, left, right):
    if opcode == Opcode.DIVIDE_FLOAT:
        return left / right
    if opcode == Opcode.MODULO_FLOAT:
        return xp.fmod(left, right)
    rest = xp.fmod(left, xp.where(right == -1, 1, right))  # the least int64 by -1 overflows
    if opcode == Opcode.MODULO_INT:
        return rest
    return xp.where(right == -1, -left, (left - rest) // right)


def _int_and_float(xp, left, right):
    """Whether ints are below, and above, floats: the whole part decides, and then the rest."""
    floor = xp.floor(right)
    inside = (floor >= -TWO_63) & (floor < TWO_63)
    whole = xp.where(inside, floor, 0.0).astype(xp.int64)
    less = xp.where(inside, (left < whole) | ((left == whole) & (right > floor)), floor > 0)
    return less, xp.where(inside, left > whole, floor < 0)
