"""How many matches there are, and whether there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.options import CheckedCall, checked_call, is_compound, planned_call
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.engines.base import Count
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.known_patterns import known_pattern
from cusubmatch.execution.planning import is_large_labelled
from cusubmatch.execution.query import PlannedCall, Query, make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import until

if TYPE_CHECKING:
    from cusubmatch.execution.conditioned_query import ConditionedQuery
    from cusubmatch.execution.strategies.side_by_side import HostCount

__all__ = ["count_matches", "count_of_plan", "count_of_query", "has_match"]


def count_matches(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> int:
    """Count the matches of a pattern, without storing them.

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
    engine : {"auto", "cpu", "gpu"}
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell: the share of the estimated work that is done, matches so far, matches a second and the
        time left.

    Returns
    -------
    int
        The number of matches, exact at any size.

    Raises
    ------
    TimeLimitExceeded
        With the count so far as ``.partial``; None where matches are counted in parts, by decomposition.
    PatternError
        If the pattern cannot be read, or does not suit the graph.
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
    count_many : Count many patterns in one graph.
    has_match : Stop at the first match.
    subgraph_match : Return the matches themselves.
    explain : Show how a pattern would be counted.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_matches(edges, "(a)--(b)--(c)--(a)")
    1
    """
    return count_of_query(
        G,
        P,
        QueryOptions(
            semantics,
            unique,
            engine,
            time_limit,
            progress=progress,
            params=params,
            candidates=candidates,
            touching=touching,
            edges=edges,
            devices=devices,
        ),
    )


def count_of_query(G: GraphLike, P: Pattern | str, options: QueryOptions) -> int:
    """The number of matches of a call."""
    call = checked_call(G, P, options, parts=True)
    if is_compound(call.pattern):
        return _count_compound(call)
    if call.options.touching is not None:
        return _count_touching(call)
    call = call._replace(pattern=known_pattern(call.graph, call.pattern, call.options))
    return _count_labelled(call) if is_large_labelled(call.pattern) else _counted(call, make_query)


def _count_labelled(call: CheckedCall) -> int:
    """The number of matches of a pattern that is counted before it is planned, and on the host before on a GPU."""
    from cusubmatch.execution.conditioned_query import make_count
    from cusubmatch.execution.host_first import FIRST_S, host_count

    host = host_count(*call)
    if host is None:
        return _counted(call, make_count)
    try:
        return host.result() if host.ends_within(FIRST_S) else _counted(call, make_count, host)
    finally:
        host.give_up()


def _counted(
    call: CheckedCall, make: Callable[..., PlannedCall | ConditionedQuery], underway: HostCount | None = None
) -> int:
    """The number of matches of a call whose query is made by `make`; `underway`: a count on the host that has begun."""
    try:
        query = make(*call)
    except DeadlinePassed:
        raise time_limit_exceeded(call.options.time_limit, 0) from None
    return count_of_plan(query, call.options, underway)


def _count_compound(call: CheckedCall) -> int:
    """The number of matches of a pattern with parts: the sum of simpler counts, or a count of what is joined."""
    from cusubmatch.execution.compound.compound_count import JoinedCount
    from cusubmatch.execution.compound.compound_rows import compound_calls

    graph, _, asked, deadline = call
    joined: JoinedCount | None = None
    try:
        calls = compound_calls(*call)
        if calls.joined:
            joined = JoinedCount(graph, calls, asked, deadline)
            with reporting(asked.progress, "counting") as report, until(deadline):
                return joined.count(report)
        simple = [CheckedCall(graph, pattern, calls.options, deadline) for pattern in calls.patterns]
        if asked.touching is not None:
            return sum(map(_count_touching, simple))
        queries = [make_query(*one) for one in simple]
    except DeadlinePassed:
        raise time_limit_exceeded(asked.time_limit, 0 if joined is None else joined.matches) from None
    return sum(count_of_plan(query, asked) for query in queries)


def _count_touching(call: CheckedCall) -> int:
    """The number of matches that have one of some vertices."""
    from cusubmatch.execution.touching import touching_counts

    options = call.options
    try:
        queries, divisor = touching_counts(*call)
    except DeadlinePassed:
        raise time_limit_exceeded(options.time_limit, None) from None
    return sum(sign * count_of_plan(query, options) for sign, query in queries) // divisor


def count_of_plan(
    query: PlannedCall | ConditionedQuery, options: QueryOptions, underway: HostCount | None = None
) -> int:
    """The number of matches of a planned call; `underway`: a count on the host that has begun."""
    run: Count | None = None
    try:
        with query.engine.current(), reporting(options.progress, "counting") as report, until(query.deadline):
            run = query.count_run(report, underway) if isinstance(query, Query) else query.count_run(report)
            return run.count()
    except DeadlinePassed:
        raise time_limit_exceeded(options.time_limit, 0 if run is None else run.matches) from None


def has_match(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> bool:
    """Find out whether a pattern occurs at all.

    The search stops at the first match.

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
    engine : {"auto", "cpu", "gpu"}
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.

    Returns
    -------
    bool
        Whether there is a match.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``.
    PatternError
        If the pattern cannot be read, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    See Also
    --------
    count_matches : Count all matches.
    subgraph_match : Return the matches; with ``limit=1`` one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> has_match(edges, "(a)--(b)--(c)--(a)"), has_match(edges, "(a)--(b)--(c)--(d)--(a)")
    (True, False)
    """
    query = planned_call(
        G,
        P,
        QueryOptions(
            semantics,
            None,
            engine,
            time_limit,
            counting=False,
            limit=1,
            params=params,
            candidates=candidates,
            touching=touching,
            edges=edges,
            devices=devices,
        ),
        parts=True,
    )
    blocks = query.blocks(1, None)
    with query.engine.current():
        try:
            return any(block.shape[1] for block in blocks)
        except DeadlinePassed:
            raise time_limit_exceeded(time_limit, None) from None
        finally:
            blocks.close()
