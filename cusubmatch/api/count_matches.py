"""The public functions that count: check the arguments, plan, run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import DeadlinePassed, TimeLimitExceeded
from cusubmatch.execution.query import as_graph, as_pattern, check_options, make_query, shown, time_limit_exceeded
from cusubmatch.graph.labels import absent_in, warn_absent
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import until

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
        Called now and then as ``progress(fraction_done, matches_so_far)``; True draws a line on stderr, in a notebook
        under the cell: the share of the estimated work that is done, matches so far, matches a second and the time
        left.

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
    blocks = query.blocks(1, None)
    try:
        return any(block.shape[1] for block in blocks)
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, None) from None
    finally:
        blocks.close()


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
        One row a pattern, in their order, with the columns ``pattern`` (its name as text), ``count`` (nullable
        integers; where a count passes 64 bits all are text), ``seconds``, ``status`` and ``reason``. The status is
        "done", "time limit", "out of memory" or "error" (the pattern cannot be read or does not suit the graph). Where
        it is not "done" the count is null and the reason says why; else the reason is empty.

    Raises
    ------
    EngineUnavailable, GraphError, TypeError, ValueError
        For what concerns all patterns, and a TypeError for a pattern that is neither a Pattern nor text.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_many(edges, {"triangle": Pattern.cycle(3), "odd": "(a)--("})[["pattern", "count", "status"]]
        pattern  count status
    0  triangle      1   done
    1       odd   <NA>  error
    """
    if not isinstance(patterns, Mapping):
        raise TypeError(f"patterns: expected a mapping of names to patterns, got {type(patterns).__name__}")
    check_options(semantics, unique, engine, time_limit)
    parsed = {name: _outcome(as_pattern, pattern, f"patterns[{name!r}]") for name, pattern in patterns.items()}
    graph = as_graph(G, any(read.value.directed for read in parsed.values() if read.status == "done"))
    warn_absent(
        {f"patterns[{name!r}]": absent_in(graph, read.value) for name, read in parsed.items() if read.status == "done"}
    )
    counted, seconds = [], []
    for read in parsed.values():
        begin, outcome = time.perf_counter(), read
        if read.status == "done":
            outcome = _outcome(_count, graph, read.value, semantics, unique, engine, time_limit, warn=False)
        counted.append(outcome)
        seconds.append(time.perf_counter() - begin)
    columns = {
        "pattern": [str(name) for name in parsed],
        "count": [outcome.value for outcome in counted],
        "seconds": seconds,
        "status": [outcome.status for outcome in counted],
        "reason": [outcome.reason for outcome in counted],
    }
    return table_of(graph.family, columns, nullable=True)


class _Outcome(NamedTuple):
    """What a call returned, None if it failed; how it ended; and why, if not well."""

    value: Any
    status: str
    reason: str


def _outcome(function, *arguments, **options):
    """Call a function; what is wrong with one pattern alone is an outcome and no error."""
    try:
        return _Outcome(function(*arguments, **options), "done", "")
    except TimeLimitExceeded as late:
        return _Outcome(None, "time limit", str(late).partition("; .partial")[0])
    except MemoryError as error:
        return _Outcome(None, "out of memory", _first_line(error) or "there is not enough memory")
    except ValueError as error:  # PatternError, and GraphError for a pattern that does not suit the graph
        return _Outcome(None, "error", _first_line(error).removeprefix("pattern: "))


def _first_line(error):
    return str(error).partition("\n")[0]


def table_of(family, columns, nullable=False):
    """A dataframe of lists of text, counts and seconds; counts that pass 64 bits become text, all of them."""
    return family.frame({name: _column(family, name, values, nullable) for name, values in columns.items()})


def _column(family, name, values, nullable):
    kind = {"count": np.int64, "seconds": np.float64}.get(name, str)
    if name == "count" and any(count is not None and count >= 2**63 for count in values):
        kind, values = str, [None if count is None else str(count) for count in values]
    if name == "count" and nullable:
        return family.nullable(values, text=kind is str)
    array = np.array(values, kind)
    return family.values(array if kind is str else family.xp().asarray(array))


def explain(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    counting: bool = True,
) -> Plan:
    """How a pattern would be matched: print the plan to read it; a notebook shows its text.

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
