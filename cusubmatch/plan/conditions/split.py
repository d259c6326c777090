"""The conditions of a pattern, split by the vertices and edges that they name.

What concerns one vertex or one edge is decided before the search, by a mask; negated edges are forbidden relations;
what is left compares several vertices or edges of a match.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from cusubmatch.pattern.condition_form import normal_form
from cusubmatch.pattern.elements import Element
from cusubmatch.pattern.expressions import Absent, Expression, Property, VertexId, rebuilt
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.conditions.environment import Environment

__all__ = ["ElementConditions", "SplitConditions", "split_conditions"]


class ElementConditions(NamedTuple):
    """What a pattern asks of the image of one vertex, or of the row of one edge.

    Attributes
    ----------
    element : Element
    conditions : tuple of Expression
        All of them must be true.
    key : frozenset of str
        Equal for two elements of which the same is asked, however it is written.
    """

    element: Element
    conditions: tuple[Expression, ...]
    key: Hashable


class SplitConditions(NamedTuple):
    """The conditions of a pattern.

    Attributes
    ----------
    single : tuple of ElementConditions
        Of the elements that have conditions of their own.
    constant : tuple of Expression
        Conditions on parameters alone.
    absent : tuple of Absent
        Negated edges.
    across : tuple of Expression
        Conditions that name several elements.
    """

    single: tuple[ElementConditions, ...]
    constant: tuple[Expression, ...]
    absent: tuple[Absent, ...]
    across: tuple[Expression, ...]


def split_conditions(conditions: tuple[Expression, ...], environment: Environment) -> SplitConditions:
    """Split the conjuncts of a pattern."""
    single: dict[Element, list[Expression]] = {}
    constant: list[Expression] = []
    absent: list[Absent] = []
    across: list[Expression] = []
    for condition in conditions:
        elements = environment.elements_in(condition)
        if isinstance(condition, Absent):
            absent.append(condition)
        elif len(elements) == 1:
            single.setdefault(next(iter(elements)), []).append(condition)
        else:
            (across if elements else constant).append(condition)
    return SplitConditions(
        tuple(
            ElementConditions(element, tuple(found), frozenset(map(_nameless, found)))
            for element, found in single.items()
        ),
        tuple(constant),
        tuple(absent),
        tuple(across),
    )


def _nameless(condition):
    """The text of a condition on one element, without the name of it and in one order of its operands."""

    def renamed(part):
        match part:
            case Property(_, column):
                return Property("_", column)
            case VertexId():
                return VertexId("_")
        return part

    return expression_text(normal_form(rebuilt(condition, renamed)))
