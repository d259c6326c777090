"""Compilers work in threads of their own, so that whoever waits for one can leave.

Compiling takes seconds, in which a compiler hears no interrupt and looks at no clock. So a caller waits in short steps,
at its deadline it leaves, and between two steps an interrupt arrives. The thread compiles on, and what it compiled is
there for the next call.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from cusubmatch.errors import DeadlinePassed

__all__ = ["Pending", "compiles_in_thread", "each_until", "look", "until", "waiting"]

STEP_S = 0.02


class _Here(threading.local):
    """What this thread looks at while it waits."""

    look: Callable[[], None] = staticmethod(lambda: None)


_here = _Here()


def look() -> None:
    """Raise if this thread is not to wait any longer."""
    _here.look()


@contextlib.contextmanager
def waiting(look: Callable[[], None]) -> Iterator[None]:
    """Let this thread call `look` while it waits for a compiler; what that raises ends the wait."""
    previous, _here.look = _here.look, look
    try:
        yield
    finally:
        _here.look = previous


def until(deadline: float | None) -> contextlib.AbstractContextManager[None]:
    """Let this thread wait for compilers until a time (`time.monotonic`), and raise `DeadlinePassed` then."""
    return waiting(functools.partial(_check, deadline))


def each_until(deadline: float | None, items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """The items of a generator, during each of which compilers are waited for until the deadline."""
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


def _check(deadline):
    if deadline is not None and time.monotonic() > deadline:
        raise DeadlinePassed


class Pending:
    """What one thread does and others wait for.

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
        """Wait until it is over, in short steps; raise what `look` raises."""
        while not self.over:
            if self._underway.acquire(timeout=STEP_S):
                self._underway.release()
            elif not self.over:
                look()


class _Compilation(Pending):
    result: Any = None
    error: BaseException | None = None


def compiles_in_thread(dispatcher: Any, context: Callable[[], Any] = contextlib.nullcontext) -> Any:
    """Let a dispatcher of Numba's compile for new types, or load from disk, in a thread.

    `context()` is called in the caller's thread, and what it returns is entered in the compiler's.
    """
    from numba.core.compiler_lock import global_compiler_lock  # which the compiler for CUDA takes too

    compile_here = dispatcher.compile
    underway: dict[Any, _Compilation] = {}  # by signature

    def work(signature, entered, compilation):
        try:
            with entered:
                compilation.result = compile_here(signature)
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            compilation.error = error
        finally:
            underway.pop(signature, None)
            compilation.end()

    def compile_(signature):
        if global_compiler_lock.is_locked():  # by this thread, which compiles another function that calls this one
            return compile_here(signature)
        compilation = underway.get(signature)
        if compilation is None or compilation.over:
            compilation = _Compilation()
            given = signature, context(), compilation
            threading.Thread(target=work, args=given, name="cusubmatch compiler").start()
            underway[signature] = compilation  # now, since an interrupt may come before there is a thread
        compilation.wait()
        if compilation.error is not None:
            raise compilation.error
        return compilation.result

    dispatcher.compile = compile_
    return dispatcher
