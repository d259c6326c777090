"""The instructions of conditions that work on the top of a thread's stack."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.plan.conditions.condition_program import EQUAL, GREATER, LESS, Opcode

__all__ = ["arithmetic_functions"]

U, T, F = np.uint32, np.int64, np.float64
(
    TO_FLOAT,
    NEGATE_INT,
    NEGATE_FLOAT,
    ABSOLUTE_INT,
    ABSOLUTE_FLOAT,
    ADD_INT,
    ADD_FLOAT,
    SUBTRACT_INT,
    SUBTRACT_FLOAT,
    MULTIPLY_INT,
    MULTIPLY_FLOAT,
    DIVIDE_INT,
    DIVIDE_FLOAT,
    MODULO_INT,
    MODULO_FLOAT,
    COMPARE_INT,
    COMPARE_FLOAT,
    COMPARE_INT_FLOAT,
    MEMBER_INT,
    MEMBER_FLOAT,
    IS_NULL,
    NOT,
) = map(int, list(Opcode)[int(Opcode.TO_FLOAT) : int(Opcode.NOT) + 1])
TWO_63 = 2.0**63


@functools.cache
def arithmetic_functions(target: Target, word: Any) -> tuple[Any, Any, Any, Any]:
    """Device functions calculate, compare, join (of two elements) and change (of one); `word` finds a thread's words.

    The first element stands at `top`; that it is known stands `depth` words after it.
    """
    return (
        _calculate_function(target, word),
        _compare_function(target, word),
        _join_function(target, word),
        _change_function(target, word),
    )


def _calculate_function(target, word):
    @target.device
    def divide(a, b, opcode):
        """The quotient rounded towards 0, or the remainder with the sign of the dividend; b is not 0."""
        if b == T(-1):  # the least int by -1 overflows
            return T(-a) if opcode == U(DIVIDE_INT) else T(0)
        quotient = T(a // b)
        rest = T(a - T(quotient * b))
        if rest != T(0) and (rest < T(0)) != (a < T(0)):
            quotient, rest = T(quotient + T(1)), T(rest - b)
        return quotient if opcode == U(DIVIDE_INT) else rest

    @target.device
    def calculate_floats(a, b, opcode):
        if opcode == U(ADD_FLOAT):
            return F(a + b)
        if opcode == U(SUBTRACT_FLOAT):
            return F(a - b)
        if opcode == U(MULTIPLY_FLOAT):
            return F(a * b)
        if b == F(0.0):
            return F(0.0)
        if opcode == U(DIVIDE_FLOAT):
            return F(a / b)
        rest = F(a - a)  # 0, but for what is not finite
        return F(math.fmod(a, b)) if rest == F(0.0) else rest

    @target.device
    def calculate(top, depth, opcode, scratch):
        at, other = word(top), word(U(top + U(1)))
        known, other_known = word(U(top + depth)), word(U(U(top + depth) + U(1)))
        scratch.ints[known] = T(scratch.ints[known] & scratch.ints[other_known])
        a, b = scratch.ints[at], scratch.ints[other]
        if opcode == U(ADD_INT):
            scratch.ints[at] = T(a + b)
        elif opcode == U(SUBTRACT_INT):
            scratch.ints[at] = T(a - b)
        elif opcode == U(MULTIPLY_INT):
            scratch.ints[at] = T(a * b)
        elif opcode == U(DIVIDE_INT) or opcode == U(MODULO_INT):
            if b == T(0):
                scratch.ints[known] = T(0)
            else:
                scratch.ints[at] = divide(a, b, opcode)
        else:
            x, y = scratch.floats[at], scratch.floats[other]
            if y == F(0.0) and (opcode == U(DIVIDE_FLOAT) or opcode == U(MODULO_FLOAT)):
                scratch.ints[known] = T(0)
            scratch.floats[at] = calculate_floats(x, y, opcode)

    return calculate


def _compare_function(target, word):
    @target.device
    def signs_of_floats(a, b):
        if a < b:
            return U(LESS)
        return U(GREATER) if a > b else U(EQUAL)

    @target.device
    def signs_of_mixed(a, b):
        """An int and a float: the whole part decides, and then the rest."""
        if b >= F(-TWO_63) and b < F(TWO_63):
            whole = T(b)  # towards 0
            if F(whole) > b:
                whole = T(whole - T(1))
            if a < whole or (a == whole and b > F(whole)):
                return U(LESS)
            return U(GREATER) if a > whole else U(EQUAL)
        if b > F(0.0):
            return U(LESS)
        return U(GREATER) if b < F(0.0) else U(EQUAL)

    @target.device
    def compare(top, depth, opcode, signs, scratch):
        at, other = word(top), word(U(top + U(1)))
        known, other_known = word(U(top + depth)), word(U(U(top + depth) + U(1)))
        scratch.ints[known] = T(scratch.ints[known] & scratch.ints[other_known])
        a, b = scratch.ints[at], scratch.ints[other]
        if opcode == U(COMPARE_INT):
            sign = U(LESS) if a < b else (U(GREATER) if a > b else U(EQUAL))
        elif opcode == U(COMPARE_FLOAT):
            sign = signs_of_floats(scratch.floats[at], scratch.floats[other])
        else:
            sign = signs_of_mixed(a, scratch.floats[other])
        scratch.ints[at] = T(1) if U(signs & sign) != U(0) else T(0)

    return compare


def _join_function(target, word):
    @target.device
    def join(top, depth, is_or, scratch):
        """AND and OR of three truth values."""
        at, other = word(top), word(U(top + U(1)))
        known, other_known = word(U(top + depth)), word(U(U(top + depth) + U(1)))
        decided = T(1) if is_or else T(0)
        a_known, b_known = scratch.ints[known] != T(0), scratch.ints[other_known] != T(0)
        if (a_known and scratch.ints[at] == decided) or (b_known and scratch.ints[other] == decided):
            scratch.ints[at] = decided
            scratch.ints[known] = T(1)
        else:
            scratch.ints[at] = T(T(1) - decided)
            scratch.ints[known] = T(1) if a_known and b_known else T(0)

    return join


def _change_function(target, word):
    @target.device
    def member(values, begin, end, x):
        """Whether x is in a sorted list."""
        low, high = T(begin), T(end)
        while low < high:
            middle = T((low + high) >> T(1))
            if values[middle] < x:
                low = T(middle + T(1))
            else:
                high = middle
        return low < T(end) and values[low] == x

    @target.device
    def change(sh, record, top, operation, data, scratch):
        depth, opcode, operand = operation
        at, known = word(top), word(U(top + depth))
        if opcode == U(TO_FLOAT):
            scratch.floats[at] = F(scratch.ints[at])
        elif opcode == U(NEGATE_INT):
            scratch.ints[at] = T(-scratch.ints[at])
        elif opcode == U(NEGATE_FLOAT):
            scratch.floats[at] = F(-scratch.floats[at])
        elif opcode == U(ABSOLUTE_INT):
            if scratch.ints[at] < T(0):
                scratch.ints[at] = T(-scratch.ints[at])
        elif opcode == U(ABSOLUTE_FLOAT):
            scratch.floats[at] = F(abs(scratch.floats[at]))
        elif opcode == U(NOT):
            scratch.ints[at] = T(T(1) - scratch.ints[at])
        elif opcode == U(IS_NULL):
            scratch.ints[at] = T(T(1) - scratch.ints[known])
            scratch.ints[known] = T(1)
        else:
            lists = U(U(sh[U(record + U(f.LISTS))]) + U(operand * U(2)))
            begin, end = U(sh[lists]), U(sh[U(lists + U(1))])
            if opcode == U(MEMBER_INT):
                first = T(U(sh[U(record + U(f.INTS))]))
                found = member(data.ints, first + T(begin), first + T(end), scratch.ints[at])
            else:
                first = T(U(sh[U(record + U(f.FLOATS))]))
                found = member(data.floats, first + T(begin), first + T(end), scratch.floats[at])
            scratch.ints[at] = T(1) if found else T(0)

    return change
