"""Expressions from parse trees: what a text says after WHERE, between braces, or as the argument `where=`.

Names, functions and values are checked here, because the parse tree knows where in the text they are.
"""

from __future__ import annotations

from itertools import pairwise

from cusubmatch.errors import PatternError
from cusubmatch.pattern.elements import element_named, generated_name
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
from cusubmatch.pattern.language.literals import duration_value, number_value, string_value, time_value
from cusubmatch.pattern.language.names import quoted_value
from cusubmatch.pattern.language.syntax_errors import mark

__all__ = ["ExpressionReader"]

MAX_DEPTH = 100
FUNCTIONS = ("abs", "id", "date", "datetime", "duration")
AGGREGATES = ("count", "sum", "avg", "min", "max", "collect", "stdev")


class ExpressionReader:
    """Makes expressions of the parse trees of one text.

    Parameters
    ----------
    text : str
    argument : str
        What errors call the text.
    elements : mapping of name to list of Element
        The vertices and edges that conditions can name.
    """

    def __init__(self, text, argument, elements):
        self.text = text
        self.argument = argument
        self.elements = elements
        self.depth = 0

    def read(self, node) -> Expression:
        """The expression of a parse tree."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._refuse(node, f"conditions are nested deeper than {MAX_DEPTH} levels")
        expression = getattr(self, f"_{node.data}")(node)
        self.depth -= 1
        return expression

    def _refuse(self, node, problem):
        position = node.start_pos if hasattr(node, "start_pos") else getattr(node.meta, "start_pos", 0)
        raise PatternError(mark(self.text, position, problem, self.argument)) from None

    def _element(self, node, hint=""):
        """The element that a `variable` names, and the name."""
        name = quoted_value(str(node.children[0]))
        try:
            element = element_named(name, self.elements)
        except PatternError as error:
            self._refuse(node, f"{error}{hint}")
        if name == generated_name(element):
            self._refuse(node, f"{name!r} is kept for an anonymous {element.kind}; name it")
        return element, name

    def _vertex_name(self, node, where):
        element, name = self._element(node)
        if element.kind != "vertex":
            self._refuse(node, f"{name!r} is an edge; {where} takes a vertex")
        return name

    # Truth

    def _disjunction(self, node):
        return Or(tuple(map(self.read, node.children)))

    def _conjunction(self, node):
        return And(tuple(map(self.read, node.children)))

    def _negated(self, node):
        (operand,) = node.children
        return self._absent(operand) if operand.data == "path" else Not(self.read(operand))

    def _comparison(self, node):
        operands = [self._comparand(child, node) for child in node.children[::2]]
        links = [
            Comparison(str(operator), left, right)
            for operator, (left, right) in zip(node.children[1::2], pairwise(operands), strict=True)
        ]
        return links[0] if len(links) == 1 else And(tuple(links))

    def _comparand(self, node, comparison):
        if node.data != "identity":
            return self.read(node)
        element, name = self._element(node.children[0], "; a column is written with one of them, as in a.amount")
        plain = all(child.data == "identity" for child in comparison.children[::2])
        if element.kind == "edge" or not plain or not {"=", "<>"}.issuperset(comparison.children[1::2]):
            own = " or id() of a vertex" if element.kind == "vertex" else ""
            self._refuse(node, f"{name!r} is a{'n edge' if own == '' else ' vertex'}; compare a column of it{own}")
        return VertexId(name)

    def _membership(self, node):
        operand, values = node.children
        if values.data == "parameter":
            return Membership(self.read(operand), self.read(values))
        return Membership(self.read(operand), tuple(map(self.read, values.children)))

    def _no_membership(self, node):
        return Not(self._membership(node))

    def _is_null(self, node):
        return IsNull(self.read(node.children[0]))

    def _is_not_null(self, node):
        return Not(self._is_null(node))

    def _starts_with(self, node):
        return StartsWith(*map(self.read, node.children))

    def _path(self, node):
        self._refuse(
            node,
            "an edge in a condition must be negated, as in NOT (a)-->(b); one that must be there belongs before WHERE",
        )

    def _exists(self, node):
        self._refuse(node, "EXISTS {...} stands by itself or after NOT, joined to other conditions by AND")

    def _absent(self, node):
        """No edge, or of a path some edge missing, between vertices of the match."""
        names = [self._plain_vertex(vertex) for vertex in node.children[::2]]
        missing = []
        for edge, (left, right) in zip(node.children[1::2], pairwise(names), strict=True):
            labels = None
            for part in [part for child in edge.children for part in child.children]:
                if getattr(part, "data", None) != "label_part":
                    self._refuse(part, "an edge after NOT has neither name, properties nor lengths")
                labels = frozenset(quoted_value(str(label.children[0])) for label in part.children)
            source, target = (right, left) if edge.data == "left" else (left, right)
            missing.append(Absent(source, target, edge.data != "either", labels))
        return missing[0] if len(missing) == 1 else Or(tuple(missing))

    def _plain_vertex(self, vertex):
        if [part.data for part in vertex.children] != ["variable"]:
            problem = "the vertices of an edge after NOT are those of the pattern, by name alone, as in NOT (a)-->(b)"
            self._refuse(vertex, problem)
        return self._vertex_name(vertex.children[0], "an edge")

    # Values

    def _sum(self, node):
        """From left to right, as every chain of operators of equal rank."""
        first, *rest = node.children
        operators, operands = rest[::2], rest[1::2]
        self.depth += len(operators)
        value = self.read(first)
        for operator, operand in zip(operators, operands, strict=True):
            value = Arithmetic(str(operator), value, self.read(operand))
        self.depth -= len(operators)
        return value

    _product = _sum

    def _negative(self, node):
        return Negative(self.read(node.children[1]))

    def _property(self, node):
        variable, column = node.children
        _, name = self._element(variable)
        return Property(name, quoted_value(str(column.children[0])))

    def _function(self, node):
        word, *arguments = node.children
        name = word.lower()
        if name in AGGREGATES:
            self._refuse(word, f"{word}() is an aggregate; count_matches counts, count_by counts by vertices")
        if name not in FUNCTIONS:
            self._refuse(word, f"there is no function {word}(); the functions are {', '.join(FUNCTIONS)}")
        if len(arguments) != 1 or not hasattr(arguments[0], "data"):
            self._refuse(word, f"{name}() takes one argument")
        return getattr(self, f"_call_{name}")(*arguments)

    def _call_abs(self, argument):
        return Absolute(self.read(argument))

    def _call_id(self, argument):
        if argument.data != "variable":
            self._refuse(argument, "id() takes the name of a vertex, as in id(a)")
        return VertexId(self._vertex_name(argument, "id()"))

    def _variable(self, node):
        _, name = self._element(node)
        self._refuse(node, f"{name!r} stands for a whole vertex or edge; name a column of it, as in {name}.amount")

    def _call_date(self, argument):
        return self._constant("date", argument, lambda text: time_value(text, only_date=True))

    def _call_datetime(self, argument):
        return self._constant("datetime", argument, time_value)

    def _call_duration(self, argument):
        return self._constant("duration", argument, duration_value)

    def _constant(self, name, argument, value_of):
        if argument.data != "string":
            self._refuse(argument, f"{name}() takes a text in quotes; give other values as parameters, such as $since")
        return Literal(self._value(argument, lambda text: value_of(string_value(text))))

    def _value(self, node, value_of):
        try:
            return value_of(str(node.children[0]))
        except ValueError as error:
            self._refuse(node, str(error))

    def _parameter(self, node):
        return Parameter(quoted_value(node.children[0][1:]))

    def _number(self, node):
        return Literal(self._value(node, number_value))

    def _string(self, node):
        return Literal(self._value(node, string_value))

    def _true(self, _node):
        return Literal(True)

    def _false(self, _node):
        return Literal(False)

    def _null(self, _node):
        return Literal(None)
