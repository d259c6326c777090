"""A planned call whose matches are joined with those of parts: what must exist between several vertices, and OPTIONAL.

The pattern without its parts is matched as any other, on the CPU engine. Where the parts tell vertices apart that are
alike without them, all embeddings are found and one of each orbit of the whole pattern is chosen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.prepared import RowBlock
from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.execution.collection.whole_blocks import whole_blocks
from cusubmatch.execution.compound.existing import existing_parts
from cusubmatch.execution.compound.joined_options import base_options, edge_names, group_of_whole, narrowed
from cusubmatch.execution.compound.part_tables import PartTable, part_table
from cusubmatch.execution.compound.row_keys import sum_of_products
from cusubmatch.execution.compound.simple_calls import SimpleCalls, grouped_by, shared_names
from cusubmatch.execution.planned_call import PlannedCall, asked_by, make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import blocks_of_parts, names_with_edges, result_budget
from cusubmatch.execution.results.row_order import named_vertices
from cusubmatch.execution.row_walks.match_order import MatchOrder
from cusubmatch.execution.touching import automorphisms_of, touching_rows
from cusubmatch.graph import Graph
from cusubmatch.graph.properties import tables_of
from cusubmatch.pattern import Pattern
from cusubmatch.plan.symmetry import ordered_pairs
from cusubmatch.system.deadlines import until

__all__ = ["JoinedQuery", "joined_query"]

MAX_WAITING = 1 << 18  # matches that wait until parts are looked for at their images


class JoinedQuery(NamedTuple):
    """A planned call; it answers what a `Query` answers.

    Attributes
    ----------
    graph : Graph
        As the caller gave it.
    whole : Pattern
        With its parts.
    base : Query or RowQuery
        The call without parts.
    below : tuple of (u, w)
        Vertices, and named edges numbered after them, whose images must be in order.
    calls : SimpleCalls
        The parts are among them.
    inside : QueryOptions
        With the parameters and candidates of parts.
    deadline : float or None
    edge_id : str or None
    bound_names : tuple of str
        The edges whose rows are columns.
    parts : tuple of JoinedQuery
        Further calls whose rows come after those of this one.
    order : MatchOrder or None
        How rows are sorted. Blocks then hold what rows are sorted by (`MatchOrder.keys`).
    """

    graph: Graph
    whole: Pattern
    base: PlannedCall
    below: tuple[tuple[int, int], ...]
    calls: SimpleCalls
    inside: QueryOptions
    deadline: float | None
    edge_id: Hashable | None
    bound_names: tuple[str, ...]
    parts: tuple[JoinedQuery, ...] = ()
    order: MatchOrder | None = None

    @property
    def placed(self) -> Graph:
        """Where the engine works."""
        return self.base.placed

    @property
    def engine(self) -> Any:
        """The engine of the call without parts."""
        return self.base.engine

    @property
    def streams_to_host(self) -> bool:
        """Whether rows are found on a device and wanted in host memory."""
        return False

    def columns(self) -> list[Hashable]:
        """Names of the result's columns."""
        return names_with_edges(self.graph, self.whole, self.bound_names)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as it is found."""
        return 8 * max(len(self.whole.columns) + len(self.bound_names), 1)

    @property
    def result_row_bytes(self) -> int:
        """Bytes of a row of the result while it is made."""
        return len(self.whole.columns) * (8 + self.graph.id_bytes) + 16 * len(self.bound_names)

    def budget(self, memory_limit: int | None, xp: Any) -> int:
        """Bytes that a result may take where arrays of `xp` lie."""
        return result_budget(memory_limit, xp)

    def blocks(
        self,
        limit: int | None,
        progress: ProgressCallback | None,
        batch_rows: int | None = None,
        memory_limit: int | None = None,
    ) -> Generator[np.ndarray, None, None]:
        """Blocks of rows, at most `limit` together: (columns, rows), -1 where a part has no match.

        They are int32 where all columns are vertices, else int64.
        """
        if limit == 0:
            return
        vertices = len(self.whole.columns)
        matches_of_base = self.matches_and_tables(progress, memory_limit)
        try:
            for matches, tables in matches_of_base:
                for rows in self._rows_of(matches, tables):
                    kept = rows[:, :limit]
                    yield kept if self.order is None else self.order.keys(kept, vertices)
                    if limit is not None:
                        limit -= kept.shape[1]
                    if limit == 0:
                        return
        finally:
            matches_of_base.close()
        yield from blocks_of_parts(self.parts, limit, progress, batch_rows, memory_limit)

    def counts(self, progress: ProgressCallback | None) -> Generator[int, None, None]:
        """The number of rows of this call without its parts, block by block; no row is made."""
        found = self.matches_and_tables(progress)
        try:
            for matches, tables in found:
                factors = [table.factors(matches, self.graph.n_vertices) for table in tables]
                yield sum_of_products([np.ones(matches.shape[1], np.int64), *factors])
        finally:
            found.close()

    def matches_and_tables(
        self, progress: ProgressCallback | None, memory_limit: int | None = None
    ) -> Generator[tuple[np.ndarray, tuple[PartTable, ...]], None, None]:
        """The matches that have all that must exist, block by block, with the parts that they are joined with.

        While they are few they wait: then parts are looked for only at their images.
        """
        base_blocks = whole_blocks(self.base, progress, memory_limit)
        waiting, images = list[np.ndarray](), dict[int, np.ndarray]()
        try:
            for block in base_blocks:
                waiting.append(self._of_orbits(block))
                if sum(matches.shape[1] for matches in waiting) > MAX_WAITING:
                    break
            else:
                parts = [*self.calls.optional, *(part for _, part in self.calls.exists)]
                shared = {self.whole.names.index(name) for part in parts for name in shared_names(self.whole, part)}
                images = {v: np.concatenate([np.empty(0, np.int64), *(some[v] for some in waiting)]) for v in shared}
            inside = narrowed(self.inside, images, self.graph.n_vertices)
            asked = self.graph, self.whole
            with until(self.deadline):
                exists = existing_parts(*asked, self.calls, inside, self.deadline)
                tables = tuple(
                    part_table(*asked, part, inside, self.deadline, self.calls.size) for part in self.calls.optional
                )
            for matches in chain(waiting, map(self._of_orbits, base_blocks)):
                for one in exists:
                    matches = matches[:, one.holds(matches, self.graph.n_vertices)]  # noqa: PLW2901
                yield matches, tables
        finally:
            base_blocks.close()

    def _of_orbits(self, block: RowBlock) -> np.ndarray:
        """The matches of a block of the call without parts, one of each orbit of the whole pattern."""
        matches = block.vertices
        if self.calls.options.edges == "each":
            matches = np.concatenate([matches.astype(np.int64), block.rows.astype(np.int64)])
        for u, w in self.below:
            matches = matches[:, matches[u] < matches[w]]
        return matches if self.order is None else self.order.least(matches)

    def sorted(self, blocks: Iterable[np.ndarray], memory_bytes: int) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks in order."""
        assert self.order is not None  # noqa: S101 - only calls with an order are sorted
        return self.order.blocks(blocks, len(self.columns()), len(self.whole.columns), memory_bytes)

    def _rows_of(self, matches: np.ndarray, own: tuple[PartTable, ...]) -> Iterator[np.ndarray]:
        """The rows of some matches: those of one part after the other."""
        size = len(matches)

        def extended(whole: np.ndarray, tables: tuple[PartTable, ...]) -> Iterator[np.ndarray]:
            if not tables:
                yield whole
                return
            for longer in tables[0].joined(whole[:size], whole[size:], self.graph.n_vertices):
                yield from extended(longer, tables[1:])

        columns = self.columns_of(size, own)
        for whole in extended(matches, own):
            yield whole[columns]

    def columns_of(self, size: int, tables: tuple[PartTable, ...]) -> list[int]:
        """Which lines of joined matches are columns: vertices, those of parts, rows, those of parts."""
        n = len(self.whole)
        vertices = [v for v, name in enumerate(self.whole.names) if name is not None]
        rows, at = list(range(n, size)), size
        for part, table in zip(self.whole.optional, tables, strict=True):
            new = sum(name is not None and name not in self.whole.names for name in part.names)
            vertices += range(at, at + new)
            rows += range(at + new, at + len(table.given))
            at += len(table.given)
        return [*vertices, *rows]

    def sizes(self) -> Generator[int, None, None]:
        """The number of rows, block by block."""
        for query in (self, *self.parts):
            yield from query.counts(None)

    def frame(self, blocks: list[np.ndarray]) -> Any:
        """A dataframe of the caller's family from blocks."""
        names = self.columns()
        parts = [[block[i] for block in blocks] for i in range(len(names))]
        arrays = [np.concatenate(part) if part else np.empty(0, np.int64) for part in parts]
        first_edge, optional = len(names) - len(self.bound_names), self._optional_columns()
        columns = {}
        for place, (name, array) in enumerate(zip(names, arrays, strict=True)):
            is_row = place >= first_edge
            if optional[place]:
                made = self._column(np.maximum(array, 0), is_row)
                columns[name] = self.graph.family.with_nulls(made, array < 0)
            else:
                columns[name] = self._column(array, is_row)
        return self.graph.family.frame(columns)

    def _optional_columns(self) -> list[bool]:
        """Which columns may hold nulls."""
        own = [name for name in self.whole.names if name is not None]
        rows = len(self.bound_names) and sum(edge.name is not None for edge in self.whole.edges)
        vertices = [False] * len(own) + [True] * (len(self.whole.columns) - len(own))
        return [*vertices, *[False] * rows, *[True] * (len(self.bound_names) - rows)]

    def _column(self, numbers: np.ndarray, is_row: bool) -> Any:
        graph = self.graph
        if not is_row:
            return graph.to_ids(graph.xp.asarray(numbers if graph.n_vertices else numbers[:0]))
        if self.edge_id is None:
            return graph.family.integers(graph.xp.asarray(numbers))
        table = tables_of(graph).edges
        return table.family.take(table.column(self.edge_id), graph.xp.asarray(numbers))


