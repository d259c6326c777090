"""A planned call that several processes share, each with the graph in its own memory.

One process plans. The plan, which is data, travels to the others, so that all of them number the same first-level
tasks; each prepares the candidates for itself and runs ranges of the tasks. A graph that is built from the same input
has the same internal vertices everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.registry import check_engine, choose_engine
from cusubmatch.engines.runs import TaskRange
from cusubmatch.errors import EngineUnavailable
from cusubmatch.execution.query import Query
from cusubmatch.execution.refined_calls import refined
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.execution.strategies.race import RACE_FACTOR, Race
from cusubmatch.execution.strategies.strategy import Strategy
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.execution.work_ranges import cell_edges
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan, constraints_of

__all__ = ["SharedPlan", "other_strategy", "prepared_for", "query_of", "share", "strategy_on"]

CELLS = 1 << 13  # ranges of equal numbers of tasks, of which the work is estimated
KEPT_PREPARED = 4  # of plans that came from elsewhere, kept with a large graph


class SharedPlan(NamedTuple):
    """A plan, and what ranges of its tasks are made from.

    Attributes
    ----------
    plan : Plan or RowOutline
        Of a call that walks rows, the outline (`shared_rows.py`), of several calls theirs (`shared_sums.py`).
    number_of_tasks : int
    estimate_s : float
        Seconds that one thread, or one device, is expected to take.
    edges : tuple of int
        Boundaries of cells: consecutive ranges of tasks.
    work : tuple of float
        The estimated share of each cell in the work.
    patience_s : float or None
        After so many seconds of all ranges together another strategy is quicker; None: there is no other.
    """

    plan: Any
    number_of_tasks: int
    estimate_s: float
    edges: tuple[int, ...]
    work: tuple[float, ...]
    patience_s: float | None


def share(query: Query, counting: bool) -> SharedPlan:
    """What others need to take part in a planned call."""
    strategy = strategy_of(query.engine, query.plan, query.prepared) if counting else None
    walks = strategy is None or isinstance(strategy, (Walk, Race))  # else tasks are terms of a sum
    if strategy is None:
        tasks, estimate = query.engine.number_of_tasks(query.plan, query.prepared), query.plan.cost
    else:
        tasks, estimate = strategy.number_of_tasks, strategy.estimate
    edges = cell_edges(tasks, CELLS)
    work = [1 / max(len(edges) - 1, 1)] * (len(edges) - 1)
    if walks and tasks > 1:
        work = query.engine.shares_of_work(query.plan, query.prepared, edges)
    patience_s = None
    if isinstance(strategy, Race):
        patience_s = max(RACE_FACTOR * estimate, strategy.other.estimate) / 1e9
    return SharedPlan(query.plan, tasks, estimate / 1e9, tuple(edges), tuple(work), patience_s)


def strategy_on(graph: Graph, plan: Plan) -> Strategy:
    """The strategy of a plan that was made elsewhere, on the graph of this process."""
    query = query_of(graph, plan)
    return strategy_of(query.engine, query.plan, query.prepared)


def other_strategy(graph: Graph, plan: Plan) -> Strategy:
    """What a walk that takes much longer than expected is given up for."""
    strategy = strategy_on(graph, plan)
    return strategy.other if isinstance(strategy, Race) else strategy


def query_of(graph: Graph, plan: Plan, deadline: float | None = None, tasks: TaskRange | None = None) -> Query:
    """A call with a plan that was made elsewhere, or the rows of some of its tasks."""
    check_engine(plan.engine)
    engine, _ = choose_engine(plan.engine, graph)
    if engine.name != plan.engine:
        raise EngineUnavailable(f"engine: the plan is one of the engine {plan.engine!r}, here is {engine.name!r}")
    return Query(graph, engine, plan, prepared_for(engine.place(graph), engine, plan), deadline, None, tasks)


def prepared_for(graph: Graph, engine: Engine, plan: Plan) -> Prepared:
    """What a plan that was made elsewhere is walked on; `graph` is where the engine works."""
    if plan.asked is not None:
        graph = refined(graph, plan.asked).graph

    def make() -> Prepared:
        constraints = constraints_of(plan.pattern, graph, plan.semantics)
        return engine.prepare(graph, plan.pattern, constraints, plan.semantics != "homomorphism")

    key = plan.pattern, plan.semantics
    return graph.cache.get("shared", key, make, graph.keep(KEPT_PREPARED))
