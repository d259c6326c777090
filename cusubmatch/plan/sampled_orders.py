"""A plan by sampled descents, made where a count takes longer than the first plan was expected to.

Estimates from pairs of candidates take pattern edges to be independent of each other. On a graph with dense parts they
fall short by many orders of magnitude, for sparse patterns with long suffixes they are too high. Descents count the
partial matches of an order on a sample, and choose orders. There are as many descents as a small share of the expected
cost pays for: first one for each core, then from other first vertices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple, Protocol

from cusubmatch.plan.build_plan import Alternative, build_plan
from cusubmatch.plan.estimate import Estimator, Reached
from cusubmatch.plan.plan import Plan
from cusubmatch.plan.planner import costed_order
from cusubmatch.plan.planning_problem import PlanningProblem
from cusubmatch.plan.suffix.cores import Core, cores

__all__ = ["Descents", "SampledOrder", "descents_worth", "make_sampled_plan"]

DESCENT_SHARE = 0.05  # of the expected cost, or of what a better order saves, that descents may take
DESCENT_NS = 40_000.0  # of a descent, for each vertex of the pattern
MIN_DESCENTS, MAX_DESCENTS = 4, 32
MAX_CORES, FIRST_VERTICES = 12, 4


class SampledOrder(NamedTuple):
    """A matching order and the partial matches that each of its levels has, by a sample."""

    vertices: tuple[int, ...]
    matches: tuple[float, ...]


class Descents(Protocol):
    """Samples of partial matches; an engine makes them.

    Attributes
    ----------
    preparation : float
        Nanoseconds that they wait for a compiler before they begin, about.
    """

    preparation: float

    def order(self, first: int, within: Collection[int]) -> SampledOrder:
        """A connected order of the vertices `within` that begins with `first`, chosen by the sample."""
        ...

    def follow(self, order: Sequence[int]) -> SampledOrder:
        """A sample of a given order."""
        ...


class _SampledEstimator(Estimator):
    """Estimates of one order from a sample; what is counted after it is estimated from pairs of candidates."""

    def __init__(self, problem: PlanningProblem, ascending: bool, sampled: SampledOrder) -> None:
        super().__init__(problem.cardinalities, problem.statistics, ascending)
        self.sampled = sampled

    def candidates(self, order: Sequence[int], vertex: int, bounds: Sequence[int], near: list[Reached]) -> float:
        """Expected candidates of the vertex that comes after a part of the order."""
        level, matches = len(order), self.sampled.matches
        if level >= len(matches):
            return super().candidates(order, vertex, bounds, near)
        before = matches[level - 1] if level else 1.0
        return matches[level] / before / (len(bounds) + 1) if before else 0.0


def descents_worth(vertices: int, saved_ns: float) -> int:
    """How many descents a better order of so many vertices is worth, if that saves so many nanoseconds at the most."""
    return int(min(max(DESCENT_SHARE * saved_ns / (DESCENT_NS * vertices), MIN_DESCENTS), MAX_DESCENTS))


def make_sampled_plan(problem: PlanningProblem, plan: Plan, descents: Descents, most: int = MAX_DESCENTS) -> Plan:
    """The cheapest of the orders that descents choose, and of a plan that was made by estimates.

    Parameters
    ----------
    problem : PlanningProblem
        For a candidate graph.
    plan : Plan
        The plan by estimates.
    descents : Descents
    most : int
        Descents from other first vertices, at the most.
    """
    order = [level.vertex for level in plan.levels]
    suffix = frozenset(order[plan.walked :]) if plan.suffix is not None else frozenset[int]()
    several: list[Core | None] = [None]
    if problem.counting and problem.semantics != "induced":
        found = cores(problem.constraints, problem.pattern.automorphisms, problem.injective, None)
        several += islice(found, MAX_CORES)
    best: Alternative | None = None
    for core in several:
        if suffix == (core.suffix if core is not None else frozenset()):
            best = _alternative(problem, plan.ascending, core, descents.follow(order[: len(order) - len(suffix)]))
    made = 1
    for core, first in _begins(problem, several):
        if made >= min(most, descents_worth(len(order), best.cost if best is not None else plan.cost)):
            break
        within = frozenset(range(len(order))) - (core.suffix if core is not None else frozenset())
        other = _alternative(problem, plan.ascending, core, descents.order(first, within))
        if other is not None and (best is None or other.cost < best.cost):
            best = other
        made += 1
    return plan if best is None else build_plan(problem, best)


def _begins(problem: PlanningProblem, several: Sequence[Core | None]) -> Iterator[tuple[Core | None, int]]:
    """Cores with first vertices, those with the fewest candidates for their degree first."""

    def firsts(core: Core | None) -> list[int]:
        vertices = [v for v in range(len(problem.pattern)) if core is None or v not in core.suffix]
        return sorted(vertices, key=lambda v: (sizes[v] / max(len(problem.neighbours[v]), 1), v))[:FIRST_VERTICES]

    sizes = problem.cardinalities.sizes
    by_core = [(core, firsts(core)) for core in several]
    for turn, (core, vertices) in product(range(FIRST_VERTICES), by_core):
        if turn < len(vertices):
            yield core, vertices[turn]


def _alternative(
    problem: PlanningProblem, ascending: bool, core: Core | None, sampled: SampledOrder
) -> Alternative | None:
    """The costs of an order by its sample."""
    costed = costed_order(problem, core, _SampledEstimator(problem, ascending, sampled), sampled.vertices)
    return None if costed is None else Alternative(costed.cost, costed, ascending, "lists", core)
