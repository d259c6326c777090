"""Signals that end a program, as exceptions, so that it leaves nothing half done behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

__all__ = ["ended_by_signals"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # those that a system has
NUMBERS = {int(getattr(signal, name)) for name in NAMES if hasattr(signal, name)}


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let the signals that end this process raise SystemExit in its main thread, with the code 128 + number.

    For a program, which owns its process, and not for a library. Signals that are ignored or handled stay so, Ctrl-C
    remains Python's KeyboardInterrupt, and a second signal ends the process at once. When the exception arrives here,
    whatever was half done has been cleared away, and the process ends without waiting for threads that compile.
    """
    for number in NUMBERS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)
    try:
        yield
    except SystemExit as end:
        if end.code not in {128 + number for number in NUMBERS}:
            raise
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(int(end.code))


def _exit(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
