"""Blocks of rows that wait to become a dataframe: where the engine made them while they fit, else in host memory.

A device holds no more rows than its budget; what is beyond goes to host memory while the search goes on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from cusubmatch.execution.query import Query

__all__ = ["RowBuffer"]

DEVICE_SHARE = 0.5  # of a device's budget that waiting rows may take; the rest is for columns


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

    def __init__(self, query: Query, limit: int | None, memory_limit: int | None):
        self.query, self.rows = query, 0
        self._limit, self._memory_limit = limit, memory_limit
        self._blocks: list[Any] = []  # int32 (columns, rows)
        self._room = query.budget(memory_limit, query.graph.xp)
        self._device_room = 0 if query.placed.xp is np else DEVICE_SHARE * query.budget(memory_limit, query.placed.xp)
        self._on_device = 0
        self._bus: Any = None

    def blocks(self, progress: Any) -> Generator[int, None, None]:
        """Search; the number of rows of each block that was found."""
        blocks = self.query.blocks(self._limit, progress, memory_limit=self._memory_limit)
        try:
            for block in blocks:
                self._add(block)
                yield block.shape[1]
        finally:
            blocks.close()

    def _add(self, block):
        self.rows += block.shape[1]
        if not isinstance(block, np.ndarray):
            if self._on_device + block.nbytes > self._device_room:
                self._blocks = [self._spilled(held) for held in self._blocks]
                self._on_device = 0
                block = self._spilled(block)
            else:
                self._on_device += block.nbytes
        self._blocks.append(block)

    def _spilled(self, block):
        """A block in host memory, or on its way there."""
        if isinstance(block, np.ndarray):
            return block
        self._bus = self._bus or self.query.engine.transfer(self._memory_limit)
        return self._bus.fetch(block)

    @property
    def too_large(self) -> bool:
        """Whether the rows, as blocks and as columns of ids, pass the memory for a result."""
        return self.rows * len(self.query.columns()) * (4 + self.query.graph.id_bytes) > self._room

    def finish(self) -> None:
        """Wait until all that was found is there."""
        if self._bus is not None:
            self._bus.finish()

    def frame(self) -> Any:
        """All rows as a dataframe of the caller's family."""
        self.finish()
        if self.query.order is not None:
            return self.query.frame(list(self.query.sorted(iter(self._blocks), self._room)))
        return self.query.frame(self._blocks)

    def clear(self) -> None:
        """Drop all blocks, but not their number."""
        self.close()
        self._blocks.clear()

    def close(self) -> None:
        """Begin no copy any more."""
        if self._bus is not None:
            self._bus.close()
