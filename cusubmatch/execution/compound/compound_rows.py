"""Calls of patterns with parts: what they ask for checked, and planned for rows."""

from __future__ import annotations

from typing import Any

from cusubmatch.execution.compound.joined_options import check_joined
from cusubmatch.execution.compound.joined_query import joined_query
from cusubmatch.execution.compound.simple_calls import SimpleCalls, simple_calls
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.touching import touching_rows
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan.conditions.environment import check_parameters
from cusubmatch.plan.constraints import check_suits
from cusubmatch.system.deadlines import until

__all__ = ["compound_calls", "compound_rows"]


def compound_calls(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> SimpleCalls:
    """The simple calls of a pattern with parts.

    Raises
    ------
    DeadlinePassed
    """
    check_parameters(pattern.parameters, options.params)
    for one in _with_parts(pattern):
        check_suits(one, graph)
    with until(deadline):
        calls = simple_calls(graph, pattern, options, deadline)
    if calls.joined:
        check_joined(calls, options)
    return calls


def compound_rows(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> Any:
    """Plan the rows of a pattern with parts; those of several lengths come one after the other."""
    calls = compound_calls(graph, pattern, options, deadline)
    if calls.joined:
        return joined_query(graph, calls, options, deadline)
    plan = make_query if options.touching is None else touching_rows
    queries: list[Any] = [plan(graph, one, calls.options, deadline) for one in calls.patterns]
    first, *others = (part._replace(parts=()) for query in queries for part in (query, *query.parts))
    return first._replace(parts=tuple(others))


def _with_parts(pattern: Pattern) -> list[Pattern]:
    """A pattern and all patterns in it."""
    return [pattern, *(inner for part in pattern.parts for inner in _with_parts(part))]
