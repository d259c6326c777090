"""Cutting the first-level tasks of a plan into shards, by estimated work.

A cut depends on the plan and on how many shards are wanted, and on nothing else: it is the same wherever and whenever
it is made. Shards of a count become smaller: the first half of the work is cut into one shard for each worker thread,
half of the rest likewise, and so on ("factoring", Hummel, Schonberg and Flynn 1992), so that workers that share them
from a queue, longest first, end at about the same time also where the estimates are wrong. Shards of a Dask dataframe
and of files are of equal work.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.engines.base import TaskRange
from cusubmatch.execution.shared_plan import SharedPlan

__all__ = ["WorkRange", "cut", "equal_shares", "factored_shares"]

ROUNDS = 5  # of halving: the last shards are 1/32 of a worker's part of the work
MIN_SHARD_S = 0.05  # below it a shard costs more to hand out than it is worth


class WorkRange(NamedTuple):
    """A range of first-level tasks, and its estimated share of the work."""

    tasks: TaskRange
    share: float


def factored_shares(workers: int, estimate_s: float) -> list[float]:
    """Shares of the work for shards that become smaller, the largest first."""
    shares: list[float] = []
    left = 1.0
    for _ in range(ROUNDS):
        size = left / (2 * workers)
        if size * estimate_s < MIN_SHARD_S:
            break
        shares += [size] * workers
        left /= 2
    return shares + [left / workers] * workers


def equal_shares(parts: int) -> list[float]:
    """Equal shares of the work."""
    return [1 / parts] * parts


def cut(shared: SharedPlan, shares: Sequence[float]) -> list[WorkRange]:
    """Consecutive ranges of tasks with about these shares of the estimated work, without empty ones."""
    sums = [0.0, *itertools.accumulate(shared.work)]
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
            tasks = TaskRange(shared.edges[begin], shared.edges[end])
            ranges.append(WorkRange(tasks, (sums[end] - sums[begin]) / max(sums[-1], 1e-300)))
            begin = end
    return ranges
