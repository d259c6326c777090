"""What the names in a condition mean: columns of a graph, and the parameters of a call."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from cusubmatch.errors import PatternError
from cusubmatch.frames import TypedColumn
from cusubmatch.graph import Graph
from cusubmatch.graph.properties import edge_column, edge_columns, id_column, vertex_column, vertex_columns
from cusubmatch.pattern.elements import Element, element_named
from cusubmatch.pattern.expressions import Expression, Property, VertexId, parts_of

__all__ = ["Environment", "check_parameters"]


class Environment:
    """A graph, the elements of a pattern, and parameters.

    Parameters
    ----------
    graph : Graph
        Where the columns are wanted.
    elements : mapping of name to elements
        As `elements_of` gives them.
    parameters : mapping of str to value
    """

    def __init__(self, graph: Graph, elements: Mapping[Hashable, Sequence[Element]], parameters: Mapping[str, Any]):
        self.graph, self._elements, self._parameters = graph, elements, parameters

    def column(self, leaf: Property | VertexId) -> tuple[Element, TypedColumn]:
        """The element and the column that a leaf of an expression names."""
        element = element_named(leaf.element, self._elements)
        if isinstance(leaf, VertexId):
            return element, id_column(self.graph)
        if element.kind == "edge":
            _check_column(leaf, edge_columns(self.graph), "edge table")
            return element, edge_column(self.graph, leaf.column)
        names = vertex_columns(self.graph)
        if names is None:
            raise PatternError(
                f"pattern: {leaf.element}.{leaf.column} is a property of a vertex, and the graph has no table of "
                "vertices; build it with vertices="
            )
        _check_column(leaf, names, "vertex table")
        return element, vertex_column(self.graph, leaf.column)

    def parameter(self, name: str) -> Any:
        """The value of a parameter."""
        return self._parameters[name]

    def elements_in(self, expression: Expression) -> frozenset[Element]:
        """The vertices and edges whose columns an expression reads."""
        leaves = (part for part in parts_of(expression) if isinstance(part, (Property, VertexId)))
        return frozenset(element_named(leaf.element, self._elements) for leaf in leaves)


def check_parameters(names: Iterable[str], parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of a call, which are those that a pattern asks for by these names."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"params: expected a mapping of names to values, got {type(parameters).__name__}")
    given = dict(parameters or {})
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"params: expected names as text, without $, got {name!r}")
    wanted = set(names)
    if missing := sorted(wanted - set(given)):
        came = f"got {sorted(given)}" if given else "got none"
        raise PatternError(
            f"params: the pattern asks for ${missing[0]}, which is not given; {came}, expected {sorted(wanted)}"
        )
    if unused := sorted(set(given) - wanted):
        asked = f"it asks for {sorted(wanted)}" if wanted else "it asks for none"
        raise PatternError(f"params: {unused[0]!r} is not in the pattern; {asked}")
    return given


def _check_column(leaf, names, table):
    if names.count(leaf.column) > 1:
        raise PatternError(
            f"pattern: {leaf.element}.{leaf.column} is ambiguous: the {table} has {names.count(leaf.column)} columns "
            f"{leaf.column!r}; rename one of them and make the graph again"
        )
    if leaf.column in names:
        return
    nearest = difflib.get_close_matches(leaf.column, names, 1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"its columns are {', '.join(map(repr, names))[:300]}"
    raise PatternError(f"pattern: {leaf.element}.{leaf.column}: the {table} has no column {leaf.column!r}; {hint}")
