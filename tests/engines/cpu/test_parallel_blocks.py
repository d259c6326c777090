"""Blocks of several threads: all of them arrive, and an error of one is the caller's whenever the others begin."""

from __future__ import annotations

import pytest
from working_threads import begin_one_after_the_other, working_threads

from cusubmatch.engines.cpu.search.parallel_blocks import blocks_of_threads
from cusubmatch.engines.cpu.search.task_queue import TaskQueue
from cusubmatch.engines.cpu.tunables import Tunables


def blocks_of(*shares):
    return blocks_of_threads(shares, TaskQueue([], 0.01), 4, Tunables(), lambda: None, lambda: None)


def failing():
    yield 1
    raise MemoryError("no room")


def test_blocks_of_all_threads_arrive():
    assert sorted(blocks_of(iter([1, None, 2]), iter([]), iter([3]))) == [1, 2, 3]


def test_an_error_before_another_thread_has_begun_is_the_callers(monkeypatch):
    begun, threads, seen = begin_one_after_the_other(monkeypatch), working_threads(), []
    with pytest.raises(MemoryError, match="no room"):
        seen.extend(blocks_of(failing(), iter([2])))
    assert len(begun) == 1
    assert seen in ([], [1])
    assert working_threads() == threads
