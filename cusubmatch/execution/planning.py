"""Plans of a pattern in a graph, kept with the graph for the next call.

First the plan of walking: an engine prepares the candidates and chooses among plans. Then, for a count that is expected
to take long, the strategies that may replace it: tables over vertices and edges, or for an induced count the counts of
supergraphs, or independent sets of leaves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.walk_planning import MIN_KEPT_PLANS, kept_candidates, kept_plan, walk_plan, walking
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan, constraints_of
from cusubmatch.plan.candidates import Candidates
from cusubmatch.plan.conditioning import plan_conditioning

if TYPE_CHECKING:
    from cusubmatch.plan.conditioning import ConditioningPlan
    from cusubmatch.plan.decomposition.expression import EnumerateTerm
    from cusubmatch.plan.decomposition.table_plan import TablePlan
    from cusubmatch.plan.independent_leaves import IndependentPlan

__all__ = [
    "conditioned_first",
    "counts_beside",
    "is_large_labelled",
    "plan_of",
    "plan_of_long_count",
    "tables_of",
]

BESIDE_WORTH = 3e6  # nanoseconds, that a better plan saves at most where the host counts at the same time
MIN_BESIDE_VERTICES = 5  # of a pattern that the host may count faster than a GPU walks it
MAX_BESIDE_SIZE = 1 << 24  # vertices and arcs of a graph whose candidates the host finds in milliseconds


def plan_of(
    graph: Graph,
    engine: Engine,
    pattern: Pattern,
    semantics: str,
    unique: bool,
    counting: bool = True,
    suffix: int | None = None,
    by_trial: bool = True,
    few_rows: bool = False,
    beside: bool = True,
) -> tuple[Plan, Prepared]:
    """The plan of a call, and what it is walked on; `graph` is where the engine works.

    `few_rows`: the first rows that are found are enough, so that on a candidate graph a greedy order is.
    `beside`: where the host can count at the same time, the walk that is cheapest by the estimates is enough, too.
    """
    counts_all = counting and suffix is None and semantics != "induced" and not pattern.conditions
    beside = beside and counts_all and counts_beside(graph, engine, pattern)

    def make() -> tuple[Plan, Prepared]:
        plan, prepared = planned()
        return dataclasses.replace(plan, engine=engine.name), prepared

    def planned() -> tuple[Plan, Prepared]:
        if beside:
            asked = pattern, semantics, unique, counting, suffix
            plan, prepared = walking(graph, engine, *asked, False, few_rows, BESIDE_WORTH)
            return dataclasses.replace(plan, beside=True), prepared
        plan, prepared = walking(graph, engine, *call)
        if pattern.conditions or not counting or suffix is not None:  # negated edges are walked
            return plan, prepared
        if plan.arcs is not None and semantics != "induced":
            cardinalities = prepared.estimated_by.cardinalities
            plan = dataclasses.replace(plan, conditioning=plan_conditioning(cardinalities, plan.cost))
        elif plan.cost > engine.table_costs.worth and not plan.is_specialised:
            if semantics == "induced":
                plan = _with_induced_strategies(graph, engine, plan, prepared.candidates)
            else:
                plan = dataclasses.replace(plan, tables=tables_of(engine, plan, prepared, plan.cost))
        return plan, prepared

    call = pattern, semantics, unique, counting, suffix, by_trial, few_rows
    return kept_plan(graph, "plans beside" if beside else "plans", call, make, MIN_KEPT_PLANS)


def conditioned_first(
    graph: Graph, engine: Engine, pattern: Pattern, semantics: str
) -> tuple[Prepared, ConditioningPlan] | None:
    """What a count begins with by conditioning, before a walk is planned; None where a plan is needed first."""
    if semantics == "induced" or not has_labels(pattern) or pattern.conditions or not engine.candidate_graph_methods:
        return None
    prepared = kept_candidates(graph, engine, pattern, semantics)
    if prepared.candidate_graph is None:
        return None
    conditioning = plan_conditioning(prepared.estimated_by.cardinalities, math.inf)
    return (prepared, conditioning) if conditioning.begins else None


def counts_beside(graph: Graph, engine: Engine, pattern: Pattern) -> bool:
    """Whether the host may count a pattern while the engine walks it: a labelled one, in a graph that is not large."""
    if not is_large_labelled(pattern) or graph.original is not None or engine.beside is None:
        return False
    return graph.n_vertices + len(graph.targets) <= MAX_BESIDE_SIZE


def is_large_labelled(pattern: Pattern) -> bool:
    """Whether a pattern has labels and so many vertices that a candidate graph may pay."""
    return len(pattern) >= MIN_BESIDE_VERTICES and has_labels(pattern)


def has_labels(pattern: Pattern) -> bool:
    """Whether any vertex of a pattern has a label."""
    return any(label is not None for label in pattern.labels)


def plan_of_long_count(
    graph: Graph, engine: Engine, plan: Plan, only_kept: bool = False
) -> tuple[Plan, Prepared] | None:
    """The plan of a count whose walk takes long though the host counts too: by a trial, and with other ways.

    None if `only_kept` and it was not made before.
    """
    call = plan.pattern, plan.semantics, plan.unique
    if only_kept and not graph.cache.holds("plans", (*call, True, None, True, False)):
        return None
    return plan_of(graph, engine, *call, beside=False)


def _with_induced_strategies(graph: Graph, engine: Engine, plan: Plan, candidates: Candidates) -> Plan:
    """The plan of an induced count, with the count from supergraphs or by independent sets where one is worth while."""
    from cusubmatch.plan.supergraphs import plan_supergraphs

    def copies_plan(pattern: Pattern) -> Plan:
        return plan_of(graph, engine, pattern, "monomorphism", True)[0]

    supergraphs = plan_supergraphs(plan.pattern, plan.cost, engine.table_costs.worth, copies_plan)
    plan = dataclasses.replace(plan, supergraphs=supergraphs)
    if supergraphs is not None and supergraphs.first:
        return plan
    return dataclasses.replace(plan, independent=_independent_of(graph, engine, plan, candidates))


def _independent_of(graph: Graph, engine: Engine, plan: Plan, candidates: Candidates) -> IndependentPlan | None:
    """The induced count by independent sets of leaves, if that is worth while."""
    from cusubmatch.plan.independent_leaves import plan_independent

    def matches_of(core: Pattern) -> float:
        core_plan, _ = plan_of(graph, engine, core, "induced", unique=False, counting=False)
        sizes: Any = candidates.cardinalities.sizes  # by the number of a pattern vertex, which is its name in the core
        fewer = [sizes[vertex] / max(core_plan.sizes[i], 1.0) for i, vertex in enumerate(core.names)]
        return core_plan.order.matches[-1] * core_plan.factor * math.prod(fewer)

    constraints = constraints_of(plan.pattern, graph, plan.semantics)
    arguments = plan.pattern, constraints, candidates.cardinalities, graph.statistics
    return plan_independent(*arguments, plan.cost, matches_of)


def tables_of(
    engine: Engine, plan: Plan, prepared: Prepared, walking: float, roots: Sequence[int] = (-1,)
) -> TablePlan | None:
    """The count by decomposition, if there is one; by vertex, if `roots` are pattern vertices.

    `walking` is what it is to be cheaper than, in nanoseconds.
    """
    from cusubmatch.execution.table_sizes import table_sizes
    from cusubmatch.plan.decomposition.table_plan import plan_tables

    graph, candidates = prepared.graph, prepared.candidates
    constraints = constraints_of(plan.pattern, graph, plan.semantics)
    sizes = table_sizes(graph, engine)

    def walk_cost(term: EnumerateTerm) -> float:
        return walk_plan(graph, engine, plan.pattern, term)[0].cost

    return plan_tables(
        constraints, candidates.filters, candidates.cardinalities, sizes, walking, walk_cost, engine.table_costs, roots
    )
