"""A count on the host's candidate graph, and one on a copy of it on a device; the first ends the other.

A count on a large candidate graph begins there at once. One on a small graph begins when the host has counted for a
while and is not half done: most such counts end before, and to make a copy takes a millisecond.

That copy is counted by conditioning, which is not left much time, and the next one on cutsets, with elimination beside.
It goes on while it expects to be done soon. If it does not, the device is left to elimination for a while, a longer one
if that knows its bound, and then a third copy is counted by conditioning, on a part of the device.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from cusubmatch.engines.runs import COPIED_S, CopiedCount, CopiedWay, Count, ProgressCallback, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.strategy import Strategy

if TYPE_CHECKING:
    from cusubmatch.execution.strategies.conditioning_count import ConditioningCount

__all__ = ["BesideCopy", "BesideCopyCount"]

AT_ONCE_NS = 5e6  # that conditioning costs, at the least, from which a copy is made before the host begins
ALONE_S = 0.001  # that the host counts before one is made
HALF = 0.5
LONG_S = 60.0  # that another copy is counted, at the most
TRIAL_S = 1.25  # that one is counted on cutsets before it is asked when it will be done
TOO_LONG = 1.5  # times its time, that it must not be expected to take then
TOO_LATE = 0.5  # of the time so far, that it must not be late where elimination knows its bound
AGAIN_S = 0.75  # after which another copy is asked for, where elimination had the device or kernels are compiled
BOUND_S = 2.0  # after that, where elimination knows its bound
EARLY_S = 0.05  # before its time, that a copy ends whose count is too large, at the least


class _CopyIsDoneError(Exception):
    """The count on the device is done."""

    def __init__(self, matches: int):
        super().__init__()
        self.matches = matches


class BesideCopy:
    """The host's strategy, with a device beside it.

    Parameters
    ----------
    on_host : Strategy
        By conditioning (`ConditioningCount`).
    cost : float
        Nanoseconds of conditioning, at the least.
    begin : callable
        begin(seconds, way) begins a count on a device, of embeddings, for so long at the most; None if that is not
        offered.
    """

    def __init__(self, on_host: Strategy, cost: float, begin: Callable[[float, CopiedWay], CopiedCount | None]):
        self.on_host, self.cost, self.begin = on_host, cost, begin

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.on_host.estimate

    @property
    def number_of_tasks(self) -> int:
        """Of the host's strategy."""
        return self.on_host.number_of_tasks

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count; a part of it is counted on the host alone."""
        if tasks is not None:
            return self.on_host.run(deadline, progress, tasks)
        return BesideCopyCount(self, deadline, progress)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the number of embeddings."""
        return self.on_host.matches_of(total)


class BesideCopyCount:
    """One count.

    Attributes
    ----------
    matches : int or None
        Matches that the host has found, if the deadline ended it.
    """

    matches: int | None = None

    def __init__(self, strategy: BesideCopy, deadline: float | None, progress: ProgressCallback | None):
        self.strategy, self.progress = strategy, progress
        self._copy: CopiedCount | None = None
        self._ways = list(CopiedWay)  # that are still to be tried, the one of the copy first
        self._copied_s = self._end_s = self._again_s = 0.0  # when it has begun and is to end; when one may be asked for
        self._begun_s, self._deadline = time.monotonic(), deadline
        self._on_host = cast("ConditioningCount", strategy.on_host.run(deadline, self._look))

    def total(self) -> int:
        """The number of embeddings.

        Raises
        ------
        DeadlinePassed
        """
        return self._on_host.total()

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        try:
            if self.strategy.cost >= AT_ONCE_NS:
                self._begin(self._begun_s + COPIED_S)
            return self._on_host.count()
        except _CopyIsDoneError as done:
            matches = done.matches
        except DeadlinePassed:
            known = self.poll()
            if known is None:
                raise
            matches = known
        finally:
            self.matches = self._on_host.matches
            if self._copy is not None:
                self._copy.stop()
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

    def poll(self) -> int | None:
        """The number of matches, once the device has counted them; for any thread."""
        copy = self._copy
        total = None if copy is None else copy.poll()
        return None if total is None else self.strategy.matches_of(total)

    def _begin(self, end_s: float) -> None:
        """Begin on the device, in the next way."""
        self._copied_s = now = time.monotonic()
        self._end_s = end_s if self._deadline is None else min(end_s, self._deadline)
        try:
            self._copy = self.strategy.begin(max(self._end_s - now, 0.0), self._ways[0])
        except MemoryError:  # the host goes on
            self._ways.clear()
        if self._copy is None:
            self._again_s = now + AGAIN_S
            if self._ways[:1] == [CopiedWay.CONDITIONING]:  # its time will be over
                self._ways.pop(0)

    def _look(self, done: float, matches: int) -> None:
        """Begin on the device if the host takes long; raise if the device is done."""
        copy, now = self._copy, time.monotonic()
        if copy is not None:
            ended, known = copy.ended, self.poll()
            if known is not None:
                raise _CopyIsDoneError(known)
            if ended:
                self._forget(now)
            elif self._is_in_vain(copy, now):
                copy.stop()
        elif self._ways and now > self._again_s and self._is_due(done, now):
            self._begin(self._begun_s + COPIED_S if self._ways[0] is CopiedWay.CONDITIONING else now + LONG_S)
        if self.progress is not None:
            self.progress(done, matches)

    def _forget(self, now: float) -> None:
        """Let a copy go that has ended without a count."""
        way, self._copy = self._ways.pop(0), None
        if way is CopiedWay.CUTSETS:
            self._again_s = now + AGAIN_S
        elif now < self._end_s - EARLY_S:
            self._ways.clear()  # the count is too large, or was stopped

    def _is_in_vain(self, copy: CopiedCount, now: float) -> bool:
        """Whether a copy that is being counted is not expected to be the first."""
        taken, left = now - self._copied_s, copy.remaining_s
        if self._ways[0] is not CopiedWay.CUTSETS or taken <= TRIAL_S:
            return False
        return left > TOO_LONG * (self._end_s - now) or (left < -TOO_LATE * taken and self._on_host.has_bound)

    def _is_due(self, done: float, now: float) -> bool:
        """Whether the next way is to be tried."""
        way = self._ways[0]
        if way is CopiedWay.CONDITIONING:
            return done < HALF and now > self._begun_s + ALONE_S
        return way is CopiedWay.CUTSETS or not self._on_host.has_bound or now > self._again_s + BOUND_S
