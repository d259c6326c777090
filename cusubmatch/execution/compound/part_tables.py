"""The matches of a part, in the order of the vertices that it shares, and matches of the pattern joined with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cusubmatch.execution.collection.whole_blocks import whole_blocks
from cusubmatch.execution.compound.row_keys import places_of, row_keys
from cusubmatch.execution.compound.simple_calls import part_calls, shared_names
from cusubmatch.execution.grouping.grouped_rows import check_size
from cusubmatch.execution.query import make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import result_budget
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["NOTHING", "PartTable", "part_table"]

NOTHING = -1  # in place of a vertex or a row of a part that a match has not
TABLES_SHARE = 4  # of the memory for a result, that the matches of a part may take
ROWS_AT_ONCE = 1 << 20  # rows, about, that matches are extended to in one step


class PartTable(NamedTuple):
    """All embeddings of a part.

    Attributes
    ----------
    shared : tuple of int
        The pattern vertices that it shares.
    bindings : int64 array (shared, rows)
        Their images.
    new : int64 array (new vertices, rows)
        The images of its other vertices, inner ones of paths apart.
    given : int64 array (columns, rows)
        What a match is extended by: images of new named vertices, then rows of its named edges.
    apart : tuple of int
        The pattern vertices whose images the new ones must differ from.
    """

    shared: tuple[int, ...]
    bindings: np.ndarray
    new: np.ndarray
    given: np.ndarray
    apart: tuple[int, ...]

    def factors(self, matches: np.ndarray, n_vertices: int) -> np.ndarray:
        """How many rows each match (pattern vertices and more, matches) becomes: max(1, its extensions), int64."""
        own, mine = row_keys(n_vertices, [self.bindings, matches[list(self.shared)]])
        order = np.argsort(own, kind="stable")
        begins, ends = places_of(mine, own[order])
        if len(self.new) > 1 and self.apart:
            counts = np.concatenate([np.empty(0, np.int64), *self._counted(matches, begins, ends, order)])
            return np.maximum(counts, 1)
        counts = ends - begins
        for vertex in self.apart if len(self.new) else ():  # one new vertex is at most one of the others
            line = [*self.shared, vertex]
            taken, asked = row_keys(n_vertices, [np.concatenate([self.bindings, self.new]), matches[line]])
            first, last = places_of(asked, np.sort(taken))
            counts -= last - first
        return np.maximum(counts, 1)

    def _counted(
        self, matches: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray
    ) -> Iterator[np.ndarray]:
        """The extensions of each match, some matches at a time."""
        for part in _parts_of(ends - begins):
            match, _ = self._pairs(matches[:, part], begins[part], ends[part], order)
            yield np.bincount(match, minlength=part.stop - part.start)

    def joined(self, matches: np.ndarray, extended: np.ndarray, n_vertices: int) -> Iterator[np.ndarray]:
        """Matches extended by those of the part, or by nothing where it has none.

        Parameters
        ----------
        matches : int64 array (pattern vertices and more, matches)
        extended : int64 array (columns, matches)
            What they have been extended by.
        """
        own, mine = row_keys(n_vertices, [self.bindings, matches[list(self.shared)]])
        order = np.argsort(own, kind="stable")
        begins, ends = places_of(mine, own[order])
        for part in _parts_of(ends - begins):
            yield self._extended(matches[:, part], extended[:, part], begins[part], ends[part], order)

    def _extended(
        self, matches: np.ndarray, extended: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray
    ) -> np.ndarray:
        """Some matches, with all that they are extended by."""
        match, row = self._pairs(matches, begins, ends, order)
        alone = np.flatnonzero(np.bincount(match, minlength=len(begins)) == 0)
        given = np.concatenate([self.given[:, row], np.full((len(self.given), len(alone)), NOTHING, np.int64)], axis=1)
        match = np.concatenate([match, alone])
        return np.concatenate([matches[:, match], extended[:, match], given])

    def _pairs(
        self, matches: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some matches, by number, and the rows of the part that they are extended by."""
        counts = ends - begins
        match = np.repeat(np.arange(len(counts)), counts)
        row = order[np.arange(len(match)) - np.repeat(np.cumsum(counts) - counts, counts) + begins[match]]
        kept = np.ones(len(match), bool)
        for image in self.new:
            for vertex in self.apart:
                kept &= image[row] != matches[vertex, match]
        return match[kept], row[kept]


def _parts_of(counts: np.ndarray) -> Iterator[slice]:
    """Ranges of matches that have about so many rows together."""
    sums, begin = np.cumsum(counts), 0
    while begin < len(counts):
        reached = sums[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(sums, reached + ROWS_AT_ONCE, "right")))
        yield slice(begin, min(end, len(counts)))
        begin = end


def part_table(
    graph: Graph, pattern: Pattern, part: Pattern, options: QueryOptions, deadline: float | None, size: int
) -> PartTable:
    """Find all embeddings of a part; those of the first `size` pattern vertices that it does not share, it avoids.

    Raises
    ------
    ResultTooLarge
        If they pass their share of the memory for a result.
    """
    names, budget = shared_names(pattern, part), result_budget(options.memory_limit, np) // TABLES_SHARE
    calls = part_calls(graph, pattern, part, options, deadline)
    new = [vertex for vertex, name in enumerate(part.names) if name not in names]
    columns = [*(part.names.index(name) for name in names), *new]
    blocks, rows = [np.empty((len(columns), 0), np.int64)], 0
    bound = [edge.name for edge in part.edges if edge.name is not None] if calls.options.edges == "each" else []
    bound_blocks = [np.empty((len(bound), 0), np.int64)]
    for one in calls.patterns:
        query = make_query(graph, one, calls.options, deadline)
        for block in whole_blocks(query, None):
            rows += block.vertices.shape[1]
            check_size(rows, 2 * (len(columns) + len(bound)), budget)
            blocks.append(block.vertices[columns].astype(np.int64))
            bound_blocks.append(block.rows.astype(np.int64))
    found, its_rows = np.concatenate(blocks, axis=1), np.concatenate(bound_blocks, axis=1)
    shared = tuple(pattern.names.index(name) for name in names)
    named = [len(names) + place for place, vertex in enumerate(new) if part.names[vertex] is not None]
    apart = () if options.semantics == "homomorphism" else tuple(v for v in range(size) if v not in shared)
    return PartTable(shared, found[: len(names)], found[len(names) :], np.concatenate([found[named], its_rows]), apart)
