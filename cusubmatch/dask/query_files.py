"""The matches of a query set on disk, written by the workers of a cluster to a file for each query."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import EdgesOption, EngineName, ProgressOption, Semantics
from cusubmatch.dask.cluster_graph import Graph
from cusubmatch.dask.query_jobs import answer_all, family_of_tables, table_of
from cusubmatch.execution.query_options import QueryOptions

__all__ = ["match_many"]


def match_many(
    G: Graph,
    queries: Any,
    path: str | os.PathLike[str],
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
    resume: bool = False,
    progress: ProgressOption = None,
    client: Any = None,
) -> Any:
    """Find the matches of a query set on a cluster, and let the workers write those of each query to a Parquet file.

    Parameters
    ----------
    G : Graph
        A graph of `cusubmatch.dask`.
    queries : mapping, iterable or DataFrame
        Patterns or their texts by name; or in order, with their texts as names; or a dataframe with the texts in the
        column ``pattern`` and, if they have names, those in ``query``.
    path : str or os.PathLike
        A folder, which all workers see under this path and which must not exist yet or be empty. It gets a file for
        each query that is done, and the table in ``results.parquet`` at the end.
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
        Stop each query at this many rows. Which ones is not promised.
    time_limit : float, optional
        Seconds for each query. Default: no limit.
    memory_limit : int, optional
        Bytes of memory that a query may take on its worker, beside the graph. Default: its share of three quarters of
        what the worker may take and does not use.
    resume : bool, default False
        Go on with the job in the folder, if there is one: queries that it has answered are not asked again.
    progress : callable or bool, optional
        Called as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a notebook under the
        cell.
    client : dask.distributed.Client, optional
        Default: the current one.

    Returns
    -------
    DataFrame
        As that of `count_many`, where ``count`` is the number of rows written, with the column ``file``: the name of
        the file in the folder, empty where the status is not "done".

    Raises
    ------
    GraphError
        If the files of the graph have changed, or no graph can be made of them.
    ClusterError
        If there is no client, it has no workers, a worker cannot see the folder, or the scheduler was lost.
    OSError
        If the disk is full (``errno.ENOSPC``) or fails otherwise.
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
    count_many : Count the matches of a query set.
    write_matches : Write the matches of one pattern, shared by the workers.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> G = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}), client=client)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     match_many(G, ["(a)--(b)--(c)"], f"{folder}/job", client=client)[["query", "count", "file"]]
               query  count                   file
    0  (a)--(b)--(c)      5  matches-00000.parquet
    """
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        False,
        limit,
        memory_limit,
        progress,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
    )
    graph, asked, results = answer_all(client, G, queries, options, path, resume, write=True)
    return table_of(family_of_tables(graph), asked, results, write=True)
