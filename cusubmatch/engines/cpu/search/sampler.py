"""The matches at given ranks, without walking all rows: counts of small tasks, then a descent into the drawn ones.

A match's rank is its place in the order in which one thread would write all rows, task by task. A task is a range of
roots, or a part of the level below one root; its matches are counted as they always are. A rank is found by cutting its
task into parts, counting those, and going on in the part that the rank falls in, vertex by vertex down the matching
order, until a part has so few matches that its rows are written. Parts follow each other as their rows do, so neither
the cuts nor the threads that do the work change a rank. Where the last two levels are counted together, the descent
goes on with the same plan counted by its last level alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import Prepared
from cusubmatch.engines.cpu.primitives.jit import announced, threads
from cusubmatch.engines.cpu.search import program as p
from cusubmatch.engines.cpu.search.bitmap_walker import descend_bitmaps, walk_bitmaps
from cusubmatch.engines.cpu.search.graph_view import longest_rows, make_view
from cusubmatch.engines.cpu.search.list_walker import descend, walk
from cusubmatch.engines.cpu.search.neighbourhood_bitmaps import BitmapState, new_bitmap_state
from cusubmatch.engines.cpu.search.program import State, encode, new_list_state
from cusubmatch.errors import DeadlinePassed, Stopped
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import checking
from cusubmatch.system.workers import Workers

__all__ = ["Sampler"]

BUDGET = 1 << 18  # units of work between two looks at the clock
BLOCK_ROWS = 1 << 14
ROWS_A_RANK = 1 << 12  # a part with so many matches for each of its ranks is written rather than cut
PARTS, PARTS_A_RANK = 16, 8
FEWEST_TASKS, MOST_TASKS = 1 << 6, 1 << 15
TASK_SECONDS = 3e-5  # estimated work of a task
WALKERS = {"lists": (descend, walk), "bitmaps": (descend_bitmaps, walk_bitmaps)}
NO_ROWS = np.empty((0, 0), np.int32)


class Group(NamedTuple):
    """A range of roots and the number of its tasks: several only where it is one root, whose next level they share."""

    begin: int
    end: int
    tasks: int


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
    """

    def __init__(self, prepared: Prepared, plan: Plan, *, deadline: float | None = None):
        self.deadline, self._workers = deadline, Workers()
        self.size, self.method = len(plan.levels), plan.method if plan.walked > 1 else "lists"
        leaf_modes = list(dict.fromkeys([plan.leaf_mode, "size", "rows"]))
        self.plans = [dataclasses.replace(plan, leaf_mode=leaf_mode) for leaf_mode in leaf_modes]
        graph, candidates, adjacency = prepared
        self.longest = longest_rows(adjacency)
        columns = {vertex: vertex for vertex in range(self.size)}
        encoded = [encode(each, columns, self.longest) for each in self.plans]
        self.programs, self.pool = [program for program, _ in encoded], encoded[0][1]
        roots = candidates.of(plan.levels[0].vertex)
        self.view = make_view(graph, adjacency, candidates.masks, roots)
        self.groups = _groups(plan, adjacency, roots)
        self._first_tasks = list(accumulate((group.tasks for group in self.groups), initial=0))
        self._counts: list[int] = []
        self._walks: list[_Walk] = []

    def counts(self) -> list[int]:
        """The number of matches of each task.

        Raises
        ------
        DeadlinePassed
        """
        if self.plans[0].walked == 0:  # one vertex: a match a root
            self._counts = [group.end - group.begin for group in self.groups]
        else:
            self._counts = [count for some in self._each(_Walk.count_tasks, self.groups) for count in some]
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
        drawn: dict[int, list[tuple[int, int, Sequence[int]]]] = {}
        for task, some in ranks.items():
            group = bisect_left(self._first_tasks, task + 1) - 1
            drawn.setdefault(group, []).append((task - self._first_tasks[group], self._counts[task], some))
        if self.plans[0].walked == 0:
            places = [self.groups[group].begin + rank for group, [(_, _, some)] in drawn.items() for rank in some]
            return self.view.roots[np.array(places, np.int64)].reshape(1, -1)
        found = self._each(_Walk.take, [(self.groups[group], some) for group, some in drawn.items()])
        return np.concatenate([np.empty((self.size, 0), np.int32), *found], axis=1)

    def look_at_clock(self) -> None:
        """Raise if the deadline has passed, or another thread has failed."""
        if self._workers.stopped:
            raise Stopped
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlinePassed

    def _each(self, work: Callable, items: Sequence) -> list:
        """work(walk, item) for every item, in order, by all threads."""
        team = max(1, min(threads(), len(items)))
        while len(self._walks) < team:
            self._walks.append(_Walk(self, self.method))
        if team == 1:
            return [work(self._walks[0], item) for item in items]
        results: list = [None] * len(items)
        places, turn = iter(range(len(items))), threading.Lock()

        def share(own):
            with checking(self.look_at_clock), contextlib.suppress(Stopped):
                while True:
                    with turn:
                        place = next(places, None)
                    if place is None:
                        return
                    results[place] = work(own, items[place])

        workers = self._workers = Workers()
        try:
            workers.start(*(functools.partial(share, own) for own in self._walks[:team]))
            while not workers.wait():
                pass
        finally:
            workers.end()
        if workers.error is not None:
            raise workers.error
        self._workers = Workers()
        return results


