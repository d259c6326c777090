"""The queue of tasks: a thread that is alone takes more and more of them at once, several threads take one each."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cusubmatch.engines.cpu.search.task_queue import Task, TaskQueue


def ranges(n, method="lists"):
    return [Task((), 10 * i, 10 * i + 10, 1 / n, method) for i in range(n)]


def queue_of(tasks):
    return TaskQueue(tasks[::-1], wait_s=0.01)


def taken(queue):
    return list(iter(queue.take, None))


def test_a_thread_that_is_alone_takes_as_much_at_once_as_it_has_taken():
    tasks = taken(queue_of(ranges(64)))
    assert [(task.end - task.begin) // 10 for task in tasks] == [1, 1, 2, 4, 8, 16, 32]
    assert all(first.end == second.begin for first, second in pairwise(tasks))
    assert sum(task.weight for task in tasks) == pytest.approx(1.0)


def test_parts_are_left_for_threads_that_join_in():
    queue = queue_of(ranges(64))
    alone = [queue.take() for _ in range(4)]
    queue.threads = 2
    assert [queue.take(), queue.take()] == ranges(64)[8:10]
    assert alone[-1].end == 80


def test_only_ranges_of_one_walker_that_follow_each_other_are_taken_at_once():
    tasks = [
        *ranges(2, "suffix"),  # taken one by one
        Task((), 0, 10, 0.1, "lists"),
        Task((), 20, 30, 0.1, "lists"),
        Task((), 30, 40, 0.1, "bitmaps"),
        Task((7,), 40, 45, 0.1, "bitmaps"),
        Task((7,), 45, 49, 0.1, "bitmaps"),
    ]
    assert taken(queue_of(tasks)) == tasks
