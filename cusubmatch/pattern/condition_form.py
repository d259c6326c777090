"""Conditions of a pattern: checked, and brought into the one form in which patterns keep and compare them.

That form is the conjuncts of all that is asked, each once, in the order of their texts. `id(a) <> id(b)` of two
vertices is no condition but a pair of `Pattern.distinct`. `normal_form` goes further, for symmetry: it is the same for
expressions that differ only in the order of operands whose order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.elements import Element, element_named
from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    Expression,
    Literal,
    Membership,
    Negative,
    Or,
    Parameter,
    Property,
    VertexId,
    conjuncts,
    parts_of,
    rebuilt,
)
from cusubmatch.pattern.language.expression_text import expression_text

__all__ = ["elements_in", "merged_conditions", "normal_form", "parameters_of"]

OPERATORS = {Comparison: ("=", "<>", "<", "<=", ">", ">="), Arithmetic: ("+", "-", "*", "/", "%")}
MIRRORED = {">": "<", ">=": "<="}
LITERALS = (bool, int, float, str, type(None), np.datetime64, np.timedelta64)


def _check_expression(expression: Any, elements: Mapping[Hashable, Sequence[Element]]) -> None:
    """Refuse a tree that no text could say: it was made by hand."""
    if not isinstance(expression, Expression):
        raise TypeError(f"where: expected a text or an Expression, got {type(expression).__name__}")
    for part in parts_of(expression):
        if not isinstance(part, Expression):
            raise TypeError(f"where: {type(expression).__name__} is made of expressions, got {part!r}")
        if isinstance(part, (Comparison, Arithmetic)) and part.operator not in OPERATORS[type(part)]:
            expected = " ".join(OPERATORS[type(part)])
            raise PatternError(f"where: the operators of {type(part).__name__} are {expected}, got {part.operator!r}")
        if isinstance(part, (And, Or)) and not part.operands:
            raise PatternError(f"where: {type(part).__name__} has no operands")
        if isinstance(part, Literal):
            _check_literal(part.value)
        for name in _own_names(part):
            _check_name(name, elements, must_be_vertex=not isinstance(part, Property))


def _check_literal(value):
    if type(value) not in LITERALS:
        kinds = "bool, int, float, str, None, numpy.datetime64 or numpy.timedelta64"
        raise TypeError(f"where: a literal is a {kinds}, got {type(value).__name__}; or use a parameter")
    if isinstance(value, float) and not math.isfinite(value):
        raise PatternError(f"where: a literal is a finite number, got {value}")
    if isinstance(value, (np.datetime64, np.timedelta64)) and (
        np.isnat(value) or np.datetime_data(value.dtype) != ("ns", 1)
    ):
        raise PatternError(f"where: times and durations are in nanoseconds ('ns') and not NaT, got {value!r}")


def _check_name(name, elements, *, must_be_vertex):
    try:
        element = element_named(name, elements)
    except PatternError as error:
        raise PatternError(f"where: {error}") from None
    if must_be_vertex and element.kind != "vertex":
        raise PatternError(f"where: {name!r} is an edge; id() and negated edges take vertices")


def elements_in(conditions: Iterable[Expression]) -> frozenset[str]:
    """The names of the vertices and edges that some conditions name."""
    return frozenset(name for condition in conditions for part in parts_of(condition) for name in _own_names(part))


def _own_names(part):
    """The names that an expression itself names, its operands apart."""
    match part:
        case Property(name, _) | VertexId(name):
            return (name,)
        case Absent(source, target):
            return (source, target)
    return ()


def merged_conditions(
    conditions: Iterable[Expression], elements: Mapping[Hashable, Sequence[Element]]
) -> tuple[tuple[Expression, ...], list[tuple[int, int]]]:
    """All conditions, checked, as one tuple of conjuncts in order, and the vertices that they ask to differ."""
    texts, pairs = {}, []
    for condition in conditions:
        _check_expression(condition, elements)
        for part in conjuncts(rebuilt(condition, _simplified)):
            match part:
                case Comparison("<>", VertexId(a), VertexId(b)):
                    if a == b:
                        raise PatternError(f"where: id({a}) <> id({a}) is never true: {a!r} cannot differ from itself")
                    pairs.append((elements[a][0].index, elements[b][0].index))
                case _:
                    texts[expression_text(part)] = part
    return tuple(part for _, part in sorted(texts.items(), key=lambda item: item[0])), pairs


def _simplified(expression):
    """No conjunction inside a conjunction, no disjunction inside one, and signs of numbers inside the numbers."""
    match expression:
        case And(operands) | Or(operands):
            kind, flat = type(expression), []
            for operand in operands:
                flat += operand.operands if isinstance(operand, kind) else (operand,)
            return flat[0] if len(flat) == 1 else kind(tuple(flat))
        case Negative(Literal(int() | float() as value)) if not isinstance(value, bool):
            return Literal(-value)
    return expression


def normal_form(expression: Expression) -> Expression:
    """The same condition with operands in order where order does not matter, and comparisons that point one way."""
    return rebuilt(expression, _ordered)


def _ordered(expression):
    match expression:
        case Comparison(">" | ">=" as operator, left, right):
            return Comparison(MIRRORED[operator], right, left)
        case Comparison("=" | "<>", left, right) | Arithmetic("+" | "*", left, right):
            left, right = sorted((left, right), key=expression_text)
            return replace(expression, left=left, right=right)
        case Absolute(Arithmetic("-", left, right)):
            return Absolute(Arithmetic("-", *sorted((left, right), key=expression_text)))
        case And(operands) | Or(operands):
            return replace(expression, operands=tuple(sorted(operands, key=expression_text)))
        case Membership(operand, tuple() as values):
            return Membership(operand, tuple(sorted(set(values), key=expression_text)))
        case Absent(source, target, False, labels) if source > target:
            return Absent(target, source, False, labels)
    return expression


def parameters_of(conditions: Iterable[Expression]) -> tuple[str, ...]:
    """The names of the parameters in some conditions, in order."""
    return tuple(sorted({part.name for one in conditions for part in parts_of(one) if isinstance(part, Parameter)}))
