"""Compilers run in threads of their own, so that a caller can stop waiting.

A compiler runs for seconds, in which it notices neither interrupts nor deadlines. So a caller waits in short steps: it
leaves at its deadline, and an interrupt arrives between two steps. The thread goes on, and the next call finds the
compiled function.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from cusubmatch.system.deadlines import Pending
from cusubmatch.system.prompt_threads import prompt_threads

__all__ = ["compilations", "compiles_in_thread"]


_ended: list[int] = [0]  # compilations of this process


def compilations() -> int:
    """How many functions have been compiled or loaded; seconds in which there are more of them say little."""
    return _ended[0]


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
            with prompt_threads(), entered:
                compilation.result = compile_here(signature)
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            compilation.error = error
        finally:
            underway.pop(signature, None)
            _ended[0] += 1  # under the lock of the interpreter; that it grows is all that is asked for
            compilation.end()

    def compile_(signature):
        if global_compiler_lock.is_locked():  # by this thread, which compiles another function that calls this one
            return compile_here(signature)
        compilation = underway.get(signature)
        if compilation is None or compilation.over:
            compilation = _Compilation()
            arguments = signature, context(), compilation
            threading.Thread(target=work, args=arguments, name="cusubmatch compiler").start()
            underway[signature] = compilation  # now, since an interrupt may come before there is a thread
        compilation.wait()
        if compilation.error is not None:
            raise compilation.error
        return compilation.result

    dispatcher.compile = compile_
    return dispatcher
