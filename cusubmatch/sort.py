"""Matches in one order, the same on every engine and in every run, in bounded memory.

Rows are sorted by the caller's ids, column by column. Where one match stands for an orbit of the pattern's
automorphisms, it is turned into the smallest row of its orbit first: base point by base point of a stabiliser chain,
the least vertex of the base point's orbit is brought there (Sims; what symmetry breaking asks for beforehand). Rows
that do not fit in memory go to buckets on disk by their first column, which are sorted one after the other; a bucket
that is too large is divided again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.automorphism import AutomorphismGroup
from cusubmatch.errors import GraphError

__all__ = ["id_ranks", "orbit_images", "sorted_blocks"]

BUCKETS = 64  # that a set of rows is divided into
COPIES = 4  # of the rows, while they are sorted


class IdRanks(NamedTuple):
    """The place of each vertex in the order of the ids, and the vertex at each place; int32, in host memory."""

    place: np.ndarray
    vertex: np.ndarray


def id_ranks(graph: Any) -> IdRanks:
    """The order of a graph's ids; kept with the graph.

    Raises
    ------
    GraphError
        If the ids have no order, such as numbers among texts.
    """
    return graph.cache.get("id ranks", None, lambda: _id_ranks(graph), 1)


def _id_ranks(graph):
    ids = graph.to_ids(graph.xp.arange(graph.n_vertices, dtype=np.int32))
    try:
        vertex = graph.family.order(ids).astype(np.int32)
    except ValueError as error:
        raise GraphError(f"sort: the ids of the graph have no order: {error}") from None
    place = np.empty_like(vertex)
    place[vertex] = np.arange(len(vertex), dtype=np.int32)
    return IdRanks(place, vertex)


def orbit_images(group: AutomorphismGroup, named: list[int]) -> list[tuple[int, dict[int, list[int]]]]:
    """Per base point its column, and for each column of its orbit how the columns are exchanged.

    Automorphisms that move a vertex without a column cannot be followed in rows, and are left out.
    """
    column = {vertex: place for place, vertex in enumerate(named)}
    fixed = [vertex for vertex in range(group.size) if vertex not in column]
    chain = []
    for vertex in named:
        images = group.images(fixed, vertex)
        if len(images) > 1:
            chain.append(
                (column[vertex], {column[w]: [column[image[v]] for v in named] for w, image in images.items()})
            )
        fixed.append(vertex)
    return chain


def sorted_blocks(
    blocks: Iterable[np.ndarray], ranks: IdRanks, chain: list, columns: int, memory_bytes: int
) -> Iterator[np.ndarray]:
    """The rows of all blocks, sorted, as blocks of internal vertices.

    Parameters
    ----------
    blocks : iterable of int32 arrays (columns, rows), internal vertices, in host memory
    ranks : IdRanks
    chain : list
        Of `orbit_images`; empty where rows stay as they are.
    columns : int
    memory_bytes : int
        Rows beyond that go to disk.
    """
    most = max(1, memory_bytes // (COPIES * 4 * columns))  # rows
    held, rows, spilled = [], 0, None
    with tempfile.TemporaryDirectory(prefix="cusubmatch-") as folder:
        for block in blocks:
            held.append(_least(ranks.place[block], chain))
            rows += block.shape[1]
            if rows > most:
                spilled = spilled or _Buckets(Path(folder), np.concatenate(held, axis=1), 0, columns)
                for part in held:
                    spilled.add(part)
                held, rows = [], 0
        if spilled is None:
            if held:
                yield ranks.vertex[_sorted(np.concatenate(held, axis=1))]
            return
        for part in held:
            spilled.add(part)
        del held
        for part in spilled.sorted(most):
            yield ranks.vertex[part]


def _least(rows, chain):
    """Rows (columns, rows) of ranks as the least of their orbits."""
    for base, images in chain:
        orbit = np.array(list(images))
        least = orbit[rows[orbit].argmin(axis=0)]
        for column, moved in images.items():
            if column != base and (chosen := least == column).any():
                rows[:, chosen] = rows[:, chosen][moved]
    return rows


def _sorted(rows):
    return rows[:, np.lexsort(rows[::-1])]


class _Buckets:
    """Files of rows, each with a range of the values of one column; the ranges follow from a sample."""

    def __init__(self, folder, sample, column, columns):
        self.column, self.columns = column, columns
        values = np.unique(sample[column])
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
        """Blocks of at most `most` rows, or so, in order."""
        for number, rows in enumerate(self.rows):
            if not rows:
                continue
            if rows <= most:
                yield _sorted(next(self._read(number, rows)))
            else:
                yield from self._divided(number, rows, most)
            self._path(number).unlink()

    def _divided(self, number, rows, most):
        """A bucket in order that is too large to be sorted at once: its rows in buckets by the column that tells."""
        parts = -(-rows // most)
        sample = np.concatenate([part[:, ::parts] for part in self._read(number, most)], axis=1)
        column = self.column
        while column < self.columns - 1 and all(
            (part[column] == sample[column, 0]).all() for part in self._read(number, most)
        ):
            column += 1
        inner = _Buckets(self.folder, sample, column, self.columns)
        for part in self._read(number, most):
            inner.add(part)
        if max(inner.rows) < rows:
            yield from inner.sorted(most)
        else:  # rows that are all alike
            yield _sorted(next(self._read(number, rows)))

    def _read(self, number, most):
        """The rows of a bucket, at most `most` at a time."""
        with self._path(number).open("rb") as file:
            while len(rows := np.fromfile(file, np.int32, most * self.columns)):
                yield np.ascontiguousarray(rows.reshape(-1, self.columns).T)

    def _path(self, number):
        return self.folder / f"{number}.rows"
