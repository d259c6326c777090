"""What is kept with a graph: each value is made once, the oldest goes first, and on a device it is finished first."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import cusubmatch as csm
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution import planning
from cusubmatch.graph.cache import Cache
from cusubmatch.system.deadlines import until


def test_the_value_that_was_asked_for_longest_ago_goes_first():
    cache, made = Cache(), []
    for key in "abacab":
        assert cache.get("letters", key, lambda key=key: made.append(key) or key.upper(), 2) == key.upper()
    assert made == ["a", "b", "c", "b"]
    assert set(cache.values("letters")) == {"A", "B"}
    cache.forget("letters")
    assert not cache.holds("letters", "a")


def test_threads_that_ask_for_the_same_value_wait_for_it_to_be_made_once():
    cache, made = Cache(), []
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: cache.get("one", "key", lambda: made.append(1) or len(made), 1), range(64)))
    assert (set(found), made) == ({1}, [1])


def test_a_value_on_a_device_is_finished_before_anyone_gets_it():
    happened = []
    stream = SimpleNamespace(synchronize=lambda: happened.append("finished"))
    device = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
    cache = Cache(device)
    for _ in range(2):
        happened.append(cache.get("arrays", "key", lambda: happened.append("made") or "given", 1))
    assert happened == ["made", "finished", "given", "given"]


def test_a_copy_of_a_graph_on_a_device_is_finished_before_anyone_gets_it():
    """It is kept with the graph of the host, for which nothing is waited for."""
    happened = []
    stream = SimpleNamespace(synchronize=lambda: happened.append("finished"))
    device = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
    graph = csm.Graph.from_edgelist(np.array([[0, 1], [1, 2]]))
    for _ in range(2):
        happened.append(graph.copy_at("there", device, lambda array: happened.append("copied") or array).n_vertices)
    assert happened[0] == "copied"
    assert happened[-3:] == ["finished", 3, 3]
    assert happened.count("finished") == 1


@pytest.fixture
def maker():
    """A cache in which another thread makes the value of "slow" until the test is over."""
    cache, begun, over = Cache(), threading.Event(), threading.Event()

    def make():
        begun.set()
        over.wait(10)
        return "late"

    thread = threading.Thread(target=cache.get, args=("values", "slow", make, 4))
    thread.start()
    begun.wait()
    yield cache
    over.set()
    thread.join()
    assert cache.get("values", "slow", lambda: "again", 4) == "late"


def test_another_value_does_not_wait_for_one_that_is_being_made(maker):
    begin = time.perf_counter()
    assert maker.get("values", "other", lambda: "there", 4) == "there"
    assert maker.get("kind", "slow", lambda: "there", 4) == "there"
    assert not maker.holds("values", "slow")
    assert maker.values("values") == ["there"]
    assert time.perf_counter() - begin < 0.1


def test_who_waits_for_a_value_of_another_thread_leaves_at_the_deadline(maker):
    begin = time.monotonic()
    with until(begin + 0.2), pytest.raises(DeadlinePassed):
        maker.get("values", "slow", lambda: "twice", 4)
    assert 0.2 < time.monotonic() - begin < 0.5


def test_a_call_whose_plan_another_thread_makes_keeps_its_time_limit(skewed, monkeypatch):
    begun, over = threading.Event(), threading.Event()
    walking = planning.walking

    def slow(*given):
        begun.set()
        over.wait(10)
        return walking(*given)

    graph = skewed._copy(skewed.xp, lambda array: array)
    monkeypatch.setattr("cusubmatch.execution.planning.walking", slow)
    monkeypatch.setattr("cusubmatch.execution.planned_call.TRIAL_SECONDS", 0.1)  # below, a call makes a plan of its own
    with ThreadPoolExecutor(1) as other:
        count = other.submit(csm.count_matches, graph, "(a)--(b)--(c)", engine="cpu")
        begun.wait()
        begin = time.monotonic()
        with pytest.raises(csm.TimeLimitExceeded):
            csm.count_matches(graph, "(a)--(b)--(c)", engine="cpu", time_limit=0.2)
        assert 0.2 <= time.monotonic() - begin < 0.5
        over.set()
        assert count.result() == csm.count_matches(graph, "(a)--(b)--(c)", engine="cpu", time_limit=10)


def test_who_waits_for_a_value_makes_it_where_the_other_thread_fails():
    cache, begun, over = Cache(), threading.Event(), threading.Event()

    def fails():
        begun.set()
        over.wait(10)
        raise MemoryError

    with ThreadPoolExecutor(2) as others:
        first = others.submit(cache.get, "values", "key", fails, 1)
        begun.wait()
        second = others.submit(cache.get, "values", "key", lambda: "made", 1)
        over.set()
        assert second.result(5) == "made"
        assert isinstance(first.exception(), MemoryError)


def test_making_a_value_may_ask_for_others():
    cache = Cache()
    assert cache.get("values", 1, lambda: 1 + cache.get("values", 2, lambda: 2, 4), 4) == 3
