"""The matches of a planned call with the images of all pattern vertices, anonymous ones too, in host memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import numpy as np

from cusubmatch.engines.prepared import RowBlock
from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query import Query

__all__ = ["whole_blocks"]


def whole_blocks(
    query: PlannedCall, progress: ProgressCallback | None, memory_limit: int | None = None
) -> Generator[RowBlock, None, None]:
    """Blocks of all vertices and of the rows of bound edges, of a call of the CPU engine and its further calls."""
    if not isinstance(query, Query):
        yield from query.whole_blocks(progress, memory_limit)
        return
    every = tuple(range(len(query.plan.pattern)))
    parts = tuple(
        part._replace(
            plan=dataclasses.replace(part.plan, columns=every),
            chosen=None if part.chosen is None else part.chosen._replace(columns=every),
            parts=(),
        )
        for part in (query, *query.parts)
    )
    blocks = parts[0]._replace(parts=parts[1:]).blocks(None, progress, memory_limit=memory_limit)
    try:
        for block in blocks:
            yield RowBlock(block, np.empty((0, block.shape[1]), np.int64))
    finally:
        blocks.close()
