"""Estimates: how many partial matches each level of an order will see, and what walking them costs.

Candidate and edge counts come from the graph (and from the filters, for labelled patterns); the chance that one more
anchor is adjacent too comes from the sampled closure. Times are in nanoseconds, of one CPU core or of a whole GPU,
from measurements of the engines (GraphPi, SC 2020, section IV-B; GraphZero).
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.graph.statistics import Statistics

__all__ = ["Cardinalities", "Estimator"]

VISIT = 50.0  # entering a partial match
SET = 80.0  # making a candidate set, and
ELEMENT = 1.2  # each element of the shorter list that it is made of
LEAF = 2.0  # visiting a vertex of the leaf, the last level that is visited,
OPEN = 50.0  # where its row is the counted set,
COMMON = 25.0  # where its row cuts the counted set, and
MARKED = 0.7  # each element that is then tested against a bitmap
TEST = 4.0  # looking up whether a core vertex is to be taken off a set, at a vertex of the leaf, and
COUNT = 32.0  # counting a suffix at a vertex of the leaf, and
SIZE = 1.5  # each size that it takes, and
STATE = 3.0  # the polynomial, by the states of the recursion that gives it
BITMAP_ROW = 40.0  # a row of a neighbourhood's bitmaps, and
ROW = 1.2  # each neighbour looked up for it
BITMAP_SET = 30.0  # making a bitmap
BITMAP_VISIT = 15.0  # entering a partial match there
BITMAP_LEAF = 4.0  # counting one, and
WORD = 0.6  # each of its words
DRAW = 0.01  # on a GPU: drawing a candidate, and
PROBE = 0.01  # looking for it in one more row, and
TERM = 0.002  # the polynomial of a suffix, by the states of the recursion that gives it


class Cardinalities(NamedTuple):
    """Candidates per pattern vertex, candidate pairs per required pair (u, w), and how unequally they are shared.

    `biases[u, w]` is how many times the mean candidate of u the one at a random pair (u, w) has candidates of w, as far
    as that is not chance; empty where the degrees of the whole graph say it.
    """

    sizes: tuple[float, ...]
    pairs: dict[tuple[int, int], float]
    biases: dict[tuple[int, int], float]


class Estimator:
    """Costs orders level by level.

    Parameters
    ----------
    shape : Shape
    statistics : Statistics
    rising : bool
        Whether restrictions make later vertices higher in rank (towards the hubs) or lower.
    """

    def __init__(self, shape: Cardinalities, statistics: Statistics, ascending: bool, clustered: bool = False):
        self.shape, self.statistics, self.ascending, self.clustered = shape, statistics, ascending, clustered
        mean = max(statistics.mean_degree, 1e-9)
        self.alike = not shape.biases
        self._bias = max(statistics.neighbour_degree / mean, 1.0)
        self.oriented = min(statistics.oriented_degree / max(statistics.neighbour_degree, 1e-9), 1.0)

    def _reach(self, order, u, vertex, first=True) -> float:
        """Expected candidates of `vertex` among the neighbours of the image of u.

        An image that was reached along an edge has more neighbours than the mean candidate; the first one, unless not
        `first`, was not.
        """
        shape, bias = self.shape, self._bias
        if first and u == order[0]:
            bias = 1.0
        elif not self.alike:
            came = next((t for t in order if (u, t) in shape.pairs), vertex)
            bias = (shape.biases[u, came] * shape.biases[u, vertex]) ** 0.5
        return shape.pairs[u, vertex] / max(shape.sizes[u], 1.0) * bias

    def candidates(self, order, vertex, bounds) -> float:
        """Expected candidates of `vertex` after `order` is matched; `bounds` are the positions that bound it."""
        shape, placed = self.shape, [u for u in order if (u, vertex) in self.shape.pairs]
        if not placed:
            return shape.sizes[vertex]

        nearest = min(placed, key=lambda u: self._reach(order, u, vertex))
        size = min(self._reach(order, nearest, vertex), shape.sizes[vertex])
        further = 0
        for u in placed:
            if u != nearest:
                chance = shape.pairs[u, vertex] / max(shape.sizes[u] * shape.sizes[vertex], 1.0)
                near = (u, nearest) in shape.pairs or (nearest, u) in shape.pairs
                further += 1
                closure = self.statistics.closure ** (1 / further if self.clustered else 1.0)
                size *= min(max(chance, closure * (1.0 if near else 0.4)), 1.0)
        if bounds:
            sparse = len(placed) == 1 or not self.clustered
            if self.ascending and len(order) > 1 and self.alike and order[bounds[-1]] in placed and sparse:
                size *= self.oriented
            else:
                size /= len(bounds) + 1
        return size

    def shortest(self, order, vertex, bounds) -> float:
        """Expected elements of the shortest row that the candidates of `vertex` lie in, cut by its restrictions."""
        placed = [u for u in order if (u, vertex) in self.shape.pairs]
        length = min(self._reach(order, u, vertex, first=len(order) == 1 or not self.alike) for u in placed)
        if len(placed) > 1:
            length *= 0.5  # the shorter of several
        if not bounds:
            return length
        return length * self.oriented if self.ascending and self.alike else length / (len(bounds) + 1)

    def intersection(self, order, vertex, bounds) -> float:
        """Elements read to make the candidates of `vertex` out of its last anchor's row, cut by its restrictions.

        Where restrictions ask for a higher rank, rows are those of vertices of low rank, or cut by one of their own. A
        row cut only by other vertices, such as its own members, loses no more than half of it to each.
        """
        placed = [u for u in order if (u, vertex) in self.shape.pairs]
        if len(placed) < 2:
            return 0.0
        reach = min(self._reach(order, u, vertex, first=not self.alike) for u in placed)
        read = min(reach, self.shape.sizes[vertex])
        if not self.ascending:
            return read
        by_others = bounds and not any(order[bound] in placed for bound in bounds)
        return read * max(self.oriented, 1 / (len(bounds) + 1) if by_others else 0.0)

    def common(self, order, block) -> float:
        """Elements read to intersect the rows that the candidates of all vertices of a block lie in."""
        pairs = [(u, v) for u in block.backward_neighbours for v in block.vertices if (u, v) in self.shape.pairs]
        return min(self._reach(order, u, v) for u, v in pairs)
