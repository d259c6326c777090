"""Cardinality estimates: how many candidates and partial matches each level of a matching order will have.

The counts of candidates and of candidate pairs come from the graph, and from the filters for labelled patterns. The
chance that one more backward neighbour is adjacent too is the closure of the graph, which is sampled (GraphPi, SC 2020,
section IV-B; GraphZero). What walking a level costs is in `walk_cost`.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.graph.statistics import Statistics

__all__ = ["Cardinalities", "Estimator"]

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


class Estimator:
    """Estimate the candidates of a vertex after a prefix of a matching order.

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

    def _row_candidates(self, order, u, vertex, first=True) -> float:
        """Expected candidates of `vertex` among the neighbours of the image of u.

        An image that was reached along an edge has more neighbours than the mean candidate. The first image of an
        order was not reached along an edge; `first=False` ignores that.
        """
        pairs, sizes, biases = self.cardinalities.pairs, self.cardinalities.sizes, self.cardinalities.biases
        bias = self._bias
        if first and u == order[0]:
            bias = 1.0
        elif not self.by_degree:
            origin = next((t for t in order if (u, t) in pairs), vertex)
            bias = (biases[u, origin] * biases[u, vertex]) ** 0.5
        return pairs[u, vertex] / max(sizes[u], 1.0) * bias

    def _backward_neighbours(self, order, vertex):
        return [u for u in order if (u, vertex) in self.cardinalities.pairs]

    def candidates(self, order, vertex, bounds) -> float:
        """Expected candidates of `vertex` after `order` is matched; `bounds` are the levels that bound it."""
        pairs, sizes = self.cardinalities.pairs, self.cardinalities.sizes
        backward = self._backward_neighbours(order, vertex)
        if not backward:
            return sizes[vertex]

        nearest = min(backward, key=lambda u: self._row_candidates(order, u, vertex))
        size = min(self._row_candidates(order, nearest, vertex), sizes[vertex])
        further = 0
        for u in backward:
            if u != nearest:
                chance = pairs[u, vertex] / max(sizes[u] * sizes[vertex], 1.0)
                adjacent = (u, nearest) in pairs or (nearest, u) in pairs
                further += 1
                closure = self.statistics.closure ** (1 / further if self.clustered else 1.0)
                size *= min(max(chance, closure * (1.0 if adjacent else DISTANT_CLOSURE)), 1.0)
        if bounds:
            sparse = len(backward) == 1 or not self.clustered
            if self.ascending and len(order) > 1 and self.by_degree and order[bounds[-1]] in backward and sparse:
                size *= self.oriented_share
            else:
                size /= len(bounds) + 1
        return size

    def shortest(self, order, vertex, bounds) -> float:
        """Expected elements of the shortest row that holds the candidates of `vertex`, cut by its restrictions."""
        backward = self._backward_neighbours(order, vertex)
        first = len(order) == 1 or not self.by_degree
        length = min(self._row_candidates(order, u, vertex, first=first) for u in backward)
        if len(backward) > 1:
            length *= SHORTER_ROW
        if not bounds:
            return length
        return length * self.oriented_share if self.ascending and self.by_degree else length / (len(bounds) + 1)

    def intersection(self, order, vertex, bounds) -> float:
        """Expected elements that are read of the row of the last backward neighbour, cut by the restrictions.

        Ascending restrictions cut rows to the neighbours of higher rank, or a row is cut by the vertex that it belongs
        to. A row that is cut only by other vertices loses at most half of its elements to each of them.
        """
        backward = self._backward_neighbours(order, vertex)
        if len(backward) < 2:
            return 0.0
        elements = min(self._row_candidates(order, u, vertex, first=not self.by_degree) for u in backward)
        read = min(elements, self.cardinalities.sizes[vertex])
        if not self.ascending:
            return read
        by_others = bounds and not any(order[bound] in backward for bound in bounds)
        return read * max(self.oriented_share, 1 / (len(bounds) + 1) if by_others else 0.0)

    def common(self, order, block) -> float:
        """Expected elements that are read to intersect the rows of a block of suffix vertices."""
        required = self.cardinalities.pairs
        pairs = [(u, v) for u in block.backward_neighbours for v in block.vertices if (u, v) in required]
        return min(self._row_candidates(order, u, v) for u, v in pairs)
