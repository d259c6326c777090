"""A count that begins by conditioning on a candidate graph, before a walk is planned.

Most labelled queries are counted in less time than an order to walk them in takes to be found. A plan is made only if
the count is not done when a walk would be tried.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.engines.base import Engine
from cusubmatch.engines.runs import Count, ProgressCallback
from cusubmatch.execution.engine_choice import engine_for
from cusubmatch.execution.planned_call import PlannedCall, asks_more, make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies.conditioning_count import Conditioning, begun_without_plan
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import until

__all__ = ["ConditionedQuery", "make_count"]


class ConditionedQuery(NamedTuple):
    """A count without a plan.

    Attributes
    ----------
    engine : Engine
    strategy : Conditioning
    deadline : float or None
        Time (`time.monotonic`) at which the call ends.
    """

    engine: Engine
    strategy: Conditioning
    deadline: float | None

    def count_run(self, progress: ProgressCallback | None) -> Count:
        """The count."""
        return self.strategy.run(self.deadline, progress)


def make_count(
    graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None = None
) -> PlannedCall | ConditionedQuery:
    """Choose an engine for a count, and plan it if that is needed to begin; `options` have been checked.

    Raises
    ------
    DeadlinePassed
        If `deadline` (`time.monotonic`) comes while the call is planned.
    """
    if asks_more(pattern, options) or options.suffix is not None:
        return make_query(graph, pattern, options, deadline)
    engine, _ = engine_for(options, graph)
    with engine.current():
        placed = engine.place(graph)
        with until(deadline):
            strategy = begun_without_plan(placed, engine, pattern, options.semantics, options.one_per_orbit)
    if strategy is None:
        return make_query(graph, pattern, options, deadline)
    return ConditionedQuery(engine, strategy, deadline)
