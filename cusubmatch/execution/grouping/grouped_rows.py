"""Rows counted by their values as they are found: only distinct rows and their numbers are kept.

Rows wait until they are as many as the distinct ones; then all are sorted and equal ones added up, so that each row is
sorted a few times at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.errors import ResultTooLarge

__all__ = ["GroupedRows", "Groups", "check_size", "summed", "wide"]

MIN_ROWS_COUNTED = 1 << 21  # rows that are gathered before they are counted
MAX_TOTAL = (1 << 63) - 1  # rows that int64 adds up; more are added up by Python
MOST_SUMMANDS = 1 << 12  # arrays of counts that are added to one another
COPIES = 4  # of the groups that exist while rows are added to them


class Groups(NamedTuple):
    """Distinct rows and how often each came.

    Attributes
    ----------
    vertices : int32 array (columns, groups)
        Internal vertices.
    counts : int64 array (groups,)
        Python's integers where rows come with counts that pass int64 together.
    """

    vertices: np.ndarray
    counts: np.ndarray

    def from_count(self, least: int) -> Groups:
        """Those that came at least so often."""
        if least <= 1 or not len(self.counts):
            return self
        kept = self.counts >= least if least <= np.iinfo(np.int64).max else np.zeros(len(self.counts), bool)
        return Groups(self.vertices[:, kept], self.counts[kept])


class GroupedRows:
    """The groups of all rows so far.

    Parameters
    ----------
    columns, n_vertices : int
    budget : int
        Bytes that the groups may take.
    """

    def __init__(self, columns: int, n_vertices: int, budget: int):
        self._columns, self._n, self._budget = columns, max(n_vertices, 1), budget
        self._groups = Groups(np.empty((columns, 0), np.int32), np.empty(0, np.int64))
        self._waiting: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []
        self._rows = self._total = 0

    def add(self, rows: np.ndarray, counts: np.ndarray | None = None) -> None:
        """Take rows, int32 (columns, rows), each as often as `counts` says; None: once.

        Raises
        ------
        ResultTooLarge
            If the distinct rows pass their memory.
        """
        if counts is None:
            counts = np.ones(rows.shape[1], np.int64)
        self._waiting.append(rows)
        self._counts.append(counts)
        self._rows += rows.shape[1]
        self._total += int(counts.sum())
        if self._rows >= max(MIN_ROWS_COUNTED, len(self._groups.counts)):
            self._add_up()

    def groups(self) -> Groups:
        """The groups of all rows."""
        self._add_up()
        return self._groups

    def _add_up(self) -> None:
        if not self._rows:
            return
        vertices = np.concatenate([self._groups.vertices, *self._waiting], axis=1)
        counts = np.concatenate([self._groups.counts, *self._counts])
        if self._total > MAX_TOTAL:
            counts = counts.astype(object)
        self._waiting, self._counts, self._rows = [], [], 0
        self._groups = summed(vertices, counts, self._n)
        check_size(len(self._groups.counts), self._columns, self._budget)


def summed(vertices: np.ndarray, counts: np.ndarray, n_vertices: int) -> Groups:
    """Equal rows (columns, rows) as one, with the sum of their counts."""
    if not len(counts):
        return Groups(vertices, counts)
    if max(n_vertices, 1) ** len(vertices) < 1 << 63:
        keys = np.zeros(len(counts), np.int64)
        for column in vertices:
            keys *= n_vertices
            keys += column
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        changes = keys[1:] != keys[:-1]
    else:
        order = np.lexsort(vertices[::-1])
        changes = (vertices[:, order[1:]] != vertices[:, order[:-1]]).any(axis=0)
    begins = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return Groups(vertices[:, order[begins]], np.add.reduceat(counts[order], begins))


def check_size(groups: int, columns: int, budget: int) -> None:
    """Refuse more groups than fit in a budget of bytes."""
    if COPIES * groups * (4 * columns + 8) > budget:
        raise ResultTooLarge(
            f"the matches have more than {groups:,} different bindings, which do not fit in memory; "
            "give a larger memory_limit=, group by fewer vertices, or say min_count="
        )


def wide(counts: np.ndarray) -> np.ndarray:
    """Counts whose sums cannot overflow: Python's integers where they are large."""
    large = len(counts) and int(counts.max()) >= MAX_TOTAL // (MOST_SUMMANDS * len(counts))
    return counts.astype(object) if large else counts
