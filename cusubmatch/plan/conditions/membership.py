"""`IN`: a list of constants as sorted numbers that a program looks values up in.

Values of a list that cannot be equal to any of the operand, such as 1.5 among integers, are left out. A null in the
list makes the condition unknown where no other value of it is equal.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from cusubmatch.frames import TypedColumn
from cusubmatch.pattern.expressions import Expression, Membership, Parameter
from cusubmatch.plan.conditions.arithmetic import mismatch
from cusubmatch.plan.conditions.condition_program import Opcode
from cusubmatch.plan.conditions.constants import INT64, Constant, exact_decimal, list_of
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.operands import NUMBERS, Operand, Pools

__all__ = ["membership"]


class _Compiler(Protocol):
    environment: Environment
    pools: Pools

    def operand(self, expression: Expression) -> Operand: ...

    def comparison(self, expression: Expression, operator: str, left: Operand, right: Operand) -> Any: ...


def membership(compiler: _Compiler, expression: Membership, operand: Operand, values: Any) -> tuple:
    """The code of a membership."""
    pools, computed, has_null = compiler.pools, [], False
    if isinstance(values, Parameter):
        constants, column = _parameter(compiler.environment, values.name)
    else:
        members = [compiler.operand(value) for value in values]
        constants, column = [member.constant for member in members if member.constant is not None], None
        computed = [member for member in members if member.constant is None]
    if not constants and not computed and (column is None or not len(column.values)):
        return (pools.push_int(0),)  # nothing is in an empty list, not even perhaps
    if operand.kind == "null":
        return ((Opcode.PUSH_NULL, 0),)
    if column is not None and column.kind == operand.kind and column.kind not in ("text", "decimal"):
        wanted, has_null = _known(column), column.valid is not None
    else:
        constants = constants if column is None else _constants(column)
        has_null = any(constant.kind == "null" for constant in constants)
        constants = [constant for constant in constants if constant.kind != "null"]
        for constant in constants:
            if constant.kind != operand.kind and not {constant.kind, operand.kind} <= {*NUMBERS}:
                raise mismatch(expression, operand, Operand.of_constant(constant))
        wanted = _equal_numbers(operand, constants)
    if operand.constant is not None:  # a constant is compared one by one
        computed = [Operand.of_constant(constant) for constant in constants] + computed
        code: tuple = (pools.push_int(0),)
    else:
        code = (*operand.code, pools.member(wanted, operand.kind == "float"))
    for member in computed:
        code = (*code, *compiler.comparison(expression, "=", operand, member), (Opcode.OR, 0))
    return (*code, (Opcode.PUSH_NULL, 0), (Opcode.OR, 0)) if has_null else code


def _parameter(environment, name):
    try:
        return list_of(environment.parameter(name))
    except (TypeError, ValueError) as error:
        raise TypeError(f"params: {name}: {error}") from None


def _known(column: TypedColumn) -> np.ndarray:
    values = column.values if column.valid is None else column.values[column.valid]
    return values if isinstance(values, np.ndarray) else values.get()


def _constants(column):
    """The values of a column, each once."""
    constants = [
        Constant(column.kind, column.texts[value] if column.texts else value, column.scale)
        for value in np.unique(_known(column)).tolist()
    ]
    return constants if column.valid is None else [*constants, Constant("null", None)]


def _equal_numbers(operand, constants):
    """The numbers that the operand has where it is equal to one of the constants."""
    if operand.kind == "text" and operand.column is not None:
        place = {text: number for number, text in enumerate(operand.column.texts)}
        return [place[constant.value] for constant in constants if constant.value in place]
    if operand.kind == "float":
        values = [(constant.value, 10**constant.scale) for constant in constants]
        return [value / unit for value, unit in values if unit > 1 or float(value) == value]
    if operand.kind in ("integer", "decimal"):
        unscaled = [_unscaled(constant, operand.scale) for constant in constants]
        return [value for value in unscaled if value is not None and value in INT64]
    return [constant.value for constant in constants if operand.kind != "text"]


def _unscaled(constant, scale):
    """A number as one of 10**-scale; None if it is no whole number of them."""
    if constant.kind == "float":
        constant = exact_decimal(constant.value)
        if constant.kind == "float":
            return None
    factor = 10 ** max(scale - constant.scale, 0)
    whole, rest = divmod(constant.value * factor, 10 ** max(constant.scale - scale, 0))
    return None if rest else whole
