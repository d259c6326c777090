"""What is kept with a graph: each value is made once, the oldest goes first, and on a device it is finished first."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from cusubmatch.cache import Cache


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
