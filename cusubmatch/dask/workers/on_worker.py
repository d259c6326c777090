"""What a worker keeps and watches over: graphs that it has built, and the memory of the queries that it runs.

A worker builds a graph when a task first asks for it and keeps the last few. A task is one thread of Dask's, so a query
uses one thread. Between steps of a search a guard looks at the memory of the process, and whether the task is still
wanted: a query that passes its budget ends with MemoryError, long before the worker would be killed for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
from distributed import get_worker

from cusubmatch.dask.workers.sources import Source
from cusubmatch.graph import Graph
from cusubmatch.graph.cache import Cache
from cusubmatch.system.host_memory import available_memory
from cusubmatch.system.thread_limit import at_most_threads

__all__ = ["MemoryGuard", "NotWantedError", "graph_of", "one_thread", "tell_begun", "worker_address"]

KEPT_GRAPHS = 2
SECONDS_BETWEEN_CHECKS = 1.0  # of the files that a graph was built from
MEMORY_SHARE = 0.75  # of the memory of a worker that queries may take; Dask pauses it at 0.8 and ends it at 0.95

_graphs = Cache()
_checked: dict[str, float] = {}  # when the files of a graph were last looked at


class NotWantedError(Exception):
    """The task was cancelled while it ran."""


def graph_of(source: Source) -> Graph:
    """The graph of a source, built if this worker does not have it; GraphError if its files have changed."""
    now = time.monotonic()
    if now - _checked.get(source.key, -SECONDS_BETWEEN_CHECKS) >= SECONDS_BETWEEN_CHECKS:
        source.check()
        _checked[source.key] = now
    return _graphs.get("graphs", source.key, source.build, KEPT_GRAPHS)


def worker_address() -> str:
    """The address of this worker; "" outside of one."""
    try:
        return get_worker().address
    except ValueError:
        return ""


def tell_begun(topic: str, numbers: list[int]) -> None:
    """Tell the scheduler under a topic, if there is one, which questions this worker begins."""
    if topic:
        with suppress(ValueError):
            get_worker().log_event(topic, numbers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the calls of this task use one thread, as Dask counts on."""
    with at_most_threads(1):
        yield


class MemoryGuard:
    """Ends a query that passes its memory, or that nobody waits for any more; called as a progress callback.

    Parameters
    ----------
    memory_limit : int or None
        Bytes that the query may take; None: its share of what the worker may take and does not use yet.

    Attributes
    ----------
    budget : int
        Bytes that the query may take.
    """

    def __init__(self, memory_limit: int | None):
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self._task: Callable[[], bool] = lambda: True
        self.budget = available_memory()
        threads = 1
        try:
            worker = get_worker()
        except ValueError:
            pass
        else:
            threads = worker.state.nthreads
            limit = worker.memory_manager.memory_limit
            if limit:
                self.budget = min(self.budget, int(MEMORY_SHARE * limit) - self._before)
            self._task = _is_wanted(worker, worker.get_current_task())
        self.budget = max(self.budget // threads, 0)
        if memory_limit is not None:
            self.budget = min(self.budget, memory_limit)

    def __call__(self, _done: float, _matches: int) -> None:
        if not self._task():
            raise NotWantedError
        taken = self._process.memory_info().rss - self._before
        if taken > self.budget:
            raise MemoryError(f"the query took {taken:,} bytes of the {self.budget:,} that it may take on a worker")


def _is_wanted(worker: Any, key: Any) -> Callable[[], bool]:
    """Whether a task of a worker is still being executed for somebody."""

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "resumed")

    return wanted
