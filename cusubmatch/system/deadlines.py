"""Waiting that ends at a deadline: each thread has a check, which it calls while it waits for another thread.

A wait goes in short steps. Between two of them the check may raise `DeadlinePassed`, and an interrupt arrives. Compiled
code calls no check; where it may run for long it looks at a flag of the thread that began it. A thread that would
hinder others if it had something compiled waits before it does.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from cusubmatch.errors import DeadlinePassed

__all__ = [
    "SECONDS_BETWEEN_CHECKS",
    "Pending",
    "also_checking",
    "before_compiling",
    "check_deadline",
    "checking",
    "each_until",
    "ended_by",
    "flag_of_thread",
    "until",
    "wait_to_compile",
]

SECONDS_BETWEEN_CHECKS = 0.02  # of a wait


class _Checks(threading.local):
    """The check of this thread, what it calls before it has something compiled, and its flag."""

    check: Callable[[], None] = staticmethod(lambda: None)
    wait_to_compile: Callable[[], None] = staticmethod(lambda: None)
    flag: np.ndarray = np.zeros(1, np.int64)


_of_thread = _Checks()
_NO_DEADLINE = contextlib.nullcontext()


def check_deadline() -> None:
    """Raise if this thread is not to wait any longer."""
    _of_thread.check()


@contextlib.contextmanager
def _having(name: str, value: Any) -> Iterator[None]:
    """Let this thread have another check, wait or flag, and then what it had before."""
    previous = getattr(_of_thread, name)
    setattr(_of_thread, name, value)
    try:
        yield
    finally:
        setattr(_of_thread, name, previous)


def checking(check: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """Let this thread call `check` while it waits; what that raises ends the wait."""
    return _having("check", check)


def also_checking(check: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """Let this thread call `check` too, after what it checked before."""
    return checking(functools.partial(_both, _of_thread.check, check))


def wait_to_compile() -> None:
    """Wait until this thread may have something compiled."""
    _of_thread.wait_to_compile()


def before_compiling(wait: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """Let this thread call `wait` before it has something compiled; what that raises ends what needs it."""
    return _having("wait_to_compile", wait)


def ended_by(flag: np.ndarray) -> contextlib.AbstractContextManager[None]:
    """Let what this thread begins end soon after `flag`, int64 (1), is not 0 any more."""
    return _having("flag", flag)


def flag_of_thread() -> np.ndarray:
    """The flag of this thread, int64 (1); 0 as long as what it begins may go on."""
    return _of_thread.flag


def until(deadline: float | None) -> contextlib.AbstractContextManager[None]:
    """Let this thread wait for others until a time (`time.monotonic`), and raise `DeadlinePassed` then.

    What it checked before is checked too. None: there is no such time.
    """
    if deadline is None:
        return _NO_DEADLINE
    return checking(functools.partial(_check, deadline, _of_thread.check))


def each_until(deadline: float | None, items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """The items of a generator, during each of which other threads are waited for until the deadline."""
    try:
        while True:
            with until(deadline):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        items.close()


def _both(before, check):
    before()
    check()


def _check(deadline, before):
    before()
    if time.monotonic() > deadline:
        raise DeadlinePassed


class Pending:
    """Work that one thread does and others wait for.

    Attributes
    ----------
    over : bool
        Whether it is done, or was given up.
    """

    def __init__(self) -> None:
        self.over, self._underway = False, threading.Lock()
        self._underway.acquire()

    def end(self) -> None:
        """Let those who wait go on; once."""
        self.over = True
        self._underway.release()

    def wait(self) -> None:
        """Wait until it is over, in short steps; raise what the check raises."""
        while not self.over:
            if self._underway.acquire(timeout=SECONDS_BETWEEN_CHECKS):
                self._underway.release()
            elif not self.over:
                check_deadline()
