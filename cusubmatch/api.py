"""The public functions: check the arguments, plan, run, and put the result into a dataframe of the caller's kind."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from cusubmatch.errors import DeadlinePassed, ResultTooLarge, TimeLimitExceeded
from cusubmatch.held import Held
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.query import as_graph, as_pattern, check_options, make_query

__all__ = ["count_many", "count_matches", "explain", "has_match", "iter_matches", "subgraph_match"]

COUNTING_ON_SECONDS = 10.0  # how long a result that does not fit is counted on, to say how large it is


def count_matches(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    time_limit: float | None = None,
    progress: Callable[[float, int], None] | bool | None = None,
) -> int:
    """Count the matches of a pattern, without storing them.

    Parameters
    ----------
    G : Graph, DataFrame with columns source, destination or src, dst, cugraph.Graph or networkx graph
    P : Pattern or str
    semantics : {"monomorphism", "induced", "homomorphism"}
        Injective with further edges free; injective with no further edges; or any mapping that keeps edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True, for
        homomorphisms False (True is an error there).
    engine : {"auto", "cpu", "gpu"}
    time_limit : float, optional
        Seconds.
    progress : callable or bool, optional
        Called now and then as ``progress(fraction_done, matches_so_far)``; True draws a line on stderr: the share of
        the estimated work that is done, matches so far, matches a second and the time left.

    Returns
    -------
    int

    Raises
    ------
    TimeLimitExceeded
        With the count so far as ``.partial``.
    PatternError, GraphError, EngineUnavailable, ValueError

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_matches(edges, "(a)--(b)--(c)--(a)")
    1
    """
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=True, progress=progress)
    with _shown(progress, "counting") as report:
        run = query.run(progress=report)
        try:
            return run.count()
        except DeadlinePassed:
            raise _time_limit(time_limit, run.matches) from None


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
    options = {"limit": limit, "progress": progress, "memory_limit": memory_limit}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=False, **options)
    query.columns()
    held = Held(query, memory_limit)
    try:
        with _shown(progress, "matching") as report:
            for block in query.blocks(limit, report, memory_limit=memory_limit):
                held.add(block)
                if held.too_large:
                    raise ResultTooLarge(_too_large(query, held.rows))
        return held.frame(sort)
    except DeadlinePassed:
        raise _time_limit(time_limit, functools.partial(held.frame, sort)) from None
    except ResultTooLarge:
        raise
    except MemoryError as error:  # of the device, while rows or columns were made
        held.blocks.clear()
        raise ResultTooLarge(_too_large(query, held.rows)) from error


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
    if isinstance(batch_rows, bool) or not isinstance(batch_rows, (int, np.integer)):
        raise TypeError(f"batch_rows: expected an int, got {type(batch_rows).__name__}")
    if batch_rows < 1:
        raise ValueError(f"batch_rows: expected at least 1, got {batch_rows}")
    options = {"limit": limit, "progress": progress, "memory_limit": memory_limit}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=False, **options)
    columns, room = len(query.columns()), query.budget(memory_limit, query.graph.xp)
    if batch_rows * columns * (4 + query.graph.id_bytes) > room and memory_limit is not None:
        most = max(room // (columns * (4 + query.graph.id_bytes)), 1)
        raise ValueError(f"batch_rows: {batch_rows:,} rows do not fit in memory_limit={memory_limit:,}; {most:,} would")
    return _batches(query, limit, int(batch_rows), time_limit, memory_limit, sort, progress)


def _batches(query, limit, batch_rows, time_limit, memory_limit, sort, progress):
    held, rows = [], 0
    with _shown(progress, "matching") as report:
        blocks = query.blocks(limit, report, batch_rows, memory_limit)
        if sort:
            blocks = query.in_order(blocks, query.budget(memory_limit, np))
        with contextlib.closing(blocks):
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
                raise _time_limit(time_limit, functools.partial(query.frame, held)) from None
        if rows:
            yield query.frame(held)


def has_match(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    engine: str = "auto",
    time_limit: float | None = None,
) -> bool:
    """Whether the pattern occurs at all; stops at the first match. Parameters as for `count_matches`."""
    query = make_query(G, P, semantics, None, engine, time_limit, counting=False, limit=1)
    try:
        return any(block.shape[1] for block in query.blocks(1, None))
    except DeadlinePassed:
        raise _time_limit(time_limit, None) from None


def count_many(
    G,
    patterns: Mapping[Any, Pattern | str],
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    time_limit: float | None = None,
):
    """Count the matches of many patterns in one graph, which is prepared once.

    Parameters
    ----------
    patterns : mapping of name to Pattern or str
    time_limit : float, optional
        Seconds for each pattern.

    Others are as for `count_matches`.

    Returns
    -------
    DataFrame of the family of G
        Columns ``pattern`` (the names as text), ``count`` and ``seconds``. Where a count passes 64 bits the counts are
        text.

    Raises
    ------
    TimeLimitExceeded
        With the dataframe of the patterns that were finished as ``.partial``.
    """
    if not isinstance(patterns, Mapping):
        raise TypeError(f"patterns: expected a mapping of names to patterns, got {type(patterns).__name__}")
    parsed = {name: _named(name, as_pattern, pattern, f"patterns[{name!r}]") for name, pattern in patterns.items()}
    check_options(semantics, unique, engine, time_limit)
    graph = as_graph(G, any(pattern.directed for pattern in parsed.values()))
    names: list = []
    counts: list[int] = []
    seconds: list[float] = []
    for name, pattern in parsed.items():
        begin = time.perf_counter()
        try:
            count = _named(
                name,
                count_matches,
                graph,
                pattern,
                semantics=semantics,
                unique=unique,
                engine=engine,
                time_limit=time_limit,
            )
        except TimeLimitExceeded:
            done = _count_table(graph.family, names, counts, seconds)
            raise TimeLimitExceeded(f"time_limit: {name!r} was not counted within {time_limit} s", done) from None
        names.append(name)
        counts.append(count)
        seconds.append(time.perf_counter() - begin)
    return _count_table(graph.family, names, counts, seconds)


def _named(name, function, *arguments, **options):
    """What the function returns; its complaints about a pattern say which one is meant."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        if not str(error).startswith("pattern:"):
            raise
        raise type(error)(f"patterns[{name!r}]{str(error).removeprefix('pattern')}") from None


