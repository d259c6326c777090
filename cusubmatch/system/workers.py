"""Threads that work for one call: none of them works any more when it has ended, wherever an interrupt ends it.

An interrupt arrives in the main thread between any two steps of Python code. It may arrive while threads are being
started, and in the middle of `Condition.__enter__` or `Queue.get`, which then leave their lock taken for ever. So the
main thread shares only plain locks, `SimpleQueue`s and attributes with workers, which are changed in one step.
Whoever starts workers ends them in a `finally` whose `try` begins before the first of them starts.

Threads are kept for other calls (`kept_threads`). Where more are wanted than wait, each new one starts two others,
which start two each, so that the first begins to work while others are still being started, as does whoever started it.

A generator that is left in the middle has workers which wait. They end before the interpreter does: after that, whoever
closes the generator would wait for threads that do not go on any more. In a fork the threads are not there.
"""

from __future__ import annotations

import atexit
import functools
import os
import time
import weakref
from collections.abc import Callable

from cusubmatch.system.kept_threads import Work, any_waits, begin

__all__ = ["Workers"]

WAIT_STEP_S = 0.02  # between two looks at a thread that is waited for
EXIT_S = 5.0  # that the interpreter waits for threads before it ends

_all: weakref.WeakSet[Workers] = weakref.WeakSet()


class Workers:
    """Threads that work until their work is done, one of them fails, or whoever started them ends them.

    Attributes
    ----------
    stopped : bool
        Whether they are to return soon; their work looks at it.
    error : BaseException or None
        The exception of the first thread that failed.
    """

    def __init__(self) -> None:
        self.stopped, self.error = False, None  # type: tuple[bool, BaseException | None]
        self._works: list[Work] = []  # one appends those that it begins before it is over
        _all.add(self)

    def start(self, *works: Callable[[], None]) -> None:
        """Call each of these in a thread of its own."""
        begun = 0
        while begun < len(works) and not self.stopped:
            some = works[begun : begun + 1] if any_waits() else works[begun:]
            work = Work(functools.partial(self._run, *some), "cusubmatch")
            self._works.append(work)
            begin(work)
            begun += len(some)

    @property
    def over(self) -> bool:
        """Whether all have ended, or will not begin since another one has failed; what is over says nothing more."""
        return not any(map(self._goes_on, self._works))

    def wait(self) -> bool:
        """Wait for a short step; whether all have ended."""
        running = next(filter(self._goes_on, self._works), None)
        if running is not None:
            running.wait(WAIT_STEP_S)
        return running is None

    def end(self) -> None:
        """Let them return, and wait until all have; an interrupt meanwhile is raised afterwards."""
        self.stopped = True
        interrupt: BaseException | None = None
        for work in self._works:
            try:
                work.end()
            except BaseException as error:  # a second one is heard at once
                if interrupt is not None:
                    raise
                interrupt = error
                work.end()
        if interrupt is not None:
            raise interrupt

    def abandon(self, why: str) -> None:
        """Let them return; a call that waits for them raises."""
        self.error = self.error or RuntimeError(why)
        self.stopped = True

    def forget(self) -> None:
        """Take all for ended."""
        for work in self._works:
            work.over = True

    def _goes_on(self, work: Work) -> bool:
        """Whether it does something, or will; what begins once all are to stop does nothing."""
        return not work.over and (not self.stopped or work.begun)

    def _run(self, work, *others):
        if self.stopped:
            return
        try:
            self.start(*others[::2])
            self.start(*others[1::2])
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self.error = self.error or error
            self.stopped = True


def _end_all() -> None:
    """Let all threads return, and wait for them a while."""
    end, those_left = time.monotonic() + EXIT_S, _alive()
    for workers in those_left:
        workers.abandon("the process ends")
    for workers in those_left:
        while not workers.wait() and time.monotonic() < end:
            pass


def _forget_all() -> None:
    for workers in _alive():
        if not workers.over:
            workers.abandon("the threads of a call are not in a fork of its process")
            workers.forget()


def _alive() -> list[Workers]:
    while True:
        try:
            return list(_all)
        except RuntimeError:  # another thread has added some meanwhile
            continue


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
