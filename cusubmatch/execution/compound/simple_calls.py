"""Patterns with parts as calls of plain patterns.

An edge with lengths is a sum over expansions. EXISTS on one vertex of the match is a set of vertices, those that the
part has matches at, and thus a mask: the pattern goes on without it. What exists between several vertices, and what is
optional, is left to be joined.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.execution.grouping.grouped_count import GroupedCount, grouped_count
from cusubmatch.execution.grouping.grouped_rows import Groups, summed
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.refined_calls import parameters_key, vertex_set, vertex_sets
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.language.parser import PatternEdge
from cusubmatch.pattern.quantifiers import expanded
from cusubmatch.plan.asked import VertexSet

__all__ = ["SimpleCalls", "grouped_by", "own_parameters", "part_calls", "shared_names", "simple_calls", "total_groups"]


class SimpleCalls(NamedTuple):
    """Calls that add up to one.

    Attributes
    ----------
    wholes : tuple of Pattern
        The expansions of the paths, with all parts.
    patterns : tuple of Pattern
        The same without parts.
    options : QueryOptions
        What is asked of each; what exists at single vertices is among the candidates.
    exists : tuple of (bool, Pattern)
        What must exist, or must not, between several vertices.
    optional : tuple of Pattern
    size : int
        Vertices of the pattern; further ones are inner vertices of paths, from which those of parts need not differ.
    """

    wholes: tuple[Pattern, ...]
    patterns: tuple[Pattern, ...]
    options: QueryOptions
    exists: tuple[tuple[bool, Pattern], ...]
    optional: tuple[Pattern, ...]
    size: int

    @property
    def joined(self) -> bool:
        """Whether matches must be joined with those of parts."""
        return bool(self.exists or self.optional)


def simple_calls(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> SimpleCalls:
    """Put what exists at single vertices into the candidates, and expand the paths."""
    several = tuple(one for one in pattern.exists if len(shared_names(pattern, one[1])) > 1)
    sets = _sets_of_vertices(graph, pattern, options, deadline)
    told_apart = {vertex: members.key for vertex, members in vertex_sets(options.candidates).items()}
    wholes = expanded(pattern, unique=options.one_per_orbit, colours=told_apart)
    plain = tuple(map(_without_parts, wholes))
    own = own_parameters(plain[0], options.params)
    options = dataclasses.replace(options, params=own, candidates={**(options.candidates or {}), **sets} or None)
    return SimpleCalls(wholes, plain, options, several, pattern.optional, len(pattern))


def _without_parts(pattern: Pattern) -> Pattern:
    kept = pattern.distinct, (), pattern.conditions, pattern.quantifiers
    return pattern.of_parts(pattern.names, pattern.labels, pattern.edges, *kept) if pattern.parts else pattern


def shared_names(pattern: Pattern, part: Pattern) -> list:
    """The names of the vertices that a part shares with its pattern."""
    return [name for name in part.names if name is not None and name in pattern.names]


def own_parameters(pattern: Pattern, params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Those of the parameters that a pattern asks for."""
    return {name: params[name] for name in pattern.parameters if name in params} or None if params else None


def _sets_of_vertices(
    graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None
) -> dict[int, VertexSet]:
    """The candidates of the vertices at which something must exist, or must not.

    Vertices that an automorphism of the whole pattern exchanges have equal keys, and no others.
    """
    masks: dict[int, np.ndarray] = {}
    for wanted, part in pattern.exists:
        names = shared_names(pattern, part)
        if len(names) == 1:
            vertex = pattern.names.index(names[0])
            found = np.zeros(graph.n_vertices, bool)
            for groups in grouped_by(graph, pattern, part, names, options, deadline):
                found[groups.groups(1, None).vertices[0]] = True
            masks[vertex] = masks.get(vertex, True) & (found == wanted)
    if not masks:
        return {}
    orbits, asked = pattern.automorphisms.orbits(), f"{pattern}{parameters_key(options.params)}{options.semantics}"
    digest = hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()
    sets = {}
    for vertex, mask in masks.items():
        key, vertices = f"exists {digest} {orbits[vertex]}", np.flatnonzero(mask).astype(np.int32)
        given = None if options.candidates is None else options.candidates.get(vertex)
        if given is not None:
            members = given if isinstance(given, VertexSet) else vertex_set(given)
            vertices = np.intersect1d(vertices, members.vertices).astype(np.int32)
            key += f" {members.key}"
        sets[vertex] = VertexSet(key, vertices)
    return sets


def grouped_by(
    graph: Graph, pattern: Pattern, part: Pattern, names: list, options: QueryOptions, deadline: float | None
) -> list[GroupedCount]:
    """Counts of all embeddings of a part by its shared vertices, one for each expansion of its paths."""
    calls = part_calls(graph, pattern, part, options, deadline)
    return [
        grouped_count(graph, one, calls.options, deadline, [one.names.index(name) for name in names])
        for one in calls.patterns
    ]


def part_calls(
    graph: Graph, pattern: Pattern, part: Pattern, options: QueryOptions, deadline: float | None
) -> SimpleCalls:
    """The calls for all embeddings of a part that a match may have.

    The shared vertices have the labels, the candidates and, but in induced matching, the edges of the pattern.
    """
    places = {name: vertex for vertex, name in enumerate(pattern.names) if name is not None}
    labels = tuple(
        pattern.labels[places[name]] if own is None and name in places else own
        for name, own in zip(part.names, part.labels, strict=True)
    )
    rest = part.distinct, (), part.conditions, part.quantifiers, None, part.optional, part.exists
    edges = [*part.edges, *(_edges_between(pattern, part) if options.semantics != "induced" else ())]
    part = part.of_parts(part.names, labels, edges, *rest)
    given = options.candidates or {}
    candidates = {
        vertex: given[places[name]]
        for vertex, name in enumerate(part.names)
        if name in places and places[name] in given
    }
    each = options.edges == "each" and any(edge.name is not None for edge in part.edges)
    options = QueryOptions(
        options.semantics,
        unique=False,
        engine="cpu",
        counting=False,
        memory_limit=options.memory_limit,
        params=own_parameters(part, options.params),
        candidates=candidates or None,
        edges="each" if each else "any",
    )
    calls = simple_calls(graph, part, options, deadline)
    if calls.joined:
        raise PatternError(
            f"pattern: EXISTS inside {part} names several of its vertices, and OPTIONAL has no place in EXISTS; "
            "inside of a part EXISTS is about one vertex"
        )
    return calls


def _edges_between(pattern: Pattern, part: Pattern) -> Iterator[PatternEdge]:
    """The edges of a pattern between vertices that a part shares, as edges of the part without names."""
    names, paths = shared_names(pattern, part), {one.edge for one in pattern.quantifiers}
    for index, edge in enumerate(pattern.edges):
        source, target = pattern.names[edge.source], pattern.names[edge.target]
        if index not in paths and source in names and target in names:
            yield edge._replace(source=part.names.index(source), target=part.names.index(target), name=None)


def total_groups(counts: list[GroupedCount]) -> Groups:
    """The groups of several calls together, each binding once."""
    found = [count.groups(1, None) for count in counts]
    if len(found) == 1:
        return found[0]
    vertices = np.concatenate([groups.vertices for groups in found], axis=1)
    return summed(vertices, np.concatenate([groups.counts for groups in found]), counts[0].query.placed.n_vertices)
