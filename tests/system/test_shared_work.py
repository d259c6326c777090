"""Short work that threads share: the caller's is one of them, and an error of another one is the caller's."""

from __future__ import annotations

import threading

import pytest

from cusubmatch.system.shared_work import share

THREADS = 3


def test_threads_do_it_beside_the_callers():
    begun, found = threading.Barrier(THREADS), []

    def work():
        begun.wait(10)
        found.append(threading.current_thread())

    share(work, THREADS)
    assert len(set(found)) == THREADS
    assert threading.current_thread() in found


def test_one_thread_is_the_callers():
    found = []
    share(lambda: found.append(threading.current_thread()), 1)
    assert found == [threading.current_thread()]


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
