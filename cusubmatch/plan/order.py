"""The matching order: a few greedy orders, then branch and bound over connected orders while that can pay.

Where degrees decide (patterns without labels) every order of a small pattern is tried, up to its automorphisms: of the
vertices that an automorphism fixing the prefix would exchange only one is tried next (GraphPi, SC 2020, section IV-B,
tries all orders). The children of a prefix are sorted by cost, that of visiting them included, then as RI does (Bonnici
et al. 2013: most neighbours among the matched).

Otherwise the first orders are RI's and GraphQL's (He & Singh 2008: fewest candidates). The search goes on from the most
promising first vertices, and no longer than the best order so far is expected to take: it is limited by the prefixes
that it expands, not by a clock, so that each call finds the same plan.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from cusubmatch.plan.estimate import Estimator, Reached
from cusubmatch.plan.greedy_orders import first_orders
from cusubmatch.plan.walk_cost import Extension, OrderProblem, walk_cost_of

__all__ = ["CostedOrder", "Effort", "MatchingOrder", "best_orders"]

EXHAUSTIVE_VERTICES = 7  # larger patterns get one greedy order from each of a few first vertices
MAX_PREFIXES = 600  # that the search expands
MAX_CORE_PREFIXES = 60  # the same for the core of a suffix, of which there are many
FIRST_VERTICES = 5  # that a large pattern's orders may begin with
PREFIX_NS = 1_000.0  # what expanding a prefix takes for each vertex of the pattern, about
EFFORT_SHARE = 0.25  # of what the best plan will take, that the search for a better one may take


class Effort:
    """The prefixes that a search has expanded, and whether it may expand more.

    Parameters
    ----------
    size : int
        Vertices of the pattern.
    bounded : bool
        Whether a search ends where it has taken a share of what the best plan will.
    most_cost : float
        Nanoseconds that a better plan can save at most.
    """

    def __init__(self, size: int, bounded: bool, most_cost: float = math.inf) -> None:
        self.size, self.bounded, self.most_cost, self.prefixes = size, bounded, most_cost, 0

    def left(self, cost: float) -> float:
        """How many more prefixes are worth expanding where the best plan so far costs so many nanoseconds."""
        worth = EFFORT_SHARE * min(cost, self.most_cost) / (PREFIX_NS * self.size)
        return worth - self.prefixes if self.bounded else math.inf


class CostedOrder(Protocol):
    """A matching order and what is expected of it.

    Attributes
    ----------
    cost : float
        Nanoseconds of all levels.
    vertices : tuple of int
    candidates, matches : tuple of float
        Per level, candidates for a partial match, and partial matches.
    """

    @property
    def cost(self) -> float: ...
    @property
    def vertices(self) -> tuple[int, ...]: ...
    @property
    def candidates(self) -> tuple[float, ...]: ...
    @property
    def matches(self) -> tuple[float, ...]: ...


class MatchingOrder(NamedTuple):
    """A `CostedOrder` that was found by its cost."""

    cost: float
    vertices: tuple[int, ...]
    candidates: tuple[float, ...]
    matches: tuple[float, ...]


def best_orders(
    problem: OrderProblem,
    estimator: Estimator,
    effort: Effort,
    *,
    searching: bool = True,
    cost_limit: float = math.inf,
    alternatives: int = 1,
    order: tuple[int, ...] | None = None,
) -> list[MatchingOrder]:
    """Find the cheapest connected orders, the cheapest first.

    Parameters
    ----------
    problem : OrderProblem
    estimator : Estimator
    effort : Effort
        What the search may take; what it takes is added.
    searching : bool
        Whether more orders than the first few are compared, where the effort is bounded.
    cost_limit : float
        Orders that cost so many nanoseconds or more are not wanted.
    alternatives : int
        How many orders are wanted.
    order : tuple of int, optional
        The only order to consider.
    """
    search = _OrderSearch(problem, estimator, effort, cost_limit, alternatives)
    vertices = search.vertices
    small = len(vertices) <= EXHAUSTIVE_VERTICES
    most = MAX_PREFIXES if problem.core is None else MAX_CORE_PREFIXES
    if order is not None:
        search.follow(order)
    elif searching:
        search.run(most if small else len(vertices))
    else:
        for first_order in first_orders(problem, estimator.cardinalities.sizes):
            search.follow(first_order)
    return search.best


class _Prefix(NamedTuple):
    """The first vertices of an order.

    `cost` is in nanoseconds. `bounds` are, for every pattern vertex, the levels of the prefix that bound it; `near` are
    its backward neighbours. `expected` has the candidates of vertices that are known from a shorter prefix.
    """

    order: list[int]
    candidates: list[float]
    matches: list[float]
    bounds: list[list[int]]
    near: list[list[Reached]]
    expected: dict[int, float]
    cost: float


class _Child(NamedTuple):
    """A vertex that may come next, in the order of the search."""

    visited_cost: float
    minus_matched_neighbours: int
    vertex: int
    cost: float
    candidates: float
    matches: float


class _OrderSearch:
    def __init__(
        self, problem: OrderProblem, estimator: Estimator, effort: Effort, cost_limit: float, alternatives: int
    ) -> None:
        self.problem, self.estimator, self.walk_cost = problem, estimator, walk_cost_of(problem, estimator)
        self.effort, self.cost_limit, self.alternatives = effort, cost_limit, alternatives
        self.vertices = problem.vertices
        self.rigid = problem.group is None or problem.group.is_trivial
        self.prefixes_left = self.max_prefixes = 0
        self.best: list[MatchingOrder] = []

    def run(self, max_prefixes):
        """Search all orders, or greedily from each of the best first vertices, expanding about so many prefixes."""
        self.prefixes_left = self.max_prefixes = max_prefixes
        self._extend(self._start())

    def follow(self, order):
        """Cost one order."""
        if not self.problem.may_be_first(order[0]):
            return
        _, candidates, matches, bounds, near, _, cost = self._start()
        estimator, reached, prefix = self.estimator, 1.0, []
        breaks = self.problem.restricted and not self.rigid
        others = self.problem.group.chain(order) if breaks else [()] * len(order)
        for level, vertex in enumerate(order):
            if level and not near[vertex]:
                return
            expected = estimator.candidates(prefix, vertex, bounds[vertex], near[vertex])
            cost += self.walk_cost.level(Extension(prefix, matches, vertex, bounds[vertex], expected, near[vertex]))
            if cost >= self.cost_limit:
                return
            self.effort.prefixes += 1
            for w in others[level]:
                bounds[w].append(level)
            reached *= expected
            for v, row in estimator.reached(near[vertex], prefix, vertex):
                near[v].append(row)
            prefix.append(vertex)
            candidates.append(expected)
            matches.append(reached)
        self._complete(_Prefix(prefix, candidates, matches, bounds, near, {}, cost))

    def _start(self):
        return _Prefix([], [], [], [[] for _ in self.problem.neighbours], self.estimator.start(), {}, 0.0)

    def _extend(self, prefix):
        order, size = prefix.order, len(self.vertices)
        if len(order) == size:
            self._complete(prefix)
            return
        large = size > EXHAUSTIVE_VERTICES
        orbits = None if self.rigid else self.problem.group.orbits(order)
        children = self._children(prefix, orbits)
        if large and not order:
            children = children[:FIRST_VERTICES]
        for child in children:
            if large and not order:
                self.prefixes_left = self.max_prefixes
            if child.cost >= self.cost_limit:
                continue
            spent = self.prefixes_left <= 0 or self.effort.left(self.cost_limit) <= 0
            if spent and self.cost_limit < math.inf:
                continue
            self.prefixes_left -= 1
            self._extend(self._matched(prefix, child, orbits))

    def _matched(self, prefix, child, orbits):
        """The prefix with one more vertex; `orbits` are those that its images leave, None: none of several."""
        order, vertex, bounds = prefix.order, child.vertex, prefix.bounds
        self.effort.prefixes += 1
        if self.problem.restricted and orbits is not None:
            bounds = [
                [*levels, len(order)] if orbits[w] == orbits[vertex] and w != vertex else levels
                for w, levels in enumerate(bounds)
            ]
        candidates, matches = [*prefix.candidates, child.candidates], [*prefix.matches, child.matches]
        near = self.estimator.extend(prefix.near, order, vertex)
        changed = self.problem.neighbours[vertex]
        expected = {v: count for v, count in prefix.expected.items() if v not in changed and not bounds[v]}
        return _Prefix([*order, vertex], candidates, matches, bounds, near, expected, child.cost)

    def _children(self, prefix, orbits):
        """The vertices that may come next, the most promising first, one of each orbit."""
        order, near = prefix.order, prefix.near
        children, tried = list[_Child](), set[int]()
        for vertex in self._next(order, near):
            if orbits is not None:
                if orbits[vertex] in tried:
                    continue
                tried.add(orbits[vertex])
            children.append(self._child(prefix, vertex))
        return sorted(children)

    def _child(self, prefix, vertex):
        """What it costs to match a vertex next."""
        order, _, matches, bounds, near, known, cost = prefix
        expected = known.get(vertex)
        if expected is None:
            expected = self.estimator.candidates(order, vertex, bounds[vertex], near[vertex])
            if order:
                known[vertex] = expected
        reached = (matches[-1] if matches else 1.0) * expected
        extension = Extension(order, matches, vertex, bounds[vertex], expected, near[vertex])
        level_cost = cost + self.walk_cost.level(extension)
        visited_cost = level_cost + reached * self.walk_cost.visit_ns
        return _Child(visited_cost, -len(near[vertex]), vertex, level_cost, expected, reached)

    def _next(self, order, near):
        if order:
            return [v for v in self.vertices if near[v] and v not in order]
        return [v for v in self.vertices if self.problem.may_be_first(v)]

    def _complete(self, prefix):
        """Keep a complete order if it is among the cheapest."""
        order, candidates, matches, _, near, _, cost = prefix
        if self.problem.core is not None:
            cost += self.walk_cost.suffix(self.problem.core, order, matches, near)
            order, candidates, matches = self._with_suffix(prefix)
        if cost >= self.cost_limit:
            return
        found = MatchingOrder(cost, tuple(order), tuple(candidates), tuple(matches))
        if found not in self.best:
            self.best = sorted([*self.best, found])[: self.alternatives]
        if len(self.best) == self.alternatives:
            self.cost_limit = min(self.cost_limit, self.best[-1].cost)

    def _with_suffix(self, prefix):
        """The order, candidates and partial matches, with the vertices of the suffix."""
        order, candidates, matches, near = prefix.order, prefix.candidates, prefix.matches, prefix.near
        suffix = sorted(self.problem.core.suffix)
        for v in suffix:
            candidates = [*candidates, self.estimator.candidates(order, v, [], near[v])]
            matches = [*matches, matches[-1] * candidates[-1]]
        return [*order, *suffix], candidates, matches
