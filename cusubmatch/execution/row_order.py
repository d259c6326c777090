"""Matches in one order, the same on every engine and in every run, in bounded memory.

Rows are sorted by the caller's ids, column by column. Where one match stands for an orbit of the pattern's
automorphisms, it is turned into the smallest row of its orbit first: base point by base point of a stabiliser chain,
the least vertex of the base point's orbit is brought there (Sims; what symmetry breaking asks for beforehand). An
automorphism may exchange a named vertex with an anonymous one, so rows are walked with the columns of all vertices that
can come into a named one's place; what is kept of a row are its named columns. Rows that do not fit in memory go to
buckets on disk by their first column, which are sorted one after the other; a bucket that is too large is divided
again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cusubmatch.errors import GraphError

if TYPE_CHECKING:
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern

__all__ = ["RowOrder", "sortable_columns", "sorted_blocks"]

BUCKETS = 64  # that a set of rows is divided into
COPIES = 4  # of the rows, while they are sorted
ROWS_AT_ONCE = 1 << 20  # that are turned into the least of their orbits at once


class IdRanks(NamedTuple):
    """The place of each vertex in the order of the ids, and the vertex at each place; int32, in host memory."""

    place: np.ndarray
    vertex: np.ndarray


class RowOrder:
    """The order of a call's rows.

    Parameters
    ----------
    graph, placed : Graph
        As given, and where the engine works.
    pattern : Pattern
    unique : bool
        Whether a row stands for its orbit, and becomes the least row of it.

    Attributes
    ----------
    columns : tuple of int
        The pattern vertices whose columns a row has before `keys`.

    Raises
    ------
    GraphError
        If the ids have no order, such as numbers among texts.
    """

    def __init__(self, graph: Graph, placed: Graph, pattern: Pattern, unique: bool):
        named = named_vertices(pattern)
        self.columns = sortable_columns(pattern) if unique else named
        self._xp = placed.xp
        self._named = self._xp.asarray([self.columns.index(vertex) for vertex in named], np.int64)
        self._chain = _orbit_images(self._xp, pattern, self.columns) if unique else []
        self._ranks = graph.cache.get("id ranks", None, lambda: _id_ranks(graph), 1)
        self._place = placed.cache.get("id places", None, lambda: self._xp.asarray(self._ranks.place), 1)

    def keys(self, block: Any) -> Any:
        """What rows are compared by: the places of their ids, (named vertices, rows), where the block lies.

        Parameters
        ----------
        block : int32 array (columns, rows)
            Internal vertices.
        """
        if not self._chain:
            return self._place[block]
        rows = block.shape[1]
        keys = self._xp.empty((len(self._named), rows), np.int32)
        for begin in range(0, rows, ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            keys[:, part] = _least(self._xp, self._place[block[:, part]], self._chain)[self._named]
        return keys

    def blocks(self, keys: Iterable[np.ndarray], memory_bytes: int) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks of keys, in order, as blocks of internal vertices in host memory.

        Rows beyond the memory go to disk.
        """
        for block in sorted_blocks(keys, len(self._named), memory_bytes):
            yield self._ranks.vertex[block]


def _id_ranks(graph):
    ids = graph.to_ids(graph.xp.arange(graph.n_vertices, dtype=np.int32))
    try:
        vertex = graph.family.order(ids).astype(np.int32)
    except ValueError as error:
        raise GraphError(
            f"sort: the ids of the graph have no order: {error}; make them numbers or text, or leave sort out"
        ) from None
    place = np.empty_like(vertex)
    place[vertex] = np.arange(len(vertex), dtype=np.int32)
    return IdRanks(place, vertex)


def named_vertices(pattern: Pattern) -> tuple[int, ...]:
    """The pattern vertices that have a column in the result."""
    return tuple(vertex for vertex, name in enumerate(pattern.names) if name is not None)


def sortable_columns(pattern: Pattern) -> tuple[int, ...]:
    """The pattern vertices that an automorphism takes to a named one, these among them.

    All images of a row under the automorphisms are these columns in another order.
    """
    orbits = pattern.automorphisms.orbits()
    wanted = {orbits[vertex] for vertex in named_vertices(pattern)}
    return tuple(vertex for vertex, orbit in enumerate(orbits) if orbit in wanted)


