"""What collects the rows of a call: where the engine made them, or on their way to host memory."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.execution.collection.device_to_host import HostStream
from cusubmatch.execution.collection.row_buffer import IdBuffer, OrbitBuffer, RowBuffer
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query import Query

__all__ = ["RowCollector", "row_collector"]


class RowCollector(Protocol):
    """The rows of a query; close it at the end.

    Attributes
    ----------
    rows : int
        Rows so far.
    """

    rows: int

    def blocks(self, progress: ProgressCallback | None) -> Generator[int, None, None]:
        """Search; the number of rows of each block."""
        ...

    @property
    def too_large(self) -> bool:
        """Whether the rows, as blocks and as columns of ids, pass the memory for a result."""
        ...

    def finish(self) -> None:
        """Wait until all rows are there."""
        ...

    def frame(self) -> Any:
        """All rows as a dataframe of the caller's family."""
        ...

    def clear(self) -> None:
        """Drop all rows, but not their number."""
        ...

    def close(self) -> None:
        """Begin no copy any more and let go of buffers."""
        ...


def row_collector(query: PlannedCall, limit: int | None, memory_limit: int | None) -> RowCollector:
    """A collector for at most `limit` rows in `memory_limit` bytes; None: no limit, most of what is free."""
    if isinstance(query, Query) and query.streams_to_host:
        return HostStream(query, limit, memory_limit)
    if isinstance(query, Query) and query.whole_orbits:
        return OrbitBuffer(query, limit, memory_limit)
    if isinstance(query, Query) and IdBuffer.suits(query, limit, memory_limit):
        return IdBuffer(query, limit, memory_limit)
    return RowBuffer(query, limit, memory_limit)
