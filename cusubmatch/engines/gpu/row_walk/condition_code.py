"""Conditions as the walker reads them: code as words of its program, constants and columns as arrays of the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.plan.rows.row_plan import RowCondition

__all__ = ["ConditionTable", "column_places", "encode_conditions"]


class ConditionTable(NamedTuple):
    """The conditions of a pattern.

    Attributes
    ----------
    programs : list of (code, (ints, floats, lists), columns)
        Pairs of opcode and operand; where constants begin, and the bounds of lists, in the arrays below; and for each
        column its element, where its values begin, and where its mask does.
    ints, floats : int64 and float64 arrays of the device
        Constants, and values of columns.
    valid : uint8 array of the device
        Masks.
    depth : int
        Elements that the stack holds at most.
    """

    programs: list
    ints: Any
    floats: Any
    valid: Any
    depth: int


def encode_conditions(
    xp: Any, conditions: Sequence[RowCondition], placed: Callable[[np.ndarray, Any], Any]
) -> ConditionTable:
    """The conditions of a plan.

    Parameters
    ----------
    xp : module
    conditions : sequence of RowCondition
    placed : callable (array, dtype) -> array
        The array of a column on the device, kept from the last time.
    """
    arrays: dict[str, _Joined] = {kind: _Joined() for kind in ("int", "float", "valid")}
    programs = []
    for condition in conditions:
        program = condition.program
        ints, floats = arrays["int"].add(xp.asarray(program.ints)), arrays["float"].add(xp.asarray(program.floats))
        columns = []
        for element, values, valid in program.columns:
            kind = "float" if np.asarray(values).dtype.kind == "f" else "int"
            at = arrays[kind].add(placed(values, np.float64 if kind == "float" else np.int64))
            mask = f.ALL_VALID if valid is None else arrays["valid"].add(placed(valid, np.uint8))
            columns.append((program.elements[element], at, mask))
        code = [int(number) for number in program.code.ravel()]
        programs.append((code, (ints, floats, [int(number) for number in program.lists]), columns))
    depth = max((condition.program.depth for condition in conditions), default=0) + 1
    ints = arrays["int"].joined(xp, np.int64)
    floats = arrays["float"].joined(xp, np.float64)
    return ConditionTable(programs, ints, floats, arrays["valid"].joined(xp, np.uint8), depth)


class _Joined:
    """Arrays one after the other; one that is there already is not repeated."""

    def __init__(self):
        self._arrays, self._places, self._size = [], {}, 0

    def add(self, array) -> int:
        """Where the array begins."""
        if id(array) not in self._places:
            self._places[id(array)] = self._size
            self._arrays.append(array)
            self._size += len(array)
        return self._places[id(array)]

    def joined(self, xp, dtype):
        arrays = [array.astype(dtype, copy=False) for array in self._arrays]
        if not self._size:
            return xp.zeros(1, dtype)
        return arrays[0] if len(arrays) == 1 else xp.concatenate(arrays)


def column_places(
    columns: Sequence[Any], number: Mapping[int, int], level: Mapping[int, int], searched: Sequence[int]
) -> list[int]:
    """The words that say where columns are read: at a vertex, at the row of a level, or at a searched edge's."""
    words: list[int] = []
    for (kind, index), values, valid in columns:
        if kind == "vertex":
            words += [f.AT_VERTEX, number[index]]
        elif index in searched:
            words += [f.AT_SEARCHED, list(searched).index(index)]
        else:
            words += [f.AT_ROW, level[index]]
        words += [values, valid]
    return words
