"""The public functions that find rows: all at once, or batch by batch in bounded memory."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cusubmatch.errors import DeadlinePassed, ResultTooLarge
from cusubmatch.execution.query import make_query, no_rows, shown, time_limit_exceeded
from cusubmatch.execution.row_buffer import RowBuffer
from cusubmatch.io.targets import check_rows
from cusubmatch.pattern import Pattern

__all__ = ["iter_matches", "subgraph_match"]

COUNTING_ON_SECONDS = 10.0  # how long a result that does not fit is counted on, to say how large it is


def subgraph_match(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    sort: bool = False,
    progress: Callable[[float, int], None] | bool | None = None,
):
    """Find the matches of a pattern.

    Parameters
    ----------
    limit : int, optional
        Stop at this many rows; which ones is not promised.
    memory_limit : int, optional
        Bytes that the rows may take, beside the graph, where the engine works and where the result goes. Rows that the
        device cannot hold until the end wait in host memory. Default: all but a quarter of what is free.
    sort : bool, default False
        Rows in the order of the ids, column by column, and of each orbit its least row (if `unique`): the same result
        from every engine in every run. Otherwise neither is promised.

    Others are as for `count_matches`.

    Returns
    -------
    DataFrame of the family of G (pandas for NumPy and networkx)
        One row a match, one column per named pattern vertex in order of first mention; values are the ids of G.

    Raises
    ------
    TimeLimitExceeded
        With the rows so far as ``.partial``.
    ResultTooLarge
        If the rows do not fit in memory; `iter_matches` gives them in batches.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]})
    >>> len(subgraph_match(edges, "(a)-->(b)-->(c)-->(a)"))
    1
    """
    options = {"limit": limit, "progress": progress, "memory_limit": memory_limit, "sort": sort, "nothing": no_rows}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=False, **options)
    query.columns()
    held: Any = None
    cause: MemoryError | None = None
    try:
        held = _held(query, limit, memory_limit)
        with shown(progress, "matching") as report:
            frame = _gathered(held, report, time_limit)
        if not held.too_large:
            return frame
    except MemoryError as error:  # of the device or the host, while rows or columns were made
        traceback.clear_frames(error.__traceback__)  # they hold memory that counting on needs
        cause = error
    finally:
        if held is not None:
            held.close()
    rows = 0 if held is None else held.rows
    if held is not None:
        held.clear()
    raise ResultTooLarge(_too_large(query, rows)) from cause


def _gathered(held, progress, time_limit):
    """All rows as a dataframe; None when they pass their memory."""
    try:
        blocks = held.blocks(progress)
        try:
            for _ in blocks:
                if held.too_large:
                    return None
        finally:
            blocks.close()
        return held.frame()
    except DeadlinePassed:
        held.finish()
        raise time_limit_exceeded(time_limit, held.frame) from None


def _held(query, limit, memory_limit, **options):
    """What gathers the rows: where the engine works, or on their way to host memory."""
    if not query.streams_to_host:
        return RowBuffer(query, limit, memory_limit, **options)
    from cusubmatch.execution.device_to_host import HostStream

    return HostStream(query, limit, memory_limit, **options)


def iter_matches(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    batch_rows: int = 1 << 20,
    sort: bool = False,
    progress: Callable[[float, int], None] | bool | None = None,
) -> Iterator:
    """Find the matches of a pattern, batch by batch, in bounded memory.

    While the caller works on a batch the next one is found.

    Parameters
    ----------
    batch_rows : int
        Rows of a batch; the last one may be shorter.
    memory_limit : int, optional
        Bytes for batches, and for sorting, beside the graph; a batch takes a fraction of them. Default: all but a
        quarter of what is free.
    sort : bool, default False
        As for `subgraph_match`; rows beyond the memory limit are sorted on disk, and batches come when all is found.

    Others are as for `subgraph_match`.

    Yields
    ------
    DataFrame
        As `subgraph_match` returns it. Leaving the loop stops the search and frees what it held.
    """
    check_rows("batch_rows", batch_rows)
    options = {"limit": limit, "progress": progress, "memory_limit": memory_limit, "sort": sort, "nothing": no_rows}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=False, **options)
    columns, room = len(query.columns()), query.budget(memory_limit, query.graph.xp)
    if batch_rows * columns * (4 + query.graph.id_bytes) > room and memory_limit is not None:
        most = max(room // (columns * (4 + query.graph.id_bytes)), 1)
        raise ValueError(f"batch_rows: {batch_rows:,} rows do not fit in memory_limit={memory_limit:,}; {most:,} would")
    return _batches(query, limit, int(batch_rows), time_limit, memory_limit, progress)


def _batches(query, limit, batch_rows, time_limit, memory_limit, progress):
    if query.streams_to_host and query.order is None:
        yield from _streamed_to_host(query, limit, batch_rows, time_limit, memory_limit, progress)
        return
    held, rows = [], 0
    with shown(progress, "matching") as report:
        found = blocks = query.blocks(limit, report, batch_rows, memory_limit)
        if query.order is not None:
            blocks = query.sorted(found, query.budget(memory_limit, np))
        try:
            for block in blocks:
                begin, size = 0, block.shape[1]
                while rows + size - begin >= batch_rows:
                    end = begin + batch_rows - rows
                    held.append(block[:, begin:end])
                    batch, held, rows = query.frame(held), [], 0
                    yield batch
                    begin = end
                if begin < size:
                    held.append(block[:, begin:])
                    rows += size - begin
        except DeadlinePassed:
            raise time_limit_exceeded(time_limit, functools.partial(query.frame, held)) from None
        finally:
            found.close()  # first: it has threads
            blocks.close()
        if rows:
            yield query.frame(held)


def _streamed_to_host(query, limit, batch_rows, time_limit, memory_limit, progress):
    """Batches from a device for a caller in host memory."""
    with shown(progress, "matching") as report:
        held = _held(query, limit, memory_limit, batch_rows=batch_rows)
        try:
            yield from held.batches(report)
            if held.rows % batch_rows:
                yield held.frame()
        except DeadlinePassed:
            held.finish()
            raise time_limit_exceeded(time_limit, held.frame) from None
        finally:
            held.close()


def _too_large(query, rows):
    """The message for a result that does not fit, with its size if that can be counted soon."""
    counted = f"more than {rows:,}"
    deadlines = [time.monotonic() + COUNTING_ON_SECONDS, query.deadline]
    run = query._replace(deadline=min(some for some in deadlines if some is not None)).run()
    total = 0
    try:
        for block in run.blocks():
            total += block.shape[1] * query.plan.factor
        counted = f"{total:,}"
    except (DeadlinePassed, MemoryError):
        counted = f"more than {max(total, rows):,}"
    return (
        f"the result has {counted} rows of {len(query.columns())} columns and does not fit in memory; "
        "use iter_matches for batches, limit= for a part, or count_matches"
    )
