"""Calls that find nothing compiled keep their limit, hear an interrupt, and leave the next call what they began."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import int64
from plans import tuned
from targets import plain

import cusubmatch as csm
from cusubmatch import Pattern, TimeLimitExceeded
from cusubmatch.engines.compile.compiler_thread import compiles_in_thread
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.search import run as cpu_run
from cusubmatch.engines.gpu.runtime import cuda
from cusubmatch.engines.gpu.search import autotune as trial
from cusubmatch.errors import DeadlinePassed
from cusubmatch.generators import rmat
from cusubmatch.system.deadlines import SECONDS_BETWEEN_CHECKS, check_deadline, each_until, until

pytestmark = pytest.mark.timed

TAILED, SQUARE = "(a)--(b)--(c)--(a)--(d)", "(a)--(b)--(c)--(d)--(a)"  # candidates need compiled code; only walks do
COLD = f"""
import json, os, signal, threading, time
import cusubmatch as csm
from cusubmatch.engines.cpu.search import run as cpu_run
from cusubmatch.generators import rmat

graph = csm.Graph.from_edgelist(rmat(8, 6, seed=3))

def batches(*arguments, **options):
    return list(csm.iter_matches(*arguments, **options))

for pattern in ({TAILED!r}, {SQUARE!r}):
    for call in (csm.count_matches, csm.subgraph_match, batches):
        begin = time.perf_counter()
        try:
            call(graph, pattern, engine="cpu", time_limit=0.3)
        except csm.TimeLimitExceeded as late:
            partial = late.partial  # of a count none or, where a suffix is counted in parts, unknown
            found = [*partial.columns, len(partial)] if hasattr(partial, "columns") else partial or 0
            print(json.dumps([found, time.perf_counter() - begin]))
interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
interrupt.start()
begin = time.perf_counter()
try:
    csm.count_matches(graph, {SQUARE!r}, engine="cpu")
except KeyboardInterrupt:
    print(json.dumps(time.perf_counter() - begin))
print(json.dumps(csm.count_matches(graph, {SQUARE!r}, engine="cpu")))
"""


def test_a_process_without_compiled_code_keeps_limits_and_hears_interrupts(skewed, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    *late, interrupted, count = map(json.loads, done.stdout.splitlines())
    rows = ["a", "b", "c", "d", 0]
    assert [found for found, _ in late] == [0, rows, rows] * 2
    assert max(seconds for _, seconds in late) < 0.3 + 0.2 + 0.5  # half a second for a slow machine
    assert interrupted < 0.3 + 0.5 + 0.5
    assert count == csm.count_matches(skewed, SQUARE, engine="cpu")
    messages = done.stderr.splitlines()
    assert len(messages) == len(set(messages)) > 0
    assert all(message.startswith("cusubmatch: compiling the CPU engine (") for message in messages)


class Slow:
    """A dispatcher that takes a second to compile, once, as Numba's would."""

    py_func, seconds = None, 1.0

    def __init__(self, error=None):
        self.error, self.kernel, self.compiling, self.threads = error, None, threading.Lock(), []

    def compile(self, _signature):
        with self.compiling:
            if self.kernel is None:
                self.threads.append(threading.current_thread())
                time.sleep(self.seconds)
                if self.error is not None:
                    raise self.error
                self.kernel = sum
        return self.kernel

    def __getitem__(self, _shape):
        return lambda *arguments: (self.kernel or self.compile(None))(arguments)


@pytest.fixture
def on_no_stream(monkeypatch):
    cuda.gpu()  # imports the compiler
    monkeypatch.setattr(cuda, "_current_stream", lambda: 0)
    monkeypatch.setattr(cuda, "current_number", lambda: 0)
    monkeypatch.setattr(cuda, "_stream_of", lambda address: address)


