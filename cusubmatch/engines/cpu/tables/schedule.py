"""Threads that share the rows of a skeleton: ranges of them, handed out one after another.

A kernel goes over rows begin, ..., end - 1 and returns the row to go on with once it has done `budget` steps, so that
the clock is looked at now and then.
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

__all__ = ["Team", "masked"]

BUDGET = 1 << 23  # steps between two looks at the clock
RANGES = 64  # of rows
ALONE = 1 << 17  # entries of a skeleton that one thread is left to work on
TABLES_BYTES = 4 << 30  # that the threads' tables may take
ONE = np.ones(1, np.uint64)


class Team:
    """As many threads as a skeleton is worth.

    Parameters
    ----------
    skeleton : Skeleton
    pulse : callable
        Called as pulse(share of the work that is done) now and then; what it raises ends the work.
    """

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None]):
        self.check_deadline = check_deadline
        self.entries = len(support.targets)
        edges = np.searchsorted(support.offsets, np.linspace(0, self.entries, RANGES + 1)[1:-1])
        self.ranges = list(pairwise(sorted({0, *edges.tolist(), support.vertices})))
        self.most = threads() if self.entries > ALONE else 1

    def total(self, kernel: Callable, scratch: Callable) -> int:
        """The sum of what the threads add up in a number each, modulo 2^64.

        Each goes over rows with kernel(number, *scratch()).
        """
        numbers: list[np.ndarray] = []

        def worker():
            numbers.append(np.zeros(1, np.uint64))
            return kernel(numbers[-1], *scratch())

        self.run(worker)
        return sum(int(number[0]) for number in numbers)

    def summed(self, kernel: Callable, scratch: Callable) -> np.ndarray:
        """The sum of the tables over entries that the threads write; no more threads than tables may take memory."""
        tables: list[np.ndarray] = []

        def worker():
            tables.append(np.zeros(self.entries, np.uint64))
            return kernel(tables[-1], *scratch())

        self.run(worker, most=max(1, TABLES_BYTES // (8 * self.entries + 1)))
        out = tables[0]
        for table in tables[1:]:
            out += table
        return out

    def run(self, worker: Callable, most: int | None = None) -> None:
        """Let threads go over all rows, each with what `worker` returns: a kernel of (begin, end, budget)."""
        waiting, lock, team = list(self.ranges), threading.Lock(), Workers()
        behind = [0]

        def work(check_deadline):
            kernel = worker()
            while not team.stopped:
                with lock:
                    if not waiting:
                        return
                    begin, end = waiting.pop()
                while begin < end and not team.stopped:
                    begin = kernel(begin, end, BUDGET)
                    check_deadline(behind[0] / len(self.ranges))
                behind[0] += 1

        with announced("tables"):
            worker()(0, 0, BUDGET)
        count = min(self.most, most or self.most, len(waiting))
        if count <= 1:
            work(self.check_deadline)
            return
        try:
            team.start(*[functools.partial(work, lambda _: None)] * count)
            while not team.wait():
                self.check_deadline(behind[0] / len(self.ranges))
        finally:
            team.end()
        if team.error is not None:
            raise team.error


def masked(values):
    """An array and the mask of its indices: ones are a single number."""
    return (ONE, 0) if values is None else (values, -1)