class _Walk:
    """One thread's walk with one walker. What lies above the open level is matched, and its sets are made.

    A range of the open level can be counted or written any number of times: that changes deeper levels only.
    """

    def __init__(self, sampler: Sampler, method: str):
        self.sampler, self.method = sampler, method
        self.descend, self.walk = WALKERS[method]
        program, view = sampler.programs[0], sampler.view
        self.state: State | BitmapState
        if method == "bitmaps":
            self.state = new_bitmap_state(program, view, max(sampler.longest))
        else:
            self.state = new_list_state(program, view, sampler.pool)
        self.buffer = np.empty((sampler.size, BLOCK_ROWS), np.int32)
        with announced(method):
            self.walk(program, view, self.state, NO_ROWS, 0)
        with announced(f"{method} sampling"):
            self.descend(program, view, self.state)  # the range is empty
        self._lists: _Walk | None = None

    @property
    def lists(self) -> _Walk:
        """The list walker, for roots that bitmaps refuse."""
        if self._lists is None:
            self._lists = _Walk(self.sampler, "lists")
        return self._lists

    def count_tasks(self, group: Group) -> list[int]:
        """The number of matches of each task of a group."""
        if group.tasks == 1:
            return [self.count(0, 0, group.begin, group.end)]
        walk, begin, end = self.open_root(group)
        return [walk.count(0, 1, *part) for part in _cut(begin, end, group.tasks)]

    def take(self, item: tuple[Group, list]) -> np.ndarray:
        """The matches at the ranks of some tasks of a group, given as (task in the group, its count, ranks)."""
        group, drawn = item
        if group.tasks == 1:
            [(_, count, ranks)] = drawn
            return self.pick(0, 0, group.begin, group.end, count, ranks)
        walk, first, last = self.open_root(group)
        parts, found = _cut(first, last, group.tasks), []
        for task, count, ranks in drawn:
            begin, end = parts[task]
            found.append(walk.pick(0, 1, begin, end, count, ranks))
        return np.concatenate(found, axis=1)

    def open_root(self, group: Group) -> tuple[_Walk, int, int]:
        """Match the one root of a group: the walk that takes it, and the range of its next level."""
        self.place(0, group.begin, group.end)
        status = self.descend(self.sampler.programs[0], self.sampler.view, self.state)
        if status == p.OVERSIZE:
            return self.lists.open_root(group)
        return (self, *self.range_of(1)) if status == p.PAUSED else (self, 0, 0)

    def range_of(self, level: int) -> tuple[int, int]:
        """The open range of a level."""
        return int(self.state.position[level]), int(self.state.end[level])

    def place(self, level: int, begin: int, end: int) -> None:
        """Let a range of a level be the only open one."""
        registers = self.state.registers
        registers[p.LEVEL] = registers[p.FLOOR] = level
        self.state.position[level], self.state.end[level] = begin, end

    def count(self, plan: int, level: int, begin: int, end: int) -> int:
        """The number of matches in a range of a level, by the plan of that number."""
        if begin == end:
            return 0
        sampler, registers, found, status = self.sampler, self.state.registers, 0, p.PAUSED
        self.place(level, begin, end)
        registers[p.COUNT_0 : p.COUNT_2 + 1] = 0
        while status != p.DONE:
            status = self.walk(sampler.programs[plan], sampler.view, self.state, NO_ROWS, BUDGET)
            sampler.look_at_clock()
            if status == p.OVERSIZE:
                found += self.lists.count(plan, 0, *self.refused())
        low, middle, high = registers[p.COUNT_0 : p.COUNT_2 + 1].tolist()
        return found + low + (middle << 31) + (high << 62)

    def refused(self) -> tuple[int, int]:
        """The range of the root that bitmaps have just refused."""
        place = int(self.state.position[0])
        return place - 1, place

    def pick(self, plan: int, level: int, begin: int, end: int, count: int, ranks: Sequence[int]) -> np.ndarray:
        """The matches at ascending ranks in a range of a level, of which the plan of that number counts `count`."""
        sampler = self.sampler
        if count <= ROWS_A_RANK * len(ranks) or sampler.plans[plan].leaf_mode == "rows":
            return self.write(level, begin, end, ranks)
        if end - begin > 1:
            found, first = [], 0
            for part in _cut(begin, end, min(end - begin, max(PARTS, PARTS_A_RANK * len(ranks)))):
                matches = self.count(plan, level, *part)
                here = bisect_left(ranks, first + matches)
                if here:
                    found.append(self.pick(plan, level, *part, matches, [rank - first for rank in ranks[:here]]))
                first, ranks = first + matches, ranks[here:]
                if not ranks:
                    break
            return np.concatenate(found, axis=1)
        self.place(level, begin, end)
        plan += level == sampler.plans[plan].walked - 1  # the level below is counted by this plan, visited by the next
        if self.descend(sampler.programs[plan], sampler.view, self.state) == p.OVERSIZE:
            return self.lists.pick(plan, level, begin, end, count, ranks)
        return self.pick(plan, level + 1, *self.range_of(level + 1), count, ranks)

    def write(self, level: int, begin: int, end: int, ranks: Sequence[int]) -> np.ndarray:
        """The matches at ascending ranks in a range of a level, by writing all up to the last of them."""
        found, places, first = [], np.array(ranks, np.int64), 0
        for block in self.blocks(level, begin, end):
            past = first + block.shape[1]
            low, high = np.searchsorted(places, (first, past))
            found.append(block[:, places[low:high] - first])
            if high == len(places):
                break
            first = past
        return np.concatenate(found, axis=1)

    def blocks(self, level: int, begin: int, end: int) -> Iterator[np.ndarray]:
        """The matches in a range of a level, block by block; a block lasts until the next one is asked for."""
        sampler, registers, status = self.sampler, self.state.registers, p.PAUSED
        self.place(level, begin, end)
        registers[p.FILLED] = 0
        while status != p.DONE:
            status = self.walk(sampler.programs[-1], sampler.view, self.state, self.buffer, BUDGET)
            sampler.look_at_clock()
            if status != p.PAUSED:
                yield self.buffer[:, : registers[p.FILLED]]
                registers[p.FILLED] = 0
            if status == p.OVERSIZE:
                yield from self.lists.blocks(0, *self.refused())


