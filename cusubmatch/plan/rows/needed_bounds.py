"""Bounds on the time of an edge against edges bound before it, without those that others imply."""

from __future__ import annotations

from collections.abc import Sequence

from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.rows.row_plan import RowPattern

__all__ = ["needed_bound", "needed_bounds"]


def needed_bounds(pattern: RowPattern, edge: int, known: Sequence[int]) -> list[tuple[int, int, int]]:
    """Of each edge of `known` that bounds the time of an edge: its number, the least and the largest difference.

    Parameters
    ----------
    pattern : RowPattern
        Its windows are closed under transitivity.
    edge : int
    known : sequence of int
        The edges bound before it.
    """
    bounds = []
    for other in known:
        low = needed_bound(pattern.windows, other, edge, known, lower=True)
        high = needed_bound(pattern.windows, other, edge, known, lower=False)
        if low is not None or high is not None:
            bounds.append((other, -NO_BOUND if low is None else -low, NO_BOUND if high is None else high))
    return bounds


def needed_bound(windows: Sequence[Sequence[int]], b: int, e: int, known: Sequence[int], *, lower: bool) -> int | None:
    """The bound on time(e) against a bound edge, None if there is none or another bound edge implies it."""

    def bound(x: int, y: int) -> int:
        return windows[y][x] if lower else windows[x][y]

    limit = bound(b, e)
    if limit >= NO_BOUND:
        return None
    for c in known:
        if c != b and bound(b, c) < NO_BOUND and bound(c, e) < NO_BOUND and bound(b, c) + bound(c, e) <= limit:
            mutual = bound(c, b) < NO_BOUND and bound(c, b) + limit <= bound(c, e)
            if not mutual or known.index(c) < known.index(b):
                return None
    return limit
