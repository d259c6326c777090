"""The lists that a row plan reads, as a table of addresses: rows by source, target or arc, and arcs both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.graph.edge_rows import stable_order
from cusubmatch.plan.conditions.column_windows import ColumnWindows

__all__ = ["LIST_FIELDS", "ListTable"]

LIST_FIELDS = 5  # addresses of offsets, neighbours, times, rows and what is tested beside times
KEPT_LISTS = 16


class ListTable:
    """The lists that a program reads; holds their arrays as long as the program is used.

    Parameters
    ----------
    prepared : PreparedRows
    windows : ColumnWindows, optional
        The ranks of their column are tested beside times.
    by_column : bool
        Rows lie in the order of the ranks, which stand in place of times, and times are tested.
    """

    def __init__(self, prepared: PreparedRows, windows: ColumnWindows | None = None, by_column: bool = False):
        self._prepared, self._windows, self._by_column = prepared, windows, by_column
        self._numbers: dict[tuple[int, str], int] = {}
        self.arrays: list[Sequence[np.ndarray]] = []

    def number(self, relation: int, kind: str) -> int:
        """The number of a list: "source", "target" (rows by their ends), "arc", "arcs" or "arcs_in"."""
        if (relation, kind) not in self._numbers:
            self._numbers[relation, kind] = len(self.arrays)
            graph, windows, keys = self._prepared.graph, self._windows, self._prepared.keys
            rows = self._prepared.relations[relation]
            if windows is None or kind in ("arcs", "arcs_in"):
                made = _arrays(rows, kind)
            elif graph is None:
                made = _with_ranks(_arrays(rows, kind), windows.order.ranks, self._by_column)
            else:
                made = graph.cache.get(
                    "rows and ranks",
                    (keys[relation], kind, windows.column, self._by_column),
                    lambda: _with_ranks(_arrays(rows, kind), windows.order.ranks, self._by_column),
                    graph.keep(KEPT_LISTS),
                )
            self.arrays.append(made)
        return self._numbers[relation, kind]

    def addresses(self) -> np.ndarray:
        """The table of addresses, int64."""
        return np.array([array.ctypes.data for arrays in self.arrays for array in arrays] or [0], np.int64)


def _arrays(rows: Any, kind: str) -> list[np.ndarray]:
    """Offsets, ends, times and positions, with nothing beside the times."""
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
    types = np.int64, np.int32, np.int64, np.int64, np.int64
    arrays = offsets, ends, times, positions, none[1]
    return [np.ascontiguousarray(a, t) for a, t in zip(arrays, types, strict=True)]


def _with_ranks(arrays: list[np.ndarray], ranks: np.ndarray, by_column: bool) -> list[np.ndarray]:
    """Lists of rows with their ranks beside the times; or sorted by ranks, which change places with the times."""
    offsets, ends, times, positions, _ = arrays
    beside = ranks[positions]
    if not by_column:
        return [offsets, ends, times, positions, beside]
    groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = stable_order(beside)
    order = order[stable_order(groups[order])]
    return [offsets, ends[order] if len(ends) else ends, beside[order], positions[order], times[order]]


def _transposed(offsets, targets):
    """Arcs by target: offsets, sources, and the number of each arc."""
    sources = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=len(offsets) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), sources[order], order
