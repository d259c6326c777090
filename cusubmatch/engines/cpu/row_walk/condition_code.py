"""Conditions as numbers: programs and the columns that they read, as the compiled row walker has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.plan.conditions.condition_program import Program
from cusubmatch.plan.rows.row_plan import RowCondition

__all__ = ["Conditions", "encode_conditions"]

# Fields of a condition, and of a column that one reads.
CODE, CODE_END, INTS, FLOATS, LISTS, COLUMNS = range(6)
CONDITION_FIELDS = 6
IS_EDGE, INDEX, VALUES, VALID = range(4)
COLUMN_FIELDS = 4


class Conditions(NamedTuple):
    """Programs of `plan.conditions` as int64 arrays.

    `table` has a row of fields for each condition, with the addresses of its constants; `columns` one for each column,
    with the addresses of its values and of its mask (0: none); `code` has pairs of opcode and operand. `depth` is the
    deepest stack, and `arrays` holds what addresses point to.
    """

    table: np.ndarray
    columns: np.ndarray
    code: np.ndarray
    depth: int
    arrays: tuple[Any, ...]


def encode_conditions(conditions: Sequence[RowCondition]) -> Conditions:
    """The programs of a plan."""
    table = np.zeros((len(conditions), CONDITION_FIELDS), np.int64)
    columns: list[list[int]] = []
    code: list[int] = []
    arrays: list[Any] = []

    def address(array, dtype):
        arrays.append(np.ascontiguousarray(array, dtype))
        return arrays[-1].ctypes.data

    for row, condition in zip(table, conditions, strict=True):
        program: Program = condition.program
        row[CODE], row[COLUMNS] = len(code), len(columns) * COLUMN_FIELDS
        code += program.code.ravel().tolist()
        row[CODE_END] = len(code)
        row[INTS], row[FLOATS] = address(program.ints, np.int64), address(program.floats, np.float64)
        row[LISTS] = address(program.lists, np.int64)
        for element, values, valid in program.columns:
            kind, index = program.elements[element]
            dtype = np.float64 if np.asarray(values).dtype.kind == "f" else np.int64
            mask = 0 if valid is None else address(valid, np.bool_)
            columns.append([int(kind == "edge"), index, address(values, dtype), mask])
    depth = max((condition.program.depth for condition in conditions), default=0) + 1
    flat = [number for column in columns for number in column]
    return Conditions(table.ravel(), np.array(flat, np.int64), np.array(code, np.int64), depth, tuple(arrays))
