"""Matches of patterns with parts, counted by the images of some pattern vertices.

Lengths are added up, each counted as a plain pattern is. A match counts as often as it has rows: where that depends on
the vertices that parts share alone, embeddings are counted by these too and multiplied (`part_products.py`); else the
matches are walked, and each is counted with its number of rows, which are not made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.errors import ResultTooLarge
from cusubmatch.execution.compound.compound_rows import compound_calls
from cusubmatch.execution.compound.joined_options import group_of_whole
from cusubmatch.execution.compound.joined_query import joined_query
from cusubmatch.execution.compound.orbit_bindings import OrbitBindings, orbit_bindings
from cusubmatch.execution.compound.part_products import is_independent, part_products
from cusubmatch.execution.compound.row_keys import products
from cusubmatch.execution.compound.simple_calls import SimpleCalls
from cusubmatch.execution.grouping.grouped_count import MAX_COUNT, grouped_count
from cusubmatch.execution.grouping.grouped_rows import GroupedRows, Groups, check_size, summed, wide
from cusubmatch.execution.planned_call import asked_by
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import result_budget
from cusubmatch.execution.touching import automorphisms_of
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import until

__all__ = ["CompoundGroups", "compound_groups"]


def compound_groups(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> CompoundGroups:
    """Plan counts by the images of some vertices of a pattern with parts.

    Raises
    ------
    DeadlinePassed
    """
    return CompoundGroups(graph, pattern, compound_calls(graph, pattern, options, deadline), options, deadline)


class CompoundGroups:
    """Counts by the images of pattern vertices; `compound_groups` makes it.

    Parameters
    ----------
    graph : Graph
    pattern : Pattern
        With its parts.
    calls : SimpleCalls
    asked : QueryOptions
        With the parameters of all parts.
    deadline : float or None
    """

    def __init__(self, graph: Graph, pattern: Pattern, calls: SimpleCalls, asked: QueryOptions, deadline: float | None):
        self.calls = calls
        self._graph, self._asked, self._deadline = graph, asked, deadline
        self._inside = dataclasses.replace(asked, candidates=calls.options.candidates)
        self._whole = group_of_whole(pattern, self._inside, len(pattern)) if asked.one_per_orbit else None
        self._budget = result_budget(asked.memory_limit, np)

    def orbits(self) -> tuple[int, ...]:
        """The smallest vertex of the orbit of each vertex of the pattern."""
        assert self._whole is not None  # noqa: S101 - only copies have orbits
        return self._whole.orbits()

    def groups(self, bys: Sequence[Sequence[int]], least: int, progress: ProgressCallback | None) -> list[Groups]:
        """For each choice of pattern vertices, the groups with at least so many matches.

        Raises
        ------
        DeadlinePassed, ResultTooLarge, OverflowError
        """
        groups_of_each: list[list[Groups]] = [[] for _ in bys]
        with until(self._deadline):
            for number in range(len(self.calls.wholes)):
                if self.calls.joined:
                    some = self._joined(number, bys, progress)
                else:
                    some = [self._plain(number, by, least, progress) for by in bys]
                for groups, more in zip(groups_of_each, some, strict=True):
                    groups.append(more)
            return [self._total(groups).from_count(least) for groups in groups_of_each]

    def _total(self, groups: list[Groups]) -> Groups:
        """The groups of all expansions, with counts in int64."""
        total = self._added(groups)
        if len(total.counts) and int(total.counts.max()) > MAX_COUNT:
            raise OverflowError("a binding has 2**63 matches or more, and columns of counts are int64")
        check_size(len(total.counts), len(total.vertices), self._budget)
        return total._replace(counts=total.counts.astype(np.int64))

    def _plain(self, number: int, by: Sequence[int], least: int, progress: ProgressCallback | None) -> Groups:
        """The groups of an expansion without parts."""
        graph, pattern, options = self._graph, self.calls.patterns[number], self.calls.options
        group = automorphisms_of(graph, options, asked_by(pattern, options)) if options.one_per_orbit else None
        bindings = orbit_bindings(self._whole, group, by)
        if len(self.calls.wholes) > 1 or len(bindings) > 1 or not bindings[0].alike:
            least = 1
        found = []
        for one in bindings:
            count = grouped_count(graph, pattern, options, self._deadline, one.by)
            found.append(one.of(count.groups(least, progress), graph.n_vertices))
        return self._added(found)

    def _joined(self, number: int, bys: Sequence[Sequence[int]], progress: ProgressCallback | None) -> list[Groups]:
        """The groups of an expansion with parts."""
        whole = self.calls.wholes[number]
        group = group_of_whole(whole, self._inside, self.calls.size) if self._asked.one_per_orbit else None
        bindings = [orbit_bindings(self._whole, group, by) for by in bys]
        if is_independent(self._graph, self.calls, whole, self._asked.semantics):
            try:
                return [self._added([self._by_products(number, one, progress) for one in some]) for some in bindings]
            except ResultTooLarge:
                pass
        return self._by_walking(number, bindings, progress)

    def _by_products(self, number: int, binding: OrbitBindings, progress: ProgressCallback | None) -> Groups:
        n, width = self._graph.n_vertices, len(binding.by)
        asked = self._graph, self.calls, self._asked, self._deadline
        found = part_products(*asked, number, binding.by, progress)
        embeddings = summed(binding.own.least(found.vertices[:width]), products(found.factors), n)
        each = len(binding.own.exchanges) * binding.own.divisor
        return binding.of(embeddings._replace(counts=embeddings.counts // each), n)

    def _by_walking(
        self, number: int, bindings: list[list[OrbitBindings]], progress: ProgressCallback | None
    ) -> list[Groups]:
        n = self._graph.n_vertices
        asked = self._graph, self.calls, self._asked, self._deadline
        query = joined_query(*asked, number)._replace(parts=())
        rows = [[GroupedRows(len(one.by), n, self._budget) for one in some] for some in bindings]
        blocks = query.matches_and_tables(progress, self._asked.memory_limit)
        try:
            for matches, tables in blocks:
                factors = [table.factors(matches, n) for table in tables]
                counts = products([np.ones(matches.shape[1], np.int64), *factors])
                for some, grouped in zip(bindings, rows, strict=True):
                    for one, groups in zip(some, grouped, strict=True):
                        for images in one.own.tuples:
                            groups.add(one.own.least(matches[list(images)].astype(np.int32)), counts)
        finally:
            blocks.close()
        return [
            self._added([one.of(groups.groups(), n) for one, groups in zip(some, grouped, strict=True)])
            for some, grouped in zip(bindings, rows, strict=True)
        ]

    def _added(self, groups: list[Groups]) -> Groups:
        """The sum of groups of the same columns."""
        if len(groups) == 1:
            return groups[0]
        vertices = np.concatenate([one.vertices for one in groups], axis=1)
        return summed(vertices, np.concatenate([wide(one.counts) for one in groups]), self._graph.n_vertices)
