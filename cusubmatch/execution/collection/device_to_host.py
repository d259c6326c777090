"""Rows found on a device that are wanted in host memory: a pipeline of launch, ids and copy.

When a launch ends, its rows are turned into the caller's ids on the device, the copies to host memory are queued on a
stream of their own, and the next launch begins without waiting for them. A column is contiguous on both sides, so no
pass over the rows follows. Where a row stands for its automorphic images, these exist in host memory alone: a column of
an image is a column of the row, and is copied from there. Rows become one array that grows into reserved, untouched
memory, or a series of batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import numpy as np

from cusubmatch.engines.host_copies import Transfer
from cusubmatch.engines.runs import ProgressCallback, Run
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.collection.host_target import HostTarget, image_copies
from cusubmatch.execution.query import Query
from cusubmatch.execution.results.expand_orbits import orbit_columns
from cusubmatch.system.deadlines import each_until
from cusubmatch.system.host_memory import reserved

__all__ = ["HostStream"]

BLOCKS_AT_ONCE = 16  # blocks of rows that exist at the same time under a memory limit, about
SMALL_BYTES = 1 << 18  # a block, or a batch, up to this size is copied whole, and images are made on the device
COMPACT_BYTES = 32 << 20  # a result below this size is copied out of the larger memory reserved for it
MAX_BLOCK_BATCHES = 32  # batches that a block makes
PINNED_BATCHES = 5  # batches that exist at once: two with the caller, complete, on their way, beginning
SORT_ROWS_AT_ONCE = 1 << 20  # rows that the sort is given at a time


class HostStream:
    """The rows of a query whose engine works on a device, for a caller in host memory; close it at the end.

    Parameters
    ----------
    query : Query
    limit, memory_limit : int or None
        As for `subgraph_match`.
    batch_rows : int, optional
        Rows of a batch; default all in one.
    transfer : Transfer, optional
        Copies to host memory; default those of the engine.

    Attributes
    ----------
    rows : int
        Rows so far.
    """

    def __init__(
        self,
        query: Query,
        limit: int | None,
        memory_limit: int | None,
        batch_rows: int | None = None,
        transfer: Transfer | None = None,
    ):
        self.query, self.rows = query, 0
        self._limit, self._rows_left, self._memory_limit, self._batch_rows = limit, limit, memory_limit, batch_rows
        plain_ids = None if query.order is not None else query.graph.plain_ids
        self._plain = plain_ids is not None
        self._dtype = np.dtype(np.int32) if plain_ids is None else plain_ids.dtype
        self._columns, self._factor = len(query.columns()), query.plan.factor
        self._image_columns = orbit_columns(query.plan) if self._factor > 1 else np.arange(self._columns)[:, None]
        self._budget = query.budget(memory_limit, np)
        self._row_bytes = self._columns * self._dtype.itemsize
        self._transfer = transfer or query.engine.transfer(memory_limit)
        block_bytes = self._transfer.block_bytes
        if memory_limit is not None:
            block_bytes = min(block_bytes, memory_limit // BLOCKS_AT_ONCE)
        self._block_rows = max(1, block_bytes // (max(self._row_bytes, query.row_bytes) * self._factor))
        self._device_ids = None if plain_ids is None else query.device_ids()
        self._targets: deque[HostTarget] = deque()  # the oldest rows first
        self._run: Run | None = None
        self._small = self._pinned = False
        if batch_rows is not None:
            self._set_batches(batch_rows, memory_limit)

    def _set_batches(self, batch_rows: int, memory_limit: int | None) -> None:
        """Choose where batches lie, and how many rows are found ahead of the caller."""
        batch_bytes, pinned_bytes = batch_rows * self._row_bytes, self._transfer.pinned.most
        self._block_rows = max(1, min(self._block_rows, MAX_BLOCK_BATCHES * batch_rows // self._factor))
        if memory_limit is not None:
            pinned_bytes = min(pinned_bytes, memory_limit)
        self._pinned = PINNED_BATCHES * batch_bytes <= pinned_bytes
        self._small = batch_bytes <= SMALL_BYTES
        self._ahead_rows = max(self._block_rows * self._factor, batch_rows)
        if memory_limit is not None and self._ahead_rows * self._row_bytes > memory_limit // 8:
            self._ahead_rows = 0

    def blocks(self, progress: ProgressCallback | None) -> Generator[int, None, None]:
        """Search; the number of rows of each block that is on its way."""
        if self._limit == 0:
            return
        options: dict[str, Any] = {
            "first_rows": self._batch_rows,
            "block_rows": self._block_rows,
            "ahead_rows": 1,
            "then": self._take,
        }
        self._run = self.query.rows_run(self._limit, progress, **options)
        engine_blocks: Any = self._run.blocks()
        blocks = each_until(self.query.deadline, engine_blocks)
        try:
            for rows in blocks:
                yield rows
                if self._rows_left == 0:
                    return
        finally:
            blocks.close()

    def batches(self, progress: ProgressCallback | None) -> Generator[Any, None, None]:
        """Dataframes of `batch_rows` rows, as they arrive; what is left is for `frame`.

        Rows that the next launch has found already are sent first, as long as few are waiting.
        """
        late, blocks = None, self.blocks(progress)
        try:
            for _ in blocks:
                while self._complete and not (self._waiting <= self._ahead_rows and self._more_is_there):
                    yield self._batch()
        except DeadlinePassed as error:
            late = error
        finally:
            blocks.close()
        while self._complete:
            yield self._batch()
        if late is not None:
            raise late

    @property
    def too_large(self) -> bool:
        """Whether the rows, as blocks and as columns of ids, pass the memory for a result."""
        return self.rows * self.query.result_row_bytes > self._budget

    def finish(self) -> None:
        """Wait until all that was found is there."""
        self._transfer.finish()

    def frame(self) -> Any:
        """All rows that are in no batch as a dataframe of the caller's family."""
        parts = [target.filled() for target in self._targets]
        if self.query.order is not None:
            step = SORT_ROWS_AT_ONCE
            blocks = (part[:, at : at + step] for part in parts for at in range(0, part.shape[1], step))
            return self.query.frame(list(self.query.sorted(blocks, self._budget)))
        if not parts:
            return self.query.frame([])
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if len(parts) == 1 and whole.nbytes < min(COMPACT_BYTES, self._targets[0].array.nbytes // 2):
            whole = whole.copy()
        return self._frame(whole)

    def clear(self) -> None:
        """Drop all rows, but not their number."""
        self.close()
        self._targets.clear()

    def close(self) -> None:
        """Let go of everything but the rows that have arrived."""
        self._transfer.close()

    @property
    def _complete(self) -> bool:
        """Whether the oldest batch has all its rows."""
        return bool(self._targets) and not self._targets[0].free_rows

    @property
    def _waiting(self) -> int:
        """Rows in complete batches."""
        return sum(target.rows for target in self._targets if not target.free_rows)

    @property
    def _more_is_there(self) -> bool:
        """Whether the next launch has rows already."""
        return self._rows_left != 0 and self._run is not None and self._run.ready

    def _batch(self) -> Any:
        return self._frame(self._targets.popleft().filled())

    def _frame(self, rows: np.ndarray) -> Any:
        if self._plain:
            return self.query.graph.family.block(self.query.columns(), rows)
        return self.query.frame([rows])

    def _take(self, rows: Any) -> int:
        """Send a block of rows on its way; how many rows of the result it makes."""
        block_rows, factor, image_columns = rows.shape[1], self._factor, self._image_columns
        total = block_rows * factor if self._rows_left is None else min(block_rows * factor, self._rows_left)
        if self.query.order is not None:
            source = self.query.order.keys(rows)
        else:
            source = rows if self._device_ids is None else self._device_ids[rows]
        if small := self._small or block_rows * factor * self._row_bytes <= SMALL_BYTES:
            if factor > 1:
                source = source[self.query.placed.xp.asarray(image_columns)].reshape(self._columns, block_rows * factor)
                block_rows, image_columns = block_rows * factor, np.arange(self._columns)[:, None]
            source = source if isinstance(source, np.ndarray) else self.query.placed.xp.asnumpy(source)
        begin = 0
        while begin < total:
            target = self._target()
            end = min(total, begin + target.free_rows)
            host = target.array[:, target.rows : target.rows + end - begin]
            copies = image_copies(host, source, image_columns, block_rows, begin)
            if small:
                for (place,), column in copies:
                    place[...] = column
            else:
                target.arrivals.append(self._transfer.send(copies, target.pinned))
            target.rows += end - begin
            begin = end
        self.rows += total
        if self._rows_left is not None:
            self._rows_left -= total
        return total

    def _target(self) -> HostTarget:
        """Where the next rows go."""
        if not self._targets or not self._targets[-1].free_rows:
            self._targets.append(self._new_target())
        return self._targets[-1]

    def _new_target(self) -> HostTarget:
        if self._batch_rows is not None:
            size = self._batch_rows * self._row_bytes
            buffer = self._transfer.pinned.take(size) if self._pinned and not self._small else None
            return self._target_in(reserved(size) if buffer is None else buffer, pinned=buffer is not None)
        least = self._block_rows * self._factor
        rows = max(self._budget // self.query.result_row_bytes, least)
        if self._rows_left is not None:
            rows = min(rows, self._rows_left)
        while True:  # where address space is bounded too, it may have less for what is never touched
            try:
                return self._target_in(reserved(rows * self._row_bytes), pinned=False)
            except MemoryError:
                if rows <= least:
                    raise
                rows = max(rows // 2, least)

    def _target_in(self, memory: np.ndarray, pinned: bool) -> HostTarget:
        return HostTarget(memory.view(self._dtype).reshape(self._columns, -1), pinned)
