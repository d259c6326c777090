"""A count carried out: of a plain pattern, of one with parts, and of matches that have one of some vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cusubmatch.api.argument_types import GraphLike
from cusubmatch.api.options import CheckedCall, checked_call, is_compound
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.engines.runs import Count
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.known_patterns import known_pattern
from cusubmatch.execution.planned_call import PlannedCall, make_query
from cusubmatch.execution.planning import is_large_labelled
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import also_checking, until

if TYPE_CHECKING:
    from cusubmatch.execution.conditioned_query import ConditionedQuery
    from cusubmatch.execution.strategies.side_by_side import HostCount

__all__ = ["count_of_plan", "count_of_query"]


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
    """The number of matches of a pattern that is counted before it is planned, by the host beside a GPU."""
    from cusubmatch.execution.conditioned_query import make_count
    from cusubmatch.execution.host_first import HostIsDoneError, host_count, leave_to_gpu

    host = host_count(*call)
    if host is None:
        return _counted(call, make_count)
    try:
        host.begin()
        with also_checking(host.check):
            host.have_head_start()
            matches = _counted(call, make_count, host)
    except HostIsDoneError:  # while the GPU's count was planned
        return host.result()
    finally:
        host.give_up()
    if not host.is_done:
        leave_to_gpu(*call)
    return matches


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
