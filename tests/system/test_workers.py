"""Workers that cannot begin, that a process leaves behind at its end, and that are not there in a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from plans import tuned

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.generators import rmat
from cusubmatch.system import workers as module
from cusubmatch.system.workers import Workers

STREAM = """
    import os, sys
    import numba
    numba.config.NUMBA_NUM_THREADS = 4
    import cusubmatch as csm
    batches = csm.iter_matches(csm.Graph.from_edgelist(csm.generators.rmat(12, 16)), csm.Pattern.cycle(6),
                               batch_rows=100, engine="cpu")
    for number, batch in enumerate(batches):
        if number == 20:
            break
"""


@pytest.fixture
def only_the_caller_starts_threads(monkeypatch):
    """A thread cannot start another one, as where a system allows no more threads."""
    begin = module.begin

    def begin_or_refuse(work):
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("can't start new thread")
        begin(work)

    monkeypatch.setattr(module, "begin", begin_or_refuse)
    monkeypatch.setattr(module, "any_waits", lambda: False)  # each starts others


def test_a_worker_that_cannot_start_another_ends_all(only_the_caller_starts_threads):
    workers, end = Workers(), time.monotonic() + 20
    try:
        workers.start(*[lambda: None] * 3)
        while not workers.wait():
            assert time.monotonic() < end
    finally:
        workers.end()
    assert workers.over
    with pytest.raises(RuntimeError, match="start new thread"):
        raise workers.error


def test_a_call_whose_threads_cannot_start_raises(only_the_caller_starts_threads, monkeypatch):
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 4)
    with tuned(alone_s=0.0), pytest.raises(RuntimeError, match="start new thread"):
        csm.count_matches(Graph.from_edgelist(rmat(11, 16)), Pattern.clique(6), engine="cpu", time_limit=20)


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["pass", "raise ValueError('of the caller')"])
def test_a_process_ends_that_leaves_a_stream_in_the_middle(end):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STREAM) + end], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == (1 if "raise" in end else 0), done.stderr
    assert ("ValueError: of the caller" in done.stderr) == ("raise" in end)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_closes_a_stream_that_is_in_the_middle_and_cannot_go_on_with_it():
    text = textwrap.dedent(STREAM) + textwrap.dedent("""
        for goes_on in (False, True):
            child = os.fork()
            if not child:
                try:
                    for batch in batches if goes_on else ():
                        pass
                except RuntimeError as error:
                    os._exit(8 if "fork" in str(error) else 9)
                batches.close()
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "7\n8\n", done.stderr


@pytest.mark.thorough
def test_a_call_of_another_thread_raises_when_the_process_ends():
    text = textwrap.dedent("""
        import threading, time
        import numba
        numba.config.NUMBA_NUM_THREADS = 4
        import cusubmatch as csm
        def count():
            try:
                print(csm.count_matches(graph, csm.Pattern.clique(7), engine="cpu"), flush=True)
            except RuntimeError as error:
                print(f"{error}\\n", end="", flush=True)  # in one piece
        graph = csm.Graph.from_edgelist(csm.generators.rmat(13, 32))
        csm.count_matches(graph, csm.Pattern.clique(4), engine="cpu")
        threading.Thread(target=count, daemon=True).start()
        time.sleep(0.5)
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stdout in ("the process ends\n", "")  # it is not waited for longer than a while
