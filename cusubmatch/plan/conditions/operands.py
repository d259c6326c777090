"""Operands: parts of a condition while it is compiled, with their kind, and how one kind becomes another.

Kinds are those of `TypedColumn`. Whole numbers, decimals, times, durations and the places of texts are ints in a
program; decimals of different scales are brought to the larger one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.frames import TypedColumn
from cusubmatch.pattern.elements import Element
from cusubmatch.plan.conditions.condition_program import ColumnAt, Opcode, Program
from cusubmatch.plan.conditions.constants import INT64, Constant

__all__ = ["NUMBERS", "Instruction", "Operand", "Pools"]

Instruction = tuple[int, int]
NUMBERS = ("integer", "decimal", "float")


class Operand(NamedTuple):
    """A part of a condition.

    Attributes
    ----------
    kind : str
    scale : int
        Of decimals.
    code : tuple of instructions
        What leaves its value on the stack; empty for a constant, until it is pushed.
    constant : Constant or None
    element, column : Element and TypedColumn, or None
        Where it is a column as it stands.
    """

    kind: str
    scale: int = 0
    code: tuple[Instruction, ...] = ()
    constant: Constant | None = None
    element: Element | None = None
    column: TypedColumn | None = None

    @classmethod
    def of_constant(cls, constant: Constant) -> Operand:
        return cls(constant.kind, constant.scale, (), constant)


class Pools:
    """The constants, lists, columns and elements of a program while it is compiled."""

    def __init__(self):
        self._ints: dict[int, int] = {}
        self._floats: dict[float, int] = {}
        self._lists: list[tuple[bool, np.ndarray]] = []
        self._columns: dict[tuple[Element, int], int] = {}
        self._column_values: list[tuple[Element, TypedColumn]] = []

    def code_of(self, operand: Operand) -> tuple[Instruction, ...]:
        """What leaves an operand on the stack."""
        constant = operand.constant
        if constant is None:
            return operand.code
        if constant.kind == "null":
            return ((Opcode.PUSH_NULL, 0),)
        if constant.kind == "float":
            return (self.push_float(constant.value),)
        return (self.push_int(constant.value),)

    def push_int(self, value: int) -> Instruction:
        if value not in INT64:
            raise PatternError(f"pattern: the number {value} in a condition does not fit into 64 bits")
        return Opcode.PUSH_INT, self._ints.setdefault(value, len(self._ints))

    def push_float(self, value: float) -> Instruction:
        return Opcode.PUSH_FLOAT, self._floats.setdefault(value, len(self._floats))

    def load(self, element: Element, column: TypedColumn) -> Operand:
        """A column at an element."""
        number = self._columns.setdefault((element, id(column.values)), len(self._columns))
        if number == len(self._column_values):
            self._column_values.append((element, column))
        opcode = Opcode.LOAD_FLOAT if column.kind == "float" else Opcode.LOAD_INT
        return Operand(column.kind, column.scale, ((opcode, number),), None, element, column)

    def member(self, values: Any, floats: bool) -> Instruction:
        """Whether the top of the stack is one of some values."""
        self._lists.append((floats, np.unique(np.asarray(values, np.float64 if floats else np.int64))))
        return (Opcode.MEMBER_FLOAT if floats else Opcode.MEMBER_INT), len(self._lists) - 1

    def as_float(self, operand: Operand) -> tuple[Instruction, ...]:
        """What leaves a number on the stack as a float."""
        constant, code = operand.constant, self.code_of(operand)
        if operand.kind in ("float", "null"):
            return code
        if constant is not None:
            return (self.push_float(constant.value / 10**constant.scale),)
        code = (*code, (Opcode.TO_FLOAT, 0))
        if operand.scale:
            code = (*code, self.push_float(10.0**operand.scale), (Opcode.DIVIDE_FLOAT, 0))
        return code

    def can_scale(self, operand: Operand, scale: int) -> bool:
        """Whether a whole number or a decimal is known to fit into 64 bits as one of a larger scale."""
        factor = 10 ** (scale - operand.scale)
        if operand.constant is not None:
            return operand.constant.kind != "float" and operand.constant.value * factor in INT64
        return factor == 1 or (operand.column is not None and _largest(operand.column.values) * factor in INT64)

    def scaled(self, operand: Operand, scale: int) -> tuple[Instruction, ...]:
        """What leaves a whole number or a decimal on the stack as one of a larger scale."""
        factor = 10 ** (scale - operand.scale)
        if operand.constant is not None:
            return (self.push_int(operand.constant.value * factor),)
        if factor == 1:
            return operand.code
        return (*operand.code, self.push_int(factor), (Opcode.MULTIPLY_INT, 0))

    def program(self, code: tuple[Instruction, ...]) -> Program:
        """The finished program."""
        ints, floats = list(self._ints), list(self._floats)
        int_parts, float_parts = [np.array(ints, np.int64)], [np.array(floats, np.float64)]
        lists, ends = [], [len(ints), len(floats)]
        for of_floats, values in self._lists:
            (float_parts if of_floats else int_parts).append(values)
            lists += [ends[of_floats], ends[of_floats] + len(values)]
            ends[of_floats] += len(values)
        elements = tuple(dict.fromkeys(element for element, _ in self._column_values))
        columns = tuple(
            ColumnAt(elements.index(element), column.values, column.valid) for element, column in self._column_values
        )
        return Program(
            np.array(code, np.int32).reshape(-1, 2),
            np.concatenate(int_parts),
            np.concatenate(float_parts),
            np.array(lists, np.int64),
            columns,
            elements,
            _depth(code),
        )


def _largest(values):
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def _depth(code):
    """How many elements the stack holds at most."""
    height = deepest = 0
    for opcode, _ in code:
        if opcode <= Opcode.LOAD_FLOAT:
            height += 1
        elif Opcode.ADD_INT <= opcode <= Opcode.COMPARE_INT_FLOAT or opcode in (Opcode.AND, Opcode.OR):
            height -= 1
        deepest = max(deepest, height)
    return deepest
