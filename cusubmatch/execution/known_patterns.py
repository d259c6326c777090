"""Patterns that were counted before under other names: their plans are taken again.

Two patterns are compared by a canonical form only if they have the same labels and degrees, so that a pattern that is
like none before it costs next to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.coloured_graph import canonical_key

__all__ = ["known_pattern"]

MIN_KEPT = 64  # kinds of patterns
MOST_OF_A_KIND = 16


class _Known:
    """A pattern that was counted, and its canonical form when it is needed."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern
        self._form: list[Hashable | None] = []

    @property
    def form(self) -> Hashable | None:
        """None if there is none."""
        if not self._form:
            self._form.append(canonical_key(self.pattern))
        return self._form[0]


def known_pattern(graph: Graph, pattern: Pattern, options: QueryOptions) -> Pattern:
    """A pattern that is counted in place of another one: the same with other names, if that was counted before."""
    named = options.candidates is not None or options.edges == "each"
    if named or pattern.conditions or pattern.quantifiers or pattern.parts or pattern.distinct:
        return pattern

    def first_alike() -> Pattern:
        return _first_alike(graph, pattern)

    return graph.cache.get("counted in place of", pattern, first_alike, graph.keep(MIN_KEPT))


def _first_alike(graph: Graph, pattern: Pattern) -> Pattern:
    """The first pattern that was counted of those that are this one with other names."""
    alike: list[_Known] = graph.cache.get("counted patterns", _kind(pattern), list, graph.keep(MIN_KEPT))
    new = _Known(pattern)
    for one in alike:
        if new.form is not None and one.form == new.form:
            return one.pattern
    if len(alike) < MOST_OF_A_KIND:
        alike.append(new)
    return pattern


def _kind(pattern: Pattern) -> tuple[int, int]:
    """What patterns share that are the same but for names, and few others do."""
    degrees = Counter(vertex for edge in pattern.edges for vertex in (edge.source, edge.target))
    vertices = Counter((labels, degrees[vertex]) for vertex, labels in enumerate(pattern.labels))
    return len(pattern.edges), hash(frozenset(vertices.items()))
