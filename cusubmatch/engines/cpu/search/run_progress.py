"""How much of a run is done: an estimated share of the work for each range of roots, and what a walker has behind it.

Work is estimated by what may follow a root: the rows of its candidates at the next level. Within a task, a walker's
place in the open ranges of its shallowest levels says how far it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.cpu.search import program as p
from cusubmatch.graph import Adjacency
from cusubmatch.plan import Plan

__all__ = ["passed", "shares_of"]

DEEPEST = 3  # levels that are looked at
ENTRY_NS, MOST_SHARE = 30, 0.05  # what the estimate takes an entry of the rows, and of the run; else shares are equal


def shares_of(plan: Plan, adjacency: Adjacency, roots: np.ndarray, edges: list[int]) -> list[float]:
    """The estimated share of the work of each range of roots: by the rows of the vertices that may follow a root."""
    if len(plan.levels) == 1 or ENTRY_NS * len(adjacency.targets) > MOST_SHARE * plan.cost:
        return [1 / max(len(edges) - 1, 1)] * (len(edges) - 1)
    lengths = np.diff(adjacency.offsets[0])
    work = lengths[roots].astype(np.float64)
    if len(plan.levels) > 2:
        begin, end = adjacency.offsets[plan.levels[1].backward_neighbours[0].relation][[0, -1]]
        sources = np.repeat(
            np.arange(len(lengths)), np.diff(adjacency.offsets[plan.levels[1].backward_neighbours[0].relation])
        )
        targets = adjacency.targets[begin:end]
        after = lengths[targets].astype(np.float64)
        if plan.levels[1].bounds:
            after *= (targets > sources) == plan.ascending
        work = np.bincount(sources, after, len(lengths))[roots]
    sums = np.concatenate([[0.0], np.cumsum(work + 1.0)])[edges]
    return (np.diff(sums) / sums[-1]).tolist()


def passed(state: Any) -> float:
    """The share of a task's range that lies behind: of its shallowest level, and within an element of the next one."""
    share, part = 0.0, 1.0
    floor = int(state.registers[p.FLOOR])
    for level in range(floor, min(int(state.registers[p.LEVEL]) + 1, floor + DEEPEST)):
        begin, position, end = (int(edge[level]) for edge in (state.begin, state.position, state.end))
        part /= max(end - begin, 1)
        share += part * (max(position - begin, 1) - 1 if level < int(state.registers[p.LEVEL]) else position - begin)
    return share
