"""Tasks that the threads of a run share.

A task is a matched prefix and a range of the next level's candidates. Threads take tasks from a shared queue. A thread
that sees another one wait donates half of its shallowest open range, so that one hub vertex does not keep the others
idle.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from cusubmatch.engines.cpu.walker import program as p

__all__ = ["Task", "TaskQueue", "donate_work"]


class Task(NamedTuple):
    """A matched prefix and a range of the next level's candidates (end -1: all), for one of the walkers.

    `weight` is the estimated share of the task in the work of the run.
    """

    prefix: tuple[int, ...]
    begin: int
    end: int
    weight: float
    method: str


class TaskQueue:
    """Open tasks; the last one in is the first one out.

    Attributes
    ----------
    threads : int
        Threads that take tasks: when all of them wait, no task can come any more.
    waiting : int
        Threads that wait for a task.
    stopped : bool
        Whether tasks that are left are not to be taken any more.
    """

    def __init__(self, tasks: list[Task], wait_s: float):
        self.threads, self.waiting, self.stopped = 1, 0, False
        self._tasks, self._wait_s = tasks, wait_s
        self._taken = 0
        self._lock = threading.RLock()
        self._more = threading.Condition(self._lock)  # entered by its lock: `system.workers` says why

    def put(self, task: Task) -> None:
        """Add a task."""
        with self._lock:
            self._tasks.append(task)
            self._more.notify()

    def take(self) -> Task | None:
        """The next task; None when all threads have run out of work, or the run was stopped.

        A thread that is alone takes as much at once as it has taken so far, if the tasks are ranges of first candidates
        one after another: a short run goes through few of them, and a long one has its parts when others join in.
        """
        with self._lock:
            self.waiting += 1
            while not self._tasks and self.waiting < self.threads and not self.stopped:
                self._more.wait(self._wait_s)
            if self._tasks and not self.stopped:
                self.waiting -= 1
                return self._next_tasks(max(self._taken, 1) if self.threads == 1 else 1)
            self._more.notify_all()
            return None

    def _next_tasks(self, most):
        """The next task, or up to so many as one."""
        task = self._tasks.pop()
        self._taken += 1
        for _ in range(most - 1):
            if not self._tasks or task.prefix or not _continues(self._tasks[-1], task):
                break
            following = self._tasks.pop()
            self._taken += 1
            task = task._replace(end=following.end, weight=task.weight + following.weight)
        return task

    def stop(self) -> None:
        """Let no task be taken any more, and wake the threads that wait for one."""
        self.stopped = True
        with self._lock:
            self._more.notify_all()


def _continues(following, task):
    """Whether the range of a task begins where that of another one ends."""
    return (following.prefix, following.begin, following.method) == (task.prefix, task.end, task.method)


def donate_work(state: Any, weight: float, method: str) -> Task | None:
    """Half of what is left of a walker's shallowest open range as a task; None if there is nothing to halve.

    Its weight is the share of the given candidates in the walker's task, which has this weight.
    """
    for level in range(int(state.registers[p.FLOOR]), int(state.registers[p.LEVEL]) + 1):
        begin, position, end = (int(edge[level]) for edge in (state.begin, state.position, state.end))
        if end - position >= 2:
            half = (position + end + 1) // 2
            state.end[level] = half
            given = weight * (end - half) / (end - begin)
            return Task(tuple(state.matched[:level].tolist()), half - begin, end - begin, given, method)
        weight /= max(end - begin, 1)
    return None
