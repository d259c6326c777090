"""The matching order: branch and bound over connected orders.

Every order of a small pattern is tried, up to its automorphisms: of the vertices that an automorphism fixing the prefix
would exchange only one is tried next (GraphPi, SC 2020, section IV-B, tries all orders). The children of a prefix are
ordered by cost, that of visiting them included, then as RI does (Bonnici et al. 2013: most neighbours among the
matched). Patterns too large for that get RI's order and the greedy one from each of the most promising first vertices.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.plan.estimate import (
    BITMAP_LEAF,
    BITMAP_ROW,
    BITMAP_SET,
    BITMAP_VISIT,
    COMMON,
    COUNT,
    DRAW,
    ELEMENT,
    LEAF,
    MARKED,
    OPEN,
    PROBE,
    ROW,
    SET,
    SIZE,
    STATE,
    TERM,
    TEST,
    VISIT,
    WORD,
    Estimator,
)
from cusubmatch.plan.suffix.cores import Core

__all__ = ["Choice", "best_orders"]

EXHAUSTIVE_SIZE = 7  # larger patterns get one greedy order from each of a few first vertices
PREFIX_BUDGET = 600
CORE_BUDGET = 60
FIRST_VERTICES = 5


class Choice(NamedTuple):
    """An order with its expected cost (ns) and, per level, expected candidates and partial matches."""

    cost: float
    order: tuple[int, ...]
    candidates: tuple[float, ...]
    matches: tuple[float, ...]


def best_orders(
    group: AutomorphismGroup,
    neighbours: list[set[int]],
    estimator: Estimator,
    *,
    restricted: bool,
    method: str,
    pairs: set[frozenset[int]],
    weighed: bool = False,
    limit: float = float("inf"),
    keep: int = 1,
    given: tuple[int, ...] | None = None,
    core: Core | None = None,
    avoided: list[set[int]] | None = None,
) -> list[Choice]:
    """The cheapest connected orders found, the cheapest first.

    Parameters
    ----------
    group : AutomorphismGroup
    neighbours : list of sets
        Pattern vertices joined by an edge, per vertex.
    estimator : Estimator
    restricted : bool
        Whether restrictions break the symmetry.
    method : {"lists", "bitmaps", "warps"}
        With bitmaps the first vertex must touch all others, and candidate sets are bitmaps of its neighbourhood; with
        warps the shortest row is drawn from and the others are searched.
    pairs : set of frozensets
        Pairs of vertices which, as the last two levels, are counted together.
    weighed : bool
        Whether warps carry the size of a set that is complete before the last levels are visited.
    limit : float
        Cost of a choice already known; orders that cost more are not wanted.
    keep : int
        How many orders are wanted.
    given : tuple of int, optional
        The order to cost, instead of searching for one.
    core : Core, optional
        Order its vertices only, as by lists; the suffix, counted from sizes of sets, comes after them.
    avoided : list of sets, optional
        Pattern vertices that must not touch it, per vertex, in induced matching.
    """
    search = _Search(group, neighbours, estimator, restricted, method, pairs, weighed, limit, keep, core, avoided)
    sizes, vertices = estimator.shape.sizes, search.vertices
    if given is not None:
        search.follow(given)
    elif len(vertices) <= EXHAUSTIVE_SIZE:
        search.run(PREFIX_BUDGET if core is None else CORE_BUDGET)
    else:
        neighbours = [some.intersection(vertices) for some in neighbours]
        search.follow(_ri_order(neighbours, sizes, max(vertices, key=lambda v: (len(neighbours[v]), -sizes[v]))))
        search.follow(_ri_order(neighbours, sizes, min(vertices, key=lambda v: sizes[v] / len(neighbours[v]))))
        search.run(len(vertices))
    return search.found


def _ri_order(neighbours, sizes, first):
    """Next comes the vertex with most neighbours in the order, then of highest degree, then with fewest candidates."""
    order = [first]
    while reached := {w for v in order for w in neighbours[v]}.difference(order):
        order.append(min(reached, key=lambda v: (-len(neighbours[v] & set(order)), -len(neighbours[v]), sizes[v])))
    return order


class _Search:
    def __init__(self, group, neighbours, estimator, restricted, method, pairs, weighed, limit, keep, core, avoided):
        self.group, self.neighbours, self.estimator = group, neighbours, estimator
        self.restricted, self.bitmaps, self.pairs = restricted, method == "bitmaps", pairs
        self.warps, self.weighed = method == "warps", weighed
        self.limit, self.given, self.budget = limit, None, 0
        self.keep, self.core = keep, core
        self.avoided = avoided or [set() for _ in neighbours]
        self.vertices = [v for v in range(len(neighbours)) if core is None or v not in core.suffix]
        self.found: list[Choice] = []
        # Where restrictions bound every vertex by the first one, bitmaps hold one side of a neighbourhood only.
        self.one_sided = restricted and estimator.ascending and len(set(group.orbits())) == 1

    def run(self, budget):
        """Search all orders, or greedily from the best first vertices, expanding about `budget` prefixes (each)."""
        self.given, self.budget, self.whole_budget = None, budget, budget
        self.extend([], [], [], [[] for _ in self.neighbours], 0.0)

    def follow(self, order):
        """Cost one order."""
        self.given, self.budget = order, len(order)
        self.extend([], [], [], [[] for _ in self.neighbours], 0.0)

    def extend(self, order, candidates, matches, bounds, cost):
        size = len(self.vertices)
        if len(order) == size:
            if self.core is not None:
                cost += self._measures(order, matches) if self.warps else self._sizes(order, matches)
                order, candidates, matches = self._with_suffix(order, candidates, matches)
            if cost >= self.limit:
                return
            self.found.append(Choice(cost, tuple(order), tuple(candidates), tuple(matches)))
            self.found = sorted(self.found)[: self.keep]
            if len(self.found) == self.keep:
                self.limit = min(self.limit, self.found[-1].cost)
            return
        orbits = self.group.orbits(order)
        children = []
        for vertex in self._next(order):
            if orbits[vertex] in {orbits[child[2]] for child in children}:
                continue
            expected = self.estimator.candidates(order, vertex, bounds[vertex])
            found = (matches[-1] if matches else 1.0) * expected
            if self.warps:
                more = cost + self._draws(order, matches, vertex, bounds[vertex])
            else:
                more = cost + self._work(order, matches, vertex, bounds[vertex], expected, found)
            matched = sum(1 for u in self.neighbours[vertex] if u in order)
            children.append((more + found * (DRAW if self.warps else VISIT), -matched, vertex, more, expected, found))
        children.sort()
        large = size > EXHAUSTIVE_SIZE and self.given is None
        if large and not order:
            children = children[:FIRST_VERTICES]
        for _, _, vertex, more, expected, found in children:
            if large and not order:
                self.budget = self.whole_budget
            if more >= self.limit or (self.budget <= 0 and self.limit < float("inf")):
                continue
            self.budget -= 1
            inner = bounds
            if self.restricted:
                inner = [
                    [*some, len(order)] if orbits[w] == orbits[vertex] and w != vertex else some
                    for w, some in enumerate(bounds)
                ]
            self.extend([*order, vertex], [*candidates, expected], [*matches, found], inner, more)

    def _next(self, order):
        size = len(self.neighbours)
        if self.given:
            first = self.given[len(order)]
            apex = order or not self.bitmaps or len(self.neighbours[first]) == size - 1
            return [first] if apex and (not order or any(u in order for u in self.neighbours[first])) else []
        if order:
            return [v for v in self.vertices if v not in order and any(u in order for u in self.neighbours[v])]
        return [v for v in self.vertices if not self.bitmaps or len(self.neighbours[v]) == size - 1]

    def _draws(self, order, matches, vertex, bounds):
        """Cost of drawing this vertex's candidates, or of the size of their set where that is a weight."""
        if not order:
            return 0.0
        level, backward_neighbours = len(order), [i for i, u in enumerate(order) if u in self.neighbours[vertex]]
        last = level + 1 == len(self.neighbours)
        if last and frozenset((order[-1], vertex)) in self.pairs:
            return 0.0  # counted with the vertex before it
        each = DRAW + PROBE * (len(backward_neighbours) - 1)
        length = self.estimator.shortest(order, vertex, bounds)
        complete = max([*backward_neighbours, *bounds])
        if last and self.weighed and complete < level - 1:
            return matches[complete] * (length * each if len(backward_neighbours) > 1 else DRAW)
        return matches[level - 1] * length * each

    def _work(self, order, matches, vertex, bounds, expected, found):
        """Cost of making this vertex's candidates and of visiting the level before it (the last is not visited)."""
        level, size = len(order), len(self.neighbours)
        if level == 0:
            return expected
        rest = [v for v in range(size) if v not in order and v != vertex]
        if not rest and frozenset((order[-1], vertex)) in self.pairs:
            return 0.0  # counted with the vertex before it
        counted = not rest or (len(rest) == 1 and frozenset((vertex, rest[0])) in self.pairs)
        counted = counted and self.core is None
        last = max(i for i, u in enumerate(order) if u in self.neighbours[vertex])
        at_leaf = counted and last == level - 1
        work, visit = 0.0, LEAF if counted else BITMAP_VISIT if self.bitmaps else VISIT
        if self.bitmaps:
            statistics = self.estimator.statistics
            reach = statistics.oriented_degree if self.one_sided else statistics.neighbour_degree
            if level == 1 and counted:
                return float("inf")  # there is no neighbourhood at the root yet
            if level == 1:
                work += found * (reach * ROW / (2 if self.one_sided else 1) + BITMAP_ROW)
            else:
                words = (reach / 64 + 1) * WORD
                work += matches[level - 1] * (words + BITMAP_LEAF) if counted else matches[last] * (words + BITMAP_SET)
        elif read := self.estimator.intersection(order, vertex, bounds):
            work += matches[last] * (read * (MARKED if at_leaf else ELEMENT) + (COMMON if at_leaf else SET))
        elif at_leaf:
            visit = OPEN
        if not self.bitmaps:
            work += self._subtractions(order, matches, vertex, expected, counted)
        return work + matches[level - 1] * visit

    def _subtractions(self, order, matches, vertex, expected, counted):
        """Cost of taking the rows of the vertices that this one must not touch off its candidates."""
        first = min(i for i, u in enumerate(order) if u in self.neighbours[vertex])
        row, work = self.estimator.statistics.neighbour_degree, 0.0
        for level, u in enumerate(order):
            if u in self.avoided[vertex]:
                when = max(level, first)
                marked = counted and when == len(order) - 1
                work += matches[when] * (COMMON + expected * MARKED if marked else SET + (expected + row) * ELEMENT)
        return work

    def _sizes(self, order, matches):
        """Cost of visiting the last core level, and of the sizes and the polynomial at each of its vertices."""
        leaf, work = len(order) - 1, matches[-1] * (COUNT + STATE * self.core.states)
        places = {u: level for level, u in enumerate(order)}
        for backward_neighbours, block in {block.backward_neighbours: block for block in self.core.blocks}.items():
            last = max(places[u] for u in backward_neighbours)
            unsure = sum(u not in backward_neighbours and not backward_neighbours <= self.neighbours[u] for u in order)
            work += matches[leaf] * (SIZE + unsure * TEST)
            if len(backward_neighbours) > 1:
                read = self.estimator.common(order, block)
                work += matches[last] * (COMMON + read * MARKED if last == leaf else SET + read * ELEMENT)
        return work

    def _measures(self, order, matches):
        """The same by warps, in candidates drawn."""
        work = matches[-1] * (DRAW + TERM * self.core.states)
        places = {u: level for level, u in enumerate(order)}
        for backward_neighbours, block in {block.backward_neighbours: block for block in self.core.blocks}.items():
            work += (
                matches[-1]
                * PROBE
                * sum(u not in backward_neighbours and not backward_neighbours <= self.neighbours[u] for u in order)
            )
            elements = self.estimator.common(order, block) if len(backward_neighbours) > 1 else 0.0
            work += matches[max(places[u] for u in backward_neighbours)] * (
                DRAW + elements * (DRAW + PROBE * (len(backward_neighbours) - 1))
            )
        return work

    def _with_suffix(self, order, candidates, matches):
        """The order, and what is expected, with the suffix's vertices."""
        for v in sorted(self.core.suffix):
            candidates = [*candidates, self.estimator.candidates(order, v, [])]
            matches = [*matches, matches[-1] * candidates[-1]]
        return [*order, *sorted(self.core.suffix)], candidates, matches
