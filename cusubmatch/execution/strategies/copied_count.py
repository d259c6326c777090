"""A count on the host's candidate graph, and one by conditioning on a copy of it on a device; the first ends the other.

A count on a large candidate graph begins there at once. One on a small graph begins when the host has counted for a
while and is not half done: most such counts end before, and to make a copy takes a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cusubmatch.engines.runs import COPIED_S, CopiedCount, Count, ProgressCallback, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.strategy import Strategy

__all__ = ["BesideCopy", "BesideCopyCount"]

AT_ONCE_NS = 5e6  # that conditioning costs, at the least, from which a copy is made before the host begins
ALONE_S = 0.001  # that the host counts before one is made
HALF = 0.5


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
        By conditioning.
    cost : float
        Nanoseconds of conditioning, at the least.
    begin : callable
        begin(seconds) begins a count on a device, of embeddings, for so long at the most; None if that is not offered.
    """

    def __init__(self, on_host: Strategy, cost: float, begin: Callable[[float], CopiedCount | None]):
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
        self._begun, self._copy = False, None  # type: bool, CopiedCount | None
        self._begun_s, self._deadline = time.monotonic(), deadline
        self._on_host = strategy.on_host.run(deadline, self._look)

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
                self._begin()
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
            copy = self._copy  # another thread that looks at it may let go of it
            if copy is not None:
                copy.stop()
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

    def poll(self) -> int | None:
        """The number of matches, once the device has counted them; for any thread. What has ended without is let go."""
        copy = self._copy
        if copy is None:
            return None
        ended, total = copy.ended, copy.poll()
        if total is not None:
            return self.strategy.matches_of(total)
        if ended:
            self._copy = None
        return None

    def _begin(self) -> None:
        self._begun, end_s = True, self._begun_s + COPIED_S
        if self._deadline is not None:
            end_s = min(end_s, self._deadline)
        try:
            self._copy = self.strategy.begin(max(end_s - time.monotonic(), 0.0))
        except MemoryError:  # the host goes on
            return

    def _look(self, done: float, matches: int) -> None:
        """Begin on the device if the host takes long; raise if the device is done."""
        if self._copy is not None:
            known = self.poll()
            if known is not None:
                raise _CopyIsDoneError(known)
        elif not self._begun and done < HALF and time.monotonic() > self._begun_s + ALONE_S:
            self._begin()
        if self.progress is not None:
            self.progress(done, matches)
