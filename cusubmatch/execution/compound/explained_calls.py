"""The plans of a call that is carried out as several, in words; EXISTS at single vertices is looked for on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from cusubmatch.execution.compound.compound_count import JoinedCount
from cusubmatch.execution.compound.compound_rows import compound_calls
from cusubmatch.execution.compound.joined_options import base_options
from cusubmatch.execution.compound.simple_calls import SimpleCalls, grouped_by, shared_names
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.touching import touching_counts, touching_rows
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan.explain.describe_parts import CallText, SeveralCallsText

__all__ = ["explained_compound", "explained_touching"]


def explained_compound(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> Any:
    """The plans for a pattern with parts or paths of several lengths."""
    calls, lines = compound_calls(graph, pattern, options, deadline), list[str]()
    for wanted, part in pattern.exists:
        names = shared_names(pattern, part)
        found = f"a set of candidates of {names[0]}, made before the search"
        if len(names) > 1:
            found = f"looked up at the images of {', '.join(map(str, names))}"
        lines.append(f"{'' if wanted else 'NOT '}EXISTS {{ {part} }}: {found}")
    for part in calls.optional:
        shared = ", ".join(map(str, shared_names(pattern, part)))
        lines.append(f"OPTIONAL {part}: {_way(graph, calls, options, deadline)} {shared}")
    if len(calls.wholes) > 1:
        lines.append(f"the {len(calls.wholes)} lengths of its paths are added up")
    lines += _other_functions(graph, calls, options, deadline)
    return SeveralCallsText(pattern, "", lines, list(_calls(graph, pattern, calls, options, deadline)))


def _other_functions(graph: Graph, calls: SimpleCalls, options: QueryOptions, deadline: float | None) -> Iterator[str]:
    """How the functions that do not give all rows, and a cluster, carry out the same."""
    if not calls.joined:
        if len(calls.wholes) > 1:
            yield "count_by, vertex_counts: those of each length are added up"
            yield "sample_matches: drawn from all lengths together"
        yield "on a cluster: ranges of the tasks of all calls"
        return
    if all(map(JoinedCount(graph, calls, options, deadline).by_products, calls.wholes)):
        yield "count_by, vertex_counts: embeddings are counted by what parts share, too, and multiplied"
    else:
        yield "count_by, vertex_counts: matches are walked, and each is counted with its number of rows"
    yield "sample_matches: matches are walked, and rows are drawn by random numbers of their own"
    yield "on a cluster: one task, since parts are joined"


def _way(graph: Graph, calls: SimpleCalls, options: QueryOptions, deadline: float | None) -> str:
    """How a match meets an optional part."""
    if not options.counting:
        return "joined to matches by the images of"
    if all(map(JoinedCount(graph, calls, options, deadline).by_products, calls.wholes)):
        return "matches are multiplied by max(1, its matches), both counted by the images of"
    return "its matches are counted for each match, by the images of"


def _calls(
    graph: Graph, pattern: Pattern, calls: SimpleCalls, options: QueryOptions, deadline: float | None
) -> Iterator[CallText]:
    """The calls for the matches without parts, then those for the parts."""
    for whole, plain in zip(calls.wholes, calls.patterns, strict=True):
        own = base_options(whole, calls.options) if calls.joined else calls.options
        length = "" if len(calls.wholes) == 1 else f", edges in all: {len(plain.edges)}"
        plan = explained_touching if own.touching is not None else _explained
        yield CallText(
            f"matches{' without the parts' if calls.joined else ''}{length}", plan(graph, plain, own, deadline)
        )
    parts = [("OPTIONAL", part) for part in calls.optional] + [("EXISTS", part) for _, part in calls.exists]
    inside = dataclasses.replace(options, candidates=calls.options.candidates)
    for kind, part in parts:
        names = shared_names(pattern, part)
        for grouped in grouped_by(graph, calls.wholes[0], part, names, inside, deadline):
            yield CallText(f"{kind} {part}, by the images of {', '.join(map(str, names))}", grouped.query.explained)


def _explained(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> Any:
    return make_query(graph, pattern, options, deadline).explained


def explained_touching(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> Any:
    """The plans for the matches that touch some vertices."""
    if options.counting:
        signed, divisor = touching_counts(graph, pattern, options, deadline)
        queries = [query for _, query in signed]
    else:
        first = touching_rows(graph, pattern, options, deadline)
        queries, divisor = [first, *first.parts], 1
    if options.counting and any(sign < 0 for sign, _ in signed):
        titles = ["all matches", "matches that do not touch them, which are subtracted"]
    else:
        names = [f"vertex {i}" if name is None else str(name) for i, name in enumerate(pattern.names, 1)]
        titles = [f"{name} is the first vertex of the pattern whose image is one of them" for name in names]
    asked = f", touching {len(options.touching):,} of {graph.n_vertices:,} vertices"
    lines = [] if divisor == 1 else [f"the sum is divided by {divisor:,}: each match is counted that often"]
    return SeveralCallsText(
        pattern, asked, lines, [CallText(*one) for one in zip(titles, (q.explained for q in queries), strict=True)]
    )
