"""The text of an expression, with the parentheses that it needs and no others: parsed again it gives an equal tree."""

from __future__ import annotations

from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Membership,
    Negative,
    Not,
    Or,
    Parameter,
    Property,
    StartsWith,
    VertexId,
)
from cusubmatch.pattern.language.literals import literal_text
from cusubmatch.pattern.language.names import edge_text, name_text

__all__ = ["expression_text", "value_text"]

# How tightly the outermost operator binds.
OR, AND, NOT, PREDICATE, SUM, PRODUCT, ATOM = range(7)


def expression_text(expression: Expression) -> str:
    """The text of an expression."""
    return _text_and_binding(expression)[0]


def value_text(expression: Expression) -> str:
    """The text of an expression where a value is wanted, as between braces."""
    return _inside(expression, SUM)


def _inside(expression, least):
    """The text of an operand, in parentheses if it binds less tightly than `least`."""
    text, binding = _text_and_binding(expression)
    return text if binding >= least else f"({text})"


def _text_and_binding(expression):
    match expression:
        case Literal(value):
            return literal_text(value), ATOM
        case Parameter(name):
            return f"${name_text(name)}", ATOM
        case Property(element, column):
            return f"{_name(element)}.{name_text(column)}", ATOM
        case VertexId(element):
            return f"id({_name(element)})", ATOM
        case Absolute(operand):
            return f"abs({expression_text(operand)})", ATOM
        case Negative(operand):
            return f"-{_inside(operand, ATOM)}", ATOM
        case Arithmetic(operator, left, right):
            binding = SUM if operator in "+-" else PRODUCT
            return f"{_inside(left, binding)} {operator} {_inside(right, binding + 1)}", binding
        case Comparison(operator, left, right):
            return f"{_inside(left, SUM)} {operator} {_inside(right, SUM)}", PREDICATE
        case Not(Membership(operand, values)):
            return f"{_inside(operand, SUM)} NOT IN {_values_text(values)}", PREDICATE
        case Membership(operand, values):
            return f"{_inside(operand, SUM)} IN {_values_text(values)}", PREDICATE
        case Not(IsNull(operand)):
            return f"{_inside(operand, SUM)} IS NOT NULL", PREDICATE
        case IsNull(operand):
            return f"{_inside(operand, SUM)} IS NULL", PREDICATE
        case StartsWith(operand, prefix):
            return f"{_inside(operand, SUM)} STARTS WITH {_inside(prefix, SUM)}", PREDICATE
        case Absent(source, target, directed, labels):
            return f"NOT ({_name(source)}){edge_text(directed, labels)}({_name(target)})", NOT
        case Not(operand):
            return f"NOT {_inside(operand, NOT)}", NOT
        case And(operands):
            return " AND ".join(_inside(operand, NOT) for operand in operands), AND
        case Or(operands):
            return " OR ".join(_inside(operand, AND) for operand in operands), OR
    raise TypeError(f"expression: expected an Expression, got {type(expression).__name__}")


def _values_text(values):
    if isinstance(values, Parameter):
        return expression_text(values)
    return f"[{', '.join(_inside(value, SUM) for value in values)}]"


def _name(name):
    return name_text(name, strict=True)
