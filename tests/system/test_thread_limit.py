"""A limit of threads holds for the calls of the thread that set it, and for no others."""

import threading

import numba
import pytest

from cusubmatch.engines.cpu.primitives.jit import threads
from cusubmatch.system.thread_limit import at_most_threads


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)


def test_a_limit_holds_within_its_block_and_is_never_more_than_there_are():
    with at_most_threads(2):
        assert threads() == 2
        with at_most_threads(16):
            assert threads() == 4
        assert threads() == 2
    assert threads() == 4


def test_a_limit_is_of_one_thread():
    seen = []
    with at_most_threads(1):
        other = threading.Thread(target=lambda: seen.append(threads()))
        other.start()
        other.join()
    assert seen == [4]
