"""What is planned for a pattern in a graph, and kept with the graph for the next call.

First how to walk: an engine prepares the candidates and chooses among plans. Then, for a count that is expected to take
long, what may be done instead: tables over vertices and edges, or the counts of supergraphs for an
induced one, or independent sets of its leaves.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Hashable, Sequence
from typing import Any

from cusubmatch.engines.base import Engine, Prepared
from cusubmatch.execution.table_sizes import table_sizes
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import (
    Plan,
    PlanningProblem,
    PlanOptions,
    TablePlan,
    constraints_of,
    make_plans,
    plan_independent,
    plan_supergraphs,
    plan_tables,
)
from cusubmatch.plan.decomposition.expression import EnumerateTerm

__all__ = ["plan_of", "tables_of", "walk_plan"]

KEPT_PLANS = 16  # at least
KEPT_WALKS = 64  # plans of quotients, at least


def plan_of(
    graph: Graph,
    engine: Engine,
    pattern: Pattern,
    semantics: str,
    unique: bool,
    counting: bool = True,
    suffix: int | None = None,
    by_trial: bool = True,
) -> tuple[Plan, Prepared]:
    """The plan of a call, and what it is walked on; `graph` is where the engine works."""

    def make():
        plan, prepared = _walking(graph, engine, pattern, semantics, unique, counting, suffix, by_trial)
        if counting and suffix is None and plan.cost > engine.table_costs.worth:
            if semantics == "induced":
                term = functools.partial(plan_of, graph, engine, semantics="monomorphism", unique=True)
                found = plan_supergraphs(pattern, plan.cost, engine.table_costs.worth, lambda pattern: term(pattern)[0])
                plan = dataclasses.replace(plan, supergraphs=found)
                if found is None or not found.first:
                    plan = dataclasses.replace(
                        plan, independent=_independent_of(graph, engine, plan, prepared.candidates)
                    )
            else:
                plan = dataclasses.replace(plan, tables=tables_of(engine, plan, prepared, plan.cost))
        return plan, prepared

    asked = pattern, semantics, unique, counting, suffix, by_trial
    return graph.cache.get("plans", asked, make, graph.keep(KEPT_PLANS))


def _independent_of(graph, engine, plan, candidates):
    """The induced count by independent sets of leaves, if that is worth while."""

    def matches_of(core):
        found, _ = plan_of(graph, engine, core, "induced", unique=False, counting=False)
        fewer = [candidates.cardinalities.sizes[v] / max(found.sizes[place], 1.0) for place, v in enumerate(core.names)]
        return found.levels[-1].matches * found.factor * math.prod(fewer)

    constraints = constraints_of(plan.pattern, graph, plan.semantics)
    arguments = plan.pattern, constraints, candidates.cardinalities, graph.statistics
    return plan_independent(*arguments, plan.cost, matches_of)


def tables_of(
    engine: Engine, plan: Plan, prepared: Prepared, walking: float, roots: Sequence[int] = (-1,)
) -> TablePlan | None:
    """The count by decomposition, if there is one; by vertex, if `roots` are pattern vertices.

    `walking` is what it is to be cheaper than, in nanoseconds.
    """
    graph, candidates, _ = prepared
    constraints = constraints_of(plan.pattern, graph, plan.semantics)
    sizes = table_sizes(graph, engine)

    def walk_cost(term):
        return walk_plan(graph, engine, plan.pattern, term)[0].cost

    return plan_tables(
        constraints, candidates.filters, candidates.cardinalities, sizes, walking, walk_cost, engine.table_costs, roots
    )


def walk_plan(graph: Graph, engine: Engine, pattern: Pattern, term: EnumerateTerm) -> tuple[Plan, Prepared]:
    """The plan of walking all embeddings of a quotient of a pattern, and what it is walked on."""
    quotient = _quotient_of(graph, pattern, term.members)

    def make():
        return _walking(graph, engine, quotient, "monomorphism", False, True, None, True)

    return graph.cache.get("walks", quotient, make, graph.keep(KEPT_WALKS))


def _walking(graph, engine, pattern, semantics, unique, counting, suffix, by_trial):
    """How a pattern is walked, and on what."""
    constraints = constraints_of(pattern, graph, semantics)
    prepared = engine.prepare(graph, pattern, constraints, semantics != "homomorphism")
    problem = PlanningProblem(
        pattern,
        constraints,
        prepared.candidates.cardinalities,
        prepared.candidates.filters,
        graph.statistics,
        semantics=semantics,
        unique=unique,
        counting=counting,
    )
    plans = functools.partial(make_plans, problem, PlanOptions(engine.methods, suffix=suffix))
    return engine.choose(plans, prepared) if by_trial else plans(alternatives=1)[0], prepared


def _quotient_of(graph: Graph, pattern: Pattern, members: Sequence[Sequence[int]]) -> Pattern:
    """The pattern in which the vertices of each group are one; its label alternatives are those that all allow."""
    place = {vertex: group for group, some in enumerate(members) for vertex in some}
    labels: dict[Hashable, Any] = {}
    for group, some in enumerate(members):
        known = [pattern.labels[vertex] for vertex in some if pattern.labels[vertex] is not None]
        if len(known) > 1:
            codes = frozenset.intersection(*map(graph.vertex_label_codes, known))
            labels[group] = [value for code, value in enumerate(graph.vertex_label_values or ()) if code in codes]
        elif known:
            labels[group] = known[0]
    edges = dict.fromkeys(((place[e.source], place[e.target]), e.directed, e.labels) for e in pattern.edges)
    return Pattern(
        [ends for ends, _, _ in edges],
        vertices=range(len(members)),
        labels=labels,
        directed=[directed for _, directed, _ in edges],
        edge_labels=[kinds for _, _, kinds in edges],
    )
