"""Threads that share the rows of a support graph: ranges of rows, handed out one after another.

A kernel works on the rows begin, ..., end - 1 and returns the row to continue with once it has done `budget` steps, so
that the deadline is checked now and then.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced, threads
from cusubmatch.graph.support_graph import SupportGraph
from cusubmatch.system.workers import Workers

__all__ = ["Team"]

STEPS_BETWEEN_CHECKS = 1 << 23  # of the deadline
ROW_RANGES = 64
ARCS_OF_ONE_THREAD = 1 << 17  # a smaller support graph is left to one thread
TABLES_BYTES = 4 << 30  # memory of the threads' tables


class Team:
    """Threads for the rows of a support graph; a small one gets a single thread.

    Parameters
    ----------
    support : SupportGraph
    check_deadline : callable
        Called as check_deadline(fraction of the work done) now and then; what it raises ends the work.
    """

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None]):
        self.check_deadline = check_deadline
        self.arcs = len(support.targets)
        bounds = np.searchsorted(support.offsets, np.linspace(0, self.arcs, ROW_RANGES + 1)[1:-1])
        self.ranges = list(pairwise(sorted({0, *bounds.tolist(), support.vertices})))
        self.most_threads = threads() if self.arcs > ARCS_OF_ONE_THREAD else 1

    def total(self, kernel: Callable, scratch: Callable) -> int:
        """Add up the numbers of all threads, modulo 2^64; each works with kernel(number, *scratch())."""
        return sum(int(number[0]) for number in self._sums(kernel, scratch, 1))

    def summed(self, kernel: Callable, scratch: Callable) -> np.ndarray:
        """Add up the tables over arcs of all threads; their memory may limit the number of threads."""
        out, *others = self._sums(kernel, scratch, self.arcs, most_threads=max(1, TABLES_BYTES // (8 * self.arcs + 1)))
        for table in others:
            out += table
        return out

    def _sums(
        self, kernel: Callable, scratch: Callable, size: int, most_threads: int | None = None
    ) -> list[np.ndarray]:
        """So many sums of each thread, uint64."""
        arrays: list[np.ndarray] = []

        def worker():
            own = np.zeros(size, np.uint64)
            arrays.append(own)  # others append, too: the last one may be another's
            return kernel(own, *scratch())

        self.run(worker, most_threads)
        return arrays

    def run(self, worker: Callable, most_threads: int | None = None) -> None:
        """Work on all rows; each thread calls worker() for its kernel of (begin, end, budget)."""
        waiting, lock, team = list(self.ranges), threading.Lock(), Workers()
        ranges_done = [0]

        def work(check_deadline):
            kernel = worker()
            while not team.stopped:
                with lock:
                    if not waiting:
                        return
                    begin, end = waiting.pop()
                while begin < end and not team.stopped:
                    begin = kernel(begin, end, STEPS_BETWEEN_CHECKS)
                    check_deadline(ranges_done[0] / len(self.ranges))
                ranges_done[0] += 1

        with announced("tables"):
            worker()(0, 0, STEPS_BETWEEN_CHECKS)
        count = min(self.most_threads, most_threads or self.most_threads, len(waiting))
        if count <= 1:
            work(self.check_deadline)
            return
        try:
            team.start(*[functools.partial(work, lambda _: None)] * count)
            while not team.wait():
                self.check_deadline(ranges_done[0] / len(self.ranges))
        finally:
            team.end()
        if team.error is not None:
            raise team.error
