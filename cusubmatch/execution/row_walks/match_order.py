"""Matches that have rows of the edge table, or parts, in the order of `row_order.py`.

They are sorted by the ids of their vertices, column by column, then by the positions of their rows. What a match has
not, where an OPTIONAL part has none, comes last. Of an orbit comes the least match: automorphisms move its vertices
and, where these are bound to rows, its named edges.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from cusubmatch.execution.results.row_order import id_places, id_ranks, least_of_orbits, orbit_images, sorted_blocks
from cusubmatch.graph import Graph
from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = ["MatchOrder"]

LAST = np.iinfo(np.int64).max  # the place of what is not there


class MatchOrder:
    """The order of the matches of a call.

    Parameters
    ----------
    graph, placed : Graph
        As given, and where the engine works.
    size : int
        Pattern vertices.
    columns : sequence of int
        What of a match has a column: pattern vertices, and bound edges numbered after them.
    group : AutomorphismGroup or None
        What moves these, where a match stands for its orbit and becomes the least of it.

    Raises
    ------
    GraphError
        If the ids have no order, such as numbers among texts.
    """

    def __init__(
        self, graph: Graph, placed: Graph, size: int, columns: Sequence[int], group: AutomorphismGroup | None = None
    ):
        self._xp, self._size, self._columns = placed.xp, size, list(columns)
        self._chain: list = []
        if group is not None and not group.is_trivial:
            self._chain = orbit_images(placed.xp, group, columns, range(group.size))
        self._ranks, self._rank_of = id_ranks(graph), id_places(graph, placed)

    def least(self, matches: Any) -> Any:
        """The least matches of the orbits of some, int64 (pattern vertices and bound edges, matches)."""
        if not self._chain:
            return matches
        places = matches.copy()
        places[: self._size] = self._rank_of[matches[: self._size]]
        places = least_of_orbits(self._xp, places, self._chain)
        places[: self._size] = self._xp.asarray(self._ranks.vertex)[places[: self._size]]
        return places

    def keys(self, block: Any, vertices: int) -> Any:
        """What rows of a result, int64 (columns, rows), are compared by; the first `vertices` columns are vertices."""
        keys = block.astype(np.int64)
        keys[:vertices] = self._rank_of[block[:vertices]]
        keys[block < 0] = LAST
        return keys

    def blocks(
        self, keys: Iterable[np.ndarray], columns: int, vertices: int, memory_bytes: int
    ) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks of keys, in order, as blocks of a result in host memory; -1 is nothing."""
        for block in sorted_blocks(keys, columns, memory_bytes, np.int64):
            rows, there = block.copy(), block != LAST
            rows[~there] = -1
            lines = rows[:vertices]
            lines[there[:vertices]] = self._ranks.vertex[lines[there[:vertices]]]
            yield rows
