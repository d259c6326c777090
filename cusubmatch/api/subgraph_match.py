"""All matches as one dataframe."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.options import planned_call
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.errors import DeadlinePassed, ResultTooLarge
from cusubmatch.execution.collection.row_collector import RowCollector, row_collector
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import empty_frame
from cusubmatch.pattern import Pattern

__all__ = ["frame_of_query", "subgraph_match"]

COUNTING_ON_SECONDS = 10.0  # for which a result that does not fit is counted on, to say how large it is


def subgraph_match(
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
    sort: bool = False,
    progress: ProgressOption = None,
) -> Any:
    """Find the matches of a pattern.

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
        Bytes that the rows may take, beside the graph, where the engine works and where the result goes. Rows that the
        device cannot hold until the end wait in host memory. Default: all but a quarter of what is free.
    sort : bool, default False
        Rows in the order of the ids, column by column, and of each orbit its least row (if `unique`): the same result
        from every engine in every run. Rows of named edges are compared last, by their positions in the edge table;
        nulls come last. Otherwise neither is promised.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell: the share of the estimated work that is done, matches so far, matches a second and the
        time left.

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
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    See Also
    --------
    iter_matches : Give the matches in batches.
    write_matches : Write the matches to disk.
    sample_matches : Draw some matches at random.
    count_matches : Count the matches without storing them.
    attach_edges : Join the columns of the edges onto matches.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]})
    >>> subgraph_match(edges, "(a)-->(b)-->(c)", sort=True)
       a  b  c
    0  x  y  z
    1  y  z  x
    2  z  x  y
    """
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
    query.columns()
    return frame_of_query(query, options)


def frame_of_query(query: PlannedCall, options: QueryOptions) -> Any:
    """All rows of a planned call as one dataframe.

    Raises
    ------
    TimeLimitExceeded, ResultTooLarge
    """
    with query.engine.current():
        return _frame_of_query(query, options)


def _frame_of_query(query: PlannedCall, options: QueryOptions) -> Any:
    limit, memory_limit, progress = options.limit, options.memory_limit, options.progress
    collector: RowCollector | None = None
    cause: MemoryError | None = None
    try:
        collector = row_collector(query, limit, memory_limit)
        with reporting(progress, "matching") as report:
            frame = _collected(collector, report, options.time_limit)
        if not collector.too_large:
            return frame
    except ResultTooLarge:  # of a part of the pattern, which is no result yet
        raise
    except MemoryError as error:  # of the device or the host, while rows or columns were made
        traceback.clear_frames(error.__traceback__)  # they hold memory that counting on needs
        cause = error
    finally:
        if collector is not None:
            collector.close()
    rows = 0
    if collector is not None:
        rows = collector.rows
        collector.clear()
    raise ResultTooLarge(_too_large(query, rows)) from cause


def _collected(collector: RowCollector, progress: ProgressCallback | None, time_limit: float | None) -> Any:
    """All rows as a dataframe; None when they pass their memory."""
    try:
        blocks = collector.blocks(progress)
        try:
            for _ in blocks:
                if collector.too_large:
                    return None
        finally:
            blocks.close()
        return collector.frame()
    except DeadlinePassed:
        collector.finish()
        raise time_limit_exceeded(time_limit, collector.frame) from None


def _too_large(query: PlannedCall, rows: int) -> str:
    """The message for a result that does not fit, with its size if that can be counted soon."""
    deadlines = [time.monotonic() + COUNTING_ON_SECONDS, query.deadline]
    query = query._replace(deadline=min(deadline for deadline in deadlines if deadline is not None))
    total = 0
    try:
        for rows_of_block in query.sizes():
            total += rows_of_block
        size = f"{total:,}"
    except (DeadlinePassed, MemoryError):
        size = f"more than {max(total, rows):,}"
    return (
        f"the result has {size} rows of {len(query.columns())} columns and does not fit in memory; "
        "use iter_matches for batches, limit= for a part, or count_matches"
    )
