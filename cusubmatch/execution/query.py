"""A planned call, carried out: runs of its plan, and blocks of internal vertices as dataframes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import Count, ProgressCallback, Run, RunOptions, TaskRange
from cusubmatch.execution.planning import tables_of
from cusubmatch.execution.results.expand_orbits import expand_orbits
from cusubmatch.execution.results.result_columns import (
    BLOCKS_AT_ONCE,
    blocks_of_parts,
    fill_columns,
    image_columns,
    names_of_columns,
    result_budget,
    returned_to,
)
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.execution.walk_planning import rival_plans
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import each_until, until

if TYPE_CHECKING:
    from cusubmatch.execution.results.chosen_rows import ChosenRows
    from cusubmatch.execution.results.row_order import RowOrder
    from cusubmatch.execution.strategies.side_by_side import HostCount
    from cusubmatch.execution.strategies.table_count import TableCount

__all__ = ["Query"]

FEW_ROWS_BYTES = 64 << 20  # that may wait until it is known which order finds them soon
FRAME_AT_ONCE_BYTES = 1 << 30  # of rows that are turned into ids in one step
MOST_HELD = 4  # times the bytes of few rows that the buffer may have which a dataframe of them keeps


class Query(NamedTuple):
    """A planned call.

    Attributes
    ----------
    graph : Graph
        As the caller gave it.
    engine, plan, prepared
        The engine, its plan, and what the plan is walked on.
    deadline : float or None
        Time (`time.monotonic`) at which the call ends.
    order : RowOrder or None
        How rows are sorted. Blocks then hold what rows are sorted by (`RowOrder.keys`).
    tasks : TaskRange or None
        The first-level tasks whose rows are found; None: all.
    parts : tuple of Query
        Further calls whose rows come after those of this one.
    chosen : ChosenRows or None
        Which of the rows that are found are given, where the plan finds more of an orbit than are wanted.
    why : str
        The reason for the engine.
    """

    graph: Graph
    engine: Engine
    plan: Plan
    prepared: Prepared
    deadline: float | None
    order: RowOrder | None = None
    tasks: TaskRange | None = None
    parts: tuple[Query, ...] = ()
    chosen: ChosenRows | None = None
    why: str = ""

    def in_order(self) -> Query:
        """The same call with its rows in the order of the ids, and of each orbit its least row."""
        from cusubmatch.execution.results.row_order import RowOrder

        order = RowOrder(self.graph, self.placed, self.plan.pattern, self.plan.unique)
        return self._replace(plan=dataclasses.replace(self.plan, columns=order.columns), order=order)

    @property
    def explained(self) -> Plan:
        """The plan, whose text says how the call is carried out."""
        return dataclasses.replace(self.plan, why=self.why)

    @property
    def placed(self) -> Graph:
        """The graph where the engine works."""
        return self.prepared.graph

    def count_run(self, progress: ProgressCallback | None, underway: HostCount | None = None) -> Count:
        """A count by the strategy that the plan says is cheapest; `underway`: the host's, if it has begun."""
        return strategy_of(self.engine, self.plan, self.prepared, underway).run(self.deadline, progress)

    def orbit_count_run(self, progress: ProgressCallback | None, row_ns: float) -> TableCount | None:
        """A run that gives the orbit counts of all vertices without rows; None where rows are cheaper.

        `row_ns` is the time that counting the vertices of one row takes.
        """
        roots = sorted(set(self.plan.pattern.automorphisms.orbits()))
        return self.rooted_run(roots, progress, row_ns)

    def rooted_run(self, roots: Sequence[int], progress: ProgressCallback | None, row_ns: float) -> TableCount | None:
        """A run that gives the embeddings by the images of some pattern vertices; None where rows are cheaper."""
        rows_ns = self.plan.cost + row_ns * self.plan.order.matches[-1]
        if rows_ns < self.engine.table_costs.worth:
            return None
        tables = tables_of(self.engine, self.plan, self.prepared, rows_ns, roots)
        if tables is None or not tables.first:
            return None
        from cusubmatch.execution.strategies.table_count import Tables

        return Tables(self.engine, self.plan, self.prepared, tables).run(self.deadline, progress)

    def run(self, **options: Any) -> Run:
        """A run of the plan; `options` are those of `RunOptions`."""
        return self.engine.run(self.plan, self.prepared, RunOptions(deadline=self.deadline, **options), self.tasks)

    def columns(self) -> list[Hashable]:
        """Names of the result's columns."""
        return names_of_columns(self.graph, self.plan.pattern)

    def blocks(
        self,
        limit: int | None,
        progress: ProgressCallback | None,
        batch_rows: int | None = None,
        memory_limit: int | None = None,
        **options: Any,
    ) -> Generator[Any, None, None]:
        """Blocks of rows, at most `limit` rows together; with `batch_rows`, as many are found ahead of the caller.

        `options` are further ones of `RunOptions`.
        """
        if limit == 0:
            return
        enough = limit if self.chosen is None else None
        walked_blocks = self._walked(enough, progress, batch_rows, memory_limit, **options)
        blocks = expand_orbits(walked_blocks, self.plan, self.placed.xp)
        try:
            for block in blocks:
                rows = (block if self.chosen is None else self.chosen.of(block))[:, :limit]
                yield rows if self.order is None else self.order.keys(rows)
                if limit is not None:
                    limit -= rows.shape[1]
                if limit == 0:
                    return
        finally:  # by name: an interrupt is lost while a generator is closed as garbage
            blocks.close()
            walked_blocks.close()
        yield from blocks_of_parts(self.parts, limit, progress, batch_rows, memory_limit)

    @property
    def whole_orbits(self) -> bool:
        """Whether each row that is walked stands for several of the result, and no more is asked of these."""
        return self.plan.factor > 1 and self.order is None and self.chosen is None and not self.parts

    def orbit_blocks(
        self, limit: int | None, progress: ProgressCallback | None, memory_limit: int | None = None
    ) -> Generator[Any, None, None]:
        """Blocks of one row of each orbit, as few as make `limit` rows; `frame` makes the others."""
        if limit == 0:
            return
        left = None if limit is None else -(-limit // self.plan.factor)
        blocks = self._walked(limit, progress, None, memory_limit)
        try:
            for block in blocks:
                rows = block[:, :left]
                yield rows
                if left is not None:
                    left -= rows.shape[1]
                if left == 0:
                    return
        finally:
            blocks.close()

    def _walked(
        self,
        limit: int | None,
        progress: ProgressCallback | None,
        batch_rows: int | None,
        memory_limit: int | None,
        **options: Any,
    ) -> Generator[Any, None, None]:
        """Blocks of the rows that are walked; `batch_rows` and `options` as for `blocks`."""
        block_rows = None
        if memory_limit is not None:
            block_rows = max(1, memory_limit // (BLOCKS_AT_ONCE * self.row_bytes * self.plan.factor))
        run = self.rows_run(limit, progress, first_rows=batch_rows, block_rows=block_rows, **options)
        engine_blocks: Any = run.blocks()
        return each_until(self.deadline, engine_blocks)

    def sizes(self) -> Generator[int, None, None]:
        """The number of rows of each block."""
        for query in (self, *self.parts):
            for block in query.run().blocks():
                yield block.shape[1] * query.plan.factor

    def rows_run(
        self, limit: int | None, progress: ProgressCallback | None, first_rows: int | None = None, **options: Any
    ) -> Run:
        """A run that finds rows: enough to make `limit`, the first block soon enough to make `first_rows`."""
        factor = self.plan.factor
        limit, first_rows = (None if rows is None else -(-rows // factor) for rows in (limit, first_rows))
        if factor > 1 and progress:
            progress = _in_embeddings(factor, progress)
        ahead = {} if first_rows is None else {"first_rows": first_rows, "ahead_rows": first_rows}
        if first_rows is None and options.get("block_rows") is None and self._may_take_any(limit):
            options["rivals"] = functools.partial(rival_plans, self.plan, self.prepared)
        with until(self.deadline):
            return self.run(progress=progress, enough=limit, **(ahead | options))

    def _may_take_any(self, rows: int | None) -> bool:
        """Whether few rows are wanted, and a walk on a candidate graph may find them in any order."""
        if rows is None or rows * self.row_bytes > FEW_ROWS_BYTES:
            return False
        return self._is_local and self.tasks is None

    @property
    def _is_local(self) -> bool:
        """Whether rows are those of a walk on a candidate graph, as it finds them."""
        as_walked = self.plan.factor == 1 and self.order is None and self.chosen is None
        return as_walked and self.prepared.walked_by(self.plan).vertices is not None

    @property
    def may_write_ids(self) -> bool:
        """Whether a walk can write rows as they are in the result: the caller's ids, no row of which is a part."""
        if not self._is_local or self.parts or self.graph.xp is not np:
            return False
        ids = self.graph.plain_ids
        return ids is not None and ids.dtype == np.int64

    def id_blocks(self, limit: int, progress: ProgressCallback | None) -> Generator[np.ndarray, None, None]:
        """Blocks of rows as ids, at most `limit` rows together, where a walk can write these."""
        return self.blocks(limit, progress, ids=self.graph.plain_ids)

    def frame_of_ids(self, blocks: Sequence[np.ndarray]) -> Any:
        """A dataframe of the caller's family from blocks of ids; one that fills much of its buffer is not copied."""
        if not sum(block.shape[1] for block in blocks):
            return self.frame([])
        first, buffer = blocks[0], blocks[0].base
        is_whole = len(blocks) == 1 and buffer is not None and buffer.nbytes <= MOST_HELD * first.nbytes
        columns = first if is_whole else np.concatenate(blocks, axis=1)
        return self.graph.family.block(self.columns(), columns)

    @property
    def streams_to_host(self) -> bool:
        """Whether rows are found on a device and wanted in host memory."""
        return self.graph.xp is np and self.placed.xp is not np and not self.parts

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of internal vertices, as it is found."""
        return 4 * max(len(self.plan.columns), 1)

    @property
    def result_row_bytes(self) -> int:
        """Bytes of a row of the result while it is made: internal vertices and ids."""
        return len(self.columns()) * (4 + self.graph.id_bytes)

    def budget(self, memory_limit: int | None, xp: Any) -> int:
        """Bytes that a result may take where arrays of `xp` lie: all but a quarter of what is free, by default."""
        return result_budget(memory_limit, xp)

    def sorted(self, blocks: Iterable[Any], memory_bytes: int) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks in order, as blocks of internal vertices in host memory."""
        assert self.order is not None  # noqa: S101 - only calls with an order are sorted
        return self.order.blocks(map(self.engine.to_host, blocks), memory_bytes)

    def frame(self, blocks: Sequence[Any], images: np.ndarray | None = None, limit: int | None = None) -> Any:
        """A dataframe of the caller's family from blocks of internal vertices; on a device where the graph is.

        With `images`, which column of a block each column of each image is (columns, images), it has the rows of all
        images, or `limit` of them.
        """
        if images is None:
            images = np.arange(len(self.columns()))[:, None]
        rows = images.shape[1] * sum(block.shape[1] for block in blocks)
        rows = rows if limit is None else min(rows, limit)
        with contextlib.nullcontext() if self.graph.xp is np else self.graph.targets.device:
            return self._frame(blocks, images, rows)

    def _frame(self, blocks: Sequence[Any], images: np.ndarray, rows: int) -> Any:
        names, graph = self.columns(), self.graph
        ids = graph.plain_ids if rows else None
        columns: Any
        if ids is None:
            columns = self._filled(blocks, images, [graph.xp.empty(rows, np.int32) for _ in names], None)
            return graph.family.frame(dict(zip(names, map(graph.to_ids, columns), strict=True)))
        if rows * len(names) * ids.dtype.itemsize > FRAME_AT_ONCE_BYTES:
            columns = self._filled(blocks, images, [graph.xp.empty(rows, ids.dtype) for _ in names], ids)
        else:  # a dataframe costs a library a fixed time a column and a step: few, large steps
            blocks = [self.returned(block) for block in blocks]
            if graph.xp is np:
                columns = self._filled(blocks, images, np.empty((len(names), rows), ids.dtype), ids)
            else:
                columns = image_columns(graph.xp, ids, blocks, images)[:, :rows]
        return graph.family.block(names, columns)

    def _filled(self, blocks: Sequence[Any], images: np.ndarray, columns: Any, ids: Any) -> Any:
        """Columns, filled with the vertices of the images of blocks, as ids or as they are."""
        begin = 0
        for block in map(self.returned, blocks):
            fill_columns(self.engine, [column[begin:] for column in columns], ids, block, images)
            begin += images.shape[1] * block.shape[1]
        return columns

    def device_ids(self) -> Any:
        """The plain ids by internal vertex, where the engine works; kept there."""
        return self.placed.cache.get("ids", None, lambda: self.placed.xp.asarray(self.graph.plain_ids), 1)

    def returned(self, array: Any) -> Any:
        """An array where the caller's graph lies."""
        return returned_to(self.graph, self.engine, array)


def _in_embeddings(factor: int, progress: ProgressCallback) -> Callable[[float, int], None]:
    """Reports of embeddings, from those of matches that stand for `factor` each."""
    return lambda done, matches: progress(done, factor * matches)
