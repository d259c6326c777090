"""Cutting the first-level tasks of a plan into shards, by estimated work.

A cut depends on the plan and on how many shards are wanted, and on nothing else: it is the same wherever and whenever
it is made. Shards of a count become smaller towards the end: each round gives every worker thread a shard, all together
half of the work that is left ("factoring", Hummel, Schonberg and Flynn 1992). So workers that share them from a queue,
largest first, end at about the same time. Since the estimate of a shard's work may be several times too small, no shard
has more than 1/32 of a worker's part; measured shards, replayed by `tests/benchmarks/cluster.py`, chose that number.
Shards of a Dask dataframe and of files are of equal work.
"""

from __future__ import annotations

from collections.abc import Sequence

from cusubmatch.execution.shared_plan import SharedPlan
from cusubmatch.execution.work_ranges import WorkRange, cut_at, factored

__all__ = ["WorkRange", "cut", "equal_shares", "factored_shares"]

LARGEST, SMALLEST = 1 / 32, 1 / 256  # shards, as parts of a worker's part of the work
MIN_SHARD_S = 0.05  # below it a shard costs more to hand out than it is worth


def factored_shares(workers: int, estimate_s: float) -> list[float]:
    """Shares of the work for shards that become smaller, the largest first."""
    return factored(workers, LARGEST, max(SMALLEST, MIN_SHARD_S * workers / max(estimate_s, 1e-9)))


def equal_shares(parts: int) -> list[float]:
    """Equal shares of the work."""
    return [1 / parts] * parts


def cut(shared: SharedPlan, shares: Sequence[float]) -> list[WorkRange]:
    """Consecutive ranges of tasks with about these shares of the estimated work, without empty ones."""
    return cut_at(shared.edges, shared.work, shares)