def joined_query(
    graph: Graph, calls: SimpleCalls, asked: QueryOptions, deadline: float | None, number: int = 0
) -> JoinedQuery:
    """Plan the call for the rows of an expansion; `asked` has the parameters of all parts."""
    whole, plain = calls.wholes[number], calls.patterns[number]
    options = base_options(whole, calls.options)
    inside = dataclasses.replace(asked, candidates=calls.options.candidates)
    below: tuple[tuple[int, int], ...] = ()
    group = group_of_whole(whole, inside, calls.size) if asked.one_per_orbit else None
    if group is not None:
        below = ordered_pairs(group, range(group.size))
        own = automorphisms_of(graph, options, asked_by(plain, options))
        if own.order == group.order:
            options, below = dataclasses.replace(options, unique=None), ()
    plan = make_query if options.touching is None else touching_rows
    base = plan(graph, plain, options, deadline)
    for part in (*calls.optional, *(part for _, part in calls.exists)):  # what is wrong with them is said at once
        grouped_by(graph, whole, part, shared_names(whole, part), inside, deadline)
    bound = tuple(edge_names(whole, True)) if asked.edges == "each" else ()
    query = JoinedQuery(graph, whole, base, below, calls, inside, deadline, asked.edge_id, bound)
    if asked.sort:
        edges = range(len(whole), len(whole) + (len(edge_names(whole, False)) if bound else 0))
        order = MatchOrder(graph, query.placed, len(whole), [*named_vertices(whole), *edges], group)
        query = query._replace(order=order)
    if number == 0 and len(calls.wholes) > 1:
        others = (joined_query(graph, calls, asked, deadline, i) for i in range(1, len(calls.wholes)))
        query = query._replace(parts=tuple(others))
    return query
