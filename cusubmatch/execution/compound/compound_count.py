"""Counts of patterns with parts: sums over lengths, and products over what is shared.

A match with n extensions by each OPTIONAL part becomes the product of max(1, n) rows. Where the new vertices of a part
need not avoid other vertices of the match, because they may coincide or their labels differ, n depends on the shared
vertices alone. So matches are counted by these, as the embeddings of each part are, and no match is joined. Else the
rows of each match are counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from cusubmatch.engines.base import ProgressCallback
from cusubmatch.errors import ResultTooLarge
from cusubmatch.execution.compound.existing import existing_parts
from cusubmatch.execution.compound.joined_options import base_options, group_of_whole, narrowed
from cusubmatch.execution.compound.joined_query import joined_query
from cusubmatch.execution.compound.row_keys import places_of, row_keys, sum_of_products
from cusubmatch.execution.compound.simple_calls import SimpleCalls, grouped_by, shared_names, total_groups
from cusubmatch.execution.grouping.grouped_count import grouped_count
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import are_disjoint, check_suits

__all__ = ["JoinedCount"]


class JoinedCount:
    """A count of matches with OPTIONAL parts, or with EXISTS parts on several vertices.

    Parameters
    ----------
    graph : Graph
    calls : SimpleCalls
    asked : QueryOptions
        With the parameters of all parts.
    deadline : float or None

    Attributes
    ----------
    matches : int
        Counted so far.
    """

    def __init__(self, graph: Graph, calls: SimpleCalls, asked: QueryOptions, deadline: float | None):
        self._graph, self._calls, self._asked, self._deadline = graph, calls, asked, deadline
        self.matches = 0

    def count(self, progress: ProgressCallback | None) -> int:
        """The number of rows.

        Raises
        ------
        DeadlinePassed
        """
        for number, whole in enumerate(self._calls.wholes):
            total = self._product(whole, number, progress) if self._independent(whole) else None
            if total is not None:
                self.matches += total
                continue
            query = joined_query(self._graph, self._calls, self._asked, self._deadline, number)._replace(parts=())
            for rows in query.counts(progress):
                self.matches += rows
        return self.matches

    def by_products(self, whole: Pattern) -> bool:
        """Whether matches are counted without being joined, where the images of what is shared fit in memory."""
        return self._independent(whole)

    def _independent(self, whole: Pattern) -> bool:
        """Whether extensions depend on the shared vertices alone."""
        if self._asked.semantics == "homomorphism":
            return True
        graph = self._graph

        def codes(labels: frozenset | None) -> frozenset[int] | None:
            return None if labels is None else graph.vertex_label_codes(labels)

        def vertices() -> Iterator[tuple[frozenset | None, frozenset | None]]:
            for part in self._calls.optional:
                shared = shared_names(whole, part)
                for name, labels in zip(part.names, part.labels, strict=True):
                    if name not in shared:
                        others = list(zip(whole.names, whole.labels, strict=True))[: self._calls.size]
                        yield from ((labels, own) for other, own in others if other not in shared)

        check_suits(whole, graph)
        return all(are_disjoint(codes(new), codes(own)) for new, own in vertices())

    def _product(self, whole: Pattern, number: int, progress: ProgressCallback | None) -> int | None:
        """The sum over the bindings of what is shared; None where there are too many of them."""
        graph, calls, asked, deadline = self._graph, self._calls, self._asked, self._deadline
        asked = dataclasses.replace(asked, candidates=calls.options.candidates)
        parts = [*calls.optional, *(part for _, part in calls.exists)]
        shared = list(dict.fromkeys(name for part in parts for name in shared_names(whole, part)))
        by = [whole.names.index(name) for name in shared]
        options = base_options(whole, calls.options)
        try:
            base = grouped_count(graph, calls.patterns[number], options, deadline, by).groups(1, progress)
            factors = [base.counts]
            inside = narrowed(asked, dict(zip(by, base.vertices, strict=True)), graph.n_vertices)
            place = {vertex: column for column, vertex in enumerate(by)}
            for part in calls.optional:
                names = shared_names(whole, part)
                groups = total_groups(grouped_by(graph, whole, part, names, inside, deadline))
                columns = [place[whole.names.index(name)] for name in names]
                factors.append(np.maximum(_looked_up(base.vertices[columns], groups, graph.n_vertices), 1))
        except ResultTooLarge:
            return None
        kept = np.ones(len(base.counts), bool)
        for one in existing_parts(graph, whole, calls, inside, deadline):
            columns = [place[vertex] for vertex in one.vertices]
            bindings = one._replace(vertices=tuple(columns))
            kept &= bindings.holds(base.vertices.astype(np.int64), graph.n_vertices)
        total = sum_of_products([factor[kept] for factor in factors])
        return total // (group_of_whole(whole, asked).order if asked.one_per_orbit else 1)


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
