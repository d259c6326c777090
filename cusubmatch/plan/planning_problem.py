"""What a plan is made for, and which plans are considered."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from cusubmatch.graph.statistics import Statistics
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.equivalent_vertices import equivalent_pairs
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["PlanOptions", "PlanningProblem"]

MAX_EXPANDED_AUTOMORPHISMS = 1024  # with more of them, rows are walked instead of expanded from one of each orbit


@dataclass(frozen=True)
class PlanningProblem:
    """What a plan is made for.

    Attributes
    ----------
    pattern : Pattern
    constraints : Constraints
        What the pattern asks of pairs of its vertices, as relations of the graph.
    cardinalities : Cardinalities
        Candidates per pattern vertex and candidate pairs per required pair.
    filters : tuple of int or None
        Per pattern vertex, the vertex whose filter its candidates must pass.
    statistics : Statistics
    semantics, unique
        As the public functions take them.
    counting : bool
        Whether no rows are wanted.
    few_rows : bool
        Whether the first rows that are found are enough: then symmetry is not broken where every embedding is wanted.
    """

    pattern: Pattern
    constraints: Constraints
    cardinalities: Cardinalities
    filters: tuple[int | None, ...]
    statistics: Statistics
    semantics: str
    unique: bool
    counting: bool
    few_rows: bool = False

    @property
    def injective(self) -> bool:
        """Whether different pattern vertices have different images."""
        return self.semantics != "homomorphism"

    @property
    def asks_for_absence(self) -> bool:
        """Whether some pairs must have no edge."""
        return self.semantics == "induced" or bool(self.constraints.forbidden)

    @functools.cached_property
    def restricted(self) -> bool:
        """Whether restrictions break the symmetry, though every embedding may be wanted."""
        return self.injective and (
            self.unique or self.counting or (not self.few_rows and _can_expand_orbits(self.pattern))
        )

    @functools.cached_property
    def group(self) -> AutomorphismGroup | None:
        """The automorphisms, where they matter."""
        return self.pattern.automorphisms if self.restricted or not self.few_rows else None

    @functools.cached_property
    def neighbours(self) -> list[set[int]]:
        """Per pattern vertex, the vertices that share an edge with it."""
        return _by_vertex(self.constraints.required, len(self.pattern))

    @functools.cached_property
    def non_neighbours(self) -> list[set[int]]:
        """Per pattern vertex, the vertices that it must not be adjacent to."""
        return _by_vertex(((u, v) for v, u in self.constraints.forbidden), len(self.pattern))

    @functools.cached_property
    def paired(self) -> set[frozenset[int]]:
        """Pairs of vertices that are counted together as the last two levels."""
        if not self.counting or self.asks_for_absence:
            return set()
        return equivalent_pairs(self.constraints, self.filters)


@dataclass(frozen=True)
class PlanOptions:
    """Which plans are considered.

    Attributes
    ----------
    methods : tuple of {"lists", "bitmaps", "warps"}
        The ways of walking that the engine has.
    ascending : bool, optional
        Only this direction of restrictions (for tests and measurements).
    order : tuple of int, optional
        Only this matching order (for tests and measurements; see `plan_of_order`).
    suffix : int, optional
        Only plans with a suffix of so many vertices; 0: none, so that every level but the last (or two) is visited.
    worth : float
        Nanoseconds of another way of counting: the search for a plan takes no more than a share of it.
    """

    methods: tuple[str, ...] = ("lists", "bitmaps")
    ascending: bool | None = None
    order: tuple[int, ...] | None = None
    suffix: int | None = None
    worth: float = math.inf


def _by_vertex(pairs: Iterable[tuple[int, int]], size: int) -> list[set[int]]:
    """For each vertex v the vertices w of pairs (v, w)."""
    others: list[set[int]] = [set() for _ in range(size)]
    for v, w in pairs:
        others[v].add(w)
    return others


def _can_expand_orbits(pattern):
    """Whether the rows of all embeddings follow from one of each orbit: no orbit mixes columns and other vertices."""
    orbits, named = pattern.automorphisms.orbits(), [name is not None for name in pattern.names]
    mixed = any(named[v] != named[orbit] for v, orbit in enumerate(orbits))
    return not mixed and pattern.automorphisms.order <= MAX_EXPANDED_AUTOMORPHISMS
