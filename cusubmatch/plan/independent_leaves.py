"""Induced counts with leaves that may not touch each other: independent sets in the candidates that they share.

Twins of a pattern ask for the same neighbours and for none of each other. Once all other vertices are matched, the
twins are an independent set of the subgraph that their common candidates induce. The number of those is a coefficient
of its independence polynomial, which is the product of the polynomials of its components (Gutman & Harary 1983). So
where few candidates touch each other, as among the neighbours of a hub, nothing is walked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cusubmatch.graph import Relation
from cusubmatch.graph.statistics import Statistics
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["IndependentPlan", "plan_independent"]

LEAST_LEAVES = 3  # fewer are walked quickly
SET_NS = 60_000.0  # of one core match, and
MEMBER_NS = 20.0  # each candidate, and
NEIGHBOUR_NS = 1.5  # each of its neighbours
SURE = 2.0  # times cheaper by estimates than walking is reason enough not to walk


@dataclass(frozen=True)
class IndependentPlan:
    """An induced count as a sum over the matches of a core.

    Attributes
    ----------
    core : Pattern
        The pattern without the leaves; its names are the pattern's vertices by number.
    leaves : tuple of int
        Twins, not in the core.
    required, forbidden : tuple of (int, Relation)
        A leaf is in this row of the image of this core vertex (by its place in the core); or it is in no such row.
    apart : Relation
        No two leaves are in this relation.
    cost, walking : float
        Nanoseconds, about, and of walking.
    """

    core: Pattern
    leaves: tuple[int, ...]
    required: tuple[tuple[int, Relation], ...]
    forbidden: tuple[tuple[int, Relation], ...]
    apart: Relation
    cost: float
    walking: float

    @property
    def first(self) -> bool:
        """Whether it is expected to cost less than walking, by some margin."""
        return self.cost * SURE < self.walking


def plan_independent(
    pattern: Pattern,
    constraints: Constraints,
    shape: Cardinalities,
    statistics: Statistics,
    walking: float,
    matches_of: Callable[[Pattern], float],
) -> IndependentPlan | None:
    """The induced count of a pattern by independent sets of its leaves; None where it has too few, or walking is cheap.

    Parameters
    ----------
    constraints, shape, statistics
        As `make_plans` takes them.
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

    def rows(found):
        return tuple(
            (place, constraints.relations[relation])
            for place, u in enumerate(inside)
            for relation in found.get((u, leaf), ())
        )

    core = _core(pattern, inside)
    reach = min(shape.pairs[u, leaf] / max(shape.sizes[u], 1.0) for u in inside if (u, leaf) in shape.pairs)
    read = min(reach * statistics.neighbour_degree, statistics.entries)
    each = SET_NS + reach * MEMBER_NS + read * NEIGHBOUR_NS
    apart = constraints.relations[constraints.forbidden[leaf, other][0]]
    required, forbidden = rows(constraints.required), rows(constraints.forbidden)
    plan = IndependentPlan(core, leaves, required, forbidden, apart, matches_of(core) * each, walking)
    return plan if plan.first else None


def _leaves(pattern, constraints):
    """The largest set of twins, less those that are needed to connect the rest; None if it is too small."""
    many = range(len(pattern))
    alike: dict[tuple, list[int]] = {}
    near = [{u for u in many if (u, v) in constraints.required} for v in many]
    for v in many:
        rows = frozenset((u, constraints.required[u, v], constraints.required[v, u]) for u in near[v])
        alike.setdefault((rows, constraints.labels[v]), []).append(v)
    leaves = max(alike.values(), key=len)
    while len(leaves) >= LEAST_LEAVES:
        if _is_connected(set(many).difference(leaves), near):
            return tuple(leaves)
        leaves = leaves[1:]
    return None


def _is_connected(vertices, near):
    left = set(vertices)
    open_vertices = [left.pop()] if left else []
    while open_vertices:
        reached = near[open_vertices.pop()] & left
        left -= reached
        open_vertices += reached
    return bool(vertices) and not left


def _core(pattern, inside):
    edges = [edge for edge in pattern.edges if edge.source in inside and edge.target in inside]
    return Pattern(
        [(edge.source, edge.target) for edge in edges],
        vertices=inside,
        labels={v: pattern.labels[v] for v in inside if pattern.labels[v] is not None},
        directed=[edge.directed for edge in edges],
        edge_labels=[edge.labels for edge in edges],
    )
