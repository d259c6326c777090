"""The interval after which a busy thread lets others have the interpreter."""

import sys
import threading
import time

import pytest

from cusubmatch.system.prompt_threads import INTERVAL_S, prompt_threads


def test_the_interval_is_short_while_any_thread_wants_it_and_then_as_before():
    before = sys.getswitchinterval()
    with prompt_threads():
        assert sys.getswitchinterval() == pytest.approx(INTERVAL_S)
        with pytest.raises(KeyError), prompt_threads():
            raise KeyError
        assert sys.getswitchinterval() == pytest.approx(INTERVAL_S)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_an_interval_that_is_shorter_stays():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with prompt_threads():
            assert sys.getswitchinterval() == pytest.approx(1e-5)
    finally:
        sys.setswitchinterval(before)


@pytest.mark.timed
def test_a_thread_with_many_short_steps_is_not_hindered_by_a_busy_one():
    over = threading.Event()

    def busy():
        while not over.is_set():
            sum(range(1000))

    def stepwise():
        begin = time.perf_counter()
        for _ in range(100):
            time.sleep(1e-5)  # lets the interpreter go, as compiled code does
        return time.perf_counter() - begin

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        usual_s = stepwise()
        with prompt_threads():
            prompt_s = stepwise()
    finally:
        over.set()
        thread.join()
    assert prompt_s < usual_s / 2
