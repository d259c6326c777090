"""How far a job is: the share of its estimated work that is done, and the matches so far."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["JobProgress"]

REPORT_INTERVAL_S = 0.1


class JobProgress:
    """Adds up the weights of what is done, and reports a few times a second.

    Parameters
    ----------
    callback : callable or None
        Called as callback(fraction done, matches so far).
    weight : float
        Of all that is to be done.
    """

    def __init__(self, callback: Callable[[float, int], object] | None, weight: float):
        self._callback, self._weight = callback, max(weight, 1e-300)
        self._done, self._matches, self._reported = 0.0, 0, 0.0

    def add(self, weight: float, matches: int) -> None:
        """Count a part as done."""
        self._done, self._matches = self._done + weight, self._matches + matches
        now = time.monotonic()
        if self._callback is not None and now > self._reported + REPORT_INTERVAL_S:
            self._reported = now
            self._callback(min(self._done / self._weight, 1.0), self._matches)

    def end(self, matches: int) -> None:
        """Report that all is done."""
        if self._callback is not None:
            self._callback(1.0, matches)
