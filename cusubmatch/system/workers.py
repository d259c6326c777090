"""Threads of one call: none of them outlives it, wherever an interrupt ends it.

An interrupt arrives in the main thread between any two steps of Python code: while threads are being started, too, and
in the middle of `Condition.__enter__` or `Queue.get`, which then leave their lock taken for ever. So what the main
thread shares with workers are plain locks, `SimpleQueue`s and attributes, which are changed in one step, and whoever
starts workers ends them in a `finally` whose `try` is older than the first of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Workers"]

STEP_S = 0.02
BIRTH_S = 0.1  # in which a thread whose start was interrupted has begun, if it ever will


class Workers:
    """Threads that work side by side until their work is done, one of them fails, or their starter ends them.

    Attributes
    ----------
    stopped : bool
        Whether they are to return soon, which their work looks at.
    error : BaseException or None
        What the first of them that failed raised.
    """

    def __init__(self) -> None:
        self.stopped, self.error = False, None  # type: tuple[bool, BaseException | None]
        self._threads: list[threading.Thread] = []

    def start(self, *works: Callable[[], None]) -> None:
        """Let each of these be called by a thread of its own."""
        for work in works:
            self._threads.append(threading.Thread(target=self._run, args=(work,), daemon=True, name="cusubmatch"))
            self._threads[-1].start()

    def wait(self) -> bool:
        """Wait for a short step; whether all have come to their end."""
        running = next((thread for thread in self._threads if thread.is_alive()), None)
        if running is not None:
            running.join(STEP_S)
        return running is None

    def end(self) -> None:
        """Let them return, and wait until all have; an interrupt meanwhile is raised afterwards."""
        self.stopped = True
        interrupt: BaseException | None = None
        for thread in self._threads:
            try:
                _join(thread)
            except BaseException as error:  # a second one is heard at once
                if interrupt is not None:
                    raise
                interrupt = error
                _join(thread)
        if interrupt is not None:
            raise interrupt

    def _run(self, work):
        if self.stopped:  # the call was interrupted while this thread was started
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self.error = self.error or error
            self.stopped = True


def _join(thread):
    """Wait until a thread has ended, which may be on its way to begin."""
    begin = time.monotonic()
    while not thread.is_alive() and thread in threading.enumerate() and time.monotonic() < begin + BIRTH_S:
        time.sleep(0.0)
    if thread.is_alive():
        thread.join()
