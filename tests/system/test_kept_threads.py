"""Threads that are kept: one that waits gets the next work, one that has waited too long ends, a fork has none."""

from __future__ import annotations

import multiprocessing
import threading
import time

import pytest

from cusubmatch.system import kept_threads
from cusubmatch.system.kept_threads import WAITING, Work, begin


@pytest.fixture(autouse=True)
def no_thread_waits(monkeypatch):
    monkeypatch.setattr(kept_threads, "_inboxes", [])


def done_by(works):
    """The threads that do so many works at the same time."""
    threads, all_begun = [], threading.Barrier(works)

    def do():
        threads.append((threading.current_thread(), threading.current_thread().name))
        all_begun.wait(10)

    begun = [Work(do, "at work") for _ in range(works)]
    for work in begun:
        begin(work)
    for work in begun:
        work.wait()
        assert work.over
    assert {name for _, name in threads} == {"at work"}
    until(lambda: len(kept_threads._inboxes) >= works)
    return {thread for thread, _ in threads}


def until(holds):
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_thread_that_waits_gets_the_next_work():
    first = done_by(3)
    assert {thread.name for thread in first} == {WAITING}
    assert done_by(2) < first
    assert len(done_by(5) - first) == 2


def test_a_thread_that_has_waited_too_long_ends(monkeypatch):
    monkeypatch.setattr(kept_threads, "KEPT_S", 0.5)
    threads = done_by(2)
    until(lambda: not any(thread.is_alive() for thread in threads))
    assert kept_threads._inboxes == []
    assert not done_by(1) & threads


def test_work_that_has_ended_before_it_began_is_not_done():
    done, work = [], Work(lambda: done.append(1), "at work")
    work.end()
    begin(work)
    until(lambda: work.over)
    assert done == []


def test_work_that_a_thread_raises_from_is_over(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def fails():
        raise ZeroDivisionError

    work = Work(fails, "at work")
    begin(work)
    work.wait(10)
    assert work.over


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_threads_of_its_own():
    done_by(2)
    child = multiprocessing.get_context("fork").Process(target=done_by, args=(2,))
    child.start()
    child.join(20)
    assert child.exitcode == 0
