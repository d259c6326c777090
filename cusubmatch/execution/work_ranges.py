"""Cutting first-level tasks into ranges of estimated work, for workers that share them from one queue or counter.

Where ranges become smaller towards the end ("factoring", Hummel, Schonberg and Flynn 1992), each round gives every
worker a range, all together half of the work that is left. Workers that take the largest first then end at about the
same time, though estimates are off.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.runs import TaskRange

__all__ = ["WorkRange", "cell_edges", "cut_at", "factored"]


class WorkRange(NamedTuple):
    """A range of first-level tasks, and its estimated share of the work."""

    tasks: TaskRange
    share: float


def cell_edges(tasks: int, cells: int) -> list[int]:
    """Where so many cells of about as many tasks each begin, and where the last one ends; fewer of fewer tasks."""
    return np.unique(np.linspace(0, tasks, min(tasks, cells) + 1).astype(np.int64)).tolist()


def factored(workers: int, largest: float, smallest: float) -> list[float]:
    """Shares of the work that become smaller, the largest first; bounds are parts of a worker's part of the work."""
    shares: list[float] = []
    left = 1.0
    while left > smallest:
        size = max(min(left / 2, largest), smallest)
        shares.append(size)
        left -= size
    shares.append(left)
    return [share / workers for share in sorted(shares, reverse=True) for _ in range(workers)]


def cut_at(edges: Sequence[int], work: Sequence[float], shares: Sequence[float]) -> list[WorkRange]:
    """Consecutive ranges of tasks with about these shares of the estimated work, without empty ones.

    `edges` are the boundaries of cells, which are not divided, and `work` is that of each cell.
    """
    sums = [0.0, *itertools.accumulate(work)]
    ends, target = [], 0.0
    for share in shares:
        target += share
        place = bisect.bisect_left(sums, target * sums[-1] - 1e-12)
        if place and place < len(sums) and target * sums[-1] - sums[place - 1] < sums[place] - target * sums[-1]:
            place -= 1  # the nearer boundary of the cell
        ends.append(min(place, len(sums) - 1))
    ends[-1] = len(sums) - 1
    ranges, begin = [], 0
    for end in ends:
        if end > begin:
            share = (sums[end] - sums[begin]) / max(sums[-1], 1e-300)
            ranges.append(WorkRange(TaskRange(edges[begin], edges[end]), share))
            begin = end
    return ranges
