"""Whatever ends a call before its end, and whenever: the caller has control at once, and no thread of it is left."""

from __future__ import annotations

import gc
import signal
import threading
import time
import traceback

import pytest
from plans import tuned

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.generators import rmat
from cusubmatch.system import kept_threads
from cusubmatch.system.workers import Workers

pytestmark = pytest.mark.timed

LONG = Pattern.cycle(6)
SLOW_S = 0.3  # that a slow machine may take longer than 0.2 s
MOMENTS = 12  # within the first 24 ms of a call


@pytest.fixture(scope="module")
def large():
    return Graph.from_edgelist(rmat(13, 16))


@pytest.fixture(autouse=True)
def four_threads_that_start_at_once(monkeypatch):
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 4)
    with tuned(alone_s=0.002):
        yield


def ours():
    """Threads that work for a call; `threading` may list one that never began."""
    return [thread for thread in threading.enumerate() if thread.name == "cusubmatch" and thread.is_alive()]


def compilers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch compiler")]


def streamed(graph, pattern, **options):
    for batch in csm.iter_matches(graph, pattern, batch_rows=1000, **options):
        del batch


def left_early(graph, pattern, **options):
    while True:
        batches = csm.iter_matches(graph, pattern, batch_rows=1000, **options)
        for _ in range(3):
            next(batches)
        batches.close()


def written(graph, pattern, folder, **options):
    csm.write_matches(graph, pattern, folder / "matches.parquet", limit=50_000_000, **options)


CALLS = {
    "walk": lambda graph, _: csm.count_matches(graph, Pattern.clique(8), engine="cpu"),
    "tables": lambda graph, _: csm.count_matches(graph, LONG, engine="cpu"),
    "match": lambda graph, _: csm.subgraph_match(graph, LONG, engine="cpu", limit=50_000_000),
    "iter": lambda graph, _: streamed(graph, LONG, engine="cpu"),
    "sorted": lambda graph, _: streamed(graph, LONG, engine="cpu", sort=True, memory_limit=1 << 26),
    "early": lambda graph, _: left_early(graph, LONG, engine="cpu"),
    "sample": lambda graph, _: csm.sample_matches(graph, Pattern.cycle(5), 1000, engine="cpu"),
    "write": lambda graph, folder: written(graph, LONG, folder, engine="cpu"),
    "many": lambda graph, _: csm.count_many(graph, {"K8": Pattern.clique(8), "C6": LONG}, engine="cpu"),
}


def within_arrow(frame):
    modules = (some.f_globals.get("__name__", "") for some, _ in traceback.walk_stack(frame))
    return any(name.partition(".")[0] == "pyarrow" for name in modules)


def interrupted(call, seconds):
    """The interrupt that ends a call after so many seconds, and when it came."""
    found = ended_within(call, seconds)
    if found is None:
        pytest.fail("the call was over before it was interrupted")
    return found


def ended_within(call, seconds):
    """The same, or None if the call was over before; the interrupt comes again where a call hangs.

    Arrow loses what is raised within some Python functions that it calls, so there the interrupt comes a little later.
    """
    came = []

    def interrupt(_, frame):
        if within_arrow(frame):
            signal.setitimer(signal.ITIMER_REAL, 1e-4, 3.0)
            return
        came.append(time.perf_counter())
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 3.0)
        call()
    except KeyboardInterrupt as error:
        return error, came[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io:pytest.PytestUnraisableExceptionWarning")  # just opened
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_moment_gives_control_back_and_leaves_no_thread(name, large, tmp_path):
    def call():
        CALLS[name](large, tmp_path)

    ended_within(call, 0.5)  # what it needs is planned by then, and compiled
    while compilers():
        time.sleep(0.1)
        ended_within(call, 0.5)
    for moment in range(MOMENTS):
        gc.collect()  # Python hears no interrupt while threads of the call before are collected
        error, came = interrupted(call, 1e-4 + 0.002 * moment)
        seconds, left = time.perf_counter() - came, ours()
        assert left == []
        assert seconds < 0.2 + SLOW_S
        assert list(tmp_path.iterdir()) == []
        del error  # until here: a notebook keeps an exception, and with its traceback all that the call held


class Enough(Exception):
    """Raised by a report of progress."""


@pytest.mark.parametrize("call", [csm.count_matches, csm.subgraph_match, streamed], ids=["count", "match", "iter"])
@pytest.mark.parametrize("after", [1, 2])
def test_an_exception_of_a_report_of_progress_ends_the_call_and_leaves_no_thread(call, after, large):
    told = []

    def report(*_):
        told.append(time.perf_counter())
        if len(told) == after:
            raise Enough

    with pytest.raises(Enough) as raised:
        call(large, LONG if call is not csm.count_matches else Pattern.clique(8), engine="cpu", progress=report)
    assert ours() == []
    assert time.perf_counter() - told[-1] < 0.2 + SLOW_S
    del raised


@pytest.mark.parametrize("sort", [False, True])
def test_an_error_among_rows_leaves_no_thread_while_it_is_kept(sort, large, monkeypatch):
    def fails(*_arguments):
        raise Enough

    passed = "results.row_order.least_of_orbits" if sort else "query.Query.frame"
    monkeypatch.setattr(f"cusubmatch.execution.{passed}", fails)
    with pytest.raises(Enough) as raised:
        streamed(large, LONG, engine="cpu", sort=sort)
    assert ours() == []
    del raised


def test_a_thread_whose_start_is_interrupted_is_waited_for(monkeypatch):
    began, start = [], threading.Thread.start

    def interrupted_start(thread):
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    monkeypatch.setattr(kept_threads, "_inboxes", [])
    workers = Workers()

    def work():
        while not workers.stopped:
            time.sleep(0.001)
        time.sleep(0.05)
        began.append(1)

    with pytest.raises(KeyboardInterrupt):
        try:
            workers.start(work, work)
        finally:
            workers.end()
    assert began in ([], [1])
    assert ours() == []


def test_the_first_error_of_a_worker_ends_the_others_and_is_kept():
    workers = Workers()

    def fails():
        raise Enough

    def waits():
        while not workers.stopped:
            time.sleep(0.001)

    try:
        workers.start(waits, fails)
        while not workers.wait():
            pass
    finally:
        workers.end()
    assert isinstance(workers.error, Enough)


def test_whoever_starts_threads_works_while_they_start_each_other():
    workers, started, may_go_on = Workers(), [], threading.Event()

    def work():
        started.append(threading.current_thread())
        may_go_on.wait(10)

    workers.start(*[work] * 5)
    assert len(workers._works) >= 1
    while len(started) < 5:
        time.sleep(0.001)
    may_go_on.set()
    workers.end()
    assert len(set(started)) == 5
    assert ours() == []


def test_threads_that_are_ended_start_no_others():
    workers, started = Workers(), []

    def work():
        started.append(1)
        workers.stopped = True

    workers.stopped = True
    workers.start(*[work] * 3)
    workers.end()
    assert started == []
