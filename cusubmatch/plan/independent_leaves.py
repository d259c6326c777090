"""Induced counts with leaves that may not touch each other: independent sets in the candidates that they share.

Equivalent vertices of a pattern ask for the same neighbours and for none of each other. Once all other vertices (the
core) are matched, such leaves are an independent set of the subgraph that their common candidates induce. The number
of independent sets of a size is a coefficient of the independence polynomial, which is the product of the polynomials
of the components (Gutman & Harary 1983). So where few candidates are adjacent, as among the neighbours of a hub,
nothing is walked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cusubmatch.graph import Relation
from cusubmatch.graph.statistics import Statistics
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.connectivity import is_connected
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["IndependentPlan", "plan_independent"]

MIN_LEAVES = 3  # fewer are walked quickly
CORE_MATCH_NS = 60_000.0  # per match of the core
CANDIDATE_NS = 20.0  # per common candidate of the leaves
NEIGHBOUR_NS = 1.5  # per neighbour of a common candidate
INDEPENDENT_MARGIN = 2.0  # walking is left out where independent sets are estimated to be so many times cheaper


@dataclass(frozen=True)
class IndependentPlan:
    """An induced count as a sum over the matches of a core.

    Attributes
    ----------
    core : Pattern
        The pattern without the leaves; its names are the pattern's vertices by number.
    leaves : tuple of int
        Equivalent vertices, not in the core.
    required, forbidden : tuple of (int, Relation)
        A leaf is in this row of the image of this core vertex (by its index in the core); or it is in no such row.
    leaf_relation : Relation
        No two leaves are in this relation.
    cost, walking : float
        Nanoseconds, about, of this and of walking.
    """

    core: Pattern
    leaves: tuple[int, ...]
    required: tuple[tuple[int, Relation], ...]
    forbidden: tuple[tuple[int, Relation], ...]
    leaf_relation: Relation
    cost: float
    walking: float

    @property
    def first(self) -> bool:
        """Whether it is expected to cost less than walking, by a margin."""
        return self.cost * INDEPENDENT_MARGIN < self.walking


def plan_independent(
    pattern: Pattern,
    constraints: Constraints,
    cardinalities: Cardinalities,
    statistics: Statistics,
    walking: float,
    matches_of: Callable[[Pattern], float],
) -> IndependentPlan | None:
    """Plan an induced count by independent sets of leaves; None where there are too few, or walking is cheap.

    Parameters
    ----------
    constraints, cardinalities, statistics
        See `PlanningProblem`.
    walking : float
        Nanoseconds of the best plan by walking.
    matches_of : callable
        About how many induced embeddings the core has whose images have the candidates' degrees.
    """
    leaves = _leaves(pattern, constraints)
    if leaves is None:
        return None
    inside = [v for v in range(len(pattern)) if v not in leaves]
    leaf, other = leaves[:2]

    def rows(relations):
        return tuple(
            (i, constraints.relations[relation])
            for i, u in enumerate(inside)
            for relation in relations.get((u, leaf), ())
        )

    core = _core(pattern, inside)
    pairs, sizes = cardinalities.pairs, cardinalities.sizes
    candidates = min(pairs[u, leaf] / max(sizes[u], 1.0) for u in inside if (u, leaf) in pairs)
    neighbours = min(candidates * statistics.neighbour_degree, statistics.arcs)
    match_ns = CORE_MATCH_NS + candidates * CANDIDATE_NS + neighbours * NEIGHBOUR_NS
    leaf_relation = constraints.relations[constraints.forbidden[leaf, other][0]]
    required, forbidden = rows(constraints.required), rows(constraints.forbidden)
    plan = IndependentPlan(core, leaves, required, forbidden, leaf_relation, matches_of(core) * match_ns, walking)
    return plan if plan.first else None


def _leaves(pattern, constraints):
    """The largest set of equivalent vertices, less those that connect the rest; None if it is too small."""
    span = range(len(pattern))
    equivalent: dict[tuple, list[int]] = {}
    neighbours = [{u for u in span if (u, v) in constraints.required} for v in span]
    for v in span:
        rows = frozenset((u, constraints.required[u, v], constraints.required[v, u]) for u in neighbours[v])
        equivalent.setdefault((rows, constraints.labels[v]), []).append(v)
    leaves = max(equivalent.values(), key=len)
    while len(leaves) >= MIN_LEAVES:
        if is_connected(neighbours, set(span).difference(leaves)):
            return tuple(leaves)
        leaves = leaves[1:]
    return None


def _core(pattern, inside):
    edges = [edge for edge in pattern.edges if edge.source in inside and edge.target in inside]
    return Pattern(
        [(edge.source, edge.target) for edge in edges],
        vertices=inside,
        labels={v: pattern.labels[v] for v in inside if pattern.labels[v] is not None},
        directed=[edge.directed for edge in edges],
        edge_labels=[edge.labels for edge in edges],
    )
