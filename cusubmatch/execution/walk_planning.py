"""Plans of walking a pattern, or a quotient of one: an engine prepares the candidates and chooses among plans."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan, PlanningProblem, PlanOptions, constraints_of, make_plans, plan_of_order
from cusubmatch.plan.conditioning import plan_conditioning
from cusubmatch.plan.greedy_orders import greedy_order, rival_orders
from cusubmatch.system.deadlines import check_deadline

if TYPE_CHECKING:
    from cusubmatch.plan.decomposition.expression import EnumerateTerm
    from cusubmatch.plan.sampled_orders import Descents

__all__ = ["MIN_KEPT_PLANS", "kept_candidates", "kept_plan", "replan", "rival_plans", "walk_plan", "walking"]

MIN_KEPT_PLANS = 16
WORTH_SHARE = 0.5  # of what conditioning takes at the least, that a better plan of walking is taken to save
MAX_WORTH = 1e6  # nanoseconds; what takes longer on a candidate graph is planned anew by sampled descents
MIN_KEPT_QUOTIENTS = 64  # plans of walking quotients


def kept_candidates(graph: Graph, engine: Engine, pattern: Pattern, semantics: str) -> Prepared:
    """What a pattern is matched on; kept, since a plan may be made of it later."""

    def make() -> Prepared:
        constraints = constraints_of(pattern, graph, semantics)
        return engine.prepare(graph, pattern, constraints, semantics != "homomorphism")

    return graph.cache.get("prepared", (pattern, semantics), make, graph.keep(MIN_KEPT_PLANS))


def walking(
    graph: Graph,
    engine: Engine,
    pattern: Pattern,
    semantics: str,
    unique: bool,
    counting: bool,
    suffix: int | None,
    by_trial: bool,
    few_rows: bool,
    worth: float = math.inf,
) -> tuple[Plan, Prepared]:
    """The plan of walking a pattern, and what it is walked on; a better plan saves `worth` nanoseconds at most."""
    constraints = None
    if graph.cache.holds("prepared", (pattern, semantics)):
        prepared = kept_candidates(graph, engine, pattern, semantics)
    else:
        constraints = constraints_of(pattern, graph, semantics)
        prepared = engine.prepare(graph, pattern, constraints, semantics != "homomorphism")
    check_deadline()
    few_rows = few_rows and prepared.candidate_graph is not None
    problem = _problem(prepared, pattern, constraints, semantics, unique, counting, few_rows)
    if few_rows:
        return plan_of_order(problem, greedy_order(problem.neighbours, problem.cardinalities.sizes)), prepared
    methods = engine.methods
    if prepared.candidate_graph is not None:
        worth = math.inf
        if counting and suffix is None and semantics != "induced":
            worth = WORTH_SHARE * min(plan_conditioning(problem.cardinalities, math.inf).cost, MAX_WORTH)
        methods = engine.candidate_graph_methods
    options = PlanOptions(methods, suffix=suffix, worth=worth)
    plans = functools.partial(make_plans, problem, options)
    return engine.choose(plans, prepared) if by_trial else plans(alternatives=1)[0], prepared


def rival_plans(plan: Plan, prepared: Prepared) -> Iterator[Plan]:
    """Other plans than that of a greedy order on the candidate graph, where few rows are enough."""
    problem = _problem(prepared, plan.pattern, None, plan.semantics, plan.unique, counting=False, few_rows=True)
    for order in rival_orders(problem.neighbours, problem.cardinalities.sizes):
        yield plan_of_order(problem, order)


def _problem(
    prepared: Prepared,
    pattern: Pattern,
    constraints: Constraints | None,
    semantics: str,
    unique: bool,
    counting: bool,
    few_rows: bool = False,
) -> PlanningProblem:
    """What a walk is planned for: on the candidate graph if there is one; `constraints`: of the graph, if known."""
    graph, local, estimated_by = prepared.graph, prepared.candidate_graph, prepared.estimated_by
    if local is not None:
        constraints = local.constraints
    return PlanningProblem(
        pattern,
        constraints or constraints_of(pattern, graph, semantics),
        estimated_by.cardinalities,
        estimated_by.filters,
        graph.statistics,
        semantics=semantics,
        unique=unique,
        counting=counting,
        few_rows=few_rows,
    )


def kept_plan(
    graph: Graph, kind: str, key: Hashable, make: Callable[[], tuple[Plan, Prepared]], least: int
) -> tuple[Plan, Prepared]:
    """A plan from the graph's cache, made if it is not there; a provisional one is not kept."""
    plan, prepared = graph.cache.get(kind, key, make, graph.keep(least))
    if plan.provisional:
        graph.cache.drop(kind, key)
    return plan, prepared


def replan(plan: Plan, prepared: Prepared, descents: Descents, saved_ns: float = math.inf) -> Plan:
    """A better plan of a walk on a candidate graph that takes longer than was expected, by sampled descents.

    It saves so many nanoseconds at the most.
    """
    from cusubmatch.plan.sampled_orders import descents_worth, make_sampled_plan

    graph, pattern = prepared.graph, plan.pattern
    most = descents_worth(len(pattern), saved_ns)
    most = 1 << (most.bit_length() - 1)  # so that nearly equal calls have one plan

    def make() -> Plan:
        problem = _problem(prepared, pattern, None, plan.semantics, plan.unique, True)
        return make_sampled_plan(problem, plan, descents, most)

    key = pattern, plan.semantics, plan.unique, most
    return graph.cache.get("sampled plans", key, make, graph.keep(MIN_KEPT_PLANS))


def walk_plan(graph: Graph, engine: Engine, pattern: Pattern, term: EnumerateTerm) -> tuple[Plan, Prepared]:
    """The plan of walking all embeddings of a quotient of a pattern, and what it is walked on."""
    quotient = _quotient_of(graph, pattern, term.members)

    def make() -> tuple[Plan, Prepared]:
        return walking(graph, engine, quotient, "monomorphism", False, True, None, True, False)

    return kept_plan(graph, "walks", quotient, make, MIN_KEPT_QUOTIENTS)


def _quotient_of(graph: Graph, pattern: Pattern, members: Sequence[Sequence[int]]) -> Pattern:
    """The pattern in which the vertices of each group are one; its label alternatives are those that all allow."""
    group_of = {vertex: group for group, vertices in enumerate(members) for vertex in vertices}
    labels: dict[Hashable, Any] = {}
    for group, vertices in enumerate(members):
        alternatives = [pattern.labels[vertex] for vertex in vertices if pattern.labels[vertex] is not None]
        if len(alternatives) > 1:
            codes = frozenset.intersection(*map(graph.vertex_label_codes, alternatives))
            labels[group] = [value for code, value in enumerate(graph.vertex_label_values or ()) if code in codes]
        elif alternatives:
            labels[group] = alternatives[0]
    edges = dict.fromkeys(((group_of[e.source], group_of[e.target]), e.directed, e.labels) for e in pattern.edges)
    return Pattern(
        [ends for ends, _, _ in edges],
        vertices=range(len(members)),
        labels=labels,
        directed=[directed for _, directed, _ in edges],
        edge_labels=[kinds for _, _, kinds in edges],
    )
