"""The conditions of a pattern as points of its coloured graph.

One point for each expression in their trees, coloured by what it says and joined to its operands and to the vertices
and edges that it names. Operands whose order does not matter have the same code. So symmetry is decided by how
conditions are written, after `normal_form`: what is symmetric only by arithmetic is not seen.
"""

from __future__ import annotations

from cusubmatch.pattern.condition_form import normal_form
from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    Expression,
    Literal,
    Membership,
    Or,
    Parameter,
    Property,
    VertexId,
)

__all__ = ["ConditionPoints"]


class ConditionPoints:
    """Adds the conditions of a pattern to a coloured graph.

    Parameters
    ----------
    graph : ColouredGraph
    point_of : callable
        point_of(name) is the point of a vertex or edge.
    """

    def __init__(self, graph, point_of):
        self.graph = graph
        self.point_of = point_of
        self.points: dict[Expression, int] = {}

    def add(self, conditions):
        """Add the points of all conditions."""
        for condition in dict.fromkeys(map(normal_form, conditions)):
            self.graph.join(self.graph.new_point("condition"), self._point(condition), ("holds",))

    def _point(self, expression):
        """The point of an expression in normal form; equal expressions share one."""
        if expression not in self.points:
            self.points[expression] = self._expression_point(expression)
        return self.points[expression]

    def _expression_point(self, expression):
        kind = type(expression).__name__
        match expression:
            case Literal(value):
                return self.graph.new_point(kind, type(value).__name__, repr(value))
            case Parameter(name):
                return self.graph.new_point(kind, name)
            case Property(element, column):
                point = self.graph.new_point(kind, column)
                self.graph.join(point, self.point_of(element), ("of",))
                return point
            case VertexId(element):
                point = self.graph.new_point(kind)
                self.graph.join(point, self.point_of(element), ("of",))
                return point
            case Absent(source, target, directed, labels):
                point = self.graph.new_point(kind, directed, self.graph.numbered(labels))
                self.graph.join_ends(point, self.point_of(source), self.point_of(target), directed)
                return point
        swapped_too, operands = _unordered(expression), expression.parts
        if swapped_too and isinstance(expression, Absolute):
            kind, operands = "distance", expression.operand.parts
        point = self.graph.new_point(kind, getattr(expression, "operator", None))
        for place, operand in enumerate(operands):
            among = isinstance(expression, Membership) and place > 0  # the values of a list
            self.graph.join(point, self._point(operand), ("operand", None if swapped_too or among else place))
        return point


def _unordered(expression):
    """Whether the operands of an expression can be exchanged."""
    match expression:
        case And() | Or() | Comparison("=" | "<>") | Arithmetic("+" | "*") | Absolute(Arithmetic("-")):
            return True
    return False
