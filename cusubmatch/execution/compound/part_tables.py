"""The matches of a part, in the order of the vertices that it shares, and matches of the pattern joined with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cusubmatch.execution.collection.whole_blocks import whole_blocks
from cusubmatch.execution.compound.row_keys import has_keys, places_of, row_keys
from cusubmatch.execution.compound.simple_calls import part_calls, shared_names
from cusubmatch.execution.grouping.grouped_rows import check_size
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import result_budget
from cusubmatch.graph import Graph
from cusubmatch.graph.edge_rows import stable_order
from cusubmatch.pattern import Pattern

__all__ = ["NOTHING", "PartTable", "part_table"]

NOTHING = -1  # in place of a vertex or a row of a part that a match has not
TABLES_SHARE = 4  # of the memory for a result, that the matches of a part may take
ROWS_AT_ONCE = 1 << 18  # rows, about, that matches are extended to in one step


class PartTable(NamedTuple):
    """All embeddings of a part, in the order of their keys if they have keys.

    Attributes
    ----------
    shared : tuple of int
        The pattern vertices that it shares.
    bindings : int32 array (shared, rows)
        Their images.
    new : int32 array (new vertices, rows)
        The images of its other vertices, inner ones of paths apart.
    given : array (columns, rows)
        What a match is extended by: images of new named vertices, int32, or where named edges are bound to rows, int64,
        also those rows.
    other_vertices : tuple of int
        The pattern vertices whose images the new ones must differ from.
    keys : int64 array (rows,) or None
        Those of the bindings, ascending; None where rows of so many vertices have no keys of their own.
    kept : dict
        What several blocks of matches ask for: the keys of bindings with new vertices, ascending.
    """

    shared: tuple[int, ...]
    bindings: np.ndarray
    new: np.ndarray
    given: np.ndarray
    other_vertices: tuple[int, ...]
    keys: np.ndarray | None
    kept: dict[str, np.ndarray]

    def factors(self, matches: np.ndarray, n_vertices: int) -> np.ndarray:
        """How many rows each match (pattern vertices and more, matches) becomes: max(1, its extensions), int64."""
        begins, ends, order = self._places(matches, n_vertices)
        if len(self.new) > 1 and self.other_vertices:
            counts = np.concatenate([np.empty(0, np.int64), *self._counted(matches, begins, ends, order)])
            return np.maximum(counts, 1)
        counts = ends - begins
        for vertex in self.other_vertices if len(self.new) else ():  # one new vertex is at most one of the others
            first, last = places_of(*self._taken(matches[[*self.shared, vertex]], n_vertices))
            counts -= last - first
        return np.maximum(counts, 1)

    def extensions(self, matches: np.ndarray, of: np.ndarray, numbers: np.ndarray, n_vertices: int) -> np.ndarray:
        """Extensions of some matches (pattern vertices and more, matches), or nothing where a match has none.

        `of` are the matches, ascending, and `numbers` which of its extensions each is. They are numbered in an order
        that does not depend on that of the rows here.
        """
        begins, ends, order = self._places(matches, n_vertices)
        ordered = order is None  # else rows have no keys, and are put in order match by match
        if self.keys is not None:
            order = np.lexsort((*self.new, *self.given, self.keys))
        columns = np.full((len(self.given), len(of)), NOTHING, self.given.dtype)
        for part in _parts_of(ends - begins):
            match, row = self._pairs(matches[:, part], begins[part], ends[part], order)
            if not ordered:
                place = np.lexsort((*self.new[:, row], *self.given[:, row], match))
                match, row = match[place], row[place]
            first, last = places_of(np.arange(part.stop - part.start), match)
            wanted = np.arange(*np.searchsorted(of, [part.start, part.stop]))
            own = of[wanted] - part.start
            there = last[own] > first[own]
            wanted, own = wanted[there], own[there]
            columns[:, wanted] = self.given[:, row[first[own] + numbers[wanted]]]
        return columns

    def _places(self, matches: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Where the rows of each match begin and end, and in which order of the rows; None: as they are."""
        bound = matches[list(self.shared)]
        if self.keys is not None:
            (asked,) = row_keys(n_vertices, [bound])
            return *places_of(asked, self.keys), None
        own, mine = row_keys(n_vertices, [self.bindings, bound])
        order = np.argsort(own, kind="stable")
        return *places_of(mine, own[order]), order

    def _taken(self, asked: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys of bindings with a new vertex that are asked for, and those of the part, ascending."""
        own = [] if "taken" in self.kept else [np.concatenate([self.bindings, self.new])]
        keys = row_keys(n_vertices, [asked, *own])
        if not own:
            return keys[0], self.kept["taken"]
        taken = np.sort(keys[1])
        if has_keys(n_vertices, len(asked)):
            self.kept["taken"] = taken
        return keys[0], taken

    def _counted(
        self, matches: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """The extensions of each match, some matches at a time."""
        for part in _parts_of(ends - begins):
            match, _ = self._pairs(matches[:, part], begins[part], ends[part], order)
            yield np.bincount(match, minlength=part.stop - part.start)

    def joined(self, matches: np.ndarray, extended: np.ndarray, n_vertices: int) -> Iterator[np.ndarray]:
        """Matches extended by those of the part, or by nothing where it has none.

        Parameters
        ----------
        matches : array (pattern vertices and more, matches)
        extended : array (columns, matches)
            What they have been extended by.
        """
        begins, ends, order = self._places(matches, n_vertices)
        for part in _parts_of(ends - begins):
            yield self._extended(matches[:, part], extended[:, part], begins[part], ends[part], order)

    def _extended(
        self, matches: np.ndarray, extended: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray | None
    ) -> np.ndarray:
        """Some matches, with all that they are extended by."""
        match, row = self._pairs(matches, begins, ends, order)
        alone = np.flatnonzero(np.bincount(match, minlength=len(begins)) == 0)
        size, match = len(row), np.concatenate([match, alone])
        out = np.empty((len(matches) + len(extended) + len(self.given), len(match)), matches.dtype)
        for line, values in zip(out, (*matches, *extended), strict=False):
            np.take(values, match, out=line, mode="clip")
        for line, values in zip(out[len(matches) + len(extended) :], self.given, strict=True):
            np.take(values, row, out=line[:size], mode="clip")
            line[size:] = NOTHING
        return out

    def _pairs(
        self, matches: np.ndarray, begins: np.ndarray, ends: np.ndarray, order: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some matches, by number, and the rows of the part that they are extended by."""
        counts = ends - begins
        match = np.repeat(np.arange(len(counts)), counts)
        row = np.arange(len(match)) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        if order is not None:
            row = order[row]
        kept = np.ones(len(match), bool)
        for image in self.new:
            images = image[row]
            for vertex in self.other_vertices:
                kept &= images != np.repeat(matches[vertex], counts)
        return (match, row) if kept.all() else (match[kept], row[kept])


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
    blocks, rows = [np.empty((len(columns), 0), np.int32)], 0
    bound = [edge.name for edge in part.edges if edge.name is not None] if calls.options.edges == "each" else []
    bound_blocks = [np.empty((len(bound), 0), np.int64)]
    for one in calls.patterns:
        query = make_query(graph, one, calls.options, deadline)
        for block in whole_blocks(query, None):
            rows += block.vertices.shape[1]
            check_size(rows, 2 * (len(columns) + len(bound)), budget)
            blocks.append(block.vertices[columns])
            bound_blocks.append(block.rows.astype(np.int64))
    bound_vertices, its_rows = np.concatenate(blocks, axis=1), np.concatenate(bound_blocks, axis=1)
    shared = tuple(pattern.names.index(name) for name in names)
    named = [len(names) + place for place, vertex in enumerate(new) if part.names[vertex] is not None]
    other_vertices = () if options.semantics == "homomorphism" else tuple(v for v in range(size) if v not in shared)
    keys = None
    if has_keys(graph.n_vertices, len(names)):
        (keys,) = row_keys(graph.n_vertices, [bound_vertices[: len(names)]])
        order = stable_order(keys)
        keys, bound_vertices, its_rows = keys[order], bound_vertices[:, order], its_rows[:, order]
    given = bound_vertices[named]
    if calls.options.edges == "each":
        given = np.concatenate([given, its_rows])
    bindings, images = bound_vertices[: len(names)], bound_vertices[len(names) :]
    return PartTable(shared, bindings, images, given, other_vertices, keys, {})
