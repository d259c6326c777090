"""The arguments of the public functions: checked, and made a graph, a pattern and options.

A wrong argument gives one error that names it, says what came and what would do.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.api.reports import time_limit_exceeded
from cusubmatch.engines.registry import check_devices, check_engine
from cusubmatch.errors import DeadlinePassed, PatternError
from cusubmatch.execution.planned_call import PlannedCall, make_query
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.frames import as_frame, family_of
from cusubmatch.graph import Graph
from cusubmatch.graph.edge_list import EDGE_TABLES, is_arrays
from cusubmatch.graph.labels import absent_in, warn_absent
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.checks import check_parallel_edges
from cusubmatch.plan import SEMANTICS

__all__ = [
    "CheckedCall",
    "as_graph",
    "as_pattern",
    "check_options",
    "checked_call",
    "checked_query",
    "is_compound",
    "plan_of_call",
    "planned_call",
]


EDGES = ("any", "each")


def checked_query(
    G: Any,
    P: Any,
    options: QueryOptions,
    empty_partial: Callable[[Graph, Pattern], Any] = lambda _graph, _pattern: None,
) -> Query:
    """Check the arguments of a call that needs a plan of levels, and plan it; `planned_call` has the arguments.

    Raises
    ------
    PatternError
        Also if rows of the edge table would have to be walked.
    """
    query = planned_call(G, P, options, empty_partial)
    if not isinstance(query, Query):
        raise PatternError(
            "pattern: this function does not take conditions that compare several vertices or edges, "
            "nor edges='each', yet; count_matches, subgraph_match, iter_matches and write_matches do"
        )
    return query


def planned_call(
    G: Any,
    P: Any,
    options: QueryOptions,
    empty_partial: Callable[[Graph, Pattern], Any] = lambda _graph, _pattern: None,
    *,
    parts: bool = False,
) -> PlannedCall:
    """Check the arguments of a call and plan it.

    Parameters
    ----------
    G, P
        As the caller gave them.
    options : QueryOptions
    empty_partial : callable
        empty_partial(graph, pattern) is ``.partial`` of a time limit that passes while the call is planned.
    parts : bool
        Whether the pattern may have OPTIONAL and EXISTS parts and paths of several lengths.
    """
    return plan_of_call(checked_call(G, P, options, parts=parts), empty_partial)


def plan_of_call(
    call: CheckedCall, empty_partial: Callable[[Graph, Pattern], Any] = lambda _graph, _pattern: None
) -> PlannedCall:
    """Plan a call whose arguments have been checked."""
    try:
        if is_compound(call.pattern):
            return planned_compound(call)
        if call.options.touching is not None:
            from cusubmatch.execution.touching import touching_rows

            return touching_rows(*call)
        return make_query(*call)
    except DeadlinePassed:
        raise time_limit_exceeded(call.options.time_limit, empty_partial(call.graph, call.pattern)) from None


def is_compound(pattern: Pattern) -> bool:
    """Whether a pattern has OPTIONAL or EXISTS parts, or paths of several lengths."""
    return bool(pattern.quantifiers or pattern.optional or pattern.exists)


def planned_compound(call: CheckedCall) -> PlannedCall:
    """Plan the rows of a pattern with parts."""
    from cusubmatch.execution.compound.compound_rows import compound_rows

    return compound_rows(*call)


class CheckedCall(NamedTuple):
    """The arguments of `make_query`."""

    graph: Graph
    pattern: Pattern
    options: QueryOptions
    deadline: float | None


def checked_call(G: Any, P: Any, options: QueryOptions, *, parts: bool = False) -> CheckedCall:
    """Check the arguments of a call; its `candidates` and `touching` are internal vertices."""
    pattern = as_pattern(P, "pattern", conditions=True, parts=parts, edges=options.edges)
    check_options(options)
    deadline = None if options.time_limit is None else time.monotonic() + float(options.time_limit)
    graph = as_graph(G, pattern.directed)
    if options.warn_of_absent_labels:
        warn_absent({"pattern": absent_in(graph, pattern)})
    if options.candidates is not None or options.touching is not None:
        from cusubmatch.api.ids import absent_ids, checked_candidates, checked_touching, warn_absent_ids

        given = options
        options = dataclasses.replace(
            options,
            candidates=checked_candidates(graph, pattern, options.candidates),
            touching=checked_touching(graph, options.touching),
        )
        if options.warn_of_absent_labels:
            warn_absent_ids(absent_ids(graph, given.candidates, given.touching))
    return CheckedCall(graph, pattern, options, deadline)


def check_options(options: QueryOptions) -> None:
    """Refuse options that no call can take."""
    if options.edges not in EDGES:
        raise ValueError(f"edges: expected 'any' or 'each', got {options.edges!r}")
    if options.edge_id is not None and options.edges == "any":
        raise ValueError(f"edge_id: {options.edge_id!r} names rows of named edges; give edges='each', too")
    if options.semantics not in SEMANTICS:
        raise ValueError(f"semantics: expected one of {', '.join(SEMANTICS)}, got {options.semantics!r}")
    if options.unique is not None and not isinstance(options.unique, (bool, np.bool_)):
        raise TypeError(f"unique: expected True, False or None, got {options.unique!r}")
    if options.semantics == "homomorphism" and options.unique:
        raise ValueError("unique: homomorphisms have no orbits to choose from; leave unique out or False")
    _check_time_limit(options.time_limit)
    check_engine(options.engine)
    check_devices(options.engine, options.devices)
    _check_whole("memory_limit", options.memory_limit, 1, "bytes as an int or None", "at least 1 byte")
    _check_whole("limit", options.limit, 0, "an int or None", "0 or more")
    progress: Any = options.progress
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: expected a callable, True, False or None, got {progress!r}")


def _check_time_limit(seconds: Any) -> None:
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (Real, np.number)):
        raise TypeError(f"time_limit: expected seconds or None, got {seconds!r}")
    if not float(seconds) >= 0:  # NaN among them
        raise ValueError(f"time_limit: expected seconds, 0 or more, got {seconds!r}")


def _check_whole(argument: str, number: Any, least: int, kind: str, bound: str) -> None:
    """Refuse what is neither None nor an integer of at least `least`."""
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"{argument}: expected {kind}, got {type(number).__name__}")
    if number < least:
        raise ValueError(f"{argument}: expected {bound}, got {number}")


_parsed = functools.lru_cache(maxsize=64)(Pattern.parse)


def as_pattern(P: Any, argument: str, *, conditions: bool = False, parts: bool = False, edges: str = "any") -> Pattern:
    """The Pattern that P is or describes; `conditions`, `parts`: it may have some, `edges`: what named edges mean."""
    if not isinstance(P, (Pattern, str)):
        raise TypeError(f"{argument}: expected a Pattern or a text such as '(a)-->(b)', got {type(P).__name__}")
    pattern = _parsed(P) if isinstance(P, str) else P
    check_parallel_edges(pattern, edges)
    if pattern.conditions and not conditions:
        raise PatternError(f"{argument}: this function does not take conditions (WHERE, properties in braces) yet")
    if not parts and is_compound(pattern):
        what = "EXISTS" if pattern.exists else "OPTIONAL" if pattern.optional else "edges with lengths, as -->{1,3}"
        raise PatternError(
            f"{argument}: this function does not take {what} yet; count_matches, subgraph_match, iter_matches, "
            "write_matches and has_match do"
        )
    return pattern


def as_graph(G: Any, directed: bool) -> Graph:
    """The Graph that G is or describes; `directed` counts for a bare table of edges."""
    if isinstance(G, Graph):
        return G
    if isinstance(G, type):
        raise TypeError(f"G: expected a graph or a dataframe, got the class {G.__name__}")
    G = as_frame(G)
    if family_of(G) is not None or is_arrays(G):
        return Graph.from_edgelist(G, directed=directed)
    if type(G).__module__.startswith("cusubmatch.dask."):
        raise TypeError("G: this graph lies on a Dask cluster; ask a function of cusubmatch.dask instead")
    package = type(G).__module__.partition(".")[0]
    if package == "cugraph":
        return Graph.from_cugraph(G)
    if package == "networkx" or hasattr(G, "adj"):
        return Graph.from_networkx(G)
    raise TypeError(
        "G: expected a cusubmatch.Graph, a cugraph.Graph, a networkx graph, or edges (columns source, destination or "
        f"src, dst): {EDGE_TABLES}; got {type(G).__name__}"
    )
