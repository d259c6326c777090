"""What runs have in common: threads that take tasks from one queue, blocks of bounded size, limits, and who is told.

A run makes its tasks and says how a thread works on them. Compiled walkers work without the GIL and return after a
bounded amount of work; limits, deadlines, progress and interrupts are looked after here, between two returns.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from cusubmatch.engines.cpu.search.parallel_blocks import blocks_of_threads
from cusubmatch.engines.cpu.search.run_progress import RunProgress
from cusubmatch.engines.cpu.search.task_queue import TaskQueue
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions, StepsSpent
from cusubmatch.errors import DeadlinePassed, Stopped

__all__ = ["ThreadedRun"]

EARLY_PART = 0.25  # of the work that is allowed, after which that may be seen to be far too little:
FAR_TIMES = 8.0  # about so many times as much is needed
LEAST_DONE = 1e-6  # in place of nothing


class ThreadedRun:
    """The threads of one run; a subclass puts `tasks` into the queue and has `_row_blocks`.

    Parameters
    ----------
    options : RunOptions
        Blocks have at most, and by default, `tunables.block_rows` rows.
    tunables : Tunables

    Attributes
    ----------
    matches : int or None
        Matches found so far.
    """

    tasks: TaskQueue

    def __init__(self, options: RunOptions, tunables: Tunables):
        self.tunables, self.deadline, self.enough = tunables, options.deadline, options.enough
        most = tunables.block_rows if options.ids is None else self.enough or tunables.block_rows
        self.block_rows = min(options.block_rows or most, self.enough or most, most)
        self.first_rows = min(options.first_rows or self.block_rows, self.block_rows)
        self.ahead_blocks = -(-options.ahead_rows // self.block_rows)
        self._then = options.then
        self.matches: Any = 0
        self._late = self._spent = False
        self._work, self._max_work = 0, options.max_work
        self._turn_units = tunables.work_units
        self._begun: Iterator[Any] | None = None  # the caller's share of blocks, once a turn has been taken,
        self._found: list[Any] = []  # and those that it has made so far
        self._lock = threading.RLock()  # of the sum
        self._max_threads = 1
        self._caller = threading.current_thread()
        followed = options.max_work is not None
        self.progress = RunProgress(options.progress, lambda: self.matches, tunables.report_s, followed)

    ready = False  # of the next block: nobody knows before it comes

    def blocks(self) -> Iterator[Any]:
        """Blocks of matches; closing it stops the run.

        Raises
        ------
        DeadlinePassed
        """
        blocks = self._blocks_of_all(self._row_blocks)
        return blocks if self._then is None else self._handed_over(blocks)

    def turn(self, units: int) -> bool:
        """Walk alone for about so many units of work, before `blocks` is asked for; whether there is more to do."""
        self._caller, self._turn_units, end = threading.current_thread(), units, self._work + units
        self._begun = self._begun or self._row_blocks()
        for block in self._begun:
            if block is not None:
                self._found.append(block)
            if self.tasks.stopped:
                return False
            if self._work >= end:
                return True
        return False

    def leave(self) -> None:
        """Drop what turns have found, and do no more."""
        self.stop()
        self._found.clear()
        self._begun = None  # which holds this run

    @property
    def work(self) -> float:
        """Units of work so far."""
        return self._work

    @property
    def work_left(self) -> float:
        """About how much more it takes to find enough matches; without end where none has been found."""
        if self.enough is None or not self.matches:
            return math.inf
        return self._work * (self.enough / self.matches - 1)

    def _row_blocks(self) -> Iterator[Any]:
        """Write the matches of this thread's tasks: a block, or None, at each return of a walker."""
        raise NotImplementedError

    def _handed_over(self, blocks):
        with contextlib.closing(blocks):
            yield from map(self._then, blocks)

    def _end_if_due(self) -> None:
        """Look whether the run is to end, and report now and then."""
        if self.enough is not None and self.matches >= self.enough:
            self.stop()
        elif self.deadline is not None and time.monotonic() > self.deadline:
            self._late = True
            self.stop()
        elif self._max_work is not None and not self.tasks.stopped and self._is_work_spent(self._max_work):
            self._spent = True
            self.stop()
        if threading.current_thread() is self._caller:
            self.progress.report_if_due()

    def _is_work_spent(self, most: int) -> bool:
        """Whether the run is to give up.

        It may do so much work, or twice that once half is done. After a part of it, it gives up if all seems far more.
        """
        if self._work > most:
            return self._work > 2 * most or self.progress.done < 0.5
        return self._work > EARLY_PART * most and self._expected_work / most > FAR_TIMES

    @property
    def _expected_work(self) -> float:
        """About how much work all is, from what is done."""
        return self._work / max(self.progress.done, LEAST_DONE)

    def _check_while_compiling(self):
        """Look whether the run is to end while a thread waits for a compiler."""
        self._end_if_due()
        if self.tasks.stopped:
            raise Stopped

    def stop(self) -> None:
        """Let every thread return soon; matches that are still unseen are dropped."""
        self.tasks.stop()

    def _blocks_of_all(self, thread_blocks: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """The blocks of all threads, each of which goes through thread_blocks(). Closing it ends them.

        The caller's thread works alone while there is little to do.
        """
        self._caller = threading.current_thread()
        blocks, begin = self._begun or thread_blocks(), time.monotonic()
        self._begun, self._turn_units = None, self.tunables.work_units
        try:
            while self._found:
                yield self._found.pop(0)
            for block in blocks:
                if block is not None:
                    yield block
                alone = self._max_threads == 1 and not self.ahead_blocks
                if not alone and time.monotonic() - begin > self.tunables.alone_s:
                    self.tasks.threads = self._max_threads
                    yield from blocks_of_threads(
                        [blocks, *(thread_blocks() for _ in range(self._max_threads - 1))],
                        self.tasks,
                        max(2 * self._max_threads, self.ahead_blocks),
                        self.tunables,
                        self._check_while_compiling,
                        self.progress.report_if_due,
                    )
                    break
        finally:
            self.stop()
        if self._late:
            raise DeadlinePassed
        if self._spent:
            raise StepsSpent(self._expected_work / max(self._max_work or 0, 1))
        self.progress.report_end()
