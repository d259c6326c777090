"""The cost model of walking: nanoseconds of each level of a matching order, by the method of walking.

Times are of one CPU core for lists and bitmaps, and of a whole GPU for warps. They come from measurements of the
engines (the model follows GraphPi, SC 2020, section IV-B). The leaf is the last level that is visited: what comes
after it is counted.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.plan.estimate import Estimator, Reached
from cusubmatch.plan.suffix.cores import Core

__all__ = ["Extension", "OrderProblem", "WalkCost", "walk_cost_of"]

FIRST_CANDIDATE_NS = 1.0  # per candidate of the first level, on a CPU

LIST_VISIT_NS = 50.0  # per partial match
LIST_SET_NS = 80.0  # per candidate set that is made
LIST_ELEMENT_NS = 1.2  # per element of the shorter list it is made of
LEAF_VISIT_NS = 2.0  # per partial match at the leaf
LEAF_WHOLE_ROW_NS = 50.0  # the same, where the counted set is a whole row
LEAF_INTERSECTION_NS = 25.0  # per intersection that is only counted
LEAF_ELEMENT_NS = 0.7  # per element of it, tested against a bitmap

SUFFIX_NS = 32.0  # per match of the core
SUFFIX_SIZE_NS = 1.5  # per size of a set
SUFFIX_MEMBER_NS = 4.0  # per test whether an image of the core is in a set
SUFFIX_STATE_NS = 3.0  # per state of the recursion that gives the polynomial

BITMAP_VISIT_NS = 15.0  # per partial match
BITMAP_ROW_NS = 40.0  # per row of the bitmaps of a neighbourhood
BITMAP_NEIGHBOUR_NS = 1.2  # per neighbour that is looked up for a row
BITMAP_SET_NS = 30.0  # per candidate set that is made
BITMAP_COUNT_NS = 4.0  # per candidate set that is only counted
BITMAP_WORD_NS = 0.6  # per word of a candidate set
WORD_BITS = 64

WARP_CANDIDATE_NS = 0.01  # per candidate that is read
WARP_SEARCH_NS = 0.01  # per binary search of a candidate in a further row
WARP_STATE_NS = 0.002  # per state of the recursion that gives the polynomial of a suffix


class OrderProblem(NamedTuple):
    """What a matching order is looked for.

    Attributes
    ----------
    group : AutomorphismGroup or None
        Automorphisms that the restrictions break; with a core, those that map it to itself.
    neighbours : list of sets
        Per pattern vertex, the vertices that share an edge with it.
    non_neighbours : list of sets
        Per pattern vertex, the vertices that it must not be adjacent to (induced matching).
    restricted : bool
        Whether restrictions break the symmetry.
    method : {"lists", "bitmaps", "warps"}
        With bitmaps the first vertex must be adjacent to all others, and candidate sets are bitmaps of its
        neighbourhood. With warps candidates are read from the shortest row and searched in the others.
    paired : set of frozensets
        Pairs of vertices which, as the last two levels, are counted together.
    carries_sizes : bool
        Whether a partial match carries the size of a set that is complete before the last levels are visited (warps).
    core : Core or None
        Only its vertices are ordered and visited. The suffix is counted.
    """

    group: AutomorphismGroup | None
    neighbours: list[set[int]]
    non_neighbours: list[set[int]]
    restricted: bool
    method: str
    paired: set[frozenset[int]] | frozenset[frozenset[int]]
    carries_sizes: bool = False
    core: Core | None = None

    @property
    def vertices(self) -> list[int]:
        """The vertices that are visited."""
        return [v for v in range(len(self.neighbours)) if self.core is None or v not in self.core.suffix]

    def may_be_first(self, vertex: int) -> bool:
        """Whether an order may begin with a vertex."""
        return self.method != "bitmaps" or len(self.neighbours[vertex]) == len(self.neighbours) - 1


class Extension(NamedTuple):
    """A prefix of a matching order, and the vertex that comes next.

    Attributes
    ----------
    order, matches : list
        The vertices matched so far, and the partial matches expected at each of their levels.
    vertex : int
    bounds : list of int
        Levels that bound the vertex.
    candidates : float
        Its expected candidates.
    near : list of Reached
        Its backward neighbours.
    """

    order: list[int]
    matches: list[float]
    vertex: int
    bounds: list[int]
    candidates: float
    near: list[Reached]


class WalkCost:
    """Cost of one method of walking, in nanoseconds.

    Attributes
    ----------
    visit_ns : float
        Of entering a partial match.
    """

    visit_ns = LIST_VISIT_NS

    def __init__(self, problem: OrderProblem, estimator: Estimator) -> None:
        self.problem, self.estimator = problem, estimator
        self.neighbours, self.core = problem.neighbours, problem.core

    def level(self, extension: Extension) -> float:
        """Cost of making the candidates of the next vertex, and of visiting the level before it."""
        order, matches, vertex, _, candidates, near = extension
        if not order:
            return candidates * FIRST_CANDIDATE_NS
        level, counted = len(order), False
        if level + 2 >= len(self.neighbours):
            rest = [v for v in range(len(self.neighbours)) if v not in order and v != vertex]
            if not rest and frozenset((order[-1], vertex)) in self.problem.paired:
                return 0.0  # counted with the vertex before it
            counted = not rest or (len(rest) == 1 and frozenset((vertex, rest[0])) in self.problem.paired)
            counted = counted and self.core is None
        work, visit_ns = self._set(extension, counted, near[-1].level)
        return work + matches[level - 1] * visit_ns

    def suffix(self, core: Core, order, matches, near) -> float:
        """Cost of visiting the leaf of a core, and of the sizes and the polynomial at each of its vertices.

        `near` are the backward neighbours of every vertex.
        """
        leaf, work = len(order) - 1, matches[-1] * (SUFFIX_NS + SUFFIX_STATE_NS * core.states)
        for last, tests, block in self._suffix_sets(core, order):
            work += matches[leaf] * (SUFFIX_SIZE_NS + tests * SUFFIX_MEMBER_NS)
            if len(block.backward_neighbours) > 1:
                read = self.estimator.common(near, block)
                per_set = LEAF_INTERSECTION_NS + read * LEAF_ELEMENT_NS
                work += matches[last] * (per_set if last == leaf else LIST_SET_NS + read * LIST_ELEMENT_NS)
        return work

    def _set(self, extension, counted, last):
        """Cost of the candidate sets of a vertex, and of a visit to the level before it.

        `counted`: only the size of its candidate set is wanted. `last`: the level of its last backward neighbour.
        """
        order, matches, vertex, bounds, _, near = extension
        at_leaf = counted and last == len(order) - 1
        work, visit_ns = 0.0, LEAF_VISIT_NS if counted else LIST_VISIT_NS
        if read := self.estimator.intersection(vertex, bounds, near):
            element_ns, set_ns = (LEAF_ELEMENT_NS, LEAF_INTERSECTION_NS) if at_leaf else (LIST_ELEMENT_NS, LIST_SET_NS)
            work += matches[last] * (read * element_ns + set_ns)
        elif at_leaf:
            visit_ns = LEAF_WHOLE_ROW_NS
        if self.problem.non_neighbours[vertex]:
            work += self._subtractions(extension, counted)
        return work, visit_ns

    def _subtractions(self, extension, counted):
        """Cost of removing the neighbours of non-neighbours from the candidates."""
        order, matches, vertex, _, candidates, near = extension
        first = near[0].level
        row, work = self.estimator.statistics.neighbour_degree, 0.0
        for level, u in enumerate(order):
            if u in self.problem.non_neighbours[vertex]:
                when = max(level, first)
                if counted and when == len(order) - 1:
                    set_ns = LEAF_INTERSECTION_NS + candidates * LEAF_ELEMENT_NS
                else:
                    set_ns = LIST_SET_NS + (candidates + row) * LIST_ELEMENT_NS
                work += matches[when] * set_ns
        return work

    def _suffix_sets(self, core, order):
        """Of each set that a suffix needs the size of: its last level, the images to be tested, and a block."""
        levels, neighbours = {u: level for level, u in enumerate(order)}, self.neighbours
        for rows, block in {block.backward_neighbours: block for block in core.blocks}.items():
            tests = sum(u not in rows and not rows <= neighbours[u] for u in order)
            yield max(levels[u] for u in rows), tests, block


class _BitmapCost(WalkCost):
    """Bitmaps of the neighbourhood of the first vertex."""

    def __init__(self, problem: OrderProblem, estimator: Estimator) -> None:
        super().__init__(problem, estimator)
        # Where restrictions bound every vertex by the first one, bitmaps hold one side of a neighbourhood only.
        orbits = problem.group.orbits() if problem.group is not None else ()
        self.one_sided = problem.restricted and estimator.ascending and len(set(orbits)) == 1

    def _set(self, extension, counted, last):
        order, matches, _, _, candidates, _ = extension
        statistics, level = self.estimator.statistics, len(order)
        degree = statistics.oriented_degree if self.one_sided else statistics.neighbour_degree
        visit_ns = LEAF_VISIT_NS if counted else BITMAP_VISIT_NS
        if level == 1 and counted:
            return float("inf"), visit_ns  # the first level has no neighbourhood yet
        if level == 1:
            row_ns = degree * BITMAP_NEIGHBOUR_NS / (2 if self.one_sided else 1) + BITMAP_ROW_NS
            return matches[-1] * candidates * row_ns, visit_ns
        words_ns = (degree / WORD_BITS + 1) * BITMAP_WORD_NS
        if counted:
            return matches[level - 1] * (words_ns + BITMAP_COUNT_NS), visit_ns
        return matches[last] * (words_ns + BITMAP_SET_NS), visit_ns


class _WarpCost(WalkCost):
    """Warps, which read the shortest row and search in the others."""

    visit_ns = WARP_CANDIDATE_NS

    def level(self, extension: Extension) -> float:
        """Cost of reading the candidates of the next vertex, or of the size of their set where that is carried."""
        order, matches, vertex, bounds, _, near = extension
        if not order:
            return 0.0
        level = len(order)
        last = level + 1 == len(self.neighbours)
        if last and frozenset((order[-1], vertex)) in self.problem.paired:
            return 0.0  # counted with the vertex before it
        candidate_ns = WARP_CANDIDATE_NS + WARP_SEARCH_NS * (len(near) - 1)
        length = self.estimator.shortest(bounds, near, level == 1)
        complete = max([near[-1].level, *bounds])
        if last and self.problem.carries_sizes and complete < level - 1:
            return matches[complete] * (length * candidate_ns if len(near) > 1 else WARP_CANDIDATE_NS)
        return matches[level - 1] * length * candidate_ns

    def suffix(self, core: Core, order, matches, near) -> float:
        """Cost of visiting the leaf of a core, and of the sizes and the polynomial at each of its vertices."""
        work = matches[-1] * (WARP_CANDIDATE_NS + WARP_STATE_NS * core.states)
        for last, tests, block in self._suffix_sets(core, order):
            rows = len(block.backward_neighbours)
            work += matches[-1] * WARP_SEARCH_NS * tests
            elements = self.estimator.common(near, block) if rows > 1 else 0.0
            candidate_ns = WARP_CANDIDATE_NS + WARP_SEARCH_NS * (rows - 1)
            work += matches[last] * (WARP_CANDIDATE_NS + elements * candidate_ns)
        return work


def walk_cost_of(problem: OrderProblem, estimator: Estimator) -> WalkCost:
    """The cost model of the method of a problem."""
    return {"lists": WalkCost, "bitmaps": _BitmapCost, "warps": _WarpCost}[problem.method](problem, estimator)
