"""Walking first, and another strategy when that takes much longer than was expected.

Estimates of walking can be far off on graphs with hubs; what a decomposition costs is known. So a wrong choice costs no
more than the other strategy does once more. A walk whose time went to compilers begins again: it has lost nothing yet,
and the other strategy would have to be compiled as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cusubmatch.engines.compile.compiler_thread import compilations
from cusubmatch.engines.runs import Count, ProgressCallback, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.strategy import Strategy

__all__ = ["Monotonic", "Race", "RaceCount"]

RACE_FACTOR = 1.5  # a walk is given up after this many times its estimate, or the other strategy's estimate if larger,
GRACE_S = 0.05  # and this many seconds more
MOST_STARTS = 3  # of a walk during which something is compiled


class Race:
    """A walk that is given up for another strategy."""

    def __init__(self, walk: Strategy, other: Strategy):
        self.walk, self.other = walk, other

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.walk.estimate

    @property
    def number_of_tasks(self) -> int:
        """Tasks of the walk."""
        return self.walk.number_of_tasks

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count; a part of it is walked, since all parts must go the same way."""
        if tasks is not None:
            return self.walk.run(deadline, progress, tasks)
        return RaceCount(self, deadline, progress)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of the totals of all tasks."""
        return self.walk.matches_of(total)


class RaceCount:
    """One count by a race.

    Attributes
    ----------
    matches : int or None
        Matches that the walk has found, if the deadline ended it.
    """

    def __init__(self, race: Race, deadline: float | None, progress: ProgressCallback | None):
        self.race, self.deadline = race, deadline
        self.matches: int | None = None
        self.progress = None if progress is None else Monotonic(progress)

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        walk, other = self.race.walk, self.race.other
        patience_s = max(RACE_FACTOR * walk.estimate, other.estimate) / 1e9 + GRACE_S
        matches = self.walked_within(patience_s, lambda end: walk.run(end, self.progress))
        return other.run(self.deadline, self.progress).count() if matches is None else matches

    def walked_within(self, patience_s: float, run: Callable[[float | None], Count]) -> int | None:
        """The number of matches by a walk, run(deadline); None after so many seconds in which nothing is compiled.

        Raises
        ------
        DeadlinePassed
            If the deadline of the whole count comes first.
        """
        for _ in range(MOST_STARTS):
            compiled, give_up = compilations(), time.monotonic() + patience_s
            limited = self.deadline is not None and self.deadline <= give_up
            count = run(self.deadline if limited else give_up)
            try:
                return count.count()
            except DeadlinePassed:
                if limited:
                    self.matches = count.matches
                    raise
            del count  # and the memory that it holds
            if compilations() == compiled:
                break
        return None

    def total(self) -> int:
        """The number of matches: a race has no parts."""
        return self.count()


class Monotonic:
    """Progress reports that never go back, also where the second strategy begins anew."""

    def __init__(self, progress: ProgressCallback):
        self.progress, self.done, self.matches = progress, 0.0, 0

    def __call__(self, done: float, matches: int) -> None:
        self.done, self.matches = max(self.done, done), max(self.matches, matches)
        self.progress(self.done, self.matches)
