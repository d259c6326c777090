"""Blocks of rows that wait to become a dataframe: where the engine made them while they fit, else in host memory.

A device holds no more rows than its budget; what is beyond goes to pinned host memory, from where it comes back at the
copy bandwidth of the bus.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.query import Query, on_host

__all__ = ["Held"]

DEVICE_SHARE = 0.5  # of a device's budget that waiting rows may take; the rest is for columns


class Held:
    """Rows so far.

    Parameters
    ----------
    query : Query
    memory_limit : int or None
        Bytes for the rows on the device, and for the result.

    Attributes
    ----------
    blocks : list of int32 arrays (columns, rows)
    rows : int
    """

    def __init__(self, query: Query, memory_limit: int | None):
        self.query, self.blocks, self.rows = query, [], 0  # type: tuple[Query, list[Any], int]
        self._room = query.budget(memory_limit, query.graph.xp)
        self._device_room = 0 if query.placed.xp is np else DEVICE_SHARE * query.budget(memory_limit, query.placed.xp)
        self._on_device = 0

    def add(self, block: Any) -> None:
        """Take another block."""
        self.rows += block.shape[1]
        if not isinstance(block, np.ndarray):
            if self._on_device + block.nbytes > self._device_room:
                self.blocks = [on_host(held) for held in self.blocks]
                self._on_device = 0
                block = on_host(block)
            else:
                self._on_device += block.nbytes
        self.blocks.append(block)

    @property
    def too_large(self) -> bool:
        """Whether the rows, as blocks and as columns of ids, pass the memory for a result."""
        return self.rows * (self.query.row_bytes // 4) * (4 + self.query.graph.id_bytes) > self._room

    def frame(self, sort: bool) -> Any:
        """All rows as a dataframe of the caller's family."""
        if sort:
            return self.query.frame(list(self.query.in_order(iter(self.blocks), self._room)))
        return self.query.frame(self.blocks)
