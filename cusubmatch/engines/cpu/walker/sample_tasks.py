"""The tasks of a sampler: ranges of roots, or parts of the level below one root, of about equal work."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.graph import Adjacency
from cusubmatch.plan import Plan

__all__ = ["RootGroup", "group_roots", "split_range"]


class RootGroup(NamedTuple):
    """A range of roots and the number of its tasks: several only where it is one root, whose next level they share."""

    begin: int
    end: int
    tasks: int


def split_range(begin: int, end: int, parts: int) -> list[tuple[int, int]]:
    """A range as so many ranges of about one length; some are empty where it is shorter than that."""
    return list(pairwise(begin + (end - begin) * i // parts for i in range(parts + 1)))


def group_roots(plan: Plan, adjacency: Adjacency, roots: np.ndarray, tunables: Tunables) -> list[RootGroup]:
    """The roots in groups whose tasks have about equal work, assumed to grow as the square of a root's degree."""
    wanted = int(plan.cost * 1e-9 / tunables.sample_task_s)
    wanted = min(tunables.max_sample_tasks, max(tunables.min_sample_tasks, wanted))
    degrees = sum(np.diff(offsets)[roots] for offsets in adjacency.offsets)
    work = (degrees + 1.0) ** 2 if len(adjacency.offsets) else np.ones(len(roots))
    shares = work * (wanted / max(work.sum(), 1.0))
    tasks = np.minimum(shares.astype(np.int64), degrees) if plan.walked > 1 else np.zeros(len(roots), np.int64)
    groups, begin, group_share = [], 0, 0.0
    for root, (root_share, root_tasks) in enumerate(zip(shares.tolist(), tasks.tolist(), strict=True)):
        alone = root_tasks > 1
        if begin < root and (alone or group_share + root_share > 1):
            groups.append(RootGroup(begin, root, 1))
            begin, group_share = root, 0.0
        group_share += root_share
        if alone:
            groups.append(RootGroup(root, root + 1, root_tasks))
            begin, group_share = root + 1, 0.0
    if begin < len(roots):
        groups.append(RootGroup(begin, len(roots), 1))
    return groups
