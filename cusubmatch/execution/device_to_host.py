"""Rows found on a device that are wanted in host memory: a pipeline of launch, ids and copy.

When a launch ends, its rows are turned into the caller's ids on the device, the copies to their places in host memory
are queued on the bus, and the next launch begins, which they do not wait for. A column is contiguous on both sides, so
no pass over the rows follows. Where a row stands for its automorphic images, these exist in host memory alone: a column
of an image is a column of the row, and is copied from there. Rows become one array that grows into reserved, untouched
memory, or a series of batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import numpy as np

from cusubmatch.engines.base import Arrival, Transfer
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.expand_orbits import orbit_columns
from cusubmatch.execution.query import Query
from cusubmatch.system.deadlines import each_until
from cusubmatch.system.host_memory import reserved

__all__ = ["HostStream"]

BLOCKS = 16  # of rows that exist at once, about, under a memory limit
SMALL_BYTES = 1 << 18  # of a block, or of the batches it makes: it is copied whole, and images are made on the device
COMPACT_BYTES = 32 << 20  # a result that is copied out of the memory reserved for it
BLOCK_BATCHES = 32  # that a block makes at most
PINNED_BATCHES = 5  # that exist at once: two with the caller, complete, on their way, beginning
SORTED_ROWS = 1 << 20  # given to the sort at a time


class HostTarget:
    """An array (columns, capacity) that is being filled."""

    def __init__(self, array: np.ndarray, pinned: bool):
        self.array, self.pinned = array, pinned
        self.rows = 0
        self.arrivals: list[Arrival] = []

    @property
    def room(self) -> int:
        return self.array.shape[1] - self.rows

    def filled(self) -> np.ndarray:
        """What it holds, once all of it is there."""
        while self.arrivals:
            self.arrivals[-1].wait()
            self.arrivals.pop()
        return self.array[:, : self.rows]


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
        self._limit, self._left, self._memory_limit, self._batch_rows = limit, limit, memory_limit, batch_rows
        plan, graph = query.plan, query.graph
        plain = None if query.order is not None else graph.plain_ids
        self._plain = plain is not None
        self._dtype = np.dtype(np.int32) if plain is None else plain.dtype
        self._columns, self._factor = len(query.columns()), plan.factor
        self._images = orbit_columns(plan) if self._factor > 1 else np.arange(self._columns)[:, None]
        self._room = query.budget(memory_limit, np)
        row_bytes = self._columns * self._dtype.itemsize
        self._bus = transfer or query.engine.transfer(memory_limit)
        block = self._bus.block_bytes if memory_limit is None else min(self._bus.block_bytes, memory_limit // BLOCKS)
        self._block_rows = max(1, block // (max(row_bytes, query.row_bytes) * self._factor))
        self._table = None if plain is None else query.device_ids()
        self._targets: deque[HostTarget] = deque()  # the oldest rows first
        self._run: Any = None
        self._small = self._pinned = False
        if batch_rows is not None:
            batch, most = batch_rows * row_bytes, self._bus.pinned.most
            self._block_rows = max(1, min(self._block_rows, BLOCK_BATCHES * batch_rows // self._factor))
            self._pinned = PINNED_BATCHES * batch <= (most if memory_limit is None else min(most, memory_limit))
            self._small = batch <= SMALL_BYTES
            self._ahead_rows = max(self._block_rows * self._factor, batch_rows)
            if memory_limit is not None and self._ahead_rows * row_bytes > memory_limit // 8:
                self._ahead_rows = 0

    def blocks(self, progress: Any) -> Generator[int, None, None]:
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
        blocks = each_until(self.query.deadline, self._run.blocks())
        try:
            for rows in blocks:
                yield rows
                if self._left == 0:
                    return
        finally:
            blocks.close()

    def batches(self, progress: Any) -> Generator[Any, None, None]:
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
        return self.rows * self._columns * (4 + self.query.graph.id_bytes) > self._room

    def finish(self) -> None:
        """Wait until all that was found is there."""
        self._bus.finish()

    def frame(self) -> Any:
        """All rows that are in no batch as a dataframe of the caller's family."""
        parts = [target.filled() for target in self._targets]
        if self.query.order is not None:
            pieces = (part[:, at : at + SORTED_ROWS] for part in parts for at in range(0, part.shape[1], SORTED_ROWS))
            return self.query.frame(list(self.query.sorted(pieces, self._room)))
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
        self._bus.close()

    @property
    def _complete(self):
        return bool(self._targets) and not self._targets[0].room

    @property
    def _waiting(self):
        """Rows in complete batches."""
        return sum(target.rows for target in self._targets if not target.room)

    @property
    def _more_is_there(self):
        return self._left != 0 and self._run.ready

    def _batch(self):
        return self._frame(self._targets.popleft().filled())

    def _frame(self, rows):
        if self._plain:
            return self.query.graph.family.block(self.query.columns(), rows)
        return self.query.frame([rows])

    def _take(self, rows):
        """Send a block of rows on its way; how many it makes."""
        n, factor, images = rows.shape[1], self._factor, self._images
        total = n * factor if self._left is None else min(n * factor, self._left)
        if self.query.order is not None:
            source = self.query.order.keys(rows)
        else:
            source = rows if self._table is None else self._table[rows]
        if small := self._small or n * factor * self._columns * self._dtype.itemsize <= SMALL_BYTES:
            if factor > 1:
                source = source[self.query.placed.xp.asarray(images)].reshape(self._columns, n * factor)
                n, images = n * factor, np.arange(self._columns)[:, None]
            source = source if isinstance(source, np.ndarray) else self.query.placed.xp.asnumpy(source)
        begin = 0
        while begin < total:
            target = self._target()
            end = min(total, begin + target.room)
            spreads = _spreads(target.array[:, target.rows : target.rows + end - begin], source, images, n, begin)
            if small:
                for (host,), array in spreads:
                    host[...] = array
            else:
                target.arrivals.append(self._bus.send(spreads, target.pinned))
            target.rows += end - begin
            begin = end
        self.rows += total
        if self._left is not None:
            self._left -= total
        return total

    def _target_in(self, memory, pinned):
        return HostTarget(memory.view(self._dtype).reshape(self._columns, -1), pinned)

    def _target(self):
        """Where the next rows go."""
        if not self._targets or not self._targets[-1].room:
            self._targets.append(self._new_target())
        return self._targets[-1]

    def _new_target(self):
        if self._batch_rows is not None:
            size = self._columns * self._batch_rows * self._dtype.itemsize
            buffer = self._bus.pinned.take(size) if self._pinned and not self._small else None
            return self._target_in(reserved(size) if buffer is None else buffer, pinned=buffer is not None)
        rows = max(self._room // (self._columns * (4 + self.query.graph.id_bytes)), self._block_rows * self._factor)
        if self._left is not None:
            rows = min(rows, self._left)
        while True:  # where address space is bounded too, it may have less for what is never touched
            try:
                return self._target_in(reserved(rows * self._columns * self._dtype.itemsize), pinned=False)
            except MemoryError:
                if rows <= self._block_rows * self._factor:
                    raise
                rows = max(rows // 2, self._block_rows * self._factor)


def _spreads(host, source, images, n, begin):
    """What is copied from where to which places, so that `host` has the rows from number `begin` on of all images.

    Parameters
    ----------
    host : (columns, rows)
    source : (columns, n)
    images : (columns, images)
        Which column of `source` each column is; row i of image k has the number k * n + i.
    """
    end = begin + host.shape[1]
    if begin == 0 and end == n * images.shape[1]:
        places: list[list[np.ndarray]] = [[] for _ in source]
        for (column, image), of in np.ndenumerate(images):
            places[of].append(host[column, image * n : (image + 1) * n])
        return list(zip(places, source, strict=True))
    spreads = []
    for image in range(begin // n, -(-end // n)):
        first, last = max(begin - image * n, 0), min(end - image * n, n)
        at = image * n + first - begin
        for column, of in enumerate(images[:, image].tolist()):
            spreads.append(((host[column, at : at + last - first],), source[of, first:last]))
    return spreads
