"""Short work that several threads share."""

from __future__ import annotations

from collections.abc import Callable

from cusubmatch.system.workers import Workers

__all__ = ["share"]


def share(work: Callable[[], None], threads: int) -> None:
    """Call `work` in so many threads, the caller's among them; what is to be done they take from one another.

    Who has not begun when the caller's thread finds nothing left to do does not begin.
    """
    if threads == 1:
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
