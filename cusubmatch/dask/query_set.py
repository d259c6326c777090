"""A query set: names and patterns, from a mapping, an iterable or a dataframe, and which of them are to begin first.

A text that cannot be read is a query with that outcome. How long a query takes is only guessed here, from the sizes of
the graph and of its labels: the guess orders the queries, so that long ones do not begin last.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cusubmatch.api.options import as_pattern
from cusubmatch.api.outcomes import DONE, Outcome, outcome_of
from cusubmatch.dask.tasks import GraphSummary
from cusubmatch.frames import as_frame, family_of
from cusubmatch.pattern import Pattern

__all__ = ["NamedQuery", "guessed_seconds", "longest_first", "queries_of"]

PLANNING_S = 7e-6  # for a pattern of v vertices times v ** PLANNING_POWER, about
PLANNING_POWER = 3.5
CANDIDATE_S = 2e-8  # to visit a candidate


@dataclass(frozen=True)
class NamedQuery:
    """A query of a set: its place, its name, its text if it came as text, and its pattern or why there is none."""

    number: int
    name: str
    text: str
    read: Outcome


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
    text = pattern if isinstance(pattern, str) else repr(pattern)
    shown = repr(name) if isinstance(name, Pattern) else str(name)
    read = functools.partial(as_pattern, conditions=True, parts=True, edges=edges)
    return NamedQuery(number, shown, text, outcome_of(read, pattern, f"queries[{number}]"))


def longest_first(queries: list[NamedQuery], graph: GraphSummary) -> list[tuple[NamedQuery, float]]:
    """The queries that can be read with the seconds that they are guessed to take, the longest first."""
    guessed = [(query, guessed_seconds(query.read.value, graph)) for query in queries if query.read.status == DONE]
    return sorted(guessed, key=lambda pair: -pair[1])


def guessed_seconds(pattern: Pattern, graph: GraphSummary) -> float:
    """Seconds for planning and searching, as if edges were spread evenly over the vertices."""
    vertices, neighbours = max(graph.vertices, 1), _neighbours(pattern)
    probability = min(1.0, 2 * graph.edges / vertices**2)
    sizes = [_size(labels, graph) for labels in pattern.labels]
    first = min(range(len(pattern)), key=lambda vertex: sizes[vertex])
    matched, partial, visited = {first}, sizes[first], sizes[first]
    while len(matched) < len(pattern):
        options = [vertex for vertex in range(len(pattern)) if vertex not in matched and neighbours[vertex] & matched]
        if not options:
            break
        growth = {v: sizes[v] * probability ** len(neighbours[v] & matched) for v in options}
        vertex = min(growth, key=lambda v: (growth[v], v))
        partial *= max(growth[vertex], 1e-6)
        visited += partial
        matched.add(vertex)
    planning = PLANNING_S * len(pattern) ** PLANNING_POWER
    return planning + CANDIDATE_S * min(visited, math.exp(600))


def _size(labels: Any, graph: GraphSummary) -> float:
    """How many vertices have one of the labels."""
    if labels is None:
        return float(graph.vertices)
    return float(sum(graph.labels.get(label, 0) for label in labels))


def _neighbours(pattern: Pattern) -> list[set[int]]:
    neighbours: list[set[int]] = [set() for _ in range(len(pattern))]
    for edge in pattern.edges:
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    return neighbours
