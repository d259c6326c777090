"""Windows on a column: comparisons of it at two edges, such as `q.amount >= 0.9 * p.amount`, as bounds of ranks.

The distinct values of the column are ranked. Where both sides of a comparison do not fall as the column rises, the rows
that fulfil it with a given row are those from some rank on, or up to one; so each ordered pair of edges has a table
from rank to least rank. These tables never fall, so they compose, and are closed under transitivity as the difference
constraints of `differences` are, with functions in place of numbers. Which ranks fulfil a comparison is asked of the
program of the condition itself, by bisection, so that a window keeps exactly what the program is true of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["ColumnOrder", "ColumnWindows", "column_order", "first_ranks"]

SAMPLED_RANKS = 1024
MOST_COMPOSED = 1 << 28  # elements of tables that closing may look at


class ColumnOrder(NamedTuple):
    """The distinct values of a column, ranked.

    Attributes
    ----------
    ranks : int64 array
        By row of the edge table; -1 where there is no value.
    rows : int64 array
        By rank, a row that has the value.
    """

    ranks: np.ndarray
    rows: np.ndarray


class ColumnWindows:
    """Bounds between the ranks of a column at the rows of pattern edges.

    Rows of these edges must have a value.

    Parameters
    ----------
    column : str
    order : ColumnOrder
    edges : int
        Of the pattern.
    least : mapping of (e, f) to int64 array (ranks + 1,)
        The least rank of f's row, by that of e's row; it never falls, and its last element is the number of ranks.
    decided : sequence of int
        The conditions of the pattern, by position, that these bounds are.
    """

    def __init__(
        self,
        column: str,
        order: ColumnOrder,
        edges: int,
        least: Mapping[tuple[int, int], np.ndarray],
        decided: Sequence[int],
    ):
        self.column, self.order, self.decided = column, order, frozenset(decided)
        self.least = _closed(edges, least)
        self.edges = frozenset(e for pair in least for e in pair)
        self._most: dict[tuple[int, int], np.ndarray] = {}
        self._shares: dict[tuple[int, int], float] = {}

    def most(self, e: int, f: int) -> np.ndarray | None:
        """The largest rank of f's row by that of e's row, -1 for none; None if there is no bound."""
        least = self.least.get((f, e))
        if least is None:
            return None
        if (e, f) not in self._most:
            ranks = np.arange(len(least) - 1)
            self._most[e, f] = np.searchsorted(least[:-1], ranks, side="right") - 1
        return self._most[e, f]

    def needed(self, e: int, known: Sequence[int]) -> list[tuple[int, np.ndarray | None, np.ndarray | None]]:
        """Bounds on the rank of an edge: bound edges, and by their ranks the least and the largest.

        Those that other bounds imply are left out.
        """
        lower = [b for b in known if (b, e) in self.least]
        upper = [b for b in known if (e, b) in self.least]
        for b in tuple(lower):
            if any(self._implied(b, c, e) for c in lower if c != b):
                lower.remove(b)
        for b in tuple(upper):
            if any(self._implied(e, c, b) for c in upper if c != b):
                upper.remove(b)
        return [
            (b, self.least[b, e] if b in lower else None, self.most(b, e) if b in upper else None)
            for b in known
            if b in lower or b in upper
        ]

    def _implied(self, e, middle, f):
        """Whether the bounds by way of a third edge leave no more than that of two edges."""
        if (e, middle) not in self.least or (middle, f) not in self.least:
            return False
        return bool((self.least[e, f] <= self.least[middle, f][self.least[e, middle]]).all())

    def share(self, e: int, f: int) -> float:
        """The share of rows that f may take, of a row of e that is drawn from all; 1 if there is no bound."""
        least, most = self.least.get((e, f)), self.most(e, f)
        if (least is None and most is None) or not len(self.order.rows):
            return 1.0
        if (e, f) not in self._shares:
            ranks = self.order.ranks[np.linspace(0, len(self.order.ranks) - 1, SAMPLED_RANKS).astype(np.int64)]
            ranks = np.sort(ranks[ranks >= 0])
            begin = 0 if least is None else np.searchsorted(ranks, least[ranks], side="left")
            end = len(ranks) if most is None else np.searchsorted(ranks, most[ranks], side="right")
            kept = float(np.maximum(end - begin, 0).sum()) if len(ranks) else 0.0
            self._shares[e, f] = (kept + 0.5) / (len(ranks) ** 2 + 1)
        return self._shares[e, f]


def column_order(values: Any, valid: Any) -> ColumnOrder:
    """The order of a column in host memory; `valid`: where there is a value, None for everywhere."""
    ranks = np.full(len(values), -1, np.int64)
    kept = np.arange(len(values)) if valid is None else np.flatnonzero(valid)
    _, first, inverse = np.unique(np.asarray(values)[kept], return_index=True, return_inverse=True)
    ranks[kept] = inverse
    return ColumnOrder(ranks, kept[first].astype(np.int64))


def first_ranks(n: int, fulfils: Any) -> np.ndarray:
    """For each rank the first one that fulfils something with it, n if none does, and n behind them.

    Parameters
    ----------
    n : int
        The number of ranks.
    fulfils : callable
        Of two arrays of ranks, where they do; with a rank, all above one that does so too.
    """
    low, high = np.zeros(n, np.int64), np.full(n, n, np.int64)
    ranks = np.arange(n)
    while (left := np.flatnonzero(low < high)).size:
        middle = (low[left] + high[left]) // 2
        true = fulfils(ranks[left], middle)
        high[left[true]] = middle[true]
        low[left[~true]] = middle[~true] + 1
    return np.append(low, n)


def _closed(edges, least):
    """The tightest tables (Floyd and Warshall); as they are, if that would take long."""
    closed = dict(least)
    size = len(next(iter(closed.values())))
    if size * len({e for pair in closed for e in pair}) ** 3 > MOST_COMPOSED:
        return closed
    for middle in range(edges):
        for e in range(edges):
            if (e, middle) not in closed or e == middle:
                continue
            for f in range(edges):
                if (middle, f) in closed and f not in (e, middle):
                    table = closed[middle, f][closed[e, middle]]
                    other = closed.get((e, f))
                    closed[e, f] = table if other is None else np.maximum(other, table)
    return closed
