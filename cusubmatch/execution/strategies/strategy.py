"""What a strategy is: one way to count the matches of a pattern, with an estimate of what that takes."""

from __future__ import annotations

from typing import Protocol

from cusubmatch.engines.base import Count, ProgressCallback, TaskRange

__all__ = ["Strategy"]


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
