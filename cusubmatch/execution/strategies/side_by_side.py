"""Two engines that count one pattern at the same time; the first answer is taken, and the other count is given up.

A GPU walks a pattern with labels quickly, unless it has very many embeddings; these the host counts by conditioning on
its candidate graph, without visiting them. Estimates do not tell the two cases apart. So the walk of the plan that is
cheapest by the estimates starts at once. If it is not done very soon, a thread plans and counts on the host. If it is
not done some time later, it begins again, by a plan that was chosen with care. Where the host's code is still to be
compiled, which would hinder the walk, the host waits until then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from cusubmatch.engines.runs import Count, ProgressCallback, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.copied_count import BesideCopyCount
from cusubmatch.execution.strategies.race import Race, RaceCount
from cusubmatch.execution.strategies.strategy import Strategy
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.system.deadlines import also_checking, before_compiling, check_deadline, checking, ended_by
from cusubmatch.system.device_claim import claiming
from cusubmatch.system.kept_threads import Work, begin
from cusubmatch.system.prompt_threads import prompt_threads
from cusubmatch.system.thread_limit import at_most_threads, thread_limit

__all__ = ["HostCount", "HostIsDoneError", "OnHost", "SideBySide"]

HOST_DELAY_S = 0.001  # most walks are done by then, and planning on the host would hinder them
PATIENCE_S = 0.3  # after which a walk that goes on is worth a trial of plans, and a look for decompositions
LOOK_S = 0.02  # between two looks of a host that may not compile yet;
FIRST_LOOK_S, COPY_LOOK_S = 0.001, 0.0002  # at whether it has begun on the device, and at what that does


class SideBySide(Race):
    """A walk, and a count on the host beside it.

    Parameters
    ----------
    walk : Walk
    on_host : Strategy
        The host's.
    of_long_count : callable
        of_long_count(only_kept) makes the strategy of a count that takes long; None if it was not made before and
        `only_kept`.
    underway : HostCount, optional
        The count on the host, if it has begun; for one run.
    """

    def __init__(
        self,
        walk: Walk,
        on_host: Strategy,
        of_long_count: Callable[[bool], Strategy | None],
        underway: HostCount | None = None,
    ):
        super().__init__(walk, on_host)
        self.first, self.of_long_count, self.underway = walk, of_long_count, underway

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count; a part of it is walked, since all parts must go the same way."""
        if tasks is not None:
            return self.walk.run(deadline, progress, tasks)
        return SideBySideCount(self, deadline, progress)


class OnHost:
    """The host's strategy, planned when it is first asked for."""

    def __init__(self, on_host: Callable[[], Strategy]):
        self.on_host = on_host

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.on_host().estimate

    @property
    def number_of_tasks(self) -> int:
        """Parts that the count can be made of."""
        return self.on_host().number_of_tasks

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count, or a part of it."""
        return self.on_host().run(deadline, progress, tasks)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of the totals of all tasks."""
        return self.on_host().matches_of(total)


class SideBySideCount(RaceCount):
    """One count by two engines.

    Attributes
    ----------
    matches : int or None
        Matches that a walk has found, if the deadline ended it.
    """

    race: SideBySide

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        host = self.race.underway or HostCount(self.race.other, self.deadline, HOST_DELAY_S)
        try:
            host.begin()
            with also_checking(host.check):
                return self._walked(host)
        except HostIsDoneError:
            matches = host.result()
        except DeadlinePassed:
            if host.matches is None:
                raise
            matches = host.matches
        finally:
            host.give_up()
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

    def _walked(self, host: HostCount) -> int:
        """The number of matches by walking, or by what a long count is worth."""
        check_deadline()
        long_count = self.race.of_long_count(True)
        if long_count is None:
            matches = self.walked_within(PATIENCE_S, lambda end: self.race.first.run(end, self.progress, watches=True))
            if matches is not None:
                return matches
        host.may_compile.set()
        if long_count is None:
            long_count = self.race.of_long_count(False)
            assert long_count is not None  # noqa: S101 - it is made if it is not there
        count: Count
        if isinstance(long_count, Walk):
            count = long_count.run(self.deadline, self.progress, watches=True)
        else:
            count = long_count.run(self.deadline, self.progress)
        try:
            return count.count()
        except DeadlinePassed:
            self.matches = count.matches
            raise


class HostIsDoneError(Exception):
    """The host has counted all, or failed."""


