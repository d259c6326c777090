"""What a strategy is: one way to count the matches of a pattern, with an estimate of what that takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from cusubmatch.engines.runs import Count, ProgressCallback, TaskRange

__all__ = ["Strategy", "SummedCount"]


class Strategy(Protocol):
    """One way to count; the strategy with the least estimate is run.

    A count may be made of parts: the totals of ranges of its tasks, run anywhere and in any order, add up, and
    `matches_of` the sum is the number of matches.
    """

    @property
    def estimate(self) -> float:
        """Nanoseconds that a count is expected to take."""
        ...

    @property
    def number_of_tasks(self) -> int:
        """Parts that the count can be made of."""
        ...

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count, or a part of it, to be ended at a time (`time.monotonic`)."""
        ...

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of the totals of all tasks."""
        ...


class SummedCount(ABC):
    """A count that is known when all its parts have been summed.

    Attributes
    ----------
    strategy : Strategy
    progress : callable or None
    matches : None
        Nothing is known before the end.
    """

    strategy: Strategy
    progress: ProgressCallback | None
    matches: int | None = None

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        matches = self.strategy.matches_of(self.total())
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

    @abstractmethod
    def total(self) -> int:
        """The sum of the parts; raises `DeadlinePassed`."""
