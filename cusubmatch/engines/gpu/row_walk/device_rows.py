"""The rows of relations on the device: all lists of rows and of arcs one after the other, and filters of their arcs.

Times are kept as 32 bits, from the first one on, where their range allows it; only differences are compared. A filter
is a hash table of words with three bits of each arc (a blocked Bloom filter: Putze, Sanders and Singler, JEA 2009):
where those of (x, y) are not all set there is no such arc, which spares most binary searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import EngineUnavailable
from cusubmatch.graph.edge_rows import EdgeRows, RowIndex

__all__ = ["LISTS", "DeviceRows", "RowList", "arc_hash", "filter_bits", "make_device_rows"]

LISTS = "source", "target", "arcs", "arc", "arcs_in"
U = np.uint32
HASH_X, HASH_Y, HASH_END = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
FILTER_BITS = 16  # for each arc, at least
MIN_FILTER_LOG, MAX_FILTER_LOG, WORD_LOG = 10, 28, 5
MAX_POSITIONS = 1 << 32
MAX_GROUP = 1 << 27  # so that the rows of a warp's vertices together have 32-bit numbers


class RowList(NamedTuple):
    """Where a list stands: its offsets, and its first row or arc."""

    offsets: int
    first: int


class DeviceRows(NamedTuple):
    """Lists on the device.

    Attributes
    ----------
    offsets : uint32
        Of all lists; they are positions in the arrays below.
    ends : uint32
        The vertex at the other end.
    times : int32 or int64
    rows : uint32
        Positions in the edge table; of arcs by target the number of the arc.
    owners : dict
        By relation and kind, the vertex whose row each one of a list is, uint32.
    filters : uint32
        Bits of all relations.
    lists : dict
        By relation and kind, a `RowList`.
    filter_at : list of (word, shift)
        Of each relation.
    """

    offsets: Any
    ends: Any
    times: Any
    rows: Any
    owners: dict
    filters: Any
    lists: dict
    filter_at: list


def arc_hash(x, y):
    """The hash of an arc, 32 bits; for arrays and for kernels. Its first bits number the word of a filter."""
    h = U(U(x) * U(HASH_X))
    h = U(h ^ U(h >> U(15)))
    h = U(h + U(U(y) * U(HASH_Y)))
    h = U(h ^ U(h >> U(13)))
    h = U(h * U(HASH_END))
    return U(h ^ U(h >> U(16)))


def filter_bits(h):
    """The bits of a filter's word that a hash sets; for kernels."""
    more = U(h * U(HASH_X))
    first, second, third = U(more >> U(27)), U(U(more >> U(22)) & U(31)), U(U(more >> U(17)) & U(31))
    return U(U(U(1) << first) | U(U(1) << second) | U(U(1) << third))


def make_device_rows(xp: Any, relations: Sequence[EdgeRows], incoming: bool) -> DeviceRows:
    """Put the rows of relations on the device; `incoming`: with arcs by target.

    Raises
    ------
    EngineUnavailable
        If there are more rows than 32 bits can number.
    """
    parts = _Parts()
    for number, rows in enumerate(relations):
        parts.add_index(number, "source", rows.by_source)
        parts.add_index(number, "target", rows.by_target)
        arcs = RowIndex(rows.arc_offsets, rows.arc_targets, None, np.zeros(len(rows.arc_targets), np.int64))
        parts.add_index(number, "arcs", arcs)
        parts.add_index(number, "arc", rows.by_arc)
        if incoming:
            parts.add_index(number, "arcs_in", _by_target(arcs))
    parts.check()
    filters, filter_at, words = [], [], 0
    for rows in relations:
        bits, shift = _filter_of(rows)
        filters.append(bits)
        filter_at.append((words, shift))
        words += len(bits)

    def moved(array):
        return xp.asarray(array)

    owners = {key: moved(_owners(index)) for key, index in parts.owned.items()}
    offsets, ends, times, numbers = (moved(parts.joined(name)) for name in ("offsets", "ends", "times", "rows"))
    return DeviceRows(offsets, ends, times, numbers, owners, moved(np.concatenate(filters)), parts.lists, filter_at)


