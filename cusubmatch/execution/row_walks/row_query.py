"""A planned call that walks rows of the edge table, and its blocks of matches as dataframes.

It answers what a `Query` answers, for patterns whose conditions compare edges or vertices, and for `edges="each"`. A
block is int64 (columns, matches): internal vertices of the named vertices, then rows of the bound edges.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Generator, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import RowBlock
from cusubmatch.engines.runs import Count, ProgressCallback, RunOptions, TaskRange
from cusubmatch.errors import GraphError
from cusubmatch.execution.engine_choice import engine_for
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.refined_calls import key_of
from cusubmatch.execution.results.result_columns import (
    BLOCKS_AT_ONCE,
    blocks_of_parts,
    names_with_edges,
    result_budget,
    returned_to,
)
from cusubmatch.execution.results.row_order import named_vertices
from cusubmatch.execution.row_walks.distinct_matches import DistinctMatches
from cusubmatch.execution.row_walks.match_order import MatchOrder
from cusubmatch.execution.row_walks.row_planning import RowProblem, group_of, row_problem_of, statistics_of
from cusubmatch.graph import Graph
from cusubmatch.graph.properties import edge_columns, tables_of
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.pattern.condition_form import elements_in
from cusubmatch.pattern.expressions import Absent
from cusubmatch.plan.asked import Asked
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.split import split_conditions
from cusubmatch.plan.explain.describe_rows import RowPlanText
from cusubmatch.plan.rows.row_estimates import RowEstimates
from cusubmatch.plan.rows.row_plan import RowPlan
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.system.deadlines import each_until

__all__ = ["RowQuery", "make_row_query", "needs_rows"]

MIN_KEPT_PLANS = 4  # and the rows that they walk, which take memory
KEPT_PATTERNS = 256
MOST_BY_ROWS = 2.0  # times the cost of a walk over vertices, which estimates take for cheaper than it is
ROW_POSITION_BYTES = 8


class RowQuery(NamedTuple):
    """A planned call.

    Attributes
    ----------
    graph : Graph
        As the caller gave it.
    placed : Graph
        Where the engine works.
    engine : Engine
    pattern : Pattern
    problem : RowProblem
    plan : RowPlan
    deadline : float or None
        Time (`time.monotonic`) at which the call ends.
    edge_id : str or None
        The column of the edge table that names a row in the result; None: its position.
    tasks : TaskRange or None
        The first-level tasks whose matches are found; None: all.
    parts : tuple of RowQuery
        Further calls whose matches belong to this one.
    by_rows : RowPlan or None
        A plan that finds each match once for every combination of rows, where that is expected to be the shorter way.
    order : MatchOrder or None
        How rows are sorted. Blocks then hold what rows are sorted by (`MatchOrder.keys`).
    """

    graph: Graph
    placed: Graph
    engine: Engine
    pattern: Pattern
    problem: RowProblem
    plan: RowPlan
    deadline: float | None
    edge_id: Hashable | None = None
    tasks: TaskRange | None = None
    parts: tuple[RowQuery, ...] = ()
    by_rows: RowPlan | None = None
    order: MatchOrder | None = None

    @property
    def streams_to_host(self) -> bool:
        """Whether rows are found on a device and wanted in host memory."""
        return False

    def count_run(self, progress: ProgressCallback | None) -> Count:
        """A count by walking."""
        return self.run(progress=progress)

    def run(self, **options: Any) -> Any:
        """A run of the plan; `options` are those of `RunOptions`."""
        if self.by_rows is None:
            return self._walk(self.plan, options)
        by_rows, progress, enough = self.by_rows, options.pop("progress", None), options.pop("enough", None)
        whole = {"progress": progress, "enough": enough}
        return DistinctMatches(
            lambda report: self._walk(by_rows, {"progress": report}),
            lambda: self._walk(self.plan, whole),
            enough,
            progress,
            self.placed.xp,
        )

    def _walk(self, plan: RowPlan, options: Mapping[str, Any]) -> Any:
        run_options = RunOptions(deadline=self.deadline, **options)
        return self.engine.walk_rows(plan, self.problem.prepared, run_options, self.tasks)

    def blocks(
        self,
        limit: int | None,
        progress: ProgressCallback | None,
        batch_rows: int | None = None,
        memory_limit: int | None = None,
    ) -> Generator[Any, None, None]:
        """Blocks of matches, at most `limit` together; with `batch_rows`, as many are found ahead of the caller."""
        if limit == 0:
            return
        blocks = self._row_blocks(limit, progress, batch_rows, memory_limit)
        vertices = named_vertices(self.pattern)
        try:
            for block in blocks:
                columns = self._columns_of(block, vertices)[:, :limit]
                yield columns if self.order is None else self.order.keys(columns, len(vertices))
                if limit is not None:
                    limit -= columns.shape[1]
                if limit == 0:
                    return
        finally:
            blocks.close()
        yield from blocks_of_parts(self.parts, limit, progress, batch_rows, memory_limit)

    def _columns_of(self, block: RowBlock, vertices: tuple[int, ...]) -> Any:
        """The named vertices and the rows of matches, int64; of the least of each orbit where they are sorted."""
        if self.order is None:
            return self.placed.xp.concatenate([block.vertices[list(vertices)].astype(np.int64), block.rows])
        whole = self.order.least(self.placed.xp.concatenate([block.vertices.astype(np.int64), block.rows]))
        return whole[[*vertices, *range(len(self.pattern), len(whole))]]

    def sorted(self, blocks: Iterable[Any], memory_bytes: int) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks in order, as blocks in host memory."""
        assert self.order is not None  # noqa: S101 - only calls with an order are sorted
        n_columns, on_host = len(self.columns()), map(self.engine.to_host, blocks)
        return self.order.blocks(on_host, n_columns, n_columns - len(self.bound_names), memory_bytes)

    def _row_blocks(
        self,
        limit: int | None,
        progress: ProgressCallback | None,
        batch_rows: int | None = None,
        memory_limit: int | None = None,
    ) -> Generator[Any, None, None]:
        """Blocks of matches as the engine gives them, of this call without its parts."""
        ahead: dict[str, int] = {} if batch_rows is None else {"first_rows": batch_rows, "ahead_rows": batch_rows}
        if memory_limit is not None:
            ahead["block_rows"] = max(1, memory_limit // (BLOCKS_AT_ONCE * self.row_bytes))
        engine_blocks: Any = self.run(progress=progress, enough=limit, **ahead).blocks()
        return each_until(self.deadline, engine_blocks)

    def whole_blocks(
        self, progress: ProgressCallback | None, memory_limit: int | None = None
    ) -> Generator[RowBlock, None, None]:
        """Blocks with the images of all pattern vertices; also of the further calls."""
        for query in (self, *self.parts):
            blocks = query._row_blocks(None, progress, None, memory_limit)  # noqa: SLF001
            try:
                yield from blocks
            finally:
                blocks.close()

    def sizes(self) -> Generator[int, None, None]:
        """The number of matches, block by block."""
        for query in (self, *self.parts):
            for block in query.run().blocks():
                yield block.vertices.shape[1]

    @property
    def bound_names(self) -> list[str]:
        """The names of the edges whose rows are columns of the result."""
        if self.plan.pattern.existential:
            return []
        return [str(self.pattern.edges[edge].name) for edge in self.plan.pattern.bound_edges]

    @property
    def explained(self) -> RowPlanText:
        """The plan in words."""
        problem = self.problem
        found = RowEstimates(problem.pattern, statistics_of(problem.prepared)).candidates(self.plan.steps)
        return RowPlanText(self.pattern, self.plan, problem.conditions, problem.kept, found, self.engine.name)

    def columns(self) -> list[Hashable]:
        """Names of the result's columns."""
        return names_with_edges(self.graph, self.pattern, self.bound_names)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as it is found."""
        return 8 * max(len(self.pattern.columns) + len(self.bound_names), 1)

    @property
    def result_row_bytes(self) -> int:
        """Bytes of a row of the result while it is made."""
        return len(self.pattern.columns) * (8 + self.graph.id_bytes) + 2 * ROW_POSITION_BYTES * len(self.bound_names)

    def budget(self, memory_limit: int | None, xp: Any) -> int:
        """Bytes that a result may take where arrays of `xp` lie: all but a quarter of what is free, by default."""
        return result_budget(memory_limit, xp)

    def frame(self, blocks: list[Any]) -> Any:
        """A dataframe of the caller's family from blocks."""
        graph, names = self.graph, self.columns()
        arrays, first_edge = self._arrays(blocks), len(names) - len(self.bound_names)
        made = [graph.to_ids(vertices) for vertices in arrays[:first_edge]]
        made += [self._edge_column(rows) for rows in arrays[first_edge:]]
        return graph.family.frame(dict(zip(names, made, strict=True)))

    def _arrays(self, blocks: list[Any]) -> list[Any]:
        """The columns of blocks as arrays where the graph's are."""
        xp = self.graph.xp
        if not blocks:
            return [xp.empty(0, np.int64)] * len(self.columns())
        placed = list(map(self.returned, blocks))
        return [xp.concatenate([block[i] for block in placed]) for i in range(len(self.columns()))]

    def returned(self, array: Any) -> Any:
        """An array where the caller's graph lies."""
        return returned_to(self.graph, self.engine, array)

    def _edge_column(self, rows: Any) -> Any:
        """What the result says of rows of the edge table."""
        if self.edge_id is None:
            return self.graph.family.integers(rows)
        table = tables_of(self.graph).edges
        return table.family.take(table.column(self.edge_id), rows)


def needs_rows(asked: Asked) -> bool:
    """Whether rows of the edge table must be walked for a call."""
    return asked.edges == "each" or _compares_elements(asked.pattern)


@functools.lru_cache(maxsize=KEPT_PATTERNS)
def _compares_elements(pattern: Pattern) -> bool:
    """Whether a condition names several vertices or edges; negated edges are not walked by rows."""
    return any(not isinstance(part, Absent) and len(elements_in([part])) > 1 for part in pattern.conditions)


def make_row_query(graph: Graph, options: QueryOptions, deadline: float | None, asked: Asked) -> RowQuery:
    """Plan a call that walks rows; the plan is kept with the graph.

    Raises
    ------
    EngineUnavailable
        If there is no GPU and one is asked for.
    PatternError
        If edges are to be bound and none has a name.
    GraphError
        If sorted rows are asked for, and the ids have no order.
    """
    pattern = asked.pattern
    if asked.edges == "each" and all(edge.name is None for edge in pattern.edges):
        raise PatternError("edges: 'each' binds every named edge to a row, and no edge has a name; write -[p]->")
    if options.edge_id is not None and str(options.edge_id) not in (names := edge_columns(graph)):
        raise GraphError(f"edge_id: the edge table has no column {options.edge_id!r}; its columns are {names}")
    engine, _ = engine_for(options, graph)
    placed, host = engine.place(graph), graph.host
    call = options.semantics, options.one_per_orbit, options.counting, engine.name

    def make() -> tuple[RowProblem, RowPlan, RowPlan | None]:
        environment = Environment(host, pattern.elements, asked.parameters)
        split = split_conditions(pattern.conditions, environment)
        problem = row_problem_of(asked, split, environment, options.semantics, options.one_per_orbit)
        problem = problem._replace(prepared=problem.prepared._replace(graph=placed))
        statistics, stepwise = statistics_of(problem.prepared), engine.walks_rows_stepwise
        asks = problem.pattern.by_programs() if stepwise else problem.pattern.by_windows()
        once = problem.pattern.by_programs() if problem.pattern.existential else asks
        plan, by_rows = plan_rows(once, statistics, options.counting, stepwise=stepwise), None
        if problem.pattern.existential and problem.pattern.bound_edges:
            every = dataclasses.replace(asks, existential=False)
            by_rows = plan_rows(every, statistics, count=False, stepwise=stepwise)
            if by_rows.cost > MOST_BY_ROWS * plan.cost:
                by_rows = None
        return problem, plan, by_rows

    problem, plan, by_rows = placed.cache.get("row plans", (key_of(asked), *call), make, placed.keep(MIN_KEPT_PLANS))
    query = RowQuery(graph, placed, engine, pattern, problem, plan, deadline, options.edge_id, by_rows=by_rows)
    if not options.sort:
        return query
    bound = range(len(pattern), len(pattern) + len(query.bound_names))
    group = group_of(asked) if options.one_per_orbit else None
    return query._replace(order=MatchOrder(graph, placed, len(pattern), [*named_vertices(pattern), *bound], group))
