"""Matches counted by the images of some pattern vertices, by the cheapest of four ways.

By one vertex, sums along a tree or tables of a decomposition give the counts of all vertices at once. By two vertices
that the others join, common neighbours are counted (`pair_groups`). Else matches are walked and counted as they come;
only distinct rows are kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.errors import PatternError
from cusubmatch.execution.collection.whole_blocks import whole_blocks
from cusubmatch.execution.grouping.group_images import GroupImages, group_images
from cusubmatch.execution.grouping.grouped_rows import GroupedRows, Groups, check_size
from cusubmatch.execution.grouping.pair_groups import common_neighbour_form, pair_groups, paths_of
from cusubmatch.execution.grouping.tree_groups import is_tree, number_of_arcs, tree_groups
from cusubmatch.execution.planned_call import PlannedCall, asked_by, make_query
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import result_budget
from cusubmatch.execution.touching import automorphisms_of, touching_rows
from cusubmatch.graph import Graph
from cusubmatch.graph.csr import row_lengths
from cusubmatch.pattern import Pattern
from cusubmatch.plan import constraints_of
from cusubmatch.system.deadlines import until

__all__ = ["GroupedCount", "grouped_count"]

ROW_NS = 80.0  # of sorting a row among others
TREE_NS = 1e6  # that walking takes longer than it seems, for blocks and threads
TREE_ARC_NS = 8.0  # of an arc in the sums of a tree
PAIR_PATH_NS = 2.5  # of a path between two vertices
MAX_COUNT = (1 << 63) - 1  # that an int64 column can hold
BLOCKS_SHARE = 4  # of the budget that a block of rows takes


class GroupedCount:
    """A planned count by the images of some pattern vertices; `grouped_count` makes it.

    Parameters
    ----------
    query : Query or RowQuery
        The call for the rows, on the CPU engine.
    images : GroupImages
    by : sequence of int
    options : QueryOptions
    """

    def __init__(self, query: PlannedCall, images: GroupImages, by: Sequence[int], options: QueryOptions):
        self.query, self.images, self.by, self.options = query, images, tuple(by), options
        self.budget = result_budget(options.memory_limit, np)

    def groups(self, least: int, progress: ProgressCallback | None) -> Groups:
        """The groups with at least so many matches.

        Raises
        ------
        DeadlinePassed, ResultTooLarge, OverflowError
        """
        with until(self.query.deadline):
            found = self._by_tree()
            if found is None:
                found = self._by_tables(progress)
            if found is None:
                found = self._by_common_neighbours(least, progress)
        if found is None:
            found = self._by_rows(progress)
        return found.from_count(least)

    def _tabled(self) -> Query | None:
        """The call, where its matches are those of a plan of levels and nothing chooses among them."""
        query = self.query
        return query if isinstance(query, Query) and query.chosen is None and not query.parts else None

    def _by_tree(self) -> Groups | None:
        query = self._tabled()
        if query is None or len(self.by) > 1 or self.images.divisor > 1:
            return None
        prepared, plan = query.prepared, query.plan
        constraints = constraints_of(plan.pattern, prepared.graph, plan.semantics)
        if not is_tree(constraints):
            return None
        if TREE_ARC_NS * number_of_arcs(constraints, prepared) > TREE_NS + plan.cost + ROW_NS * plan.order.matches[-1]:
            return None
        return tree_groups(constraints, prepared, self.by[0])

    def _by_tables(self, progress: ProgressCallback | None) -> Groups | None:
        query = self._tabled()
        if query is None or len(self.by) > 1:
            return None
        run = query.rooted_run(self.by, progress, ROW_NS * len(self.images.tuples))
        if run is None:
            return None
        embeddings = run.embeddings_by_vertex()[0]
        counts = embeddings // self.images.divisor
        if len(counts) and int(counts.max()) > MAX_COUNT:
            raise OverflowError("a vertex is in 2**63 matches or more, and columns of counts are int64")
        counts = np.array(counts.tolist() if counts.dtype == object else counts, np.int64)
        vertices = np.flatnonzero(counts).astype(np.int32)
        return Groups(vertices[None], counts[vertices])

    def _by_common_neighbours(self, least: int, progress: ProgressCallback | None) -> Groups | None:
        query = self._tabled()
        if query is None or len(self.by) != 2:
            return None
        prepared, plan = query.prepared, query.plan
        constraints = constraints_of(plan.pattern, prepared.graph, plan.semantics)
        form = common_neighbour_form(constraints, *self.by)
        if form is None:
            return None
        needed = form.neighbours_needed(least, self.images.divisor)
        paths = paths_of(form, prepared, self.images, min(needed, np.iinfo(np.uint32).max))
        if form.required:  # a walk finds only pairs that are adjacent
            steps = row_lengths(paths.from_middle.offsets)[paths.to_middle.targets]
            rows = len(self.images.tuples) * plan.order.matches[-1]
            if PAIR_PATH_NS * float(steps.sum()) > plan.cost + ROW_NS * rows:
                return None

        def check(share: float, pairs: int) -> None:
            check_size(pairs, 2, self.budget)
            if progress is not None:
                progress(share, 0)

        return pair_groups(form, query.engine, prepared, paths, self.images.divisor, check)

    def _by_rows(self, progress: ProgressCallback | None) -> Groups:
        query, tuples = self.query, self.images.tuples
        grouped = GroupedRows(len(self.by), query.placed.n_vertices, self.budget)
        memory_limit = self.options.memory_limit
        blocks = whole_blocks(query, progress, None if memory_limit is None else memory_limit // BLOCKS_SHARE)
        try:
            for block in blocks:
                for one in tuples:
                    grouped.add(self.images.least(block.vertices[list(one)]))
        finally:
            blocks.close()
        return grouped.groups()


def grouped_count(
    graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None, by: Sequence[int]
) -> GroupedCount:
    """Plan a count by the images of the pattern vertices `by`; the engine is that of the CPU."""
    if options.edges == "each" and all(edge.name is None for edge in pattern.edges):
        raise PatternError("edges: 'each' binds every named edge to a row, and no edge has a name; write -[p]->")
    options = dataclasses.replace(options, engine="cpu")
    group = automorphisms_of(graph, options, asked_by(pattern, options)) if options.one_per_orbit else None
    images = group_images(group, by)
    plan = make_query if options.touching is None else touching_rows
    return GroupedCount(plan(graph, pattern, options, deadline), images, by, options)
