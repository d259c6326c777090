"""Cardinality estimates: how many candidates and partial matches each level of a matching order will have.

The counts of candidates and of candidate pairs come from the graph, and from the filters for labelled patterns. The
chance that one more backward neighbour is adjacent too is the closure of the graph, which is sampled (GraphPi, SC 2020,
section IV-B; GraphZero). What walking a level costs is in `walk_cost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.graph.statistics import Statistics
from cusubmatch.plan.suffix.cores import Block

__all__ = ["Cardinalities", "Estimator", "Reached"]

DISTANT_CLOSURE = 0.4  # of the closure, for a backward neighbour that is not adjacent to the nearest one
SHORTER_ROW = 0.5  # length of the shorter of several rows, as a share of the expected length of one


class Cardinalities(NamedTuple):
    """Sizes of the candidate sets of a pattern in a graph.

    Attributes
    ----------
    sizes : tuple of float
        Candidates of each pattern vertex.
    pairs : dict
        Adjacent pairs of candidates of each required pair (u, w).
    biases : dict
        Of each required pair (u, w): how many times more candidates of w are adjacent to the candidate of u in a
        random pair than to a random candidate of u, less what is chance. Empty where the degrees of the whole graph
        say it.
    """

    sizes: tuple[float, ...]
    pairs: dict[tuple[int, int], float]
    biases: dict[tuple[int, int], float]


class Reached(NamedTuple):
    """A backward neighbour of a vertex: what of its row are candidates of the vertex.

    Attributes
    ----------
    vertex, level : int
        The neighbour, and where it stands in the matching order.
    row : float
        Expected candidates in the row of its image. An image that was reached along an edge has more neighbours than
        the mean candidate; the first image of an order was not reached along an edge.
    reached_row : float
        The same, as if the first image had been reached along an edge.
    """

    vertex: int
    level: int
    row: float
    reached_row: float


class Estimator:
    """Estimate the candidates of a vertex after a prefix of a matching order.

    `near` are the backward neighbours of the vertex, by level.

    Parameters
    ----------
    cardinalities : Cardinalities
    statistics : Statistics
    ascending : bool
        Whether restrictions ask later vertices to be higher in rank (towards the hubs) or lower.
    clustered : bool
        Whether the closure is higher for each further backward neighbour.
    """

    def __init__(
        self, cardinalities: Cardinalities, statistics: Statistics, ascending: bool, clustered: bool = False
    ) -> None:
        self.cardinalities, self.statistics = cardinalities, statistics
        self.ascending, self.clustered = ascending, clustered
        mean_degree = max(statistics.mean_degree, 1e-9)
        self.by_degree = not cardinalities.biases
        self._bias = max(statistics.neighbour_degree / mean_degree, 1.0)
        self.oriented_share = min(statistics.oriented_degree / max(statistics.neighbour_degree, 1e-9), 1.0)
        self._rows: list[list[tuple[int, float]]] = [[] for _ in cardinalities.sizes]
        for (u, v), pairs in cardinalities.pairs.items():
            self._rows[u].append((v, pairs / max(cardinalities.sizes[u], 1.0)))

    def start(self) -> list[list[Reached]]:
        """The backward neighbours of each vertex after no vertex."""
        return [[] for _ in self._rows]

    def extend(self, near: list[list[Reached]], order: Sequence[int], u: int) -> list[list[Reached]]:
        """The backward neighbours of each vertex once u is matched after `order`."""
        reached, near = self.reached(near[u], order, u), near.copy()
        for v, some in reached:
            near[v] = [*near[v], some]
        return near

    def reached(self, near: list[Reached], order: Sequence[int], u: int) -> list[tuple[int, Reached]]:
        """What the vertices that are not in `order` get as a backward neighbour once u is matched after it.

        `near` are the backward neighbours of u.
        """
        level, biases, reached = len(order), self.cardinalities.biases, []
        bias = own = self._bias if level else 1.0
        if level and biases:
            own = biases[u, near[0].vertex]
        for v, mean in self._rows[u]:
            if v not in order:
                if level and biases:
                    bias = (own * biases[u, v]) ** 0.5
                reached.append((v, Reached(u, level, mean * bias, mean * self._bias)))
        return reached

    def reach(self, order: Sequence[int]) -> list[list[Reached]]:
        """The backward neighbours of each vertex after an order."""
        near = self.start()
        for level, u in enumerate(order):
            near = self.extend(near, order[:level], u)
        return near

    def candidates(self, order: Sequence[int], vertex: int, bounds: Sequence[int], near: list[Reached]) -> float:
        """Expected candidates of `vertex` after `order` is matched; `bounds` are the levels that bound it."""
        pairs, sizes = self.cardinalities.pairs, self.cardinalities.sizes
        if not near:
            return sizes[vertex]
        nearest = near[0]
        for some in near:
            if some.row < nearest.row:
                nearest = some
        size = min(nearest.row, sizes[vertex])
        further = 0
        for u, _, _, _ in near if len(near) > 1 else ():
            if u != nearest.vertex:
                chance = pairs[u, vertex] / max(sizes[u] * sizes[vertex], 1.0)
                adjacent = (u, nearest.vertex) in pairs or (nearest.vertex, u) in pairs
                further += 1
                closure = self.statistics.closure ** (1 / further if self.clustered else 1.0)
                size *= min(max(chance, closure * (1.0 if adjacent else DISTANT_CLOSURE)), 1.0)
        if bounds:
            sparse = len(near) == 1 or not self.clustered
            last_is_near = any(level == bounds[-1] for _, level, _, _ in near)
            if self.ascending and len(order) > 1 and self.by_degree and last_is_near and sparse:
                size *= self.oriented_share
            else:
                size /= len(bounds) + 1
        return size

    def shortest(self, bounds: Sequence[int], near: list[Reached], alone: bool) -> float:
        """Expected elements of the shortest row that holds the candidates of a vertex, cut by its restrictions.

        `alone`: whether one vertex only is matched.
        """
        length = min(some.row if alone or not self.by_degree else some.reached_row for some in near)
        if len(near) > 1:
            length *= SHORTER_ROW
        if not bounds:
            return length
        return length * self.oriented_share if self.ascending and self.by_degree else length / (len(bounds) + 1)

    def intersection(self, vertex: int, bounds: Sequence[int], near: list[Reached]) -> float:
        """Expected elements that are read of the row of the last backward neighbour, cut by the restrictions.

        Ascending restrictions cut rows to the neighbours of higher rank, or a row is cut by the vertex that it belongs
        to. A row that is cut only by other vertices loses at most half of its elements to each of them.
        """
        if len(near) < 2:
            return 0.0
        elements = min([some.reached_row if self.by_degree else some.row for some in near])
        read = min(elements, self.cardinalities.sizes[vertex])
        if not self.ascending:
            return read
        by_others = bounds and not any(some.level in bounds for some in near)
        return read * max(self.oriented_share, 1 / (len(bounds) + 1) if by_others else 0.0)

    def common(self, near: list[list[Reached]], block: Block) -> float:
        """Expected elements that are read to intersect the rows of a block of suffix vertices."""
        rows, vertices = block.backward_neighbours, block.vertices
        return min(some.row for v in vertices for some in near[v] if some.vertex in rows)
