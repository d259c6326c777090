"""The matches at given ranks, without walking all rows: counts of small tasks, then a descent into the drawn ones.

A match's rank is its place in the order in which one thread would write all rows, task by task. A task is a range of
roots, or a part of the level below one root; its matches are counted as they always are. Parts of a task follow each
other as their rows do, so neither the cuts nor the threads that do the work change a rank.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import numpy as np

from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES, Tunables
from cusubmatch.engines.cpu.walker.graph_view import longest_rows, make_view
from cusubmatch.engines.cpu.walker.program import encode
from cusubmatch.engines.cpu.walker.rank_walk import RankWalk, SampledPlans, TaskRanks
from cusubmatch.engines.cpu.walker.sample_tasks import group_roots
from cusubmatch.engines.prepared import Prepared
from cusubmatch.errors import DeadlinePassed, Stopped
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import checking
from cusubmatch.system.workers import Workers

__all__ = ["Sampler"]


class Sampler:
    """Counts of the tasks of a plan on a host graph, and the matches at given ranks of given tasks.

    The same graph, plan and candidates give the same tasks and the same ranks. A plan's factor is not applied: a match
    stands for all its automorphic images.

    Parameters
    ----------
    prepared, plan
        What is walked on, in host memory, and a plan for it that counts.
    deadline : float or None
        Time (`time.monotonic`) after which counting and drawing raise `DeadlinePassed`.
    tunables : Tunables
    """

    def __init__(
        self, prepared: Prepared, plan: Plan, *, deadline: float | None = None, tunables: Tunables = DEFAULT_TUNABLES
    ):
        self.deadline, self.tunables, self._workers = deadline, tunables, Workers()
        self.size, self.method = len(plan.levels), plan.method if plan.walked > 1 else "lists"
        leaf_modes = list(dict.fromkeys([plan.leaf_mode, "size", "rows"]))
        plans = [dataclasses.replace(plan, leaf_mode=leaf_mode) for leaf_mode in leaf_modes]
        candidates, adjacency, self._vertices = prepared.walked_by(plan)
        longest = longest_rows(prepared.graph, adjacency)
        columns = {vertex: vertex for vertex in range(self.size)}
        encoded = [encode(each, columns, longest) for each in plans]
        roots = candidates.of(plan.levels[0].vertex)
        self.sampled = SampledPlans(
            plans,
            [program for program, _ in encoded],
            make_view(prepared.graph, adjacency, candidates.masks, roots, tunables),
            pool=encoded[0][1],
            longest_row=max(longest, default=0),
            tunables=tunables,
            check=self.check,
        )
        self.groups = group_roots(plan, adjacency, roots, tunables)
        self._first_tasks = list(accumulate((group.tasks for group in self.groups), initial=0))
        self._one_vertex = plan.walked == 0  # a match a root
        self._counts: list[int] = []
        self._walks: list[RankWalk] = []

    def counts(self) -> list[int]:
        """The number of matches of each task.

        Raises
        ------
        DeadlinePassed
        """
        if self._one_vertex:
            self._counts = [group.end - group.begin for group in self.groups]
        else:
            counts = self._each(RankWalk.count_tasks, self.groups)
            self._counts = [count for group_counts in counts for count in group_counts]
        return self._counts

    def rows(self, ranks: Mapping[int, Sequence[int]]) -> np.ndarray:
        """The matches at ascending, distinct ranks of tasks, given by ascending task.

        Returns
        -------
        array, int32 (pattern vertices, ranks), internal vertices

        Raises
        ------
        DeadlinePassed
        """
        drawn: dict[int, list[TaskRanks]] = {}
        for task, task_ranks in ranks.items():
            group = bisect_left(self._first_tasks, task + 1) - 1
            in_group = TaskRanks(task - self._first_tasks[group], self._counts[task], task_ranks)
            drawn.setdefault(group, []).append(in_group)
        if self._one_vertex:
            places = [self.groups[group].begin + rank for group, [only] in drawn.items() for rank in only.ranks]
            return self._internal(self.sampled.view.roots[np.array(places, np.int64)].reshape(1, -1))
        rows = self._each(RankWalk.matches_at, [(self.groups[group], tasks) for group, tasks in drawn.items()])
        return self._internal(np.concatenate([np.empty((self.size, 0), np.int32), *rows], axis=1))

    def _internal(self, rows: np.ndarray) -> np.ndarray:
        """The internal vertices of found rows."""
        if self._vertices is None:
            return rows
        return np.stack([vertices[row] for vertices, row in zip(self._vertices, rows, strict=True)])

    def check(self) -> None:
        """Raise if the deadline has passed, or another thread has failed."""
        if self._workers.stopped:
            raise Stopped
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlinePassed

    def _each(self, work: Callable, items: Sequence) -> list:
        """work(walk, item) for every item, in order, by all threads."""
        threads = self.tunables.threads_for(len(items))
        while len(self._walks) < threads:
            self._walks.append(RankWalk(self.sampled, self.method))
        if threads == 1:
            return [work(self._walks[0], item) for item in items]
        results: list = [None] * len(items)
        places, turn = iter(range(len(items))), threading.Lock()

        def work_on_items(walk):
            with checking(self.check), contextlib.suppress(Stopped):
                while True:
                    with turn:
                        place = next(places, None)
                    if place is None:
                        return
                    results[place] = work(walk, items[place])

        workers = self._workers = Workers()
        try:
            workers.start(*(functools.partial(work_on_items, walk) for walk in self._walks[:threads]))
            while not workers.wait():
                pass
        finally:
            workers.end()
        if workers.error is not None:
            raise workers.error
        self._workers = Workers()
        return results