def _cut(begin: int, end: int, parts: int) -> list[tuple[int, int]]:
    """A range as so many ranges of about one length; some are empty where it is shorter than that."""
    return list(pairwise(begin + (end - begin) * i // parts for i in range(parts + 1)))


def _groups(plan, adjacency, roots) -> list[Group]:
    """The roots as tasks of about equal work, which is taken to grow as the square of a root's degree."""
    wanted = min(MOST_TASKS, max(FEWEST_TASKS, int(plan.cost * 1e-9 / TASK_SECONDS)))
    degrees = sum(np.diff(offsets)[roots] for offsets in adjacency.offsets)
    work = (degrees + 1.0) ** 2 if len(adjacency.offsets) else np.ones(len(roots))
    shares = work * (wanted / max(work.sum(), 1.0))
    tasks = np.minimum(shares.astype(np.int64), degrees) if plan.walked > 1 else np.zeros(len(roots), np.int64)
    groups, begin, share = [], 0, 0.0
    for root, (own, parts) in enumerate(zip(shares.tolist(), tasks.tolist(), strict=True)):
        alone = parts > 1
        if begin < root and (alone or share + own > 1):
            groups.append(Group(begin, root, 1))
            begin, share = root, 0.0
        share += own
        if alone:
            groups.append(Group(root, root + 1, parts))
            begin, share = root + 1, 0.0
    if begin < len(roots):
        groups.append(Group(begin, len(roots), 1))
    return groups