def _orbit_images(xp, pattern, columns):
    """Per base point its column, and for each column of its orbit how the columns are exchanged.

    Base points are the named vertices in order: rows are compared by their columns alone.
    """
    group, place = pattern.automorphisms, {vertex: column for column, vertex in enumerate(columns)}
    fixed: list[int] = []
    chain = []
    for vertex in named_vertices(pattern):
        images = group.images(fixed, vertex)
        if len(images) > 1:
            moves = {place[w]: xp.asarray([place[image[v]] for v in columns]) for w, image in images.items()}
            chain.append((place[vertex], moves))
        fixed.append(vertex)
    return chain


def _least(xp, rows, chain):
    """Rows (columns, rows) of places as the least of their orbits."""
    for base, moves in chain:
        orbit = xp.asarray(list(moves))
        least = orbit[rows[orbit].argmin(axis=0)]
        for column, moved in moves.items():
            if column != base and len(chosen := xp.flatnonzero(least == column)):
                rows[:, chosen] = rows[:, chosen][moved]
    return rows


def sorted_blocks(blocks: Iterable[np.ndarray], columns: int, memory_bytes: int) -> Generator[np.ndarray, None, None]:
    """The rows of all blocks, sorted, in blocks.

    Parameters
    ----------
    blocks : iterable of int32 arrays (columns, rows), in host memory
    columns : int
    memory_bytes : int
        Rows beyond that go to disk.
    """
    most = max(1, memory_bytes // (COPIES * 4 * columns))  # rows
    held, rows, spilled = [], 0, None
    with tempfile.TemporaryDirectory(prefix="cusubmatch-") as folder:
        for block in blocks:
            held.append(block)
            rows += block.shape[1]
            if rows > most:
                spilled = spilled or _Buckets(
                    Path(folder), np.unique(np.concatenate([part[0] for part in held])), 0, columns
                )
                for part in held:
                    spilled.add(part)
                held, rows = [], 0
        if spilled is None:
            if held:
                yield _sorted(np.concatenate(held, axis=1))
            return
        for part in held:
            spilled.add(part)
        del held
        yield from spilled.sorted(most)


def _sorted(rows):
    return rows[:, np.lexsort(rows[::-1])]


class _Buckets:
    """Files of rows, each with a range of the values of one column; the ranges follow from some values, ascending."""

    def __init__(self, folder, values, column, columns):
        self.column, self.columns = column, columns
        self.bounds = values[np.linspace(0, len(values) - 1, min(BUCKETS, len(values))).astype(int)][1:]
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.rows = [0] * (len(self.bounds) + 1)

    def add(self, rows):
        bucket = np.searchsorted(self.bounds, rows[self.column], side="right")
        order = np.argsort(bucket, kind="stable")
        counts = np.bincount(bucket, minlength=len(self.rows))
        begin = 0
        for number in np.flatnonzero(counts).tolist():
            end = begin + int(counts[number])
            with self._path(number).open("ab") as file:
                np.ascontiguousarray(rows[:, order[begin:end]].T).tofile(file)
            self.rows[number] += end - begin
            begin = end

    def sorted(self, most):
        """Blocks of at most `most` rows, in order."""
        for number, rows in enumerate(self.rows):
            if not rows:
                continue
            if rows <= most:
                yield _sorted(next(self._read(number, rows)))
            else:
                yield from self._divided(number, most)
            self._path(number).unlink()

    def _divided(self, number, most):
        """A bucket in order that is too large to be sorted at once: its rows in buckets by the first column that tells.

        Each of these has fewer rows, since the values are all that occur.
        """
        for column in range(self.column, self.columns):
            values = np.unique(np.concatenate([np.unique(part[column]) for part in self._read(number, most)]))
            if len(values) > 1:
                break
        else:
            yield from self._read(number, most)
            return
        inner = _Buckets(self.folder, values, column, self.columns)
        for part in self._read(number, most):
            inner.add(part)
        yield from inner.sorted(most)

    def _read(self, number, most):
        """The rows of a bucket, at most `most` at a time."""
        with self._path(number).open("rb") as file:
            while len(rows := np.fromfile(file, np.int32, most * self.columns)):
                yield np.ascontiguousarray(rows.reshape(-1, self.columns).T)

    def _path(self, number):
        return self.folder / f"{number}.rows"
