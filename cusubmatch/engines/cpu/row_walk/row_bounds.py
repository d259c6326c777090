"""Bounds on what rows are sorted by, and on what is tested beside it, as a row program has them.

Rows lie in the order of time or of a column's ranks; a bound is a difference of times, or a table from the rank of a
bound row to a rank.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.rows.needed_bounds import needed_bound
from cusubmatch.plan.rows.row_plan import RowPattern

__all__ = ["BOUND_FIELDS", "bound_between", "bounds_of"]

# Fields of a bound: the bound edge, and what of its value gives the least and the largest one: the address of a table,
# or 0 and a difference.
OTHER, LOW_TABLE, LOW, HIGH_TABLE, HIGH = range(5)
BOUND_FIELDS = 5


def bounds_of(
    pattern: RowPattern, e: int, known: Sequence[int], implied: Collection[int] = (), *, by_column: bool
) -> list[int]:
    """The bounds of an edge against known ones, without those that others imply; none against the `implied` ones."""
    if by_column:
        windows = pattern.column_windows
        needed = [] if windows is None else windows.needed(e, known)
        return [field for b, low, high in needed if b not in implied for field in _tables(b, low, high)]
    bounds = []
    for b in known:
        low = None if b in implied else needed_bound(pattern.windows, b, e, known, lower=True)
        high = None if b in implied else needed_bound(pattern.windows, b, e, known, lower=False)
        if low is not None or high is not None:
            bounds += [b, 0, -NO_BOUND if low is None else -low, 0, NO_BOUND if high is None else high]
    return bounds


def bound_between(pattern: RowPattern, b: int, e: int, *, by_column: bool) -> list[int]:
    """The bound of an edge against another one."""
    if not by_column:
        return [b, 0, -pattern.windows[e][b], 0, pattern.windows[b][e]]
    windows = pattern.column_windows
    return _tables(b, None, None) if windows is None else _tables(b, windows.least.get((b, e)), windows.most(b, e))


def _tables(b: int, low: np.ndarray | None, high: np.ndarray | None) -> list[int]:
    """A bound by tables, which the pattern holds."""
    least = 0 if low is None else low.ctypes.data
    most = 0 if high is None else high.ctypes.data
    return [b, least, -NO_BOUND, most, NO_BOUND]
