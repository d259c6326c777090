"""Rows of the edge table, found by their source, their target, or both, and sorted by time.

Parallel edges are one arc of the graph and several rows of its table. Conditions that compare rows walk these, so each
row index has the rows of a group one after another, by time and then by position in the table: a window of times is a
range, found by binary search. Self loops are in no group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.graph.csr import edge_keys, low_words, offsets_of

__all__ = ["EdgeRows", "RowIndex", "edge_rows", "stable_order"]


class RowIndex(NamedTuple):
    """Rows in groups.

    Attributes
    ----------
    offsets : int64 array
        Group g is offsets[g] to offsets[g + 1].
    neighbours : int32 array or None
        The vertex at the other end; None where groups are arcs.
    times : int64 array or None
        Ascending in each group; None for a table without times.
    rows : int64 array
        Positions in the edge table; ascending in each group where times are equal.
    """

    offsets: np.ndarray
    neighbours: np.ndarray | None
    times: np.ndarray | None
    rows: np.ndarray


class EdgeRows(NamedTuple):
    """The rows of an edge table; on an undirected graph a row serves both its ends, and both its arcs.

    Attributes
    ----------
    by_source, by_target : RowIndex
        Groups are vertices; the same index on an undirected graph.
    by_arc : RowIndex
        Groups are the distinct arcs, in the order of their sources and then their targets.
    arc_offsets : int64 array, n + 1
    arc_targets : int32 array
        The arcs as compressed sparse rows; arc i is group i.
    """

    by_source: RowIndex
    by_target: RowIndex
    by_arc: RowIndex
    arc_offsets: np.ndarray
    arc_targets: np.ndarray


def edge_rows(n: int, source: np.ndarray, target: np.ndarray, times: np.ndarray | None, *, directed: bool) -> EdgeRows:
    """Index the rows of an edge table.

    Parameters
    ----------
    n : int
        The number of vertices.
    source, target : int32 arrays
        The internal vertices of each row.
    times : int64 array or None
    directed : bool
    """
    rows = np.flatnonzero(source != target)
    if times is not None:
        rows = rows[stable_order(times[rows])]
    source, target = source[rows], target[rows]
    if not directed:  # each row twice, still in order
        source, target = np.stack([source, target], 1).ravel(), np.stack([target, source], 1).ravel()
        rows = np.repeat(rows, 2)
    by_source = _by_vertex(n, source, target, times, rows, stable_order(source))
    by_end = stable_order(target)
    by_target = _by_vertex(n, target, source, times, rows, by_end) if directed else by_source
    order = by_end[stable_order(source[by_end])]
    keys = edge_keys(np, source[order], target[order])
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))
    arcs, offsets = keys[starts], np.append(starts, len(keys))
    by_arc = RowIndex(offsets, None, *_ordered(times, rows, order))
    return EdgeRows(by_source, by_target, by_arc, offsets_of(np, arcs, n), low_words(np, arcs))


def stable_order(values):
    """What sorts integers, equal ones in the order in which they come."""
    if not len(values):
        return np.zeros(0, np.int32)
    least = int(values.min())
    if max(int(values.max()) - least, len(values)) >= 1 << 31:
        return np.argsort(values, kind="stable")
    keys = values.astype(np.int64)  # value and place in one number: a plain sort is several times as fast
    keys -= least
    keys <<= 32
    keys |= np.arange(len(keys))
    keys.sort()
    return low_words(np, keys)


def _by_vertex(n, ends, others, times, rows, order):
    """The rows of each vertex at one end."""
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=offsets[1:])
    return RowIndex(offsets, others[order], *_ordered(times, rows, order))


def _ordered(times, rows, order):
    rows = rows[order]
    return None if times is None else times[rows], rows
