"""One thread's walk to the matches at given ranks: ranges of a level are counted, cut, descended into or written.

A rank is found by cutting its range into parts, counting those, and going on in the part that the rank falls in, vertex
by vertex down the matching order, until a part has so few matches that its rows are written. Where the last two levels
are counted together, the descent goes on with the same plan counted by its last level alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.primitives.pointers import table_of
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.bitmap_walker import descend_bitmaps, walk_bitmaps
from cusubmatch.engines.cpu.walker.count_limbs import take_count
from cusubmatch.engines.cpu.walker.list_walker import descend, walk
from cusubmatch.engines.cpu.walker.neighbourhood_bitmaps import BitmapState, new_bitmap_state
from cusubmatch.engines.cpu.walker.program import Program, State, View, new_list_state
from cusubmatch.engines.cpu.walker.sample_tasks import RootGroup, split_range
from cusubmatch.plan import Plan

__all__ = ["RankWalk", "SampledPlans", "TaskRanks"]

WALKERS: dict[str, tuple[Callable, Callable]] = {
    "lists": (descend, walk),
    "bitmaps": (descend_bitmaps, walk_bitmaps),
}
NO_ROWS = np.empty((0, 0), np.int32)


class SampledPlans(NamedTuple):
    """What the walks of a sampler have in common.

    Attributes
    ----------
    plans, programs
        One plan that ends in different ways: as it was made, counted by its last level alone, and writing rows.
    view : View
    pool : int
        Elements of a list walker's pool.
    longest_row : int
    tunables : Tunables
    check : callable
        Called between two returns of a walker; raises at the deadline.
    """

    plans: list[Plan]
    programs: list[Program]
    view: View
    pool: int
    longest_row: int
    tunables: Tunables
    check: Callable[[], None]


class TaskRanks(NamedTuple):
    """Ranks drawn from a task: the number of the task in its group, its matches, and the ranks, ascending."""

    task: int
    matches: int
    ranks: Sequence[int]


class RankWalk:
    """One thread's walk with one walker. What lies above the open level is matched, and its sets are made.

    A range of the open level can be counted or written any number of times: that changes deeper levels only.
    """

    def __init__(self, sampled: SampledPlans, method: str):
        self.sampled, self.method = sampled, method
        self._descend_with, self._walk_with = WALKERS[method]
        program, view, tunables = sampled.programs[0], sampled.view, sampled.tunables
        self.state: State | BitmapState
        if method == "bitmaps":
            self.state = new_bitmap_state(program, view, min(sampled.longest_row, tunables.max_universe))
        else:
            self.state = new_list_state(program, view, sampled.pool)
        self._programs = [table_of(each) for each in sampled.programs]
        self._view, self._state = table_of(view), table_of(self.state)
        self.buffer = np.empty((len(sampled.plans[0].levels), tunables.sample_block_rows), np.int32)
        with announced(method):
            self._walk_with(self._programs[0], self._view, self._state, NO_ROWS, 0)
        with announced(f"{method} sampling"):
            self._descend(0)  # the range is empty
        self._lists: RankWalk | None = None

    @property
    def lists(self) -> RankWalk:
        """The list walker, for roots that bitmaps refuse."""
        if self._lists is None:
            self._lists = RankWalk(self.sampled, "lists")
        return self._lists

    def count_tasks(self, group: RootGroup) -> list[int]:
        """The number of matches of each task of a group."""
        if group.tasks == 1:
            return [self.count(0, 0, group.begin, group.end)]
        walk, begin, end = self.open_root(group)
        return [walk.count(0, 1, *part) for part in split_range(begin, end, group.tasks)]

    def matches_at(self, item: tuple[RootGroup, list[TaskRanks]]) -> np.ndarray:
        """The matches at the ranks of some tasks of a group."""
        group, drawn = item
        if group.tasks == 1:
            [(_, count, ranks)] = drawn
            return self.pick(0, 0, group.begin, group.end, count, ranks)
        walk, first, last = self.open_root(group)
        parts = split_range(first, last, group.tasks)
        return np.concatenate([walk.pick(0, 1, *parts[task], count, ranks) for task, count, ranks in drawn], axis=1)

    def open_root(self, group: RootGroup) -> tuple[RankWalk, int, int]:
        """Match the one root of a group: the walk that takes it, and the range of its next level."""
        self.open_only(0, group.begin, group.end)
        status = self._descend(0)
        if status == p.OVERSIZE:
            return self.lists.open_root(group)
        return (self, *self.range_of(1)) if status == p.PAUSED else (self, 0, 0)

    def range_of(self, level: int) -> tuple[int, int]:
        """The open range of a level."""
        return int(self.state.position[level]), int(self.state.end[level])

    def open_only(self, level: int, begin: int, end: int) -> None:
        """Let a range of a level be the only open one."""
        registers = self.state.registers
        registers[p.LEVEL] = registers[p.FLOOR] = level
        self.state.position[level], self.state.end[level] = begin, end

    def count(self, plan: int, level: int, begin: int, end: int) -> int:
        """The number of matches in a range of a level, by the plan of that number."""
        if begin == end:
            return 0
        matches, status = 0, p.PAUSED
        self.open_only(level, begin, end)
        self.state.registers[p.COUNT_0 : p.COUNT_2 + 1] = 0
        while status != p.DONE:
            status = self._walk(plan, NO_ROWS)
            if status == p.OVERSIZE:
                matches += self.lists.count(plan, 0, *self.refused_root())
        return matches + take_count(self.state)

    def refused_root(self) -> tuple[int, int]:
        """The range of the root that bitmaps have just refused."""
        position = int(self.state.position[0])
        return position - 1, position

    def pick(self, plan: int, level: int, begin: int, end: int, count: int, ranks: Sequence[int]) -> np.ndarray:
        """The matches at ascending ranks in a range of a level, of which the plan of that number counts `count`."""
        sampled, tunables = self.sampled, self.sampled.tunables
        if count <= tunables.rows_per_rank * len(ranks) or sampled.plans[plan].leaf_mode == "rows":
            return self.write(level, begin, end, ranks)
        if end - begin > 1:
            return self._pick_in_parts(plan, level, begin, end, ranks)
        self.open_only(level, begin, end)
        plan += level == sampled.plans[plan].walked - 1  # the level below is counted by this plan, visited by the next
        if self._descend(plan) == p.OVERSIZE:
            return self.lists.pick(plan, level, begin, end, count, ranks)
        return self.pick(plan, level + 1, *self.range_of(level + 1), count, ranks)

    def _pick_in_parts(self, plan, level, begin, end, ranks):
        """As `pick`, by cutting the range and counting its parts."""
        tunables = self.sampled.tunables
        parts = max(tunables.cut_parts, tunables.cut_parts_per_rank * len(ranks))
        rows, first_rank = [], 0
        for part in split_range(begin, end, min(end - begin, parts)):
            count = self.count(plan, level, *part)
            in_part = bisect_left(ranks, first_rank + count)
            if in_part:
                part_ranks = [rank - first_rank for rank in ranks[:in_part]]
                rows.append(self.pick(plan, level, *part, count, part_ranks))
            first_rank, ranks = first_rank + count, ranks[in_part:]
            if not ranks:
                break
        return np.concatenate(rows, axis=1)

    def write(self, level: int, begin: int, end: int, ranks: Sequence[int]) -> np.ndarray:
        """The matches at ascending ranks in a range of a level, by writing all up to the last of them."""
        rows, places, first_rank = [], np.array(ranks, np.int64), 0
        for block in self.blocks(level, begin, end):
            end_rank = first_rank + block.shape[1]
            low, high = np.searchsorted(places, (first_rank, end_rank))
            rows.append(block[:, places[low:high] - first_rank])
            if high == len(places):
                break
            first_rank = end_rank
        return np.concatenate(rows, axis=1)

    def blocks(self, level: int, begin: int, end: int) -> Iterator[np.ndarray]:
        """The matches in a range of a level, block by block; a block lasts until the next one is asked for."""
        registers, status = self.state.registers, p.PAUSED
        self.open_only(level, begin, end)
        registers[p.FILLED] = 0
        while status != p.DONE:
            status = self._walk(-1, self.buffer)
            if status != p.PAUSED:
                yield self.buffer[:, : registers[p.FILLED]]
                registers[p.FILLED] = 0
            if status == p.OVERSIZE:
                yield from self.lists.blocks(0, *self.refused_root())

    def _walk(self, plan: int, out: np.ndarray) -> Any:
        work_units = self.sampled.tunables.sample_work_units
        status = self._walk_with(self._programs[plan], self._view, self._state, out, work_units)
        self.sampled.check()
        return status

    def _descend(self, plan: int) -> Any:
        return self._descend_with(self._programs[plan], self._view, self._state)
