"""Calls whose matches must touch some vertices: split by the first pattern vertex whose image is one of them.

In part i the image of vertex i is among the given vertices, and those of the vertices before it are not. No embedding
is in two parts. An orbit of embeddings is touched as a whole: of each one an embedding is given, and the number of
touched orbits is that of touched embeddings by the order of the group. Where many vertices are given, a count is that
of all matches less those that touch none.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from cusubmatch.execution.engine_choice import engine_for
from cusubmatch.execution.planned_call import PlannedCall, asked_by, asked_query, conditioned_query
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.refined_calls import refined, vertex_set
from cusubmatch.execution.results.chosen_rows import ChosenRows
from cusubmatch.execution.results.row_order import RowOrder, named_vertices
from cusubmatch.execution.row_walks.row_planning import group_of
from cusubmatch.execution.row_walks.row_query import RowQuery, make_row_query, needs_rows
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.plan.asked import Asked
from cusubmatch.plan.symmetry import ordered_pairs

__all__ = ["automorphisms_of", "orbits_of_vertices", "touching_counts", "touching_rows"]

MAX_SHARE_OF_PARTS = 0.25  # of the vertices; where more are given, a count is a difference


def touching_rows(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> PlannedCall:
    """The call for the rows that touch `options.touching`."""
    asked, unique = asked_by(pattern, options), options.one_per_orbit
    if needs_rows(asked):
        return _touching_by_rows(graph, options, deadline, asked)
    engine, _ = engine_for(options, graph)
    with engine.current():
        whole, order = refined(engine.place(graph), asked), None
        if options.sort:
            order = RowOrder(graph, whole.graph, whole.pattern, unique)
    every, embeddings = tuple(range(len(pattern))), dataclasses.replace(options, unique=False, sort=False)
    below = ordered_pairs(whole.pattern.automorphisms, every) if unique else ()
    columns = named_vertices(pattern) if order is None else order.columns

    def part(ask: Asked) -> Query:
        query = conditioned_query(graph, embeddings, deadline, ask)
        plan = dataclasses.replace(query.plan, columns=every)
        return query._replace(plan=plan, order=order, chosen=ChosenRows(below, columns))

    first, *others = map(part, _parts(asked, options.touching))
    return first._replace(parts=tuple(others))


def _touching_by_rows(graph: Graph, options: QueryOptions, deadline: float | None, asked: Asked) -> RowQuery:
    """The call where rows of the edge table are walked: each part keeps the order of images of the whole pattern."""
    first, *others = (make_row_query(graph, options, deadline, part) for part in _parts(asked, options.touching))
    return first._replace(parts=tuple(others))


def touching_counts(
    graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None
) -> tuple[list[tuple[int, PlannedCall]], int]:
    """Calls whose counts, times a sign, add up to the number of matches that touch, times a divisor."""
    asked, members = asked_by(pattern, options), options.touching
    if len(members) > MAX_SHARE_OF_PARTS * graph.n_vertices:
        outside = {vertex: (False, vertex_set(members)) for vertex in range(len(pattern))}
        asks = (1, asked), (-1, dataclasses.replace(asked, touched=outside))
        return [(sign, asked_query(graph, options, deadline, ask)) for sign, ask in asks], 1
    divisor = 1
    if options.one_per_orbit:
        divisor = automorphisms_of(graph, options, asked).order
    options = dataclasses.replace(options, unique=False)
    return [(1, asked_query(graph, options, deadline, part)) for part in _parts(asked, members)], divisor


def automorphisms_of(graph: Graph, options: QueryOptions, asked: Asked) -> AutomorphismGroup:
    """The automorphisms of what is asked."""
    if needs_rows(asked):
        return group_of(asked)
    if not (asked.pattern.conditions or asked.candidates):
        return asked.pattern.automorphisms
    engine, _ = engine_for(options, graph)
    with engine.current():
        return refined(engine.place(graph), asked).pattern.automorphisms


def orbits_of_vertices(graph: Graph, pattern: Pattern, options: QueryOptions) -> tuple[int, ...]:
    """The smallest vertex of the orbit of each pattern vertex, of what a call asks."""
    return automorphisms_of(graph, options, asked_by(pattern, options)).orbits()[: len(pattern)]


def _parts(asked: Asked, members: np.ndarray) -> list[Asked]:
    touched = vertex_set(members)
    return [
        dataclasses.replace(asked, touched={**dict.fromkeys(range(vertex), (False, touched)), vertex: (True, touched)})
        for vertex in range(len(asked.pattern))
    ]
