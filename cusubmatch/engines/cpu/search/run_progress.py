"""How much of a run is done: an estimated share of the work for each range of roots, and how far each walker is in its.

Work is estimated by what may follow a root: the rows of its candidates at the next level. Within a task, a walker's
position in the open ranges of its shallowest levels says how far it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.graph import Adjacency
from cusubmatch.plan import Plan

__all__ = ["RunProgress", "fraction_walked", "shares_of_work"]

LEVELS_LOOKED_AT = 3


class RunProgress:
    """Adds up what the threads of a run have done, and reports it every so often; a report never goes back.

    Parameters
    ----------
    callback : callable or None
        Called as callback(fraction done, matches so far); nothing is reported without one.
    matches_so_far : callable
        Returns the matches found so far.
    report_s : float
        Seconds between two reports.
    followed : bool
        Whether `done` is asked for at any time.
    """

    def __init__(
        self,
        callback: ProgressCallback | None,
        matches_so_far: Callable[[], Any],
        report_s: float,
        followed: bool = False,
    ):
        self.callback, self._matches_so_far, self._report_s = callback, matches_so_far, report_s
        self._followed = followed
        self._done = self._reported = self._reported_at = 0.0
        self._open: dict[int, float] = {}  # what each thread has done of its task
        self._lock = threading.RLock()

    @property
    def is_watched(self) -> bool:
        """Whether somebody is told, or asks, how much is done."""
        return self.callback is not None or self._followed

    @property
    def done(self) -> float:
        """The fraction that is done, about; it may be more than 1 by rounding."""
        with self._lock:
            return self._done + sum(self._open.copy().values())

    def note(self, state: Any, weight: float) -> None:
        """Note how far this thread's walker is in a task, if somebody may ask soon."""
        reports_soon = self.callback is not None and time.monotonic() > self._reported_at + self._report_s / 2
        if reports_soon or self._followed:
            self._open[threading.get_ident()] = weight * fraction_walked(state)

    def finish_task(self, weight: float) -> None:
        """Count this thread's task as done."""
        with self._lock:
            self._open.pop(threading.get_ident(), None)
            self._done += weight

    def report_if_due(self) -> None:
        """Report, unless the last report is recent."""
        now = time.monotonic()
        if self.callback is not None and now > self._reported_at + self._report_s:
            self._reported_at = now
            self._reported = max(self._reported, min(self.done, 1.0))
            self.callback(self._reported, self._matches_so_far())

    def report_end(self) -> None:
        """Report that all is done."""
        if self.callback is not None:
            self.callback(1.0, self._matches_so_far())


def shares_of_work(
    plan: Plan, adjacency: Adjacency, roots: np.ndarray, edges: list[int], tunables: Tunables
) -> list[float]:
    """The estimated share of the work of each range of roots: by the rows of the vertices that may follow a root.

    Range i is roots[edges[i]:edges[i + 1]]. Shares are equal where an estimate would cost too much.
    """
    ranges = len(edges) - 1
    estimate_ns = tunables.estimate_ns_per_arc * len(adjacency.targets)
    if len(plan.levels) == 1 or estimate_ns > tunables.max_estimate_share * plan.cost:
        return [1 / max(ranges, 1)] * ranges
    degrees = np.diff(adjacency.offsets[0])
    work = degrees[roots].astype(np.float64)
    if len(plan.levels) > 2:
        offsets = adjacency.offsets[plan.levels[1].backward_neighbours[0].relation]
        sources = np.repeat(np.arange(len(degrees)), np.diff(offsets))
        targets = adjacency.targets[offsets[0] : offsets[-1]]
        work_after = degrees[targets].astype(np.float64)
        if plan.levels[1].bounds:
            work_after *= (targets > sources) == plan.ascending
        work = np.bincount(sources, work_after, len(degrees))[roots]
    sums = np.concatenate([[0.0], np.cumsum(work + 1.0)])[edges]
    return (np.diff(sums) / sums[-1]).tolist()


def fraction_walked(state: Any) -> float:
    """The fraction of a task's range that is done: of its shallowest level, and within an element of the next ones.

    Levels with one element, which say nothing, are passed over.
    """
    fraction, part, looked_at = 0.0, 1.0, 0
    floor, deepest = int(state.registers[p.FLOOR]), int(state.registers[p.LEVEL])
    for level in range(floor, deepest + 1):
        begin, position, end = (int(edge[level]) for edge in (state.begin, state.position, state.end))
        if level < deepest and end - begin == 1:
            continue
        part /= max(end - begin, 1)
        fraction += part * (max(position - begin, 1) - 1 if level < deepest else position - begin)
        looked_at += 1
        if looked_at == LEVELS_LOOKED_AT:
            break
    return fraction
