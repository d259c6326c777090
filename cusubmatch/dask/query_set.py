"""A query set: names and patterns, from a mapping, an iterable or a dataframe, and which of them are to begin first.

A text that cannot be read is a query with that outcome. How long a query takes is only guessed here, from the sizes of
the graph and of its labels: the guess orders the queries, so that long ones do not begin last.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cusubmatch.api.options import as_pattern
from cusubmatch.api.outcomes import DONE, Outcome, outcome_of
from cusubmatch.dask.workers.tasks import GraphSummary
from cusubmatch.frames import as_frame, family_of
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.connectivity import neighbour_sets

__all__ = ["NamedQuery", "guess_on", "longest_first", "queries_of"]

PLANNING_S, PLANNING_S_PER_VERTEX = 2e-3, 2e-4  # measured on the yeast queries
CANDIDATE_S = 4e-6  # for one that is expected: there are more, since degrees are not even


@dataclass(frozen=True)
class NamedQuery:
    """A query of a set: its place, its name, the text or pattern that came, and its pattern or why there is none."""

    number: int
    name: str
    given: Any
    read: Outcome

    @property
    def text(self) -> str:
        """The text that came, or that of the pattern."""
        return self.given if isinstance(self.given, str) else repr(self.given)


def queries_of(queries: Any, edges: str = "any") -> list[NamedQuery]:
    """The queries of a mapping of names, of an iterable, or of a dataframe with a column of texts.

    `edges` says what named edges mean.

    A dataframe has the column ``pattern`` and, for names, ``query``; or the texts are in ``query`` and are the names.
    """
    if isinstance(queries, (str, Pattern)):
        raise TypeError("queries: expected several patterns; give one to count_matches, or put it in a list")
    frame = None if isinstance(queries, Mapping) else as_frame(queries)
    if frame is not None and (family := family_of(frame)) is not None:
        names = family.column_names(frame)
        if "pattern" not in names and "query" not in names:
            raise ValueError(f"queries: expected a column pattern or query with texts, got {names}")
        texts = family.python_values(family.column(frame, "pattern" if "pattern" in names else "query"))
        named = family.python_values(family.column(frame, "query")) if "query" in names else texts
        pairs = list(zip(named, texts, strict=True))
    elif isinstance(queries, Mapping):
        pairs = list(queries.items())
    elif isinstance(queries, Iterable):
        pairs = [(query, query) for query in queries]
    else:
        raise TypeError(
            "queries: expected a mapping of names to patterns, an iterable of patterns, or a dataframe with a column "
            f"pattern; got {type(queries).__name__}"
        )
    return [_query(number, name, pattern, edges) for number, (name, pattern) in enumerate(pairs)]


def _query(number: int, name: Any, pattern: Any, edges: str) -> NamedQuery:
    shown = repr(name) if isinstance(name, Pattern) else str(name)
    read = functools.partial(as_pattern, conditions=True, parts=True, edges=edges)
    return NamedQuery(number, shown, pattern, outcome_of(read, pattern, f"queries[{number}]"))


def longest_first(queries: list[NamedQuery], graph: GraphSummary) -> list[tuple[NamedQuery, float]]:
    """The queries that can be read with the seconds that they are guessed to take, the longest first."""
    seconds_of = guess_on(graph)
    guessed = [(query, seconds_of(query.read.value)) for query in queries if query.read.status == DONE]
    return sorted(guessed, key=lambda pair: -pair[1])


def guess_on(graph: GraphSummary) -> Callable[[Pattern], float]:
    """What guesses the seconds of a pattern for planning and searching, as if edges were spread evenly.

    The order is that of Prim: the next vertex is the one with the fewest candidates by its matched neighbours.
    """
    probability = min(1.0, 2 * graph.edges / max(graph.vertices, 1) ** 2)

    @functools.cache
    def size_of(labels: frozenset[Any] | None) -> float:
        """How many vertices have one of the labels."""
        return float(graph.vertices if labels is None else sum(graph.labels.get(label, 0) for label in labels))

    def seconds_of(pattern: Pattern) -> float:
        pairs = ((edge.source, edge.target) for edge in pattern.edges)
        unmatched = dict(enumerate(neighbour_sets(len(pattern), pairs)))
        expected = [size_of(labels) for labels in pattern.labels]
        frontier, partial, visited = {min(unmatched, key=expected.__getitem__)}, 1.0, 0.0
        while frontier:
            vertex = min(frontier, key=expected.__getitem__)
            frontier.remove(vertex)
            partial *= max(expected[vertex], 1e-6)
            visited += partial
            for neighbour in unmatched.pop(vertex):
                if neighbour in unmatched:
                    expected[neighbour] *= probability
                    frontier.add(neighbour)
        return PLANNING_S + PLANNING_S_PER_VERTEX * len(pattern) + CANDIDATE_S * min(visited, math.exp(600))

    return seconds_of
