"""Calls that find nothing compiled keep their limit, hear an interrupt, and leave the next call what they began."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest

import cusubmatch as csm
from cusubmatch import Pattern, TimeLimitExceeded
from cusubmatch.compile_thread import STEP_S, each_until, look
from cusubmatch.errors import DeadlinePassed
from cusubmatch.generators import rmat

TAILED, SQUARE = "(a)--(b)--(c)--(a)--(d)", "(a)--(b)--(c)--(d)--(a)"  # candidates need compiled code; only walks do
COLD = f"""
import json, os, signal, threading, time
import cusubmatch as csm
import cusubmatch.cpu
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
            partial = late.partial
            found = partial if isinstance(partial, int) else [*partial.columns, len(partial)]
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


def test_between_two_items_a_thread_waits_for_compilers_as_before():
    def items():
        yield 1
        look()

    late = each_until(0.0, items())
    assert next(late) == 1
    look()
    with pytest.raises(DeadlinePassed):
        next(late)
    look()


def test_threads_of_a_run_leave_a_compiler_when_the_run_ends(monkeypatch):
    graph, pattern, compile_ = csm.Graph.from_edgelist(rmat(12, 16)), Pattern.cycle(6), csm.cpu.Run._compile

    def never_ready(run, *given):
        if threading.current_thread().name == "cusubmatch":
            while True:
                time.sleep(STEP_S)
                look()
        compile_(run, *given)

    monkeypatch.setattr(csm.cpu.Run, "_compile", never_ready)
    monkeypatch.setattr(csm.cpu.engine, "threads", lambda: 3)
    csm.subgraph_match(graph, pattern, engine="cpu", limit=1)
    begin = time.perf_counter()
    with pytest.raises(TimeLimitExceeded):
        csm.count_matches(graph, pattern, engine="cpu", time_limit=0.2)
    assert time.perf_counter() - begin < 0.2 + 0.2 + 0.5
    assert len(csm.subgraph_match(graph, pattern, engine="cpu", limit=1_000_000)) == 1_000_000
