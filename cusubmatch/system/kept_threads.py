"""Threads that are kept for a while when their work is done: one that waits begins at once.

To start a thread takes some tenths of a millisecond on a slow core, with the interpreter's lock, and whoever starts it
waits until it has begun. To hand work to one that waits takes some microseconds.

Each waiting thread has an inbox in a list. Whoever takes the inbox is the only one who puts work into it. An interrupt
between the two steps costs the thread, which waits for ever then, and nothing else.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

__all__ = ["WAITING", "Work", "any_waits", "begin"]

WAITING = "waiting thread of cusubmatch"  # its name
KEPT_S = 10.0  # that a thread waits

_inboxes: list[queue.SimpleQueue[Work]] = []  # of the threads that wait, that of the last one last


def _forget_all() -> None:
    _inboxes.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)  # the threads are not there


class Work:
    """What a thread does; it must not raise.

    Attributes
    ----------
    begun, over : bool
    wanted : bool
        It does not begin if this is False by then.
    """

    def __init__(self, do: Callable[[], None], name: str):
        self._do, self._name, self._end = do, name, threading.Lock()
        self.begun, self.over, self.wanted = False, False, True
        self._end.acquire()

    def do(self) -> None:
        """Do it, in the thread that got it, which has its name meanwhile."""
        self.begun, thread = True, threading.current_thread()
        try:
            if self.wanted:
                thread.name = self._name
                self._do()
        finally:
            thread.name = WAITING
            del self._do  # and what it holds
            self.over = True
            self._end.release()

    def end(self) -> None:
        """See that it does not begin any more, or else wait until it is over; for the thread that waits."""
        self.wanted = False
        if self.begun:
            self.wait()

    def wait(self, seconds: float = -1) -> None:
        """Wait until it is over, at most so long; for one thread."""
        if not self.over:
            self._end.acquire(timeout=seconds)


def any_waits() -> bool:
    """Whether a thread waits for work just now."""
    return bool(_inboxes)


def begin(work: Work) -> None:
    """Let a thread do it: one that waits, or a new one if none does."""
    try:
        inbox = _inboxes.pop()
    except IndexError:
        threading.Thread(target=_do_one_after_the_other, args=(work,), daemon=True).start()
    else:
        inbox.put(work)


def _do_one_after_the_other(work: Work | None) -> None:
    inbox: queue.SimpleQueue[Work] = queue.SimpleQueue()
    while work is not None:
        work.do()
        work = None  # while it waits
        _inboxes.append(inbox)
        work = _next(inbox)


def _next(inbox: queue.SimpleQueue[Work]) -> Work | None:
    """The next work; None if there was none for a while."""
    try:
        return inbox.get(timeout=KEPT_S)
    except queue.Empty:
        try:
            _inboxes.remove(inbox)
        except ValueError:  # somebody has just taken it
            return inbox.get()
        return None
