"""Blocks that several threads make, handed to one caller."""

from __future__ import annotations

import contextlib
import functools
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cusubmatch.engines.cpu.search.task_queue import TaskQueue
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.errors import Stopped
from cusubmatch.system.deadlines import checking
from cusubmatch.system.workers import Workers

__all__ = ["blocks_of_threads"]

FINISHED = object()


def blocks_of_threads(
    shares: Sequence[Iterator[Any]],
    tasks: TaskQueue,
    max_queued: int,
    tunables: Tunables,
    check: Callable[[], None],
    report: Callable[[], None],
) -> Iterator[Any]:
    """The blocks of several generators, each run by a thread of its own; None is no block.

    Parameters
    ----------
    tasks : TaskQueue
        What the generators take their work from; it is stopped when a thread fails or the caller leaves.
    max_queued : int
        Blocks that wait for the caller at most, about; threads pause beyond it.
    check : callable
        Called by a thread while it waits for a compiler; may raise `Stopped`.
    report : callable
        Called by the caller's thread now and then.
    """
    blocks: queue.SimpleQueue = queue.SimpleQueue()

    def offer(block):
        while blocks.qsize() >= max_queued and not workers.stopped:
            time.sleep(tunables.queue_full_s)
        blocks.put(block)

    def run(share):
        try:
            with checking(check), contextlib.suppress(Stopped):
                for block in share:
                    if workers.stopped:
                        tasks.stop()
                    if block is not None:
                        offer(block)
        except BaseException:
            tasks.stop()
            raise
        finally:
            blocks.put(FINISHED)

    workers, running = Workers(), len(shares)
    try:
        workers.start(*(functools.partial(run, share) for share in shares))
        while running:
            over = workers.over
            if workers.stopped:
                tasks.stop()
            try:
                item = blocks.get(timeout=tunables.report_s)
            except queue.Empty:
                if over:  # who had not begun when another failed says nothing
                    break
                item = None
            report()
            if item is FINISHED:
                running -= 1
            elif item is not None:
                yield item
    finally:
        workers.stopped = tasks.stopped = True  # before a step in which an interrupt may arrive
        try:
            tasks.stop()
        finally:
            workers.end()
    if workers.error is not None:
        raise workers.error
