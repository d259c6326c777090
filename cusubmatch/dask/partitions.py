"""The matches of a pattern as a Dask dataframe: lazy, one partition a shard of the first-level tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import EdgesOption, EngineName, Semantics
from cusubmatch.api.options import as_pattern
from cusubmatch.dask.clients import client_of, threads_of
from cusubmatch.dask.cluster_graph import Graph
from cusubmatch.dask.jobs.shards import MIN_SHARD_S, cut, equal_shares
from cusubmatch.dask.query_jobs import checked_graph, checked_options, warn_of
from cusubmatch.dask.workers.questions import Question, RowsShard
from cusubmatch.dask.workers.tasks import plan_rows, shard_frame
from cusubmatch.engines.runs import TaskRange
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.shared_plan import SharedPlan
from cusubmatch.execution.shared_rows import RowOutline
from cusubmatch.execution.shared_sums import SumOutline
from cusubmatch.io.targets import check_rows
from cusubmatch.pattern import Pattern

__all__ = ["row_ranges", "subgraph_match"]

PARTITION_BYTES = 128 << 20  # of internal vertices, about; Dask advises 100 MB to 300 MB a partition
PARTITIONS_A_THREAD = 4
MAX_PARTITIONS = 10_000


def subgraph_match(
    G: Graph,
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
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    npartitions: int | None = None,
    client: Any = None,
) -> Any:
    """Find the matches of a pattern on a cluster, as a Dask dataframe.

    A worker plans the search now. The search itself is lazy: each partition is found when it is computed, and found
    again if its worker is lost.

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
    edge_id : column name, optional
        With ``edges="each"``, the column of the edge table that the result has for each named edge; default the row's
        position in the table: of several files, one after the other in the order of their names.
    engine : {"auto", "cpu", "gpu"}
        What a worker searches with. "auto": its current GPU, if it has one and the graph is worth the copy.
    limit : int, optional
        Stop at this many rows, in one partition. Which ones is not promised.
    time_limit : float, optional
        Seconds for each partition. Default: no limit.
    memory_limit : int, optional
        Bytes of memory that a partition may take on its worker, beside the graph. Default: its share of three quarters
        of what the worker may take and does not use.
    npartitions : int, optional
        The partitions that are wanted; there are fewer where the search cannot be divided so often. Default: by the
        expected number of rows and time.
    client : dask.distributed.Client, optional
        Default: the current one.

    Returns
    -------
    dask.dataframe.DataFrame
        One row a match, one column per named pattern vertex in order of first mention; values are the ids of G.

    Raises
    ------
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
    GraphError
        If the files of the graph have changed, or no graph can be made of them.
    ClusterError
        If there is no client, or it has no workers.
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
    write_matches : Write the matches to a folder.
    count_matches : Count the matches without storing them.

    Examples
    --------
    >>> import pandas as pd
    >>> G = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}), client=client)
    >>> matches = subgraph_match(G, "(a)--(b)--(c)--(a)", client=client)
    >>> len(matches)
    1
    """
    import dask.dataframe

    graph, pattern = checked_graph(G), as_pattern(P, "pattern", conditions=True, parts=True, edges=edges)
    options = checked_options(
        QueryOptions(
            semantics,
            unique,
            engine,
            time_limit,
            counting=False,
            limit=limit,
            memory_limit=memory_limit,
            params=params,
            candidates=candidates,
            touching=touching,
            edges=edges,
            edge_id=edge_id,
        )
    )
    if npartitions is not None:
        check_rows("npartitions", npartitions)
    connected = client_of(client)
    question = Question(graph.source, 0, pattern, options)
    shared, empty, absent = connected.submit(plan_rows, question, pure=False).result()
    warn_of(absent)
    if limit is not None:
        npartitions = 1
    ranges = row_ranges(shared, npartitions, threads_of(connected))
    part = RowsShard.of_plan(question, shared)
    return dask.dataframe.from_map(
        _partition, ranges, args=(part,), meta=empty, label="subgraph_match", enforce_metadata=False
    )


def row_ranges(shared: SharedPlan, parts: int | None, threads: int) -> list[TaskRange]:
    """Ranges of first-level tasks of about equal work; one, of nothing, where there are no tasks."""
    if parts is None:
        terms = shared.plan.terms if isinstance(shared.plan, SumOutline) else (shared,)
        expected_bytes = sum(_expected_bytes(term.plan) for term in terms)
        by_time = min(PARTITIONS_A_THREAD * threads, int(shared.estimate_s / MIN_SHARD_S))
        parts = min(max(1, by_time, int(min(expected_bytes / PARTITION_BYTES, MAX_PARTITIONS))), MAX_PARTITIONS)
    if not shared.number_of_tasks:
        return [TaskRange(0, 0)]
    return [part.tasks for part in cut(shared, equal_shares(parts))]


def _expected_bytes(plan: Any) -> float:
    """Bytes that the rows of a plan are expected to take; of rows of the edge table no number is expected."""
    if isinstance(plan, RowOutline):
        return 0.0
    return 4 * max(len(plan.columns), 1) * plan.order.matches[-1] * plan.factor


def _partition(tasks: TaskRange, part: RowsShard) -> Any:
    return shard_frame(part.of(tasks))
