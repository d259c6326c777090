"""Arithmetic in conditions: which kinds an operator takes, and the code of it.

Numbers are of the widest kind among them: integers, decimals, floats. Of two times the difference is a duration, and a
duration may be added to a time, multiplied or divided.
"""

from __future__ import annotations

from cusubmatch.errors import PatternError
from cusubmatch.pattern.expressions import Arithmetic, Expression
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.conditions.condition_program import Opcode
from cusubmatch.plan.conditions.constants import Constant, exact_decimal
from cusubmatch.plan.conditions.operands import NUMBERS, Operand, Pools

__all__ = ["a_kind", "arithmetic", "exact", "mismatch", "signed"]

INT_OPCODES = {
    "+": Opcode.ADD_INT,
    "-": Opcode.SUBTRACT_INT,
    "*": Opcode.MULTIPLY_INT,
    "/": Opcode.DIVIDE_INT,
    "%": Opcode.MODULO_INT,
}
FLOAT_OPCODES = {
    "+": Opcode.ADD_FLOAT,
    "-": Opcode.SUBTRACT_FLOAT,
    "*": Opcode.MULTIPLY_FLOAT,
    "/": Opcode.DIVIDE_FLOAT,
    "%": Opcode.MODULO_FLOAT,
}
# The kind of the result where times and durations take part, and numbers beside them are integers.
TEMPORAL = {
    ("time", "-", "time"): "duration",
    ("time", "+", "duration"): "time",
    ("duration", "+", "time"): "time",
    ("time", "-", "duration"): "time",
    ("duration", "+", "duration"): "duration",
    ("duration", "-", "duration"): "duration",
    ("duration", "*", "integer"): "duration",
    ("integer", "*", "duration"): "duration",
    ("duration", "/", "integer"): "duration",
    ("duration", "%", "duration"): "duration",
    ("duration", "/", "duration"): "float",
}
FOLDED = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
HINTS = {
    frozenset(["text", "time"]): "; write date('2024-05-31') or datetime('2024-05-31T09:30:00'), or give a parameter",
    frozenset(["text", "duration"]): "; write duration('P30D'), or give a timedelta as a parameter",
    frozenset(
        ["integer", "duration"]
    ): "; write duration('P30D') where times are dates, a number where they are numbers",
    frozenset(["integer", "time"]): "; write date('2024-05-31') where times are dates, a number where they are numbers",
}


def arithmetic(pools: Pools, expression: Arithmetic, left: Operand, right: Operand) -> Operand:
    """The operand that an operator makes of two."""
    operator = expression.operator
    if "null" in (left.kind, right.kind):
        return Operand("null", 0, ((Opcode.PUSH_NULL, 0),))
    if left.kind in NUMBERS and right.kind in NUMBERS:
        return _of_numbers(pools, operator, left, right)
    kind = TEMPORAL.get((left.kind, operator, right.kind))
    if kind is None:
        raise mismatch(expression, left, right)
    if kind == "float":
        return Operand("float", 0, (*pools.as_float(left), *pools.as_float(right), (Opcode.DIVIDE_FLOAT, 0)))
    return _of_ints(pools, operator, kind, left, right)


def signed(pools: Pools, expression: Expression, operand: Operand, *, absolute: bool) -> Operand:
    """An operand with the other sign, or without one."""
    if operand.kind == "null":
        return operand
    if operand.kind not in (*NUMBERS, "duration"):
        raise PatternError(
            f"pattern: {expression_text(expression)}: expected a number or a duration, got a {operand.kind}"
        )
    constant = operand.constant
    if constant is not None:
        value = abs(constant.value) if absolute else -constant.value
        return Operand.of_constant(constant._replace(value=value))
    floats = operand.kind == "float"
    if absolute:
        opcode = Opcode.ABSOLUTE_FLOAT if floats else Opcode.ABSOLUTE_INT
    else:
        opcode = Opcode.NEGATE_FLOAT if floats else Opcode.NEGATE_INT
    return Operand(operand.kind, operand.scale, (*pools.code_of(operand), (opcode, 0)))


def a_kind(operand: Operand) -> str:
    """The kind of an operand, with its article."""
    return f"{'an' if operand.kind[0] in 'aeiou' else 'a'} {operand.kind}"


def mismatch(expression: Expression, left: Operand, right: Operand) -> PatternError:
    """The error for two kinds that have nothing to do with each other."""
    kinds = {left.kind, right.kind}
    hint = HINTS.get(frozenset(kinds), "")
    if "text" in kinds and not hint:
        hint = "; texts are compared with texts, such as 'x', and not calculated with"
    elif kinds == {"time"}:
        hint = "; of two times there is only the difference, a duration"
    return PatternError(
        f"pattern: {expression_text(expression)}: the one side is {a_kind(left)}, the other {a_kind(right)}{hint}"
    )


def exact(number: Operand, other: Operand) -> Operand:
    """A number as it is beside another one: a constant float beside a decimal is the decimal that it prints as."""
    constant = number.constant
    if constant is not None and constant.kind == "float" and other.kind == "decimal":
        return Operand.of_constant(exact_decimal(constant.value))
    return number


def _of_numbers(pools, operator, left, right):
    left, right = exact(left, right), exact(right, left)
    decimals = "decimal" in (left.kind, right.kind)
    scale = max(left.scale, right.scale)
    inexact = operator != "*" and not (pools.can_scale(left, scale) and pools.can_scale(right, scale))
    if "float" in (left.kind, right.kind) or (decimals and (inexact or operator == "/")):
        code = (*pools.as_float(left), *pools.as_float(right), (FLOAT_OPCODES[operator], 0))
        return Operand("float", 0, code)
    if not decimals:
        return _of_ints(pools, operator, "integer", left, right)
    if operator == "*":
        code = (*pools.code_of(left), *pools.code_of(right), (Opcode.MULTIPLY_INT, 0))
        return Operand("decimal", left.scale + right.scale, code)
    code = (*pools.scaled(left, scale), *pools.scaled(right, scale), (INT_OPCODES[operator], 0))
    return Operand("decimal", scale, code)


def _of_ints(pools, operator, kind, left, right):
    if left.constant is not None and right.constant is not None and operator in FOLDED:
        return Operand.of_constant(Constant(kind, FOLDED[operator](left.constant.value, right.constant.value)))
    return Operand(kind, 0, (*pools.code_of(left), *pools.code_of(right), (INT_OPCODES[operator], 0)))
