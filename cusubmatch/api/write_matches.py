"""Matches on disk: a Parquet, CSV or TSV file, or a folder of Parquet parts, that is complete or absent.

Rows go batch by batch, in bounded memory, to where `publish` keeps them until all are there. Arrow is imported when it
is needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cusubmatch.errors import TimeLimitExceeded
from cusubmatch.io.formats import is_text
from cusubmatch.io.publish import Output, plain_schema, table_writer
from cusubmatch.io.targets import check_rows, check_target

if TYPE_CHECKING:
    from cusubmatch.pattern import Pattern

__all__ = ["write_matches"]

ROWS_PER_FILE = 1 << 26


def write_matches(
    G,
    P: Pattern | str,
    path: str | os.PathLike,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    rows_per_file: int | None = None,
    batch_rows: int = 1 << 20,
    sort: bool = False,
    progress: Callable[[float, int], None] | bool | None = None,
) -> int:
    """Find the matches of a pattern and write them to disk, in bounded memory and any number.

    The result appears under its name when it is complete and on the disk. Whatever ends the work before (an error, a
    full disk, the time limit, Ctrl-C, a kill), the name is as it was: absent, or the older file.

    Parameters
    ----------
    path : str or os.PathLike
        By its suffix a Parquet file (``.parquet``), a CSV file (``.csv``, ``.csv.gz``), the same with tabs (``.tsv``,
        ``.tsv.gz``), or, without one, a folder of Parquet files ``part-00000.parquet``, ``part-00001.parquet``, ...
        that must not exist yet or be empty. An existing file is replaced. The folder around it must exist.
    time_limit : float, optional
        Seconds, for all of it but the last flush to the disk.
    rows_per_file : int, optional
        Most rows of a part of a folder, default 2**26.
    batch_rows : int
        Rows that are found and written at a time; a row group of Parquet has at most so many.
    sort : bool, default False
        As for `subgraph_match`; rows beyond the memory limit are sorted on disk, in the folder for temporary files.

    Others are as for `iter_matches`.

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
    PatternError, GraphError, EngineUnavailable, ValueError
        ValueError also if `path` cannot be written or its format cannot hold the ids, before the search begins.

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
    from cusubmatch.api.subgraph_match import iter_matches
    from cusubmatch.execution.query import make_query

    begin = time.monotonic()
    target = check_target(path, rows_per_file)
    check_rows("batch_rows", batch_rows)
    options = {"limit": limit, "progress": progress, "sort": sort, "nothing": lambda _graph, _pattern: 0}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=False, warn=False, **options)
    schema, to_arrow = _schema(query, target), query.graph.family.to_arrow
    matches: Any = iter_matches(
        query.graph,
        P,
        semantics=semantics,
        unique=unique,
        engine=engine,
        limit=limit,
        time_limit=None if time_limit is None else max(0.0, float(time_limit) - (time.monotonic() - begin)),
        memory_limit=memory_limit,
        batch_rows=batch_rows,
        sort=sort,
        progress=progress,
    )
    with Output(target, schema, rows_per_file or ROWS_PER_FILE) as output:
        try:
            for batch in matches:
                output.write(to_arrow(batch).cast(schema))
        except TimeLimitExceeded:
            what = "nothing was kept; .partial holds how many rows had been written"
            raise TimeLimitExceeded(f"time_limit: not finished within {time_limit} s; {what}", output.rows) from None
        finally:
            matches.close()
        output.publish()
    return output.rows


def _schema(query, target):
    """The Arrow schema of the columns; ValueError if the format of the target cannot hold it."""
    import pyarrow as pa

    from cusubmatch.pattern import PatternError

    graph, names, form = query.graph, query.columns(), "CSV" if is_text(target.suffix) else "Parquet"
    if len({str(name) for name in names}) < len(names):
        raise PatternError(f"pattern: vertex names must differ as text to become columns of {form}")
    try:
        schema = graph.family.to_arrow(query.frame([])).schema
        if any(map(pa.types.is_null, schema.types)):  # objects, of which a column without rows does not say the type
            ids = graph.to_ids(graph.xp.arange(graph.n_vertices))
            schema = graph.family.to_arrow(graph.family.frame(dict.fromkeys(names, ids))).schema
        if is_text(target.suffix):
            schema = plain_schema(schema)
        with table_writer(pa.BufferOutputStream(), schema, target.suffix) as writer:
            writer.write_table(schema.empty_table())
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ValueError(f"path: {form} cannot hold these ids ({error!s:.200}); make them numbers or text") from None
    return schema
