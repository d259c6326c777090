"""Cutting the first-level tasks of a plan into shards, by estimated work.

A cut depends on the plan and on how many shards are wanted, and on nothing else: it is the same wherever and whenever
it is made. Shards of a count become smaller towards the end: each round gives every worker thread a shard, all together
half of the work that is left ("factoring", Hummel, Schonberg and Flynn 1992). So workers that share them from a queue,
largest first, end at about the same time. Since the estimate of a shard's work may be several times too small, no shard
has more than 1/32 of a worker's part; measured shards, replayed by `tests/benchmarks/cluster.py`, chose that number.
Shards of a Dask dataframe and of files are of equal work.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.engines.base import TaskRange
from cusubmatch.execution.shared_plan import SharedPlan

__all__ = ["WorkRange", "cut", "equal_shares", "factored_shares"]

LARGEST, SMALLEST = 1 / 32, 1 / 256  # shards, as parts of a worker's part of the work
MIN_SHARD_S = 0.05  # below it a shard costs more to hand out than it is worth


class WorkRange(NamedTuple):
    """A range of first-level tasks, and its estimated share of the work."""

    tasks: TaskRange
    share: float


def factored_shares(workers: int, estimate_s: float) -> list[float]:
    """Shares of the work for shards that become smaller, the largest first."""
    smallest = max(SMALLEST, MIN_SHARD_S * workers / max(estimate_s, 1e-9))  # of a worker's part
    shares: list[float] = []
    left = 1.0
    while left > smallest:
        size = max(min(left / 2, LARGEST), smallest)
        shares.append(size)
        left -= size
    shares.append(left)
    return [share / workers for share in sorted(shares, reverse=True) for _ in range(workers)]


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
