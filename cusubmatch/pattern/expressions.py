"""Expressions: what WHERE asks of one match, as a tree of values.

A subset of openCypher's and GQL's expressions. Nothing here knows of dataframes: a `Property` names a vertex or an edge
of the pattern and a column, and what type that column has is found when the expression meets a graph. Values are
compared as SQL does, with three truth values; a match is kept where the whole is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

__all__ = [
    "Absent",
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
    "rebuilt",
]


class Expression:
    """A node of the tree: a frozen value, equal to another one that says the same."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that this one is made of."""
        return ()


class OfOne(Expression):
    """An expression of one operand."""

    __slots__ = ()
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)


class OfTwo(Expression):
    """An expression of a left and a right operand."""

    __slots__ = ()
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


class OfSeveral(Expression):
    """An expression of two or more operands."""

    __slots__ = ()
    operands: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A value: bool, int, float, str, None, numpy.datetime64 or numpy.timedelta64 (both in nanoseconds).

    Values of different types are different literals, though Python says that 1 == 1.0 == True.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self):
        return type(self.value), repr(self.value)


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
class Negative(OfOne):
    """`-operand`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Absolute(OfOne):
    """`abs(operand)`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(OfTwo):
    """`left operator right`; the operator is one of + - * / %."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(OfTwo):
    """`left operator right`; the operator is one of = <> < <= > >=. A chain is an `And` of comparisons."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Membership(Expression):
    """`operand IN [values]`, or `operand IN $parameter`, whose value is a list."""

    operand: Expression
    values: tuple[Expression, ...] | Parameter

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand, *(self.values if isinstance(self.values, tuple) else (self.values,)))


@dataclass(frozen=True, slots=True)
class IsNull(OfOne):
    """`operand IS NULL`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class StartsWith(Expression):
    """`operand STARTS WITH prefix`."""

    operand: Expression
    prefix: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand, self.prefix)


@dataclass(frozen=True, slots=True)
class Not(OfOne):
    """`NOT operand`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And(OfSeveral):
    """`operand AND operand AND ...`, two or more of them, none of which is an `And`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(OfSeveral):
    """`operand OR operand OR ...`, two or more of them, none of which is an `Or`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Absent(Expression):
    """`NOT (source)-[:labels]->(target)`: no such edge joins two vertices of the match. It is never unknown.

    `labels` None: no edge of any label. Not `directed`: none in either direction.
    """

    source: str
    target: str
    directed: bool
    labels: frozenset | None


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


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same tree with each node replaced by `change(node)`, the inner ones first."""

    def inside(value):
        if isinstance(value, Expression):
            return rebuilt(value, change)
        return tuple(map(inside, value)) if isinstance(value, tuple) else value

    values = (inside(getattr(expression, field.name)) for field in fields(expression))  # type: ignore[arg-type]
    return change(type(expression)(*values))
