"""How many threads a call may use, where the caller shares the machine with other calls.

The limit belongs to the thread that sets it. Whoever starts threads for a call asks for it in the caller's thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["at_most_threads", "thread_limit"]


class _Limit(threading.local):
    """The limit of this thread."""

    threads: int | None = None


_of_thread = _Limit()


def thread_limit() -> int | None:
    """Threads that a call of this thread may use; None where nothing was said."""
    return _of_thread.threads


@contextlib.contextmanager
def at_most_threads(threads: int | None) -> Iterator[None]:
    """Let the calls of this thread use so many threads at most; None: as many as there are."""
    previous, _of_thread.threads = _of_thread.threads, threads
    try:
        yield
    finally:
        _of_thread.threads = previous
