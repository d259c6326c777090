"""The planner: from a pattern and its candidates in a graph to the cheapest plans by the cost model.

Each method of walking, direction of restrictions and core is searched for its best matching orders. A plan is then
built from an order: restrictions that break the symmetry, candidate sets that are reused, and how the leaf is counted.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

from cusubmatch.graph.statistics import Statistics
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import Constraints, are_disjoint
from cusubmatch.plan.equivalent_vertices import equivalent_pairs, same_candidates
from cusubmatch.plan.estimate import Cardinalities, Estimator
from cusubmatch.plan.order import EXHAUSTIVE_VERTICES, Effort, MatchingOrder, best_orders
from cusubmatch.plan.plan import Level, Plan
from cusubmatch.plan.reuse import NeighbourRows, candidate_sets
from cusubmatch.plan.suffix.cores import Core, cores
from cusubmatch.plan.suffix.suffix_plan import suffix_of, with_sources
from cusubmatch.plan.symmetry import implied_bounds, restrictions
from cusubmatch.plan.walk_cost import OrderProblem

__all__ = ["PlanOptions", "PlanningProblem", "make_plan", "make_plans"]

MAX_EXPANDED_AUTOMORPHISMS = 1024  # with more of them, rows are walked instead of expanded from one of each orbit
# Estimates fall short of the deeper levels of a walk, and those of filtered candidates of every level. A plan with a
# suffix has fewer levels, so its cost is weighed by this factor.
SUFFIX_COST_FACTOR = 0.7
MAX_WARP_SUFFIX_STATES = 90  # a suffix with more has too many words for the shared memory of a block


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
    """

    pattern: Pattern
    constraints: Constraints
    cardinalities: Cardinalities
    filters: tuple[int | None, ...]
    statistics: Statistics
    semantics: str
    unique: bool
    counting: bool

    @property
    def injective(self) -> bool:
        """Whether different pattern vertices have different images."""
        return self.semantics != "homomorphism"

    @functools.cached_property
    def restricted(self) -> bool:
        """Whether restrictions break the symmetry, though every embedding may be wanted."""
        return self.injective and (self.unique or self.counting or _can_expand_orbits(self.pattern))

    @functools.cached_property
    def neighbours(self) -> list[set[int]]:
        """Per pattern vertex, the vertices that share an edge with it."""
        span = range(len(self.pattern))
        return [{w for w in span if (v, w) in self.constraints.required} for v in span]

    @functools.cached_property
    def non_neighbours(self) -> list[set[int]]:
        """Per pattern vertex, the vertices that it must not be adjacent to."""
        span = range(len(self.pattern))
        return [{u for u in span if (u, v) in self.constraints.forbidden} for v in span]

    @functools.cached_property
    def paired(self) -> set[frozenset[int]]:
        """Pairs of vertices that are counted together as the last two levels."""
        if not self.counting or self.semantics == "induced":
            return set()
        return equivalent_pairs(self.pattern, self.constraints, self.filters)


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
        Only this matching order (likewise).
    suffix : int, optional
        Only plans with a suffix of so many vertices; 0: none, so that every level but the last (or two) is visited.
    """

    methods: tuple[str, ...] = ("lists", "bitmaps")
    ascending: bool | None = None
    order: tuple[int, ...] | None = None
    suffix: int | None = None


class _Alternative(NamedTuple):
    """A plan that is not built yet; `cost` is the weighed cost that plans are compared by."""

    cost: float
    order: MatchingOrder
    ascending: bool
    method: str
    core: Core | None


def make_plan(problem: PlanningProblem, options: PlanOptions | None = None) -> Plan:
    """The cheapest plan by the cost model, see `make_plans`."""
    return make_plans(problem, options)[0]


def make_plans(problem: PlanningProblem, options: PlanOptions | None = None, alternatives: int = 1) -> list[Plan]:
    """Make the cheapest plans by the cost model, the cheapest first.

    Parameters
    ----------
    problem : PlanningProblem
    options : PlanOptions, optional
    alternatives : int
        How many plans are wanted at most.

    Raises
    ------
    ValueError
        If none of the methods can walk the pattern.
    """
    options = options or PlanOptions()
    search = _PlanSearch(problem, options, alternatives)
    search.run()
    if not search.best:
        raise ValueError(f"methods: no plan by {' or '.join(options.methods)} exists for this pattern")
    return [_build(problem, alternative) for alternative in search.best]


class _PlanSearch:
    """The cheapest alternatives of all methods, directions and cores."""

    def __init__(self, problem: PlanningProblem, options: PlanOptions, alternatives: int) -> None:
        self.problem, self.options, self.alternatives = problem, options, alternatives
        self.best: list[_Alternative] = []
        self.compared: list[tuple] = []  # methods and cores of which the first few orders are known
        self.by_biases = bool(problem.cardinalities.biases)  # estimates by degrees are too vague to leave cores out
        size = len(problem.pattern)
        self.effort = Effort(size, bounded=self.by_biases or size > EXHAUSTIVE_VERTICES)

    def run(self):
        """Search the orders of every method and core.

        Where the effort is bounded, a few orders of each are compared first; then their orders are searched, the most
        promising method or core first, while that can take less than the best plan.
        """
        size = len(self.problem.pattern)
        for method, core in self._choices():
            visited = size if core is None else size - len(core.suffix)
            if core is not None and self.by_biases and not self._may_go_on(visited):
                break
            self._consider(method, core, searching=not self.effort.bounded)
        if not self.effort.bounded or self.options.order is not None:
            return
        for _, method, _, core in sorted(self.compared, key=lambda choice: choice[0]):
            visited = size if core is None else size - len(core.suffix)
            if self._may_go_on(visited):
                self._consider(method, core, searching=True)

    def _choices(self):
        """Methods, then methods with cores."""
        problem, options, size = self.problem, self.options, len(self.problem.pattern)
        for method in options.methods if not options.suffix else ():
            if method != "bitmaps" or any(len(adjacent) == size - 1 >= 2 for adjacent in problem.neighbours):
                yield method, None
        if not problem.counting or problem.semantics == "induced" or options.suffix == 0:
            return
        if self.by_biases and not self._may_go_on(2):
            return
        for core in cores(problem.constraints, problem.pattern.automorphisms, problem.injective, options.suffix):
            if options.order is None or core.suffix == set(options.order[size - len(core.suffix) :]):
                if "lists" in options.methods:
                    yield "lists", core
                few_states = len(core.suffix) < size - 1 and core.states <= MAX_WARP_SUFFIX_STATES
                if "warps" in options.methods and few_states:
                    yield "warps", core

    def _may_go_on(self, prefixes):
        """Whether a search that expands so many prefixes is worth while, given what the best plan so far will take."""
        return not self.best or self.effort.left(self.best[0].cost) >= prefixes

    def _consider(self, method, core, searching):
        """Compare orders of a method, and of a core if there is one; `searching`: more than the first few."""
        problem, cardinalities = self.problem, self.problem.cardinalities
        weight, paired = 1.0, problem.paired if core is None else frozenset()
        group = problem.pattern.automorphisms if core is None else core.symmetry
        if core is not None:
            weight = SUFFIX_COST_FACTOR ** (len(core.suffix) - 1) if cardinalities.biases else SUFFIX_COST_FACTOR
        for ascending in self._directions(group, core):
            order_problem = OrderProblem(
                group,
                problem.neighbours,
                problem.non_neighbours,
                problem.restricted,
                method,
                paired,
                carries_sizes=problem.counting and problem.semantics == "monomorphism",
                core=core,
            )
            orders = best_orders(
                order_problem,
                Estimator(cardinalities, problem.statistics, ascending, clustered=method == "warps"),
                self.effort,
                searching=searching,
                cost_limit=self.best[-1].cost / weight if len(self.best) >= self.alternatives else float("inf"),
                alternatives=self.alternatives,
                order=self.options.order,
            )
            found = [_Alternative(order.cost * weight, order, ascending, method, core) for order in orders]
            if not searching:
                self.compared.append((min([one.cost for one in found], default=math.inf), method, ascending, core))
            known = {one[:4] for one in self.best}
            self.best += [one for one in found if one[:4] not in known]
            self.best = sorted(self.best, key=lambda alternative: alternative[:4])[: self.alternatives]

    def _directions(self, group, core):
        """The directions of restrictions that matter: one where no restriction is on a vertex that is visited."""
        visited = [v for v in range(group.size) if core is None or v not in core.suffix]
        orbits = group.orbits()
        symmetric = self.problem.restricted and len({orbits[v] for v in visited}) < len(visited)
        if not symmetric:
            return (False,)
        return (False, True) if self.options.ascending is None else (self.options.ascending,)


def _build(problem, alternative):
    """The plan of an alternative."""
    pattern, constraints, core = problem.pattern, problem.constraints, alternative.core
    order = alternative.order.vertices
    visited = order if core is None else order[: len(order) - len(core.suffix)]
    group = pattern.automorphisms if core is None else core.symmetry
    backward = [_rows(constraints.required, order, level, len(visited)) for level in range(len(order))]
    forbidden = [_rows(constraints.forbidden, order, level, len(visited)) for level in range(len(order))]
    bounds = restrictions(group, visited) if problem.restricted else [[] for _ in visited]
    factor = group.order if problem.restricted and not problem.unique else 1
    divisor, suffix, counted = 1, None, ()
    if core is not None:
        factor = math.prod(len(others) + 1 for others in group.chain(visited)) if problem.injective else 1
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
                range(min(level, len(visited))),
                order,
                vertex,
                {row.level for row in backward[level]},
                implied[level],
            ),
            alternative.order.candidates[level],
            alternative.order.matches[level],
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
        cost=alternative.order.cost,
        arcs=_arcs(problem),
        label_names=constraints.label_names,
        columns=tuple(vertex for vertex, name in enumerate(pattern.names) if name is not None),
    )


def _arcs(problem):
    """The arcs of a candidate graph for each pair; None where the graph itself is walked."""
    relations = problem.constraints.relations
    if not relations or any(relation.between is None for relation in relations):
        return None
    return {pair: int(arcs) for pair, arcs in problem.cardinalities.pairs.items()}


def _rows(relations, order, level, visited):
    """The rows of earlier visited levels that the relations of a level's vertex name."""
    return [
        NeighbourRows(relation, earlier)
        for earlier in range(min(level, visited))
        for relation in relations.get((order[earlier], order[level]), ())
    ]


def _injectivity_checks(constraints, earlier_levels, order, vertex, adjacent, implied):
    """The earlier levels whose image must be compared with that of a vertex: nothing else tells the two apart."""
    return tuple(
        level
        for level in earlier_levels
        if constraints.must_differ(order[level], vertex)
        and level not in adjacent
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


def _can_expand_orbits(pattern):
    """Whether the rows of all embeddings follow from one of each orbit: no orbit mixes columns and other vertices."""
    orbits, named = pattern.automorphisms.orbits(), [name is not None for name in pattern.names]
    mixed = any(named[v] != named[orbit] for v, orbit in enumerate(orbits))
    return not mixed and pattern.automorphisms.order <= MAX_EXPANDED_AUTOMORPHISMS
