"""Threads that get the interpreter soon after they have asked for it.

A thread that is busy in Python lets others have the interpreter every 5 ms. Another one that returns to Python between
short steps of compiled code waits as long at each of them, and takes several times longer. Where both are at work, the
interval is shorter for the whole process, which costs a busy thread a few percent.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

__all__ = ["prompt_threads"]

INTERVAL_S = 1e-4


class _Interval:
    """The interval of the process, as long as any thread wants a short one."""

    def __init__(self) -> None:
        self.lock, self.users, self.before = threading.Lock(), 0, 0.0

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.before = sys.getswitchinterval()
                sys.setswitchinterval(min(self.before, INTERVAL_S))
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                sys.setswitchinterval(self.before)


_interval = _Interval()


@contextlib.contextmanager
def prompt_threads() -> Iterator[None]:
    """Let all threads of this process have the interpreter soon; for a thread that no interrupt arrives in."""
    _interval.enter()
    try:
        yield
    finally:
        _interval.leave()
