"""All matches, batch by batch in bounded memory; the next batch is found while the caller works on one."""

from __future__ import annotations

import functools
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.options import planned_call
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.devices.several_devices import on_its_device
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import empty_frame
from cusubmatch.io.targets import check_rows
from cusubmatch.pattern import Pattern

__all__ = ["batches_of_query", "iter_matches"]


def iter_matches(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    batch_rows: int = 1 << 20,
    sort: bool = False,
    progress: ProgressOption = None,
) -> Generator[Any, None, None]:
    """Find the matches of a pattern, batch by batch, in bounded memory.

    While the caller works on a batch the next one is found.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` of the pattern's conditions: a number, a text, a bool, None, a date, a time, a
        duration, or for ``IN`` a list, an array or a column.
    candidates : mapping of name to ids, optional
        Ids that the images of some pattern vertices must be among: lists, arrays or columns of any library.
    touching : ids, optional
        A match must have at least one of these ids among its vertices.
    edges : {"any", "each"}
        "any": a match is its vertices; it counts if rows of the edge table exist that fulfil all conditions together.
        "each": every named edge is bound to a row, different names to different rows; each combination is a match.
    edge_id : column name, optional
        With ``edges="each"``, the column of the edge table that the result has for each named edge; default the row's
        position in the table.
    engine : {"auto", "cpu", "gpu"}
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one. A dataframe of cuDF lies where the graph lies.
    limit : int, optional
        Stop at this many rows. Which ones is not promised, unless they are sorted.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.
    memory_limit : int, optional
        Bytes for batches, and for sorting, beside the graph. A batch takes a fraction of them. Default: all but a
        quarter of what is free.
    batch_rows : int
        Rows of a batch. The last one may be shorter.
    sort : bool, default False
        Rows in the order of the ids, column by column, and of each orbit its least row (if `unique`). Rows beyond the
        memory limit are sorted on disk, in the folder for temporary files. Batches begin when all rows are found. Rows
        of named edges are compared last, by their positions in the edge table; nulls come last.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell: the share of the estimated work that is done, matches so far, matches a second and the
        time left.

    Returns
    -------
    generator of DataFrame of the family of G (pandas for NumPy and networkx)
        Batches, each as `subgraph_match` returns it. Closing it, or leaving the loop, stops the search and frees what
        it held.

    Raises
    ------
    TimeLimitExceeded
        With the rows that are in no batch yet as ``.partial``.
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense, or a batch does not fit in the memory limit.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    See Also
    --------
    subgraph_match : Return all matches at once.
    write_matches : Write the matches to disk.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> [len(batch) for batch in iter_matches(edges, "(a)--(b)--(c)", batch_rows=2)]
    [2, 2, 1]
    """
    check_rows("batch_rows", batch_rows)
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        counting=False,
        limit=limit,
        memory_limit=memory_limit,
        progress=progress,
        sort=sort,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
        devices=devices,
    )
    query = planned_call(G, P, options, empty_frame, parts=True)
    with query.engine.current():
        _check_batch_fits(query, batch_rows, memory_limit)
    return batches_of_query(query, options, int(batch_rows))


def _check_batch_fits(query: PlannedCall, batch_rows: int, memory_limit: int | None) -> None:
    """Refuse a memory limit that a single batch passes."""
    row_bytes, budget = query.result_row_bytes, query.budget(memory_limit, query.graph.xp)
    if memory_limit is not None and batch_rows * row_bytes > budget:
        fitting = max(budget // row_bytes, 1)
        raise ValueError(
            f"batch_rows: {batch_rows:,} rows do not fit in memory_limit={memory_limit:,}; {fitting:,} would"
        )


def batches_of_query(query: PlannedCall, options: QueryOptions, batch_rows: int) -> Generator[Any, None, None]:
    """The rows of a planned call as dataframes of at most `batch_rows` rows."""
    return on_its_device(query.engine, _batches(query, options, batch_rows))


def _batches(query: PlannedCall, options: QueryOptions, batch_rows: int) -> Generator[Any, None, None]:
    if isinstance(query, Query) and query.streams_to_host and query.order is None:
        yield from _streamed_to_host(query, options, batch_rows)
        return
    waiting: list[Any] = []  # blocks of the next batch
    waiting_rows = 0
    with reporting(options.progress, "matching") as report:
        blocks = ordered = query.blocks(options.limit, report, batch_rows, options.memory_limit)
        if query.order is not None:
            ordered = query.sorted(blocks, query.budget(options.memory_limit, np))
        try:
            for block in ordered:
                begin, size = 0, block.shape[1]
                while waiting_rows + size - begin >= batch_rows:
                    end = begin + batch_rows - waiting_rows
                    waiting.append(block[:, begin:end])
                    batch, waiting, waiting_rows = query.frame(waiting), [], 0
                    yield batch
                    begin = end
                if begin < size:
                    waiting.append(block[:, begin:])
                    waiting_rows += size - begin
        except DeadlinePassed:
            raise time_limit_exceeded(options.time_limit, functools.partial(query.frame, waiting)) from None
        finally:
            blocks.close()  # first: it has threads
            ordered.close()
        if waiting_rows:
            yield query.frame(waiting)


def _streamed_to_host(query: Query, options: QueryOptions, batch_rows: int) -> Generator[Any, None, None]:
    """Batches from a device for a caller in host memory."""
    from cusubmatch.execution.collection.device_to_host import HostStream

    with reporting(options.progress, "matching") as report:
        stream = HostStream(query, options.limit, options.memory_limit, batch_rows=batch_rows)
        try:
            yield from stream.batches(report)
            if stream.rows % batch_rows:
                yield stream.frame()
        except DeadlinePassed:
            stream.finish()
            raise time_limit_exceeded(options.time_limit, stream.frame) from None
        finally:
            stream.close()
