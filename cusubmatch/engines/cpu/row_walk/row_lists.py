"""The lists that a row plan reads, as a table of addresses: rows by source, target or arc, and arcs both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["LIST_FIELDS", "ListTable"]

LIST_FIELDS = 4  # addresses of offsets, neighbours, times and rows


class ListTable:
    """The lists that a program reads; holds their arrays as long as the program is used."""

    def __init__(self, relations: Sequence[Any]):
        self._relations = relations
        self._numbers: dict[tuple[int, str], int] = {}
        self.arrays: list[list[np.ndarray]] = []

    def number(self, relation: int, kind: str) -> int:
        """The number of a list: "source", "target" (rows by their ends), "arc", "arcs" or "arcs_in"."""
        if (relation, kind) not in self._numbers:
            self._numbers[relation, kind] = len(self.arrays)
            self.arrays.append(self._arrays(self._relations[relation], kind))
        return self._numbers[relation, kind]

    def _arrays(self, rows, kind):
        none = np.empty(0, np.int32), np.empty(0, np.int64)
        if kind == "arcs":
            offsets, ends, times, positions = rows.arc_offsets, rows.arc_targets, none[1], none[1]
        elif kind == "arcs_in":
            offsets, ends, times = _transposed(rows.arc_offsets, rows.arc_targets)
            positions = none[1]
        else:
            indexes = {"source": rows.by_source, "target": rows.by_target, "arc": rows.by_arc}
            offsets, ends, times, positions = indexes[kind]
            ends = none[0] if ends is None else ends
            times = np.zeros(len(positions), np.int64) if times is None else times
        types = np.int64, np.int32, np.int64, np.int64
        return [np.ascontiguousarray(a, t) for a, t in zip((offsets, ends, times, positions), types, strict=True)]

    def addresses(self) -> np.ndarray:
        """The table of addresses, int64."""
        return np.array([array.ctypes.data for arrays in self.arrays for array in arrays] or [0], np.int64)


def _transposed(offsets, targets):
    """Arcs by target: offsets, sources, and the number of each arc."""
    sources = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=len(offsets) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), sources[order], order
