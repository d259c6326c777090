"""Tasks that give others, done by the caller's thread, and by more threads once it has taken a while."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import TypeVar

from cusubmatch.system.deadlines import SECONDS_BETWEEN_CHECKS
from cusubmatch.system.workers import Workers

__all__ = ["do_all"]

T = TypeVar("T")


def do_all(
    tasks: list[T], do: Callable[[T], list[T]], check: Callable[[], None], threads: int, alone_until_s: float
) -> None:
    """Do the tasks of a list, and those that `do` returns, the last one first; the list is empty afterwards.

    Threads begin once it is later (`time.monotonic`). `check` is called while this thread waits for them. What it or a
    task raises ends all.
    """
    workers = Workers()
    unfinished = list(tasks)  # as many as there are tasks on the stack or being done
    turns: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True for each task on the stack

    def do_next() -> None:
        new = do(tasks.pop())
        unfinished.extend(new)
        tasks.extend(new)
        unfinished.pop()
        for _ in new:
            turns.put(True)
        if not unfinished:
            for _ in range(threads):
                turns.put(False)

    def work(while_waiting: Callable[[], None] = lambda: None) -> None:
        while not workers.stopped:
            try:
                if not turns.get(timeout=SECONDS_BETWEEN_CHECKS):
                    return
            except queue.Empty:
                while_waiting()
            else:
                do_next()

    for _ in tasks:
        turns.put(True)
    try:
        while tasks and (threads == 1 or time.monotonic() < alone_until_s):
            turns.get()
            do_next()
        if tasks:
            workers.start(*[work] * (threads - 1))
            work(check)
        while not workers.wait():
            check()
    finally:
        workers.end()
    if workers.error is not None:
        raise workers.error
