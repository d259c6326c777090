"""The options of calls whose matches are joined: what is refused, and what the call without parts and the parts get."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from cusubmatch.errors import EngineUnavailable, PatternError
from cusubmatch.execution.compound.simple_calls import SimpleCalls
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.refined_calls import vertex_sets
from cusubmatch.execution.row_walks.row_planning import group_of
from cusubmatch.pattern import Pattern
from cusubmatch.plan.asked import Asked, VertexSet

__all__ = ["base_options", "check_joined", "edge_names", "group_of_whole", "narrowed"]

MAX_SHARE = 0.5  # of the vertices; more images are no candidates


def check_joined(calls: SimpleCalls, options: QueryOptions) -> None:
    """Refuse options that joined matches do not take."""
    if options.engine == "gpu":
        raise EngineUnavailable(
            "engine: OPTIONAL, and EXISTS between several vertices, are joined on the CPU engine only; "
            "use engine='cpu' or 'auto'"
        )
    if options.edges == "each" and not edge_names(calls.wholes[0], True):
        raise PatternError("edges: 'each' binds every named edge to a row, and no edge has a name; write -[p]->")


def edge_names(whole: Pattern, parts: bool) -> list[str]:
    own = [edge.name for edge in whole.edges if edge.name is not None]
    return own + [edge.name for part in whole.optional for edge in part.edges if parts and edge.name is not None]


def base_options(whole: Pattern, options: QueryOptions) -> QueryOptions:
    """The options of the call without parts: on the CPU, every embedding."""
    edges = "each" if options.edges == "each" and edge_names(whole, False) else "any"
    own = options.edge_id if edges == "each" else None
    return dataclasses.replace(
        options, engine="cpu", unique=False, counting=False, edges=edges, edge_id=own, limit=None, sort=False
    )


def group_of_whole(whole: Pattern, options: QueryOptions, size: int) -> Any:
    """The automorphisms that keep the parts and the candidates too, and move named edges if their rows are bound.

    Where there is something optional, they also tell the first `size` vertices from the inner ones of paths, which its
    new vertices need not avoid.
    """
    edges = "each" if options.edges == "each" and edge_names(whole, False) else "any"
    sets = vertex_sets(options.candidates)
    if whole.optional:
        sets |= {vertex: VertexSet("inner", np.empty(0, np.int32)) for vertex in range(size, len(whole))}
    return group_of(Asked(whole, {}, sets, edges=edges))


def narrowed(options: QueryOptions, images: Mapping[int, np.ndarray], n_vertices: int) -> QueryOptions:
    """The options of parts where the images of some pattern vertices are known and few."""
    candidates = dict(options.candidates or {})
    for vertex, some in images.items():
        members = np.unique(some).astype(np.int32)
        if len(members) < MAX_SHARE * n_vertices:
            candidates[vertex] = members
    return dataclasses.replace(options, candidates=candidates or None)
