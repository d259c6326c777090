"""A plan from a matching order: restrictions that break the symmetry, candidate sets that are reused, and the leaf."""

from __future__ import annotations

import math
from typing import NamedTuple

from cusubmatch.plan.constraints import are_disjoint
from cusubmatch.plan.equivalent_vertices import same_candidates
from cusubmatch.plan.order import CostedOrder
from cusubmatch.plan.plan import Level, Plan
from cusubmatch.plan.planning_problem import PlanningProblem
from cusubmatch.plan.reuse import NeighbourRows, candidate_sets
from cusubmatch.plan.suffix.cores import Core
from cusubmatch.plan.suffix.suffix_plan import suffix_of, with_sources
from cusubmatch.plan.symmetry import implied_bounds, restrictions

__all__ = ["Alternative", "build_plan"]


class Alternative(NamedTuple):
    """A plan that is not built yet; `cost` is the weighed cost that plans are compared by."""

    cost: float
    order: CostedOrder
    ascending: bool
    method: str
    core: Core | None


def build_plan(problem: PlanningProblem, alternative: Alternative) -> Plan:
    """The plan of an alternative."""
    pattern, constraints, core = problem.pattern, problem.constraints, alternative.core
    order = alternative.order.vertices
    visited = order if core is None else order[: len(order) - len(core.suffix)]
    group = problem.group if core is None else core.symmetry
    backward = _rows(constraints.required, order, len(visited))
    forbidden = _rows(constraints.forbidden, order, len(visited))
    bounds: list[list[int]] = [[] for _ in visited]
    factor = 1
    if group is not None and problem.restricted:
        bounds, factor = restrictions(group, visited), 1 if problem.unique else group.order
    divisor, suffix, counted = 1, None, list[tuple[tuple[NeighbourRows, ...], int]]()
    if core is not None:
        factor = math.prod(len(others) + 1 for others in core.symmetry.chain(visited)) if problem.injective else 1
        divisor = pattern.automorphisms.order if problem.unique else 1
        suffix = suffix_of(core, order, constraints, divisor // factor)
        counted = [(variable.made_of(len(visited) - 1), variable.choosers) for variable in suffix.variables]
    steps, sources, deferred = candidate_sets(
        backward[: len(visited)],
        forbidden[: len(visited)],
        [problem.filters[vertex] for vertex in visited],
        bounds,
        injective=problem.injective,
        counted=counted,
    )
    if suffix is not None:
        suffix = with_sources(suffix, sources[len(visited) :], len(visited) - 1)
    implied = [*implied_bounds(bounds), *(set() for _ in order[len(visited) :])]
    differs = _different(constraints, order)
    levels = [
        Level(
            vertex,
            sources[level] if level < len(visited) else None,
            tuple(backward[level]),
            tuple(forbidden[level]),
            tuple(bounds[level]) if level < len(visited) else (),
            tuple(deferred[level]) if level < len(visited) else (),
            _injectivity_checks(
                constraints,
                [earlier for earlier in differs[level] if earlier < len(visited)],
                order,
                vertex,
                backward[level],
                implied[level],
            ),
        )
        for level, vertex in enumerate(order)
    ]
    shared = math.gcd(factor, divisor)
    return Plan(
        pattern=pattern,
        semantics=problem.semantics,
        unique=problem.unique,
        relations=constraints.relations,
        levels=tuple(levels),
        steps=tuple(steps),
        sizes=problem.cardinalities.sizes,
        ascending=alternative.ascending,
        method=alternative.method,
        leaf_mode="suffix" if suffix is not None else _leaf_mode(problem, levels),
        factor=factor // shared,
        divisor=divisor // shared,
        suffix=suffix,
        order=alternative.order,
        arcs=_arcs(problem),
        label_names=constraints.label_names,
        columns=tuple(vertex for vertex, name in enumerate(pattern.names) if name is not None),
    )


def _arcs(problem):
    """The arcs of a candidate graph for each pair; None where the graph itself is walked."""
    relations = problem.constraints.relations  # all of a candidate graph, or none
    return problem.cardinalities.pairs if relations and relations[0].between is not None else None


def _rows(relations, order, visited):
    """Per level, the rows of earlier visited levels that the relations of its vertex name."""
    named, place = [[] for _ in order], {vertex: level for level, vertex in enumerate(order)}
    for (u, w), names in relations.items():
        earlier, level = place[u], place[w]
        if earlier < level and earlier < visited:
            named[level].append((earlier, names))
    return [
        [NeighbourRows(relation, earlier) for earlier, names in sorted(some) for relation in names] for some in named
    ]


def _different(constraints, order):
    """Per level, the earlier levels whose images must differ from its image, ascending."""
    place = {vertex: level for level, vertex in enumerate(order)}
    levels: list[list[int]] = [[] for _ in order]
    for u, w in constraints.distinct:
        first, second = place[u], place[w]
        if first < second:
            levels[second].append(first)
        else:
            levels[first].append(second)
    return [sorted(earlier) for earlier in levels]


def _injectivity_checks(constraints, earlier_levels, order, vertex, backward, implied):
    """The earlier levels whose image must be compared with that of a vertex: nothing else tells the two apart."""
    if not earlier_levels:
        return ()
    adjacent = {row.level for row in backward}
    return tuple(
        level
        for level in earlier_levels
        if level not in adjacent
        and level not in implied
        and not are_disjoint(constraints.labels[order[level]], constraints.labels[vertex])
    )


def _leaf_mode(problem, levels):
    """How the last levels of a plan without a suffix end."""
    if not problem.counting:
        return "rows"
    level, last = len(levels) - 2, levels[-2:]
    if frozenset(one.vertex for one in last) not in problem.paired or not same_candidates(*last, level):
        return "size"
    if level in levels[-1].bounds:
        return "choose"
    return "ordered" if level in levels[-1].injectivity_checks else "square"
