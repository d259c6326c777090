"""What a strategy is: one way to count the matches of a pattern, with an estimate of what that takes."""

from __future__ import annotations

from typing import Protocol

from cusubmatch.engines.base import Count, Progress

__all__ = ["Strategy"]


class Strategy(Protocol):
    """One way to count; the strategy with the least estimate is run."""

    @property
    def estimate(self) -> float:
        """Nanoseconds that a count is expected to take."""
        ...

    def run(self, deadline: float | None, progress: Progress | None) -> Count:
        """One count, to be ended at a time (`time.monotonic`)."""
        ...