class _GivenUpError(Exception):
    """The other count was the first."""


class HostCount:
    """A count in a thread on the host, which works with as many threads as this one may.

    Whoever begins it lets it end (`give_up`), also where an interrupt arrives while it begins.

    Parameters
    ----------
    strategy : Strategy
        The host's.
    deadline : float, optional
        Time (`time.monotonic`) at which it ends.
    delay_s : float
        Seconds before it works.
    head_start_s : float
        Seconds that whoever began it leaves it alone.
    keep_time : callable, optional
        keep_time(seconds) is called when it has counted.

    Attributes
    ----------
    matches : int or None
        The count, once it is known.
    may_compile : Event
        Set where the walk takes so long that it may be hindered.
    claim : Event
        Set where the walk is to wait, since the host uses the device.
    """

    matches: int | None = None

    def __init__(
        self,
        strategy: Strategy,
        deadline: float | None,
        delay_s: float = 0.0,
        head_start_s: float = 0.0,
        keep_time: Callable[[float], None] = lambda _: None,
    ):
        self.strategy, self.deadline = strategy, deadline
        self.delay_s, self.head_start_s, self.keep_time = delay_s, head_start_s, keep_time
        self.error: BaseException | None = None
        self.over, self.may_compile = threading.Event(), threading.Event()
        self.flag, self.claim = np.zeros(1, np.int64), threading.Event()
        self._begun, self._begun_s, self._threads = False, 0.0, thread_limit()
        self._copied: BesideCopyCount | None = None
        self._is_told = threading.Lock()  # taken once the count is known
        self._work = Work(self._count, "cusubmatch count on the host")

    def begin(self) -> None:
        """Begin, unless it has begun."""
        if not self._begun:
            self._begun = True
            begin(self._work)

    def have_head_start(self) -> None:
        """Leave it alone for a while; for the thread that began it.

        Raises
        ------
        HostIsDoneError
        """
        end_s = time.monotonic() + self.head_start_s
        if self.deadline is not None:
            end_s = min(end_s, self.deadline)
        while not self.is_done and not self._work.over and (left_s := end_s - time.monotonic()) > 0.0:
            self._work.wait(min(left_s, FIRST_LOOK_S if self._copied is None else COPY_LOOK_S))
        self.check()

    def _count(self) -> None:
        if self.over.wait(self.delay_s):
            return
        self._begun_s = time.monotonic()
        ended, may_compile = ended_by(self.flag), before_compiling(self._wait_to_compile)
        try:
            with (
                prompt_threads(),
                checking(self._check_over),
                ended,
                may_compile,
                at_most_threads(self._threads),
                claiming(self.claim),
            ):
                count = self.strategy.run(self.deadline, lambda *_: self._check_over())
                if isinstance(count, BesideCopyCount):
                    self._copied = count
                self._tell(count.count())
        except (_GivenUpError, DeadlinePassed, MemoryError):  # the walk may still do
            pass
        except BaseException as error:  # noqa: BLE001 - raised by the thread that asked for the count
            self.error = error

    def _wait_to_compile(self) -> None:
        while not self.may_compile.wait(LOOK_S):
            self._check_over()
        self._check_over()

    def _check_over(self) -> None:
        if self.over.is_set():
            raise _GivenUpError

    def _tell(self, matches: int) -> None:
        """Be done; how long it took is kept by the first who knows the count."""
        if self._is_told.acquire(blocking=False):
            self.keep_time(time.monotonic() - self._begun_s)
        self.matches = matches

    @property
    def is_done(self) -> bool:
        """Whether the count, or an error, is there.

        What a device has counted is there at once: the host's threads need a while to see that, and to end.
        """
        if self.matches is None and self._copied is not None:
            matches = self._copied.poll()
            if matches is not None:
                self._tell(matches)
        return self.matches is not None or self.error is not None

    def check(self) -> None:
        """Raise if it is done: what a walk calls while it goes on. Wait while the host uses the device."""
        while self.claim.is_set() and not (self.is_done or self._is_late()):
            time.sleep(LOOK_S)
        if self.is_done:
            raise HostIsDoneError

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def result(self) -> int:
        """The count, once it is done; what went wrong in the thread is raised where nothing else has counted."""
        if self.matches is None:
            assert self.error is not None  # noqa: S101 - it is done
            raise self.error
        return self.matches

    def give_up(self) -> None:
        """Let the thread end soon."""
        self.flag[0] = 1
        self.over.set()
