"""The strategy of a plan: what it says is cheapest, or a race where only an estimate says that walking is."""

from __future__ import annotations

from cusubmatch.engines.base import Engine, HostEngine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.planning import plan_of, plan_of_long_count
from cusubmatch.execution.strategies.conditioning_count import Conditioning, WorkRace, begun_without_plan
from cusubmatch.execution.strategies.independent_count import IndependentSets
from cusubmatch.execution.strategies.race import Race
from cusubmatch.execution.strategies.side_by_side import SideBySide
from cusubmatch.execution.strategies.strategy import Strategy
from cusubmatch.execution.strategies.supergraph_count import Supergraphs
from cusubmatch.execution.strategies.table_count import Tables
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan, TablePlan
from cusubmatch.plan.conditioning import ConditioningPlan
from cusubmatch.plan.independent_leaves import IndependentPlan

__all__ = ["strategy_of"]


def strategy_of(engine: Engine, plan: Plan, prepared: Prepared) -> Strategy:
    """How the matches of a planned pattern are counted."""
    walk = Walk(engine, plan, prepared)
    if plan.beside and engine.beside is not None:
        return _side_by_side(engine, engine.beside, walk)
    if plan.in_parts is None:
        return walk

    def of_supergraph(pattern: Pattern) -> Strategy:
        return strategy_of(engine, *plan_of(prepared.graph, engine, pattern, "monomorphism", True))

    other: Strategy
    if isinstance(plan.in_parts, ConditioningPlan):
        other = Conditioning.of_plan(engine, plan, prepared, plan.in_parts)
        return other if plan.in_parts.first else WorkRace(walk, other)
    if isinstance(plan.in_parts, TablePlan):
        other = Tables(engine, plan, prepared, plan.in_parts)
    elif isinstance(plan.in_parts, IndependentPlan):
        return IndependentSets(engine, plan, prepared, plan.in_parts)
    else:
        other = Supergraphs(plan, plan.in_parts, of_supergraph)
    return other if plan.in_parts.first else Race(walk, other)


def _side_by_side(engine: Engine, host: HostEngine, walk: Walk) -> SideBySide:
    """The race of a walk with what the host's cores do."""
    plan, graph = walk.plan, walk.prepared.graph

    def on_host() -> Strategy:
        call = graph.on_host, host, plan.pattern, plan.semantics, plan.unique
        return begun_without_plan(*call) or strategy_of(host, *plan_of(*call))

    def of_long_count(only_kept: bool) -> Strategy | None:
        found = plan_of_long_count(graph, engine, plan, only_kept)
        return None if found is None else strategy_of(engine, *found)

    return SideBySide(walk, on_host, of_long_count, lambda: host.is_compiled)