class _Parts:
    """Lists as they are joined."""

    def __init__(self):
        self.offsets, self.ends, self.times, self.rows = [], [], [], []
        self.lists: dict[tuple[int, str], RowList] = {}
        self.owned: dict[tuple[int, str], RowIndex] = {}
        self._known: dict[int, RowList] = {}
        self._n_offsets = self._n_rows = self._largest = 0

    def add_index(self, relation, kind, index):
        """Append a list, unless it is one that is there already."""
        if kind in ("source", "target"):
            self.owned[relation, kind] = index
        if id(index.offsets) in self._known and kind != "arcs":
            self.lists[relation, kind] = self._known[id(index.offsets)]
            return
        n = len(index.rows)
        place = self.lists[relation, kind] = RowList(self._n_offsets, self._n_rows)
        if kind in ("source", "target"):
            self._known[id(index.offsets)] = place
        self.offsets.append(index.offsets + self._n_rows)
        self.ends.append(np.zeros(n, U) if index.neighbours is None else index.neighbours)
        self.times.append(index.times)
        self.rows.append(index.rows)
        self._n_offsets += len(index.offsets)
        self._n_rows += n
        self._largest = max(self._largest, int(np.diff(index.offsets).max(initial=0)))

    def check(self):
        """Refuse what 32 bits cannot number."""
        if self._n_rows >= MAX_POSITIONS or self._n_offsets >= MAX_POSITIONS or self._largest >= MAX_GROUP:
            raise EngineUnavailable(
                f"engine='gpu': {self._n_rows:,} places of rows, {self._largest:,} of them at one vertex, are more "
                f"than it walks ({MAX_POSITIONS:,} and {MAX_GROUP:,}); use engine='cpu'"
            )

    def joined(self, name):
        """All lists as one array of the type that the device has."""
        if name != "times":
            return _at_least_one(np.concatenate(getattr(self, name)).astype(U))
        known = [times for times in self.times if times is not None and len(times)]
        first = min((int(times.min()) for times in known), default=0)
        last = max((int(times.max()) for times in known), default=0)
        narrow = last - first < (1 << 31) - 1
        dtype, shift = (np.int32, first) if narrow else (np.int64, 0)
        arrays = [
            np.zeros(len(rows), dtype) if times is None else (times - shift).astype(dtype)
            for times, rows in zip(self.times, self.rows, strict=True)
        ]
        return _at_least_one(np.concatenate(arrays))


def _at_least_one(array):
    """An array that a kernel may index, even if nothing is in it."""
    return array if len(array) else np.zeros(1, array.dtype)


def _owners(index):
    groups = np.repeat(np.arange(len(index.offsets) - 1, dtype=U), np.diff(index.offsets))
    return _at_least_one(groups)


def _by_target(arcs):
    """Arcs by their targets: their sources, and in place of rows their numbers."""
    sources = np.repeat(np.arange(len(arcs.offsets) - 1, dtype=U), np.diff(arcs.offsets))
    order = np.argsort(arcs.neighbours, kind="stable")
    counts = np.bincount(arcs.neighbours, minlength=len(arcs.offsets) - 1)
    return RowIndex(np.concatenate([[0], np.cumsum(counts)]), sources[order], None, order)


def _filter_of(rows):
    """The filter of a relation's arcs, uint32 words, and how far a hash is shifted to number its words."""
    n = len(rows.arc_targets)
    log = min(max(int(FILTER_BITS * n).bit_length(), MIN_FILTER_LOG), MAX_FILTER_LOG) - WORD_LOG
    sources = np.repeat(np.arange(len(rows.arc_offsets) - 1, dtype=U), np.diff(rows.arc_offsets))
    bits = np.zeros((1 << log) << WORD_LOG, bool)
    with np.errstate(over="ignore"):
        hashes = _hashes(sources, rows.arc_targets.astype(U))
        more = hashes * U(HASH_X)
    words = (hashes >> U(32 - log)) << U(WORD_LOG)
    for shift in (27, 22, 17):
        bits[words | ((more >> U(shift)) & U(31))] = True
    return np.packbits(bits, bitorder="little").view(U), 32 - log


def _hashes(x, y):
    """`arc_hash` of arrays."""
    h = x * U(HASH_X)
    h ^= h >> U(15)
    h += y * U(HASH_Y)
    h ^= h >> U(13)
    h *= U(HASH_END)
    return h ^ (h >> U(16))
