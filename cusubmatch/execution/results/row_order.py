"""Matches in one order, the same on every engine and in every run, in bounded memory.

Rows are sorted by the caller's ids, column by column. Where one match stands for an orbit of the pattern's
automorphisms, it becomes the least row of its orbit first: at each base point of a stabiliser chain, the least vertex
of the base point's orbit is brought there (Sims). An automorphism may exchange a named vertex with an anonymous one, so
rows are walked with the columns of all vertices that an automorphism takes to a named one; the named columns are kept.
Rows that do not fit in memory go to buckets on disk by their first column. Buckets are sorted one after the other; one
that is too large is divided again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cusubmatch.errors import GraphError

if TYPE_CHECKING:
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern
    from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = [
    "RowOrder",
    "id_places",
    "id_ranks",
    "least_of_orbits",
    "named_vertices",
    "orbit_images",
    "sortable_columns",
    "sorted_blocks",
]

BUCKETS = 64  # that a set of rows is divided into
COPIES = 4  # of the rows that exist while they are sorted
ROWS_AT_ONCE = 1 << 20  # rows that are made the least of their orbits in one step


class IdRanks(NamedTuple):
    """The rank of each vertex in the order of the ids, and the vertex of each rank; int32, in host memory."""

    rank: np.ndarray
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
        self._chain = orbit_images(self._xp, pattern.automorphisms, named, self.columns) if unique else []
        self._ranks, self._rank_of = id_ranks(graph), id_places(graph, placed)

    def keys(self, block: Any) -> Any:
        """What rows are compared by: the places of their ids, (named vertices, rows), where the block lies.

        Parameters
        ----------
        block : int32 array (columns, rows)
            Internal vertices.
        """
        if not self._chain:
            return self._rank_of[block]
        rows = block.shape[1]
        keys = self._xp.empty((len(self._named), rows), np.int32)
        for begin in range(0, rows, ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            keys[:, part] = least_of_orbits(self._xp, self._rank_of[block[:, part]], self._chain)[self._named]
        return keys

    def blocks(self, keys: Iterable[np.ndarray], memory_bytes: int) -> Generator[np.ndarray, None, None]:
        """The rows of all blocks of keys, in order, as blocks of internal vertices in host memory.

        Rows beyond the memory go to disk.
        """
        for block in sorted_blocks(keys, len(self._named), memory_bytes):
            yield self._ranks.vertex[block]


def id_ranks(graph: Graph) -> IdRanks:
    """The order of the ids of a graph, kept with it; `GraphError` if they have none."""
    return graph.cache.get("id ranks", None, lambda: _id_ranks(graph), 1)


def id_places(graph: Graph, placed: Graph) -> Any:
    """The place of each vertex in the order of the ids, where an engine works; kept there."""
    return placed.cache.get("id places", None, lambda: placed.xp.asarray(id_ranks(graph).rank), 1)


def _id_ranks(graph: Graph) -> IdRanks:
    ids = graph.to_ids(graph.xp.arange(graph.n_vertices, dtype=np.int32))
    try:
        vertex = graph.family.order(ids).astype(np.int32)
    except ValueError as error:
        raise GraphError(
            f"sort: the ids of the graph have no order: {error}; make them numbers or text, or leave sort out"
        ) from None
    rank = np.empty_like(vertex)
    rank[vertex] = np.arange(len(vertex), dtype=np.int32)
    return IdRanks(rank, vertex)


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


def orbit_images(
    xp: Any, group: AutomorphismGroup, bases: Sequence[int], columns: Sequence[int]
) -> list[tuple[int, dict[int, Any]]]:
    """Per base point its column, and for each column of its orbit the permutation of the columns.

    Base points are what has a column in the result, in order: rows are compared by these columns alone.
    """
    place = {point: column for column, point in enumerate(columns)}
    fixed: list[int] = []
    chain = []
    for base in bases:
        images = group.images(fixed, base)
        if len(images) > 1:
            moves = {place[w]: xp.asarray([place[image[v]] for v in columns]) for w, image in images.items()}
            chain.append((place[base], moves))
        fixed.append(base)
    return chain


def least_of_orbits(xp: Any, rows: Any, chain: Iterable[tuple[int, dict[int, Any]]]) -> Any:
    """Rows (columns, rows) of places as the least of their orbits."""
    for base, moves in chain:
        orbit = xp.asarray(list(moves))
        least = orbit[rows[orbit].argmin(axis=0)]
        for column, moved in moves.items():
            if column != base and len(chosen := xp.flatnonzero(least == column)):
                rows[:, chosen] = rows[:, chosen][moved]
    return rows


def sorted_blocks(
    blocks: Iterable[np.ndarray], columns: int, memory_bytes: int, dtype: type[np.int32 | np.int64] = np.int32
) -> Generator[np.ndarray, None, None]:
    """The rows of all blocks, sorted, in blocks.

    Parameters
    ----------
    blocks : iterable of arrays (columns, rows), in host memory
    columns : int
    memory_bytes : int
        Rows beyond that go to disk.
    dtype : type
        That of the blocks.
    """
    max_rows = max(1, memory_bytes // (COPIES * np.dtype(dtype).itemsize * columns))
    in_memory: list[np.ndarray] = []
    rows = 0
    buckets: _Buckets | None = None
    with tempfile.TemporaryDirectory(prefix="cusubmatch-") as folder:
        for block in blocks:
            in_memory.append(block)
            rows += block.shape[1]
            if rows > max_rows:
                if buckets is None:
                    values = np.unique(np.concatenate([part[0] for part in in_memory]))
                    buckets = _Buckets(Path(folder), values, 0, columns, dtype)
                for part in in_memory:
                    buckets.add(part)
                in_memory, rows = [], 0
        if buckets is None:
            if in_memory:
                yield _sorted(np.concatenate(in_memory, axis=1))
            return
        for part in in_memory:
            buckets.add(part)
        del in_memory
        yield from buckets.sorted(max_rows)


def _sorted(rows: np.ndarray) -> np.ndarray:
    return rows[:, np.lexsort(rows[::-1])]


class _Buckets:
    """Files of rows, each with a range of the values of one column; the bounds are drawn from ascending values."""

    def __init__(self, folder: Path, values: np.ndarray, column: int, columns: int, dtype: type[np.int32 | np.int64]):
        self.column, self.columns, self.dtype = column, columns, dtype
        self.bounds = values[np.linspace(0, len(values) - 1, min(BUCKETS, len(values))).astype(int)][1:]
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.rows = [0] * (len(self.bounds) + 1)

    def add(self, rows: np.ndarray) -> None:
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

    def sorted(self, max_rows: int) -> Iterator[np.ndarray]:
        """Blocks of at most `max_rows` rows, in order."""
        for number, rows in enumerate(self.rows):
            if not rows:
                continue
            if rows <= max_rows:
                yield _sorted(next(self._read(number, rows)))
            else:
                yield from self._divided(number, max_rows)
            self._path(number).unlink()

    def _divided(self, number: int, max_rows: int) -> Iterator[np.ndarray]:
        """A bucket in order that is too large to be sorted at once: its rows in buckets by the first column that tells.

        Each of these has fewer rows, since the values are all that occur.
        """
        for column in range(self.column, self.columns):
            values = np.unique(np.concatenate([np.unique(part[column]) for part in self._read(number, max_rows)]))
            if len(values) > 1:
                break
        else:
            yield from self._read(number, max_rows)
            return
        inner = _Buckets(self.folder, values, column, self.columns, self.dtype)
        for part in self._read(number, max_rows):
            inner.add(part)
        yield from inner.sorted(max_rows)

    def _read(self, number: int, max_rows: int) -> Iterator[np.ndarray]:
        """The rows of a bucket, at most `max_rows` at a time."""
        with self._path(number).open("rb") as file:
            while len(rows := np.fromfile(file, self.dtype, max_rows * self.columns)):
                yield np.ascontiguousarray(rows.reshape(-1, self.columns).T)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.rows"
