"""Counts on a cluster: of one pattern, which the workers share, and of a query set, a query a worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import EdgesOption, EngineName, ProgressOption, Semantics
from cusubmatch.api.options import as_pattern
from cusubmatch.api.outcomes import DONE, OUT_OF_MEMORY, TIME_LIMIT
from cusubmatch.api.reports import reporting
from cusubmatch.dask.clients import client_of, threads_of
from cusubmatch.dask.cluster_graph import Graph
from cusubmatch.dask.jobs.job import Job
from cusubmatch.dask.jobs.job_state import Result
from cusubmatch.dask.query_jobs import (
    answer_all,
    checked_graph,
    checked_options,
    family_of_tables,
    new_topic,
    table_of,
    warn_of,
)
from cusubmatch.dask.workers.questions import Question
from cusubmatch.errors import ClusterError, TimeLimitExceeded
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["count_many", "count_matches", "raise_failure"]

SHARED_FROM_S = 0.3  # a count that is expected to take longer is shared by the workers


def count_matches(
    G: Graph,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: ProgressOption = None,
    client: Any = None,
) -> int:
    """Count the matches of a pattern on a cluster, without storing them.

    A worker plans the count. If it is expected to take long, all workers share its first-level tasks.

    Parameters
    ----------
    G : Graph
        A graph of `cusubmatch.dask`.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` of the conditions: a number, a text, a bool, None, a date, a time, a duration,
        or for ``IN`` a list, an array or a column.
    candidates : mapping of name to ids, optional
        Ids that the images of some pattern vertices must be among: lists, arrays or columns of any library.
    touching : ids, optional
        A match must have at least one of these ids among its vertices.
    edges : {"any", "each"}
        "any": a match is its vertices; it counts if rows of the edge table exist that fulfil all conditions together.
        "each": every named edge is bound to a row, different names to different rows; each combination is a match.
    engine : {"auto", "cpu", "gpu"}
        What a worker searches with. "auto": its current GPU, if it has one and the graph is worth the copy.
    time_limit : float, optional
        Seconds that the count may take, from when a worker begins. Default: no limit.
    memory_limit : int, optional
        Bytes of host memory that a task may take on its worker. Default: its share of three quarters of what the worker
        may take and does not use.
    progress : callable or bool, optional
        Called as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a notebook under the
        cell.
    client : dask.distributed.Client, optional
        Default: the current one.

    Returns
    -------
    int
        The number of matches, exact at any size.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``.
    MemoryError
        If a task passed its memory.
    PatternError
        If the pattern cannot be read, or does not suit the graph.
    GraphError
        If the files of the graph have changed, or no graph can be made of them.
    ClusterError
        If there is no client, it has no workers, or all workers that ran the count were lost.
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
    count_many : Count many patterns.
    subgraph_match : Return the matches themselves.

    Examples
    --------
    >>> import pandas as pd
    >>> G = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}), client=client)
    >>> count_matches(G, "(a)--(b)--(c)--(a)", client=client)
    1
    """
    graph, pattern = checked_graph(G), as_pattern(P, "pattern", conditions=True, parts=True, edges=edges)
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        memory_limit=memory_limit,
        progress=progress,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
    )
    options = checked_options(options)
    connected = client_of(client)
    whole_s = SHARED_FROM_S if threads_of(connected) > 1 else float("inf")
    question, results = Question(graph.source, 0, pattern, options, new_topic(), None, whole_s), list[Result]()
    with reporting(progress, "counting") as report:
        Job(connected, [question], [1.0], report, results.append).run()
    warn_of(results[0].absent)
    return raise_failure(results[0])


def raise_failure(result: Result) -> int:
    """The value of a result, or the error that it tells of."""
    if result.status == TIME_LIMIT:
        raise TimeLimitExceeded(result.reason, None)
    if result.status == OUT_OF_MEMORY:
        raise MemoryError(result.reason)
    if result.lost:
        raise ClusterError(result.reason)
    if result.status != DONE or result.value is None:
        raise PatternError(f"pattern: {result.reason}")
    return result.value


def count_many(
    G: Graph,
    queries: Any,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    path: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: ProgressOption = None,
    client: Any = None,
) -> Any:
    """Count the matches of a query set on a cluster, a query a worker, those that seem to take longest first.

    A worker that is lost costs the queries that it was running, which are run again. A query that passes its time or
    memory, or ends its workers, is reported, and the others are answered.

    Parameters
    ----------
    G : Graph
        A graph of `cusubmatch.dask`.
    queries : mapping, iterable or DataFrame
        Patterns or their texts by name; or in order, with their texts as names; or a dataframe with the texts in the
        column ``pattern`` and, if they have names, those in ``query``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` of the conditions: a number, a text, a bool, None, a date, a time, a duration,
        or for ``IN`` a list, an array or a column.
    candidates : mapping of name to ids, optional
        Ids that the images of some pattern vertices must be among: lists, arrays or columns of any library.
    touching : ids, optional
        A match must have at least one of these ids among its vertices.
    edges : {"any", "each"}
        "any": a match is its vertices; it counts if rows of the edge table exist that fulfil all conditions together.
        "each": every named edge is bound to a row, different names to different rows; each combination is a match.
    engine : {"auto", "cpu", "gpu"}
        What a worker searches with. "auto": its current GPU, if it has one and the graph is worth the copy.
    time_limit : float, optional
        Seconds for each query. Default: no limit.
    memory_limit : int, optional
        Bytes of host memory that a query may take on its worker. Default: its share of three quarters of what the
        worker may take and does not use.
    path : str or os.PathLike, optional
        A folder that must not exist yet or be empty. Each answer is noted there when it is known, and the table is
        written to ``results.parquet`` at the end.
    resume : bool, default False
        Go on with the job in the folder `path`, if there is one: what it has answered is not asked again.
    progress : callable or bool, optional
        Called as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a notebook under the
        cell.
    client : dask.distributed.Client, optional
        Default: the current one.

    Returns
    -------
    DataFrame
        One row a query, in their order, with the columns ``query`` (its name), ``count`` (nullable integers; where a
        count passes 64 bits all are text), ``seconds`` (on the worker), ``worker`` (its address), ``attempts`` (how
        often it was begun, or the batch of short queries that it was in), ``status`` and ``reason``. The status is
        "done", "time limit", "out of memory" or "error". Where it is not "done" the count is null and the reason says
        why; else the reason is empty.

    Raises
    ------
    GraphError
        If the files of the graph have changed, or no graph can be made of them.
    ClusterError
        If there is no client, it has no workers, or the scheduler was lost.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If queries ask for labels that nothing in the graph has; the warning names the queries.

    See Also
    --------
    count_matches : Count one pattern, shared by the workers.
    match_many : Write the matches of each query to a file.

    Examples
    --------
    >>> import pandas as pd
    >>> G = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}), client=client)
    >>> count_many(G, {"triangle": Pattern.cycle(3), "odd": "(a)--("}, client=client)[["query", "count", "status"]]
          query  count status
    0  triangle      1   done
    1       odd   <NA>  error
    """
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        memory_limit=memory_limit,
        progress=progress,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
    )
    graph, asked, results = answer_all(client, G, queries, options, path, resume, write=False)
    return table_of(family_of_tables(graph), asked, results, write=False)
