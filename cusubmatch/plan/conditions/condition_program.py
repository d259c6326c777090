"""Programs: typed conditions in postfix form, as arrays that an interpreter in any engine can run.

A program is a list of instructions on a stack. A stack element is a number, int64 or float64, and whether it is known;
each instruction knows the types of what it takes, so nothing is looked up. Truth is an int64, 0 or 1, and unknown where
SQL's logic says so. What is left on the stack, one element, is the truth of the condition.

An instruction is a pair `(opcode, operand)` of int32; operands that an opcode does not need are 0. In the table below
`b` is the top of the stack and `a` the element under it; the result takes their place, and is unknown if one of those
that are read is unknown, unless it says otherwise.

| opcode | operand | result |
|---|---|---|
| PUSH_INT, PUSH_FLOAT | k | `ints[k]`, `floats[k]` |
| PUSH_NULL | | 0, unknown |
| LOAD_INT, LOAD_FLOAT | c | column c at the image or the row of its element; unknown where the column has no value |
| TO_FLOAT | | a float of the int b |
| NEGATE_*, ABSOLUTE_* | | -b, abs(b) |
| ADD_*, SUBTRACT_*, MULTIPLY_* | | a + b, a - b, a * b; ints wrap around at 64 bits |
| DIVIDE_FLOAT, MODULO_FLOAT | | a / b, and the remainder with the sign of a; unknown where b is 0 |
| DIVIDE_INT, MODULO_INT | | rounded towards 0, and the remainder with the sign of a; unknown where b is 0 |
| COMPARE_INT, COMPARE_FLOAT | signs | whether signs has LESS and a < b, EQUAL and a = b, or GREATER and a > b |
| COMPARE_INT_FLOAT | signs | the same of an int a and a float b, exactly |
| MEMBER_INT, MEMBER_FLOAT | l | whether b is in list l: `ints` (or `floats`) `[lists[l]:lists[l + 1]]`, ascending |
| IS_NULL | | whether b is unknown; it is itself known |
| NOT | | 1 - b |
| AND | | 0 if a or b is known to be 0; else unknown if one is; else 1 |
| OR | | 1 if a or b is known to be 1; else unknown if one is; else 0 |

Lists lie behind the constants in `ints` and `floats`, and `lists` has two numbers a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.pattern.elements import Element

__all__ = ["EQUAL", "GREATER", "LESS", "ColumnAt", "Opcode", "Program"]

LESS, EQUAL, GREATER = 1, 2, 4


class Opcode(IntEnum):
    """What an instruction does; the numbers are part of the format."""

    PUSH_INT = 0
    PUSH_FLOAT = 1
    PUSH_NULL = 2
    LOAD_INT = 3
    LOAD_FLOAT = 4
    TO_FLOAT = 5
    NEGATE_INT = 6
    NEGATE_FLOAT = 7
    ABSOLUTE_INT = 8
    ABSOLUTE_FLOAT = 9
    ADD_INT = 10
    ADD_FLOAT = 11
    SUBTRACT_INT = 12
    SUBTRACT_FLOAT = 13
    MULTIPLY_INT = 14
    MULTIPLY_FLOAT = 15
    DIVIDE_INT = 16
    DIVIDE_FLOAT = 17
    MODULO_INT = 18
    MODULO_FLOAT = 19
    COMPARE_INT = 20
    COMPARE_FLOAT = 21
    COMPARE_INT_FLOAT = 22
    MEMBER_INT = 23
    MEMBER_FLOAT = 24
    IS_NULL = 25
    NOT = 26
    AND = 27
    OR = 28


class ColumnAt(NamedTuple):
    """A column that a program reads.

    Attributes
    ----------
    element : int
        The place in `Program.elements` of the vertex or edge where it is read.
    values : int64 or float64 array
        By internal vertex, or by row of the edge table.
    valid : bool array or None
        Where there is a value; None: everywhere.
    """

    element: int
    values: Any
    valid: Any


@dataclass(frozen=True)
class Program:
    """A condition that can be run.

    Attributes
    ----------
    code : int32 array (instructions, 2)
    ints : int64 array
    floats : float64 array
    lists : int64 array
        Begin and end of each list.
    columns : tuple of ColumnAt
    elements : tuple of Element
        The vertices and edges of the pattern that it reads; a run gets an internal vertex or a row for each.
    depth : int
        Elements that the stack holds at most.
    """

    code: np.ndarray
    ints: np.ndarray
    floats: np.ndarray
    lists: np.ndarray
    columns: tuple[ColumnAt, ...]
    elements: tuple[Element, ...]
    depth: int
