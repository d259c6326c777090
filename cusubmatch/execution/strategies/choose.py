"""The strategy of a plan: what it says is cheapest, or a race where only an estimate says that walking is.

Each strategy is imported when a plan asks for it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import CopiedCount, CopiedWay
from cusubmatch.execution.planning import plan_of, plan_of_long_count
from cusubmatch.execution.strategies.race import Race
from cusubmatch.execution.strategies.strategy import Strategy
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan

if TYPE_CHECKING:
    from cusubmatch.execution.strategies.side_by_side import HostCount

__all__ = ["host_strategy", "strategy_of"]


def strategy_of(engine: Engine, plan: Plan, prepared: Prepared, underway: HostCount | None = None) -> Strategy:
    """How the matches of a planned pattern are counted; `underway`: the count on the host, if it has begun."""
    walk = Walk(engine, plan, prepared)
    if plan.beside and engine.beside is not None:
        return _side_by_side(engine, engine.beside, walk, underway)
    if plan.conditioning is not None:
        from cusubmatch.execution.strategies.conditioning_count import Conditioning, WorkRace

        conditioning = Conditioning.of_plan(engine, plan, prepared, plan.conditioning)
        return conditioning if plan.conditioning.first else WorkRace(walk, conditioning)
    if plan.tables is not None:
        from cusubmatch.execution.strategies.table_count import Tables

        tables = Tables(engine, plan, prepared, plan.tables)
        return tables if plan.tables.first else Race(walk, tables)
    if plan.independent is not None:
        from cusubmatch.execution.strategies.independent_count import IndependentSets

        return IndependentSets(engine, plan, prepared, plan.independent)
    if plan.supergraphs is not None:
        from cusubmatch.execution.strategies.supergraph_count import Supergraphs

        def of_supergraph(pattern: Pattern) -> Strategy:
            return strategy_of(engine, *plan_of(prepared.graph, engine, pattern, "monomorphism", True))

        supergraphs = Supergraphs(plan, plan.supergraphs, of_supergraph)
        return supergraphs if plan.supergraphs.first else Race(walk, supergraphs)
    return walk


def _side_by_side(engine: Engine, host: Engine, walk: Walk, underway: HostCount | None) -> Strategy:
    """The race of a walk with what the host's cores do."""
    from cusubmatch.execution.strategies.side_by_side import SideBySide

    plan, graph = walk.plan, walk.prepared.graph

    def of_long_count(only_kept: bool) -> Strategy | None:
        found = plan_of_long_count(graph, engine, plan, only_kept)
        return None if found is None else strategy_of(engine, *found)

    on_host = host_strategy(engine, host, graph, plan.pattern, plan.semantics, plan.unique)
    return SideBySide(walk, on_host, of_long_count, underway)


def host_strategy(
    engine: Engine, host: Engine, placed: Graph, pattern: Pattern, semantics: str, unique: bool
) -> Strategy:
    """How the host counts a pattern in a graph that a GPU's engine works on; planned when it is first asked.

    Where it counts by conditioning, that engine does so, too, on a copy of the candidate graph; and where it goes on by
    elimination, large factors lie there.
    """
    from cusubmatch.execution.strategies.conditioning_count import Conditioning, WorkRace, begun_without_plan
    from cusubmatch.execution.strategies.copied_count import BesideCopy
    from cusubmatch.execution.strategies.side_by_side import OnHost

    def planned() -> Strategy:
        call = placed.on_host, host, pattern, semantics, unique
        strategy = begun_without_plan(*call) or strategy_of(host, *plan_of(*call))
        conditioning = strategy.then if isinstance(strategy, WorkRace) else strategy
        if not isinstance(conditioning, Conditioning):
            return strategy
        conditioning.device = functools.partial(engine.factors, placed)
        begin = functools.partial(_begun_copy, engine, host, placed, conditioning.prepared)
        return BesideCopy(strategy, conditioning.estimate, begin)

    return OnHost(planned)


def _begun_copy(
    engine: Engine, host: Engine, placed: Graph, prepared: Prepared, seconds: float, way: CopiedWay
) -> CopiedCount | None:
    """A count on a copy of the host's candidate graph, which takes so many seconds at the most."""
    local = prepared.candidate_graph
    assert local is not None  # noqa: S101 - it is what conditioning works on
    with engine.current():
        return engine.condition_copy(placed, local, host.conditioning_order(prepared), seconds, way)