@pytest.mark.usefixtures("on_no_stream")
def test_a_launch_leaves_its_compiler_at_the_deadline_and_the_next_one_finds_the_kernel():
    slow, entered = Slow(), []

    @contextlib.contextmanager
    def device():
        entered.append(threading.current_thread())
        yield

    launch = cuda.Kernel(compiles_in_thread(slow, device))[1, 32]
    begin = time.monotonic()
    with until(begin + 0.1), pytest.raises(DeadlinePassed):
        launch(1, 2)
    assert time.monotonic() - begin < Slow.seconds / 2
    launch(1, 2)
    assert time.monotonic() - begin < 2 * Slow.seconds
    assert entered[:1] == slow.threads != [threading.current_thread()]
    running = threading.active_count()
    launch(3)
    assert threading.active_count() == running


def test_kernels_are_compiled_for_the_device_of_the_caller(monkeypatch):
    from numba import cuda as numba_cuda
    from numba.cuda.dispatcher import CUDADispatcher

    compiled, entered = [], []

    @contextlib.contextmanager
    def device():
        entered.append(threading.current_thread())
        yield

    def compile_(_dispatcher, types):
        compiled.append((types, threading.current_thread()))
        return SimpleNamespace(_codelibrary=SimpleNamespace(get_cubin=None))

    monkeypatch.setattr(numba_cuda, "get_current_device", lambda: SimpleNamespace(id=1))
    monkeypatch.setattr(numba_cuda, "gpus", [None, device()])
    monkeypatch.setattr(CUDADispatcher, "compile", compile_)
    cuda.gpu().kernel(plain).compiled._compile_for_args(np.int64(7))
    assert compiled == [((int64,), *entered)]
    assert entered != [threading.current_thread()]


@pytest.mark.usefixtures("on_no_stream")
def test_an_error_of_the_compiler_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(Slow, "seconds", 2 * SECONDS_BETWEEN_CHECKS)
    launch = cuda.Kernel(compiles_in_thread(Slow(TypeError("no such type"))))[1, 32]
    with pytest.raises(TypeError, match="no such type"):
        launch(1)


def test_calls_that_leave_one_after_the_other_leave_one_thread():
    dispatcher, running = compiles_in_thread(Slow()), threading.active_count()
    for _ in range(3):
        with until(0.0), pytest.raises(DeadlinePassed):
            dispatcher.compile(())
    assert threading.active_count() == running + 1
    assert dispatcher.compile(()) is sum


def test_a_function_that_another_one_calls_is_compiled_in_the_same_thread():
    inner = jit(lambda x: x + 1)

    @numba.njit
    def outer(x):  # compiled here, under the lock that a thread for `inner` would wait for
        return inner(x)

    assert outer(1) == 2
    assert jit(lambda x: inner(x) + outer(x))(1.0) == 4


def test_between_two_items_a_thread_waits_for_compilers_as_before():
    def items():
        yield 1
        check_deadline()

    late = each_until(0.0, items())
    assert next(late) == 1
    check_deadline()
    with pytest.raises(DeadlinePassed):
        next(late)
    check_deadline()


def test_a_trial_is_over_when_the_deadline_of_the_call_has_passed():
    def count():
        raise DeadlinePassed

    run = SimpleNamespace(count=count)
    assert not trial._ends_within(run, 1.0)
    with until(0.0), pytest.raises(DeadlinePassed):
        trial._ends_within(run, 1.0)


def test_threads_of_a_run_leave_a_compiler_when_the_run_ends(monkeypatch):
    graph, pattern, compile_ = csm.Graph.from_edgelist(rmat(12, 16)), Pattern.cycle(6), cpu_run.Run._compile

    def never_ready(run, *given):
        if threading.current_thread().name == "cusubmatch":
            while True:
                time.sleep(SECONDS_BETWEEN_CHECKS)
                check_deadline()
        compile_(run, *given)

    monkeypatch.setattr(cpu_run.Run, "_compile", never_ready)
    with tuned(threads=3):
        csm.subgraph_match(graph, pattern, engine="cpu", limit=1)
        begin = time.perf_counter()
        with pytest.raises(TimeLimitExceeded):
            csm.count_matches(graph, pattern, engine="cpu", time_limit=0.2)
        assert time.perf_counter() - begin < 0.2 + 0.2 + 0.5
        assert len(csm.subgraph_match(graph, pattern, engine="cpu", limit=1_000_000)) == 1_000_000
