"""A checked call, planned: an engine is chosen; plan and candidates are taken from the graph's cache or made.

A call with conditions that rows of the edge table have to be walked for becomes a `RowQuery`, any other one a `Query`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.engine_choice import engine_for, reason_for
from cusubmatch.execution.planning import has_labels, plan_of
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.refined_calls import asked_of, refined, with_words
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import until

if TYPE_CHECKING:
    from cusubmatch.execution.row_walks.row_query import RowQuery
    from cusubmatch.plan.asked import Asked

__all__ = ["PlannedCall", "asked_by", "asked_query", "asks_more", "conditioned_query", "make_query"]

TRIAL_SECONDS = 1.0  # that choosing a plan by timing samples may take; a shorter time limit does without

PlannedCall: TypeAlias = "Query | RowQuery"


def make_query(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None = None) -> PlannedCall:
    """Choose an engine for a call and plan it; `options` have been checked.

    Raises
    ------
    DeadlinePassed
        If `deadline` (`time.monotonic`) comes while the call is planned.
    """
    if asks_more(pattern, options):
        return asked_query(graph, options, deadline, asked_by(pattern, options))
    engine, reason = engine_for(options, graph)
    with engine.current():
        placed = engine.place(graph)
        plan, prepared = _planned(placed, engine, pattern, options, deadline)
        why = reason_for(engine, reason, plan, options)
        query = Query(graph, engine, plan, prepared, deadline, why=why)
        return query.in_order() if options.sort else query


def asks_more(pattern: Pattern, options: QueryOptions) -> bool:
    """Whether a call asks for more than labels and edges."""
    return bool(pattern.conditions or options.params or options.candidates or options.edges == "each")


def asked_by(pattern: Pattern, options: QueryOptions) -> Asked:
    """What a call asks beside labels and edges."""
    return asked_of(pattern, options.params, options.candidates, options.edges)


def asked_query(graph: Graph, options: QueryOptions, deadline: float | None, asked: Asked) -> PlannedCall:
    """Plan a call with conditions, by rows of the edge table where they must be walked."""
    from cusubmatch.execution.row_walks.row_query import make_row_query, needs_rows

    if not needs_rows(asked):
        return conditioned_query(graph, options, deadline, asked)
    with until(deadline):
        return make_row_query(graph, options, deadline, asked)


def conditioned_query(graph: Graph, options: QueryOptions, deadline: float | None, asked: Asked) -> Query:
    """Plan a call whose conditions are on single elements, or negated edges."""
    engine, reason = engine_for(options, graph)
    with engine.current():
        with until(deadline):
            found = refined(engine.place(graph), asked)
        plan, prepared = _planned(found.graph, engine, found.pattern, options, deadline)
        why = reason_for(engine, reason, plan, options)
        query = Query(graph, engine, with_words(plan, asked, found), prepared, deadline, why=why)
        return query.in_order() if options.sort else query


def _planned(
    placed: Graph, engine: Engine, pattern: Pattern, options: QueryOptions, deadline: float | None
) -> tuple[Plan, Prepared]:
    """The plan of a call on the graph where the engine works."""
    call = pattern, options.semantics, options.one_per_orbit, options.counting, options.suffix
    by_trial, few_rows = options.by_trial, options.few_rows and has_labels(pattern)
    if options.time_limit is not None and options.time_limit < TRIAL_SECONDS:
        by_trial = by_trial and placed.cache.holds("plans", (*call, True, few_rows))
    with until(deadline):
        return plan_of(placed, engine, *call, by_trial, few_rows)
