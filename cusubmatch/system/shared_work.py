"""Short work that several threads share: the caller's, and those that wait for work just now."""

from __future__ import annotations

from collections.abc import Callable

from cusubmatch.system.kept_threads import any_waits
from cusubmatch.system.workers import Workers

__all__ = ["share"]


def share(work: Callable[[], None], threads: int) -> None:
    """Call `work` in so many threads at the most, which take what is to be done from one another.

    Who has not begun when the caller's thread finds nothing left to do does not begin. Where no thread waits, the
    caller's does all: to start one takes as long as the work.
    """
    if threads == 1 or not any_waits():
        work()
        return
    workers = Workers()
    try:
        workers.start(*[work] * (threads - 1))
        work()
    finally:
        workers.end()
    if workers.error is not None:
        raise workers.error
