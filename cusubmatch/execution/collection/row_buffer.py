"""Blocks of rows that wait to become a dataframe: where the engine made them while they fit, else in host memory.

A device holds no more rows than its budget; what is beyond goes to host memory while the search goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from typing import Any

import numpy as np

from cusubmatch.engines.host_copies import Transfer
from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query import Query
from cusubmatch.execution.results.expand_orbits import orbit_columns

__all__ = ["IdBuffer", "OrbitBuffer", "RowBuffer"]

SMALL_RESULT_BYTES = 64 << 20  # for which it takes longer to ask how much memory is free
DEVICE_SHARE = 0.5  # the part of a device's budget that waiting rows may take; the rest is for columns


class RowBuffer:
    """The rows of a query that stay where its engine works; close it at the end.

    Parameters
    ----------
    query : Query
    limit : int or None
    memory_limit : int or None
        Bytes for the rows on the device, and for the result.

    Attributes
    ----------
    rows : int
        Rows so far.
    """

    def __init__(self, query: PlannedCall, limit: int | None, memory_limit: int | None):
        self.query, self.rows = query, 0
        self._limit, self._memory_limit = limit, memory_limit
        self._blocks: list[Any] = []  # int32 (columns, rows)
        self._device_budget = 0 if query.placed.xp is np else DEVICE_SHARE * query.budget(memory_limit, query.placed.xp)
        self._device_bytes, self._result_row_bytes = 0, query.result_row_bytes
        self._transfer: Transfer | None = None

    def blocks(self, progress: ProgressCallback | None) -> Generator[int, None, None]:
        """Search; the number of rows of each block that was found."""
        blocks = self._found(progress)
        try:
            for block in blocks:
                earlier = self.rows
                self._add(block)
                yield self.rows - earlier
        finally:
            blocks.close()

    def _found(self, progress: ProgressCallback | None) -> Generator[Any, None, None]:
        return self.query.blocks(self._limit, progress, memory_limit=self._memory_limit)

    def _add(self, block: Any) -> None:
        self.rows += block.shape[1]
        if not isinstance(block, np.ndarray):
            if self._device_bytes + block.nbytes > self._device_budget:
                self._blocks = [self._spilled(earlier) for earlier in self._blocks]
                self._device_bytes = 0
                block = self._spilled(block)
            else:
                self._device_bytes += block.nbytes
        self._blocks.append(block)

    def _spilled(self, block: Any) -> Any:
        """A block in host memory, or on its way there."""
        if isinstance(block, np.ndarray):
            return block
        self._transfer = self._transfer or self.query.engine.transfer(self._memory_limit)
        return self._transfer.fetch(block)

    @functools.cached_property
    def _budget(self) -> int:
        """Bytes that the result may take."""
        return self.query.budget(self._memory_limit, self.query.graph.xp)

    @property
    def too_large(self) -> bool:
        """Whether the rows, as blocks and as columns of ids, pass the memory for a result."""
        result_bytes = self.rows * self._result_row_bytes
        few = self._memory_limit is None and result_bytes <= SMALL_RESULT_BYTES
        return not few and result_bytes > self._budget

    def finish(self) -> None:
        """Wait until all that was found is there."""
        if self._transfer is not None:
            self._transfer.finish()

    def frame(self) -> Any:
        """All rows as a dataframe of the caller's family."""
        self.finish()
        if self.query.order is not None:
            return self.query.frame(list(self.query.sorted(iter(self._blocks), self._budget)))
        return self.query.frame(self._blocks)

    def clear(self) -> None:
        """Drop all blocks, but not their number."""
        self.close()
        self._blocks.clear()

    def close(self) -> None:
        """Begin no copy any more."""
        if self._transfer is not None:
            self._transfer.close()


class IdBuffer(RowBuffer):
    """The same for few rows that a walk writes as ids."""

    query: Query
    _limit: int

    @staticmethod
    def suits(query: Query, limit: int | None, memory_limit: int | None) -> bool:
        """Whether a query can have its rows written so, and these are few."""
        few = limit is not None and 0 < limit * query.result_row_bytes <= SMALL_RESULT_BYTES
        return few and memory_limit is None and query.may_write_ids

    def _found(self, progress: ProgressCallback | None) -> Generator[Any, None, None]:
        return self.query.id_blocks(self._limit, progress)

    def frame(self) -> Any:
        return self.query.frame_of_ids(self._blocks)


class OrbitBuffer(RowBuffer):
    """The same for rows of which one of each orbit is kept: its images are made as columns, in one pass over these."""

    query: Query

    def __init__(self, query: Query, limit: int | None, memory_limit: int | None):
        super().__init__(query, limit, memory_limit)
        self._images = orbit_columns(query.plan)

    def _found(self, progress: ProgressCallback | None) -> Generator[Any, None, None]:
        return self.query.orbit_blocks(self._limit, progress, self._memory_limit)

    def _add(self, block: Any) -> None:
        super()._add(block)
        self.rows += (self.query.plan.factor - 1) * block.shape[1]
        self.rows = self.rows if self._limit is None else min(self.rows, self._limit)

    def frame(self) -> Any:
        self.finish()
        return self.query.frame(self._blocks, self._images, self._limit)
