"""The public functions that count: check the arguments, plan, run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cusubmatch.compile_thread import until
from cusubmatch.errors import DeadlinePassed, TimeLimitExceeded
from cusubmatch.labels import absent_in, warn_absent
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.query import as_graph, as_pattern, check_options, make_query, shown, time_limit_exceeded

__all__ = ["count_many", "count_matches", "explain", "has_match", "table_of"]


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
    G : Graph, cugraph.Graph, networkx graph, or edges: DataFrame, arrays or what else `Graph.from_edgelist` takes
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
        With the count so far as ``.partial``; None where matches are counted in parts, by decomposition.
    PatternError, GraphError, EngineUnavailable, ValueError

    Warns
    -----
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_matches(edges, "(a)--(b)--(c)--(a)")
    1
    """
    return _count(G, P, semantics, unique, engine, time_limit, progress)


def _count(G, P, semantics, unique, engine, time_limit, progress=None, warn=True):
    options = {"progress": progress, "warn": warn, "nothing": lambda _graph, _pattern: 0}
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=True, **options)
    run: Any = None
    try:
        with shown(progress, "counting") as report, until(query.deadline):
            run = query.count_run(report)
            return run.count()
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, 0 if run is None else run.matches) from None


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
        raise time_limit_exceeded(time_limit, None) from None


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
    warn_absent({f"patterns[{name!r}]": absent_in(graph, pattern) for name, pattern in parsed.items()})
    names: list = []
    counts: list[int] = []
    seconds: list[float] = []
    for name, pattern in parsed.items():
        begin = time.perf_counter()
        try:
            count = _named(name, _count, graph, pattern, semantics, unique, engine, time_limit, warn=False)
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
    return table_of(family, {"pattern": [str(name) for name in names], "count": counts, "seconds": seconds})


def table_of(family, columns):
    """A dataframe of lists of text, counts and seconds; counts that pass 64 bits become text, all of them."""
    xp, arrays = family.xp(), {}
    for name, values in columns.items():
        wide = name == "count" and any(count >= 2**63 for count in values)
        kind = str if wide else {"count": np.int64, "seconds": np.float64}.get(name, str)
        arrays[name] = np.array(list(map(str, values)) if wide else values, kind)
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
