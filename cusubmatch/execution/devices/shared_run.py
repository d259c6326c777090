"""One run of a plan on several devices: a thread each, ranges of tasks from one counter, blocks brought to the first.

The calling thread waits in short steps, so that interrupts are heard; it reports progress and hands out rows. A device
whose thread fails, or finds that the time is over, stops the others between two of their launches, and its error is the
run's.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from cusubmatch.engines.device_engine import Landing
from cusubmatch.engines.runs import ProgressCallback, Run, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.devices.device_group import DeviceGroup
from cusubmatch.execution.work_ranges import WorkRange
from cusubmatch.system.deadlines import checking, until
from cusubmatch.system.workers import Workers

__all__ = ["SharedRun", "StoppedError"]

REPORT_INTERVAL_S = 0.1  # between two progress reports
WAIT_S = 0.02  # of the calling thread, for a block
ROOM_WAIT_S = 0.001  # of a device's thread, for room
WAITING_BLOCKS = 2  # of a device, that nobody has taken yet


class StoppedError(Exception):
    """A device's thread is to end, since another one has failed or nobody wants the rest."""


class SharedRun:
    """A run of a plan that several devices share; as `Run` of the engine contract.

    Parameters
    ----------
    devices : DeviceGroup
    plan, prepared : Plan, Prepared
        A plan, and what it is walked on on the first device.
    options : RunOptions

    Attributes
    ----------
    matches : int or None
        Matches found so far.
    taken : list of (int, TaskRange, float, float)
        By whom each range was walked, and from when to when.
    """

    def __init__(self, devices: DeviceGroup, plan: Any, prepared: Any, options: RunOptions):
        self._devices, self._plan, self._prepared, self._options = devices, plan, prepared, options
        self.matches: int | None = 0
        self.taken: list[tuple[int, TaskRange, float, float]] = []
        self._workers = Workers()
        self._heard: dict[int, tuple[float, int]] = {}  # of the ranges that are walked: fraction done, matches
        self._runs: dict[int, Run] = {}  # of those that are being counted
        self._totals: dict[int, int] = {}
        self._arrived: queue.SimpleQueue[tuple[int, Any, int]] = queue.SimpleQueue()
        self._found, self._sent, self._given = ([0] * len(devices.engines) for _ in range(3))
        self._reported_at = time.monotonic()

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        self.matches = self._matches_of(self.total())
        if self._options.progress is not None:
            self._options.progress(1.0, self.matches)
        return self.matches

    def total(self) -> int:
        """What all ranges add up to.

        Raises
        ------
        DeadlinePassed
        """
        landing = self._begin()
        try:
            self._workers.start(*(functools.partial(self._count_on, i, landing) for i in self._numbers))
            while not self._workers.wait():
                self._report()
        finally:
            self._workers.end()
        if self._workers.error is not None:
            self.matches = self._so_far()
            raise self._workers.error
        return sum(self._totals.values())

    def blocks(self) -> Iterator[Any]:
        """Blocks of matches, int32 (columns of the plan, rows), on the first device; closing it stops the run.

        Raises
        ------
        DeadlinePassed
        """
        landing, then = self._begin(), self._options.then
        try:
            self._workers.start(*(functools.partial(self._find_on, i, landing) for i in self._numbers))
            working = len(self._numbers)
            while working:
                self._report()
                over = self._workers.over
                try:
                    number, brought, rows = self._arrived.get(timeout=WAIT_S)
                except queue.Empty:
                    if over:  # who had not begun when another failed says nothing
                        break
                    continue
                if brought is None:
                    working -= 1
                    continue
                self._given[number] += 1
                self.matches = (self.matches or 0) + rows
                block = brought.settled()
                yield block if then is None else then(block)
                error = self._workers.error
                if error is not None and not isinstance(error, (DeadlinePassed, StoppedError)):
                    break
        finally:
            self._workers.end()
        if self._workers.error is not None and not isinstance(self._workers.error, StoppedError):
            raise self._workers.error
        if self._options.progress is not None:
            self._options.progress(1.0, self.matches or 0)

    @property
    def ready(self) -> bool:
        """Whether the next of `blocks` is there without a wait."""
        return not self._arrived.empty()

    @property
    def _numbers(self) -> range:
        return range(len(self._devices.engines))

    def _begin(self) -> Landing:
        with until(self._options.deadline):
            self._ranges = self._cut()
        self._next = itertools.count()
        return self._devices.home.landing()

    # What another kind of run does otherwise.

    def _cut(self) -> list[WorkRange]:
        """The ranges, in the order in which they are taken."""
        return self._devices.ranges(self._plan, self._prepared)

    def _prepared_on(self, number: int) -> Any:
        """What a device walks on."""
        return self._devices.prepared_on(number, self._plan, self._prepared)

    def _run_on(self, number: int, prepared: Any, options: RunOptions, tasks: TaskRange) -> Any:
        """The run of a range."""
        return self._devices.engines[number].run(self._plan, prepared, options, tasks)

    def _sent_blocks(self, run: Callable[[RunOptions], Any], options: RunOptions, landing: Landing) -> Any:
        """Of each block its rows, and the block on its way to the first device."""
        return run(dataclasses.replace(options, then=lambda rows: (rows.shape[1], landing.bring(rows)))).blocks()

    def _matches_of(self, total: int) -> int:
        return self._plan.matches_of(total)

    def _taken(self, number: int) -> Iterator[tuple[int, WorkRange]]:
        """The ranges that a device takes from the counter."""
        while not self._workers.stopped and (index := next(self._next)) < len(self._ranges):
            begin = time.monotonic()
            yield index, self._ranges[index]
            self._heard[index] = 1.0, self._heard.get(index, (1.0, 0))[1]
            self.taken.append((number, self._ranges[index].tasks, begin, time.monotonic()))

    def _where(self, number: int, landing: Landing) -> AbstractContextManager[Any]:
        """Let a thread work on a device; on the first one in the order of the calling thread."""
        return landing.current() if number == 0 else self._devices.engines[number].current()

    def _count_on(self, number: int, landing: Landing) -> None:
        """Count ranges on a device."""
        with self._where(number, landing), checking(self._check), until(self._options.deadline):
            prepared = self._prepared_on(number)
            for index, (tasks, _) in self._taken(number):
                options = dataclasses.replace(self._options, progress=self._heard_of(index))
                run = self._runs[index] = self._run_on(number, prepared, options, tasks)
                self._totals[index] = run.total()
                del self._runs[index]

    def _find_on(self, number: int, landing: Landing) -> None:
        """Find the rows of ranges on a device, and say at the end that there are no more."""
        try:
            self._find_ranges(number, landing)
        finally:
            self._arrived.put((number, None, 0))

    def _find_ranges(self, number: int, landing: Landing) -> None:
        block_rows, first_rows = self._options.block_rows, self._options.first_rows
        if block_rows is not None:
            block_rows = max(1, block_rows // len(self._numbers))
        with self._where(number, landing), checking(self._check), until(self._options.deadline):
            prepared = self._prepared_on(number)
            for index, (tasks, _) in self._taken(number):
                options = dataclasses.replace(
                    self._options,
                    progress=self._heard_of(index),
                    block_rows=block_rows,
                    first_rows=first_rows,
                    ahead_rows=1,
                )
                first_rows = None
                run = functools.partial(self._run_on, number, prepared, tasks=tasks)
                blocks = self._sent_blocks(run, options, landing)
                try:
                    for rows, brought in blocks:
                        if self._enough():
                            return
                        self._found[number] += rows
                        self._sent[number] += 1
                        self._arrived.put((number, brought, rows))
                        self._wait_for_room(number)
                finally:
                    blocks.close()
                if self._enough():
                    return

    def _enough(self) -> bool:
        enough = self._options.enough
        return enough is not None and sum(self._found) >= enough

    def _wait_for_room(self, number: int) -> None:
        while self._sent[number] - self._given[number] >= WAITING_BLOCKS and not self._enough():
            self._check()
            time.sleep(ROOM_WAIT_S)

    def _check(self) -> None:
        """What a device's thread checks between two launches, and while it waits."""
        if self._workers.stopped:
            raise StoppedError

    def _heard_of(self, index: int) -> ProgressCallback | None:
        """What a range reports to; nothing, if nobody wants to know."""

        def hear(done: float, matches: int) -> None:
            self._heard[index] = done, matches

        return None if self._options.progress is None else hear

    def _report(self) -> None:
        """Tell the caller now and then how far it is."""
        now = time.monotonic()
        if self._options.progress is None or now < self._reported_at + REPORT_INTERVAL_S:
            return
        self._reported_at = now
        heard = self._heard.copy()
        done = sum(self._ranges[index].share * fraction for index, (fraction, _) in heard.items())
        found = self._so_far() if self._runs else self.matches
        self._options.progress(min(done, 1.0), found or 0)

    def _so_far(self) -> int | None:
        """Matches of the ranges that are counted, and of those that are being counted; None: parts say nothing."""
        runs, totals = self._runs.copy(), self._totals.copy()
        begun = [run.matches for index, run in runs.items() if index not in totals]
        counted = [found for found in begun if found is not None]
        if len(counted) < len(begun) or (self._plan.suffix is not None and not self._plan.suffix.whole):
            return None
        return sum(counted) + self._matches_of(sum(totals.values()))
