"""The matches at given ranks without a search for all matches: counts by task, and a descent into the drawn tasks.

A launch of the walker counts the matches of every task of a frontier, running sums of the counts say which tasks the
ranks fall in, and those become the next frontier: cut finer while a task has several candidates, else one level deeper.
So the match at a rank depends on positions in sorted lists alone, whatever the warps do, and a launch after the first
searches only drawn tasks. Where the walker counts the last levels without visiting them, the last launch finds the
members of the counted set, and what is left of a rank says which of them are meant.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping, Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.search.device_plan import DevicePlan, make_device_plan
from cusubmatch.engines.gpu.search.extend_frontier import extended_frontier
from cusubmatch.engines.gpu.search.frontier import Frontier, TaskSums, carry, on_host
from cusubmatch.engines.gpu.search.graph_view import Roots
from cusubmatch.engines.gpu.search.run import KEPT_PLANS, nanoseconds_of
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, WEIGHTS
from cusubmatch.engines.gpu.walker.warp_walker import make_walk
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import check_deadline

__all__ = ["Sampler"]

EXTRA_TASK_WORDS = 1  # of a task of the ring: the number of the frontier's task that it belongs to


class Stage(NamedTuple):
    """A plan on the device, and how its last level is counted."""

    device_plan: DevicePlan
    mode: str


class Sampler:
    """Counts of a plan's matches on a device graph, and the matches at given ranks.

    The same graph, plan and candidates give the same ranks. A plan's factor is not applied: a match stands for all its
    automorphic images.

    Parameters
    ----------
    prepared, plan
        What is walked on, in device memory, and a plan for it that counts.
    deadline : float or None
        Time (`time.monotonic`) after which counting and drawing raise `DeadlinePassed`.
    gpu : Device, optional
        Where to run; default the current GPU.
    tasks : TaskRange, optional
        The first-level tasks whose matches are counted, of `number_of_tasks`; default all. Ranks go on from one range
        to the next.
    """

    def __init__(
        self,
        prepared: Prepared,
        plan: Plan,
        *,
        deadline: float | None = None,
        gpu: Device | None = None,
        tasks: TaskRange | None = None,
    ):
        self.prepared, self.graph, self.plan, self.gpu = prepared, prepared.graph, plan, gpu or current_device()
        self.deadline, self.tunables, self.tasks = deadline, self.gpu.tunables, tasks
        self.size, self.pairs = len(plan.levels), plan.leaf_mode != "size"
        self.deepest = self.size - 1 - self.pairs  # the level whose candidates are the members of the last set

    def counts(self) -> list[int]:
        """The number of all matches: they are one task.

        Raises
        ------
        DeadlinePassed
        """
        if self.size == 1:
            return [len(self._roots())]
        self._first = self._roots_frontier()
        self._counted = self._count(self._first, self.tunables.first_frontier_tasks)
        return [self._counted[0].total]

    def rows(self, ranks: Mapping[int, Sequence[int]]) -> np.ndarray:
        """The matches at ranks of the one task, after `counts`.

        Returns
        -------
        array, int32 (pattern vertices, ranks), internal vertices, in host memory

        Raises
        ------
        DeadlinePassed
        """
        wanted = ranks.get(0, ())
        if self.size == 1:
            return on_host(self._roots())[np.array(wanted, np.int64)].reshape(1, -1)
        matches = np.empty((self.size, len(wanted)), np.int32)
        if len(wanted):
            groups = np.zeros(len(wanted), np.int64)
            order = [level.vertex for level in self.plan.levels]
            matches[order] = self._take(
                self._first, self._counted, groups, np.array(wanted, self._counted[0].dtype)
            ).view(np.int32)
        return matches

    def _take(self, frontier, counted, groups, ranks):
        """The matches at ranks of groups of a counted frontier: uint32 (levels, ranks)."""
        sums, shift = counted
        tasks, ranks = sums.find(frontier.edges[groups] >> shift, ranks)
        chosen, groups = np.unique(tasks, return_inverse=True)
        if shift or frontier.whole:
            deeper = frontier.cut(chosen, shift)
        else:
            words = frontier.reached(chosen, self._stage(frontier).device_plan.targets)
            if frontier.level == self.deepest:
                return on_host(words).T[:-1, groups]
            deeper = self._extend(frontier.level + 1, words)
        opened = frontier.level == self.deepest and not frontier.whole
        if not self.pairs or opened or deeper.level < self.deepest or deeper.whole:
            return self._search(deeper, groups, ranks)
        counts = sums.before(chosen + 1) - sums.before(chosen)
        members = [self._members(int(rank), int(count)) for rank, count in zip(ranks, counts[groups], strict=True)]
        matches = self._search(deeper, np.repeat(groups, 2), np.array(members, np.int64).ravel())
        return np.concatenate([matches[:, ::2], matches[-1:, 1::2]])

    def _search(self, frontier, groups, ranks):
        """The matches at ranks of groups of a frontier: uint32 (levels, ranks)."""
        levels = self.deepest + 1
        if self.pairs and (frontier.level < self.deepest or frontier.whole):
            levels = self.size
        matches = np.empty((levels, len(ranks)), np.uint32)
        for first, end, batch in frontier.batches(self.tunables.frontier_tasks):
            of_batch = np.flatnonzero((groups >= first) & (groups < end))
            counted = self._count(batch, self.tunables.frontier_tasks)
            matches[:, of_batch] = self._take(batch, counted, groups[of_batch] - first, ranks[of_batch])
        return matches

    def _members(self, rank: int, count: int) -> tuple[int, int]:
        """The ranks of the last two levels' vertices in the set that both come from, which counts `count` pairs."""
        if self.plan.leaf_mode == "choose":
            high = (1 + isqrt(1 + 8 * rank)) // 2
            low = rank - high * (high - 1) // 2
            return (low, high) if self.plan.ascending else (high, low)
        if self.plan.leaf_mode == "square":
            return divmod(rank, isqrt(count))
        first, second = divmod(rank, (isqrt(1 + 4 * count) - 1) // 2)
        return first, second + (second >= first)

    def _roots(self):
        roots = self.prepared.candidates.of(self.plan.levels[0].vertex)
        return roots if self.tasks is None else roots[self.tasks.begin : self.tasks.end]

    @property
    def number_of_tasks(self) -> int:
        """Roots, or pairs of a root and a first candidate."""
        if self.size == 1:
            return len(self.prepared.candidates.of(self.plan.levels[0].vertex))
        return len(self._first_roots.vertices) if self._whole_roots else self._first_roots.total

    @property
    def _whole_roots(self) -> bool:
        """Whether a task is a root, since pairs of its candidates are counted."""
        return self.pairs and self.deepest == 1

    @property
    def _first_roots(self) -> Roots:
        stage = self._main if self._whole_roots or self.deepest > 1 else self._last
        return stage.device_plan.roots

    def _roots_frontier(self) -> Frontier:
        """The roots and their first candidates; whole roots where pairs of those are counted."""
        whole, xp, roots = self._whole_roots, self.graph.xp, self._first_roots
        if self.tasks is not None:
            roots = roots.part(self.tasks, whole=whole)
        words = xp.zeros((len(roots.vertices), 2), np.uint32)
        words[:, 0] = roots.vertices
        places = len(roots.vertices) if whole else roots.total
        return Frontier(1, whole, words, roots.bases, roots.ends, np.array([0, places]))

    def _stage(self, frontier: Frontier) -> Stage:
        """The plan that counts below a frontier."""
        return self._last if frontier.level == self.deepest and not frontier.whole else self._main

    @functools.cached_property
    def _main(self) -> Stage:
        device_plan = self._on_device(self.plan)
        return Stage(device_plan, WEIGHTS if device_plan.layout.weighed else PAIRS if self.pairs else COUNT)

    @functools.cached_property
    def _last(self) -> Stage:
        """The plan that visits the members of the last set one by one."""
        levels = self.plan.levels[: self.deepest + 1]
        return Stage(self._on_device(dataclasses.replace(self.plan, levels=levels, leaf_mode="rows")), COUNT)

    def _on_device(self, plan: Plan) -> DevicePlan:
        """A plan on the device, kept with the graph."""

        def make():
            return make_device_plan(self.gpu, self.prepared, plan, 1, EXTRA_TASK_WORDS)

        key = (
            plan.pattern,
            plan.semantics,
            plan.unique,
            plan.leaf_mode,
            plan.ascending,
            plan.levels,
            self.prepared.adjacency.key,
            self.tunables,
        )
        return self.graph.cache.get("sampled plans", key, make, self.graph.keep(KEPT_PLANS))

    def _extend(self, level: int, words) -> Frontier:
        """The frontier of partial matches of `level` vertices, each a group."""
        stage = self._stage(Frontier(level, False, words, None, None, np.zeros(1, np.int64)))
        plan, mode = stage
        bases, lengths = extended_frontier(self.gpu, plan, self.graph.xp, mode, level, words.reshape(-1))
        ends = self.graph.xp.cumsum(lengths)
        return Frontier(level, False, words, bases, ends, np.concatenate([[0], on_host(ends)]))

    def _count(self, frontier: Frontier, most: int) -> tuple[TaskSums, int]:
        """Counts of a frontier's tasks, at most so many; and the logarithm of their length."""
        device_plan, mode = self._stage(frontier)
        shift = max((frontier.places - 1).bit_length() - (most.bit_length() - 1), 0)
        counters = self.graph.xp.zeros((-(-frontier.places >> shift), 2), np.uint64)
        if not frontier.places:
            return TaskSums(counters, self.tunables.max_device_sum), shift
        words = device_plan.layout.words.copy()
        words[p.START], words[p.SHIFT], words[p.WHOLE] = frontier.level, shift, frontier.whole
        words[p.ROOTS] = len(frontier.bases)
        batch = int(words[p.BATCH]).bit_length() - 1  # a power of two, so that tasks are whole batches
        words[p.BATCH] = words[p.BATCH_STEP] = 1 << min(batch, shift)
        walk = make_walk(self.gpu.target, device_plan.variant(mode, by_task=True), self.tunables.polling)
        launch = walk[device_plan.blocks, device_plan.warps * self.gpu.target.WARP, 4 * device_plan.shared_words]
        workspace, more, running = device_plan.pool.take(device_plan.layout.stack), True, False
        roots = frontier.words.reshape(-1), frontier.bases, frontier.ends
        arguments = [self.graph.xp.asarray(words), device_plan.graph, *roots, workspace.arrays]
        arguments += [device_plan.no_rows, counters.reshape(-1)]
        workspace.start(fresh=True)
        try:
            while more:
                running = True
                launch(*arguments, nanoseconds_of(self.tunables.slice_s, self.deadline))
                workspace.read()
                running, more = False, bool(workspace.state[r.STOP])
                if more:
                    carry(counters)
                    check_deadline()
                    if self.deadline is not None and time.monotonic() > self.deadline:
                        raise DeadlinePassed
                    workspace.start(fresh=False)
            device_plan.pool.give_back(workspace)
        finally:
            if running:
                workspace.stop()
        return TaskSums(counters, self.tunables.max_device_sum), shift