def _count_table(family, names, counts, seconds):
    wide = any(count >= 2**63 for count in counts)
    columns = {
        "pattern": [str(name) for name in names],
        "count": list(map(str, counts)) if wide else counts,
        "seconds": seconds,
    }
    dtypes = {"pattern": str, "count": str if wide else np.int64, "seconds": np.float64}
    xp = family.xp()
    arrays = {name: np.array(values, dtypes[name]) for name, values in columns.items()}
    return family.frame(
        {name: family.values(a if a.dtype.kind == "U" else xp.asarray(a)) for name, a in arrays.items()}
    )


def explain(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    counting: bool = True,
) -> Plan:
    """How a pattern would be matched: print the plan to read it.

    Parameters
    ----------
    counting : bool, default True
        The plan of `count_matches`; False: that of `subgraph_match`.

    Others are as for `count_matches`.

    Returns
    -------
    Plan
    """
    return make_query(G, P, semantics, unique, engine, None, counting=counting).plan


@contextlib.contextmanager
def _shown(progress, what):
    """What a run reports to: the caller's function, a line on stderr for True, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from cusubmatch.terminal import Progress

    with Progress(True) as line:
        yield line.start(what)


def _time_limit(seconds, partial):
    return TimeLimitExceeded(f"time_limit: not finished within {seconds} s; .partial holds what was found", partial)


def _too_large(query, rows):
    """The message for a result that does not fit, with its size if that can be counted soon."""
    counted = f"more than {rows:,}"
    run = query._replace(deadline=time.monotonic() + COUNTING_ON_SECONDS).run()
    total = 0
    try:
        for block in run.blocks():
            total += block.shape[1]
        counted = f"{total:,}"
    except DeadlinePassed:
        counted = f"more than {max(total, rows):,}"
    return (
        f"the result has {counted} rows of {len(query.columns())} columns and does not fit in memory; "
        "use iter_matches for batches, limit= for a part, or count_matches"
    )
