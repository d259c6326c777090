"""Threads of one call: none of them outlives it, wherever an interrupt ends it.

An interrupt arrives in the main thread between any two steps of Python code. It may arrive while threads are being
started, and in the middle of `Condition.__enter__` or `Queue.get`, which then leave their lock taken for ever. So the
main thread shares only plain locks, `SimpleQueue`s and attributes with workers, which are changed in one step.
Whoever starts workers ends them in a `finally` whose `try` begins before the first of them starts.

Each thread starts two others, which start two each, so that the first begins to work while others are still being
started, and so does whoever started it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Workers"]

JOIN_STEP_S = 0.02  # between two looks at a thread that is waited for
START_GRACE_S = 0.1  # after which a thread whose start was interrupted will not begin any more


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
        self._threads: list[threading.Thread] = []  # a thread appends those that it starts before it ends

    def start(self, *works: Callable[[], None]) -> None:
        """Call each of these in a thread of its own."""
        if not works or self.stopped:
            return
        self._threads.append(threading.Thread(target=self._run, args=works, daemon=True, name="cusubmatch"))
        self._threads[-1].start()

    def wait(self) -> bool:
        """Wait for a short step; whether all have ended."""
        running = next((thread for thread in self._threads if thread.is_alive()), None)
        if running is not None:
            running.join(JOIN_STEP_S)
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

    def _run(self, work, *others):
        if self.stopped:  # the call was interrupted while this thread was started
            return
        try:
            self.start(*others[::2])
            self.start(*others[1::2])
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self.error = self.error or error
            self.stopped = True


def _join(thread):
    """Wait until a thread has ended, which may be on its way to begin."""
    begin = time.monotonic()
    while not thread.is_alive() and thread in threading.enumerate() and time.monotonic() < begin + START_GRACE_S:
        time.sleep(0.0)
    if thread.is_alive():
        thread.join()
