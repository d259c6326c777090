"""Orientation: each edge directed from the lower to the higher rank, as compact rows.

Vertices are numbered by ascending degree, so the out-neighbours of a vertex are the later part of its sorted row and no
row is longer than the square root of twice the number of edges (Chiba & Nishizeki 1985). Built from full symmetric rows
by array operations over slices of the entries: beside the result it needs a few hundred MB at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.graph.csr import first_higher, running_sums

__all__ = ["Oriented", "edges_of", "orient"]

SLICE = 1 << 23  # entries that are worked on at a time: temporaries of 8 bytes each


class Oriented(NamedTuple):
    """Rows of higher-ranked neighbours.

    Attributes
    ----------
    offsets : array (n + 1,), uint32, or int64 from 2**32 entries on
    targets : array (edges,), uint32
        Each row sorted.
    degrees : array (n,), uint32
        The lengths of the rows.
    """

    offsets: Any
    targets: Any
    degrees: Any

    @property
    def wide(self) -> bool:
        """Whether a place in `targets` takes 64 bits."""
        return self.offsets.dtype.itemsize == 8


def orient(xp: Any, offsets: Any, targets: Any, allowed: Any = None) -> Oriented:
    """The rows of higher-ranked neighbours, from full symmetric rows without loops.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    offsets : array (n + 1,), int64
    targets : array (entries,), int32
        Each row sorted; vertices are numbered by ascending degree.
    allowed : array (n,), bool, optional
        The vertices that may take part, as either end.
    """
    if allowed is None:
        return _orient_all(xp, offsets, targets)
    n, entries = len(offsets) - 1, len(targets)
    begins = xp.zeros(n + 1, np.int64)
    kept_targets = xp.empty(entries // 2, np.uint32)  # each edge stands in two rows
    filled = 0
    for begin in range(0, entries, SLICE):
        piece = targets[begin : begin + SLICE]
        sources = _rows_of(xp, offsets, begin, begin + len(piece))
        kept = piece > sources
        kept &= allowed[sources]
        kept &= allowed[piece]
        before = xp.zeros(len(piece) + 1, np.int64)
        before[1:] = xp.cumsum(kept, dtype=np.int64)
        first, last = xp.searchsorted(offsets, xp.asarray([begin, begin + len(piece)]), side="right").tolist()
        begins[first:last] = before[offsets[first:last] - begin] + filled
        higher = piece[kept]
        kept_targets[filled : filled + len(higher)] = higher
        filled += len(higher)
    if filled < len(kept_targets):
        kept_targets = kept_targets[:filled].copy()
    return _oriented(begins, kept_targets)


def _orient_all(xp, offsets, targets):
    """The later part of each row, from its first higher neighbour on."""
    upper = first_higher(xp, offsets, targets)
    begins = running_sums(xp, offsets[1:] - upper, np.int64)
    upper -= begins[:-1]  # now what a place is moved by
    higher = xp.empty(len(targets) // 2, np.uint32)
    for begin in range(0, len(higher), SLICE):
        end = min(begin + SLICE, len(higher))
        places = upper[_rows_of(xp, begins, begin, end)]
        places += xp.arange(begin, end)
        higher[begin:end] = targets[places]
    return _oriented(begins, higher)


def _oriented(begins, targets):
    degrees = (begins[1:] - begins[:-1]).astype(np.uint32)
    return Oriented(begins.astype(np.uint32) if len(targets) < 1 << 32 else begins, targets, degrees)


def edges_of(xp: Any, oriented: Oriented) -> Iterator[tuple[Any, Any]]:
    """Slices of the edges, in the order of the rows: sources (int64) and targets (uint32)."""
    for begin in range(0, len(oriented.targets), SLICE):
        targets = oriented.targets[begin : begin + SLICE]
        yield _rows_of(xp, oriented.offsets, begin, begin + len(targets)), targets


def _rows_of(xp, offsets, begin, end):
    """The row in which each entry of a range stands."""
    return xp.searchsorted(offsets, xp.arange(begin, end, dtype=offsets.dtype), side="right") - 1
