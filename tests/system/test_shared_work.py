"""Short work that waiting threads share: who has not begun when nothing is left does not begin."""

from __future__ import annotations

import threading

import pytest

from cusubmatch.system import kept_threads
from cusubmatch.system.shared_work import share
from cusubmatch.system.workers import Workers

THREADS = 3


@pytest.fixture
def no_thread_waits(monkeypatch):
    monkeypatch.setattr(kept_threads, "_inboxes", [])


@pytest.fixture
def threads_wait(no_thread_waits):
    begun, workers = threading.Barrier(THREADS), Workers()
    workers.start(*[lambda: begun.wait(10)] * THREADS)
    workers.end()
    while len(kept_threads._inboxes) < THREADS:
        pass


@pytest.mark.usefixtures("threads_wait")
def test_threads_that_wait_do_it_beside_the_callers():
    begun, found = threading.Barrier(THREADS), []

    def work():
        begun.wait(10)
        found.append(threading.current_thread())

    share(work, THREADS)
    assert len(set(found)) == THREADS
    assert threading.current_thread() in found


@pytest.mark.usefixtures("no_thread_waits")
@pytest.mark.parametrize("threads", [1, THREADS])
def test_the_caller_does_it_alone_where_none_waits(threads):
    found = []
    share(lambda: found.append(threading.current_thread()), threads)
    assert found == [threading.current_thread()]


@pytest.mark.usefixtures("threads_wait")
def test_what_a_thread_raises_is_raised_when_all_have_ended():
    begun, ended = threading.Barrier(THREADS), []

    def work():
        begun.wait(10)
        if threading.current_thread() is not caller:
            raise OSError
        ended.append(caller)

    caller = threading.current_thread()
    with pytest.raises(OSError):
        share(work, THREADS)
    assert ended == [caller]
