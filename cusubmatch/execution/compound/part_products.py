"""Matches with their numbers of rows, without matches being joined: a product of counts over what is shared.

Where the new vertices of a part need not avoid other vertices of the match, because they may coincide or their labels
differ, the number of extensions depends on the shared vertices alone. Embeddings of the pattern without its parts are
counted by the images of these, and of any other vertices that are asked for, as the embeddings of each part are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.execution.compound.existing import existing_parts
from cusubmatch.execution.compound.joined_options import base_options, narrowed
from cusubmatch.execution.compound.row_keys import places_of, row_keys
from cusubmatch.execution.compound.simple_calls import SimpleCalls, grouped_by, shared_names, total_groups
from cusubmatch.execution.grouping.grouped_count import grouped_count
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import are_disjoint, check_suits

__all__ = ["PartProducts", "is_independent", "part_products"]


class PartProducts(NamedTuple):
    """The bindings of some pattern vertices, and what each is counted by.

    Attributes
    ----------
    vertices : int32 array (columns, bindings)
    factors : list of int64 arrays (bindings,)
        The embeddings without parts, then of each OPTIONAL part max(1, its extensions); the product is that of rows.
    """

    vertices: np.ndarray
    factors: list[np.ndarray]


def is_independent(graph: Graph, calls: SimpleCalls, whole: Pattern, semantics: str) -> bool:
    """Whether extensions depend on the shared vertices alone."""
    if semantics == "homomorphism":
        return True

    def codes(labels: frozenset | None) -> frozenset[int] | None:
        return None if labels is None else graph.vertex_label_codes(labels)

    def vertices() -> Iterator[tuple[frozenset | None, frozenset | None]]:
        for part in calls.optional:
            shared = shared_names(whole, part)
            for name, labels in zip(part.names, part.labels, strict=True):
                if name not in shared:
                    others = list(zip(whole.names, whole.labels, strict=True))[: calls.size]
                    yield from ((labels, own) for other, own in others if other not in shared)

    check_suits(whole, graph)
    return all(are_disjoint(codes(new), codes(own)) for new, own in vertices())


def part_products(
    graph: Graph,
    calls: SimpleCalls,
    asked: QueryOptions,
    deadline: float | None,
    number: int,
    by: Sequence[int],
    progress: ProgressCallback | None,
) -> PartProducts:
    """All embeddings of an expansion that have what must exist, by the vertices `by`, then by what parts share.

    Raises
    ------
    DeadlinePassed
    ResultTooLarge
        If there are too many bindings.
    """
    whole = calls.wholes[number]
    asked = dataclasses.replace(asked, candidates=calls.options.candidates)
    parts = [*calls.optional, *(part for _, part in calls.exists)]
    shared = [whole.names.index(name) for part in parts for name in shared_names(whole, part)]
    by = list(dict.fromkeys([*by, *shared]))
    options = base_options(whole, calls.options)
    base = grouped_count(graph, calls.patterns[number], options, deadline, by).groups(1, progress)
    factors = [base.counts]
    inside = narrowed(asked, {v: base.vertices[by.index(v)] for v in shared}, graph.n_vertices)
    column_of = {vertex: column for column, vertex in enumerate(by)}
    for part in calls.optional:
        names = shared_names(whole, part)
        groups = total_groups(grouped_by(graph, whole, part, names, inside, deadline))
        columns = [column_of[whole.names.index(name)] for name in names]
        factors.append(np.maximum(_looked_up(base.vertices[columns], groups, graph.n_vertices), 1))
    kept = np.ones(len(base.counts), bool)
    for one in existing_parts(graph, whole, calls, inside, deadline):
        bindings = one._replace(vertices=tuple(column_of[vertex] for vertex in one.vertices))
        kept &= bindings.holds(base.vertices.astype(np.int64), graph.n_vertices)
    return PartProducts(base.vertices[:, kept], [factor[kept] for factor in factors])


def _looked_up(bindings: np.ndarray, groups: tuple[np.ndarray, np.ndarray], n_vertices: int) -> np.ndarray:
    """The count of each binding among groups; 0 where it is none of them."""
    vertices, counts = groups
    mine, own = row_keys(n_vertices, [bindings.astype(np.int64), vertices.astype(np.int64)])
    order = np.argsort(own)
    begins, ends = places_of(mine, own[order])
    found = np.zeros(bindings.shape[1], np.int64)
    there = ends > begins
    found[there] = counts[order[begins[there]]]
    return found
