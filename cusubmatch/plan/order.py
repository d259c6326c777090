"""The matching order: branch and bound over connected orders.

Every order of a small pattern is tried, up to its automorphisms: of the vertices that an automorphism fixing the prefix
would exchange only one is tried next (GraphPi, SC 2020, section IV-B, tries all orders). The children of a prefix are
sorted by cost, that of visiting them included, then as RI does (Bonnici et al. 2013: most neighbours among the
matched). Larger patterns get RI's order and the greedy one from each of the most promising first vertices.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.plan.estimate import Estimator
from cusubmatch.plan.walk_cost import Extension, OrderProblem, walk_cost_of

__all__ = ["MatchingOrder", "best_orders"]

EXHAUSTIVE_VERTICES = 7  # larger patterns get one greedy order from each of a few first vertices
MAX_PREFIXES = 600  # that the search expands
MAX_CORE_PREFIXES = 60  # the same for the core of a suffix, of which there are many
FIRST_VERTICES = 5  # that a large pattern's orders may begin with


class MatchingOrder(NamedTuple):
    """A matching order with its expected cost (ns) and, per level, expected candidates and partial matches."""

    cost: float
    vertices: tuple[int, ...]
    candidates: tuple[float, ...]
    matches: tuple[float, ...]


def best_orders(
    problem: OrderProblem,
    estimator: Estimator,
    *,
    cost_limit: float = float("inf"),
    alternatives: int = 1,
    order: tuple[int, ...] | None = None,
) -> list[MatchingOrder]:
    """Find the cheapest connected orders, the cheapest first.

    Parameters
    ----------
    problem : OrderProblem
    estimator : Estimator
    cost_limit : float
        Orders that cost so many nanoseconds or more are not wanted.
    alternatives : int
        How many orders are wanted.
    order : tuple of int, optional
        The only order to consider.
    """
    search = _OrderSearch(problem, estimator, cost_limit, alternatives)
    sizes, vertices = estimator.cardinalities.sizes, search.vertices
    if order is not None:
        search.follow(order)
    elif len(vertices) <= EXHAUSTIVE_VERTICES:
        search.run(MAX_PREFIXES if problem.core is None else MAX_CORE_PREFIXES)
    else:
        neighbours = [adjacent.intersection(vertices) for adjacent in problem.neighbours]
        search.follow(_ri_order(neighbours, sizes, max(vertices, key=lambda v: (len(neighbours[v]), -sizes[v]))))
        search.follow(_ri_order(neighbours, sizes, min(vertices, key=lambda v: sizes[v] / len(neighbours[v]))))
        search.run(len(vertices))
    return search.best


def _ri_order(neighbours, sizes, first):
    """Next comes the vertex with most neighbours in the order, then of highest degree, then with fewest candidates."""
    order = [first]
    while reached := {w for v in order for w in neighbours[v]}.difference(order):
        order.append(min(reached, key=lambda v: (-len(neighbours[v] & set(order)), -len(neighbours[v]), sizes[v])))
    return order


class _Prefix(NamedTuple):
    """The first vertices of an order.

    `cost` is in nanoseconds. `bounds` are, for every pattern vertex, the levels of the prefix that bound it.
    """

    order: list[int]
    candidates: list[float]
    matches: list[float]
    bounds: list[list[int]]
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
    def __init__(self, problem: OrderProblem, estimator: Estimator, cost_limit: float, alternatives: int) -> None:
        self.problem, self.estimator, self.walk_cost = problem, estimator, walk_cost_of(problem, estimator)
        self.cost_limit, self.alternatives = cost_limit, alternatives
        self.vertices = problem.vertices
        self.only_order: tuple[int, ...] | None = None
        self.prefixes_left = self.max_prefixes = 0
        self.best: list[MatchingOrder] = []

    def run(self, max_prefixes):
        """Search all orders, or greedily from each of the best first vertices, expanding about so many prefixes."""
        self.only_order, self.prefixes_left, self.max_prefixes = None, max_prefixes, max_prefixes
        self._extend(_Prefix([], [], [], [[] for _ in self.problem.neighbours], 0.0))

    def follow(self, order):
        """Cost one order."""
        self.only_order, self.prefixes_left = order, len(order)
        self._extend(_Prefix([], [], [], [[] for _ in self.problem.neighbours], 0.0))

    def _extend(self, prefix):
        order, size = prefix.order, len(self.vertices)
        if len(order) == size:
            self._complete(prefix)
            return
        large = size > EXHAUSTIVE_VERTICES and self.only_order is None
        orbits = self.problem.group.orbits(order)
        children = self._children(prefix, orbits)
        if large and not order:
            children = children[:FIRST_VERTICES]
        for child in children:
            if large and not order:
                self.prefixes_left = self.max_prefixes
            if child.cost >= self.cost_limit or (self.prefixes_left <= 0 and self.cost_limit < float("inf")):
                continue
            self.prefixes_left -= 1
            vertex, bounds = child.vertex, prefix.bounds
            if self.problem.restricted:
                bounds = [
                    [*levels, len(order)] if orbits[w] == orbits[vertex] and w != vertex else levels
                    for w, levels in enumerate(bounds)
                ]
            candidates, matches = [*prefix.candidates, child.candidates], [*prefix.matches, child.matches]
            self._extend(_Prefix([*order, vertex], candidates, matches, bounds, child.cost))

    def _children(self, prefix, orbits):
        """The vertices that may come next, the most promising first, one of each orbit."""
        order, _, matches, bounds, cost = prefix
        children: list[_Child] = []
        for vertex in self._next(order):
            if orbits[vertex] in {orbits[child.vertex] for child in children}:
                continue
            expected = self.estimator.candidates(order, vertex, bounds[vertex])
            reached = (matches[-1] if matches else 1.0) * expected
            level_cost = cost + self.walk_cost.level(Extension(order, matches, vertex, bounds[vertex], expected))
            matched = sum(1 for u in self.problem.neighbours[vertex] if u in order)
            visited_cost = level_cost + reached * self.walk_cost.visit_ns
            children.append(_Child(visited_cost, -matched, vertex, level_cost, expected, reached))
        return sorted(children)

    def _next(self, order):
        neighbours, bitmaps = self.problem.neighbours, self.problem.method == "bitmaps"
        size = len(neighbours)
        if self.only_order:
            vertex = self.only_order[len(order)]
            allowed = order or not bitmaps or len(neighbours[vertex]) == size - 1
            return [vertex] if allowed and (not order or any(u in order for u in neighbours[vertex])) else []
        if order:
            return [v for v in self.vertices if v not in order and any(u in order for u in neighbours[v])]
        return [v for v in self.vertices if not bitmaps or len(neighbours[v]) == size - 1]

    def _complete(self, prefix):
        """Keep a complete order if it is among the cheapest."""
        order, candidates, matches, _, cost = prefix
        if self.problem.core is not None:
            cost += self.walk_cost.suffix(self.problem.core, order, matches)
            order, candidates, matches = self._with_suffix(order, candidates, matches)
        if cost >= self.cost_limit:
            return
        self.best.append(MatchingOrder(cost, tuple(order), tuple(candidates), tuple(matches)))
        self.best = sorted(self.best)[: self.alternatives]
        if len(self.best) == self.alternatives:
            self.cost_limit = min(self.cost_limit, self.best[-1].cost)

    def _with_suffix(self, order, candidates, matches):
        """The order, candidates and partial matches, with the vertices of the suffix."""
        suffix = sorted(self.problem.core.suffix)
        for v in suffix:
            candidates = [*candidates, self.estimator.candidates(order, v, [])]
            matches = [*matches, matches[-1] * candidates[-1]]
        return [*order, *suffix], candidates, matches
