"""A lookup table from integers of a range to codes, a byte an integer.

A byte says whether an integer occurs, and later how many do before it in its block of 256; a block says how many do
before it. A code is the sum of both. The table is a quarter of one of codes, so that more of it stays in the caches.
Codes of a short range are kept as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CodeTable"]

BLOCK_BITS = 8  # so that places in a block are bytes
STEPS = 16  # in which the table is worked on, for temporaries of 8 bytes an integer
LEAST_STEP = 1 << 20
SMALL = 1 << 20  # integers whose codes are kept as they are


class CodeTable:
    """Codes of the integers from 0 to `length` - 1 that occur.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    length : int
    """

    def __init__(self, xp: Any, length: int) -> None:
        self._xp = xp
        self._starts: Any = None
        self._codes: Any = None
        self._table = xp.zeros((-(-length >> BLOCK_BITS), 1 << BLOCK_BITS), np.uint8)

    def mark(self, integers: Any) -> None:
        """Say that these occur (int64)."""
        self._table.reshape(-1)[integers] = 1

    def number(self) -> Any:
        """Number those that occur; they are returned, int64. Then `codes` can be asked for."""
        xp, found, blocks = self._xp, [], len(self._table)
        if self._table.size <= SMALL:
            self._codes = xp.cumsum(self._table.reshape(-1), dtype=np.int32)
            self._codes -= 1
            return xp.flatnonzero(self._table)
        counts = xp.empty(blocks, np.int32)
        step = max(LEAST_STEP >> BLOCK_BITS, -(-blocks // STEPS))
        for begin in range(0, blocks, step):
            part = self._table[begin : begin + step]
            occurs = xp.flatnonzero(part)
            occurs += begin << BLOCK_BITS
            found.append(occurs)
            counts[begin : begin + step] = part.sum(axis=1, dtype=np.int32)
            part[...] = xp.cumsum(part, axis=1, dtype=np.uint8)  # a full block ends in 0,
            part -= 1  # which is 255 then
        self._starts = xp.cumsum(counts, dtype=np.int32)
        self._starts -= counts
        return xp.concatenate(found)

    def codes(self, integers: Any) -> Any:
        """The codes of integers (int64) that occur, int32."""
        if self._codes is not None:
            return self._codes[integers]
        found = self._starts[integers >> BLOCK_BITS]
        found += self._table.reshape(-1)[integers]
        return found
