"""Matches on disk: a Parquet, CSV or TSV file, or a folder of Parquet parts, that is complete or absent.

Rows go batch by batch, in bounded memory, to where `io/publish.py` keeps them until all are there. Arrow is imported
when it is needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping
from typing import Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.iter_matches import iter_matches
from cusubmatch.api.options import planned_call
from cusubmatch.errors import TimeLimitExceeded
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.io.formats import is_text
from cusubmatch.io.publish import Output, OutputPath
from cusubmatch.io.schemas import arrow_refusals, has_untyped_column, writable_schema
from cusubmatch.io.targets import check_rows, check_target
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["schema_of", "write_batches", "write_matches"]

ROWS_PER_FILE = 1 << 26


def write_matches(
    G: GraphLike,
    P: Pattern | str,
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
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    rows_per_file: int | None = None,
    batch_rows: int = 1 << 20,
    sort: bool = False,
    progress: ProgressOption = None,
) -> int:
    """Find the matches of a pattern and write them to disk, in bounded memory and any number.

    The result appears under its name when it is complete and on the disk. Whatever ends the work before (an error, a
    full disk, the time limit, Ctrl-C, a kill), the name is as it was: absent, or the older file.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    path : str or os.PathLike
        By its suffix a Parquet file (``.parquet``), a CSV file (``.csv``, ``.csv.gz``), the same with tabs (``.tsv``,
        ``.tsv.gz``), or, without one, a folder of Parquet files ``part-00000.parquet``, ``part-00001.parquet``, ...
        that must not exist yet or be empty. An existing file is replaced. The folder around it must exist.
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
        a copy of the graph. Default: the current one.
    limit : int, optional
        Stop at this many rows. Which ones is not promised, unless they are sorted.
    time_limit : float, optional
        Seconds for everything but the last flush to the disk. Default: no limit.
    memory_limit : int, optional
        Bytes for batches, and for sorting, beside the graph. A batch takes a fraction of them. Default: all but a
        quarter of what is free.
    rows_per_file : int, optional
        Most rows of a part of a folder. Default: 2**26.
    batch_rows : int
        Rows that are found and written at a time. A row group of Parquet has at most so many.
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
    int
        The rows written. One row a match, one column per named pattern vertex in order of first mention; values are the
        ids of G in their type (categoricals in CSV and TSV: their values).

    Raises
    ------
    TimeLimitExceeded
        With the number of rows that had been written, none of which is kept, as ``.partial``.
    OSError
        If the disk is full (``errno.ENOSPC``) or fails otherwise; the message says how many rows had been written.
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense. ValueError also if `path` cannot be written or its format cannot hold the ids,
        before the search begins.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    See Also
    --------
    iter_matches : Give the matches in batches.
    subgraph_match : Return all matches at once.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_matches(edges, "(a)-->(b)", f"{folder}/pairs.parquet")
    ...     rows, pd.read_parquet(f"{folder}/pairs.parquet").columns.to_list()
    (3, ['a', 'b'])
    """
    begin = time.monotonic()
    target = check_target(path, rows_per_file)
    check_rows("batch_rows", batch_rows)
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        counting=False,
        limit=limit,
        progress=progress,
        sort=sort,
        warn_of_absent_labels=False,  # iter_matches does
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
        devices=devices,
    )
    query = planned_call(G, P, options, lambda _graph, _pattern: 0, parts=True)
    schema = schema_of(query, target)
    batches = iter_matches(
        query.graph,
        P,
        semantics=semantics,
        unique=unique,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
        engine=engine,
        devices=devices,
        limit=limit,
        time_limit=None if time_limit is None else max(0.0, float(time_limit) - (time.monotonic() - begin)),
        memory_limit=memory_limit,
        batch_rows=batch_rows,
        sort=sort,
        progress=progress,
    )
    return write_batches(query, target, schema, batches, rows_per_file, time_limit)


def write_batches(
    query: PlannedCall,
    target: OutputPath,
    schema: Any,
    batches: Generator[Any, None, None],
    rows_per_file: int | None = None,
    time_limit: float | None = None,
) -> int:
    """Write dataframes of a call's matches to a file or folder, complete or absent; returns the rows."""
    to_arrow = query.graph.family.to_arrow
    with Output(target, schema, rows_per_file or ROWS_PER_FILE) as output:
        try:
            for batch in batches:
                output.write(to_arrow(batch).cast(schema))
        except TimeLimitExceeded:
            outcome = "nothing was kept; .partial holds how many rows had been written"
            raise TimeLimitExceeded(f"time_limit: not finished within {time_limit} s; {outcome}", output.rows) from None
        finally:
            batches.close()
        output.publish()
    return output.rows


def schema_of(query: PlannedCall, target: OutputPath) -> Any:
    """The Arrow schema of the columns; ValueError if the format of the target cannot hold it."""
    names, format_name = query.columns(), "CSV" if is_text(target.suffix) else "Parquet"
    if len({str(name) for name in names}) < len(names):
        raise PatternError(f"pattern: vertex names must differ as text to become columns of {format_name}")

    def refusal(why: str) -> ValueError:
        return ValueError(f"path: {format_name} cannot hold these ids ({why}); make them numbers or text")

    with arrow_refusals(refusal):
        return writable_schema(_column_types(query), target.suffix)


def _column_types(query: PlannedCall) -> Any:
    """The Arrow schema of a dataframe of matches."""
    graph, to_arrow = query.graph, query.graph.family.to_arrow
    schema = to_arrow(query.frame([])).schema
    if has_untyped_column(schema):
        ids = graph.to_ids(graph.xp.arange(graph.n_vertices))
        schema = to_arrow(graph.family.frame(dict.fromkeys(query.columns(), ids))).schema
    return schema
