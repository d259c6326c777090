"""Expressions: what WHERE asks of one match, as a tree of values.

A subset of openCypher's and GQL's expressions. Nothing here knows of dataframes: a `Property` names a vertex or an edge
of the pattern and a column, and what type that column has is found when the expression meets a graph. Values are
compared as SQL does, with three truth values; a match is kept where the whole is true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Absolute",
    "And",
    "Arithmetic",
    "Comparison",
    "Expression",
    "IsNull",
    "Literal",
    "Membership",
    "Negative",
    "Not",
    "Or",
    "Parameter",
    "Property",
    "StartsWith",
    "VertexId",
    "conjuncts",
    "parts_of",
]


class Expression:
    """A node of the tree: a frozen value, equal to another one that says the same."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that this one is made of."""
        return ()


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A value: bool, int, float, str, None, numpy.datetime64 or numpy.timedelta64 (both in nanoseconds)."""

    value: Any


@dataclass(frozen=True, slots=True)
class Parameter(Expression):
    """`$name`: a value that each call gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Property(Expression):
    """`element.column`: a column of the vertex table or of the edge table, at a vertex or edge of the pattern."""

    element: str
    column: str


@dataclass(frozen=True, slots=True)
class VertexId(Expression):
    """`id(element)`: the id of a vertex, as the edge table has it."""

    element: str


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    """`-operand`."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Absolute(Expression):
    """`abs(operand)`."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`left operator right`; the operator is one of + - * / %."""

    operator: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """`left operator right`; the operator is one of = <> < <= > >=. A chain is an `And` of comparisons."""

    operator: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Membership(Expression):
    """`operand IN [values]`, or `operand IN $parameter`, whose value is a list."""

    operand: Expression
    values: tuple[Expression, ...] | Parameter

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand, *(self.values if isinstance(self.values, tuple) else (self.values,)))


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """`operand IS NULL`."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class StartsWith(Expression):
    """`operand STARTS WITH prefix`."""

    operand: Expression
    prefix: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand, self.prefix)


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """`NOT operand`."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class And(Expression):
    """`operand AND operand AND ...`, two or more of them, none of which is an `And`."""

    operands: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """`operand OR operand OR ...`, two or more of them, none of which is an `Or`."""

    operands: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands


def conjuncts(expression: Expression | None) -> tuple[Expression, ...]:
    """The expressions that must all be true for one to be true."""
    if expression is None:
        return ()
    return expression.operands if isinstance(expression, And) else (expression,)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of, the outer ones first."""
    yield expression
    for part in expression.parts:
        yield from parts_of(part)
