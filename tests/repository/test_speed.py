"""The promises of speed that can be tested on a busy machine: CPU time, not wall, and at most three times the promise.

Each figure is the least of a few repeats on one thread; the first that is good enough ends them. What it takes exactly,
and how that compares with other tools, is printed by `benchmarks/compare.py` and `benchmarks/startup.py`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
import tracemalloc

import numba
import numpy as np
import pandas as pd
import pytest
from benchmarks.cases import CASES, KRONECKER, load_edges, load_labels
from paths import ROOT

import cusubmatch as csm

pytestmark = pytest.mark.timed

FACTOR = 3  # how much slower than promised a test may find it
REPEATS = 5
FIRST_COUNT = """
import pandas as pd
import cusubmatch as csm

edges = pd.DataFrame({"src": [0, 0, 1, 2, 2, 3], "dst": [1, 2, 2, 3, 4, 4]})
assert csm.count_matches(edges, "(a)--(b)--(c)--(a)") == 2
assert csm.count_matches(edges, "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)") == 0
"""


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)


def least_cpu_seconds(action, enough, clock=time.process_time):
    """The least CPU time of a few calls, and what the last one returned; a time of at most `enough` ends them."""
    least = float("inf")
    for _ in range(REPEATS):
        begin = clock()
        result = action()
        least = min(least, clock() - begin)
        if least <= enough:
            break
    return least, result


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def python(code, **environment):
    """Run code in a new interpreter that finds this checkout; its stdout and stderr."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path} | environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def graph_of(case):
    labels = load_labels(case.graph)
    if labels is None:
        return csm.Graph.from_edgelist(load_edges(case.graph))
    vertices = pd.DataFrame({"vertex": np.arange(len(labels)), "label": labels})
    return csm.Graph.from_edgelist(load_edges(case.graph), vertices=vertices, vertex_label="label")


def patterns_of(case):
    """The patterns of a case, under new names each time, so that no plan is met again."""
    turn = time.perf_counter_ns()
    for i, query in enumerate(case.load()):
        edges = [((turn, i, a), (turn, i, b)) for a, b in query.edges]
        labels = None if query.labels is None else {(turn, i, v): label for v, label in enumerate(query.labels)}
        yield csm.Pattern(edges, labels=labels)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case.graph}-{case.name}") for case in CASES if case.target is not None]
)
def test_a_count_takes_the_promised_cpu_time(case, request):
    if case.graph != KRONECKER:
        request.getfixturevalue("data_path")("facebook_combined.parquet")
    G = graph_of(case)

    def count():
        return sum(csm.count_matches(G, P, unique=P.labels[0] is None) for P in patterns_of(case))

    found = count()  # the code is compiled now, and the graph's bitmaps are made
    assert found == case.count
    allowed = FACTOR * case.target * (found / case.per if case.per else 1)
    seconds, again = least_cpu_seconds(count, allowed)
    assert again == found
    assert seconds <= allowed


def test_the_import_takes_the_promised_cpu_time_and_loads_nothing_heavy():
    code = (
        "import sys, time; begin = time.process_time(); import cusubmatch; print(time.process_time() - begin)\n"
        "print({'numba', 'numpy', 'pandas', 'polars', 'pyarrow', 'networkx', 'cudf', 'cupy'} & set(sys.modules))"
    )
    seconds, loaded = python(code)[0].splitlines()
    assert float(seconds) <= FACTOR * 0.3
    assert loaded == "set()"


def test_the_first_count_of_a_process_takes_the_promised_cpu_time():
    python(FIRST_COUNT)  # the compiled code is cached now
    allowed = FACTOR * 1.5
    assert least_cpu_seconds(lambda: python(FIRST_COUNT), allowed, cpu_of_children)[0] <= allowed


def test_the_first_count_ever_takes_the_promised_cpu_time_and_says_that_it_compiles(tmp_path):
    begin = cpu_of_children()
    _, said = python(FIRST_COUNT, NUMBA_CACHE_DIR=str(tmp_path))
    assert cpu_of_children() - begin <= 2 * 25
    assert "compiling" in said
    assert python(FIRST_COUNT, NUMBA_CACHE_DIR=str(tmp_path))[1] == ""


@pytest.mark.parametrize("ids", ["small", "large"])
def test_a_graph_of_millions_of_edges_is_built_in_the_promised_time_and_memory(data_path, ids):
    edges = pd.read_parquet(data_path("cnr-2000.parquet"))[["src", "dst"]]
    if ids == "large":
        edges = edges.astype("int64") * 7 + 10**12
    allowed = FACTOR * 1.5
    seconds, G = least_cpu_seconds(lambda: csm.Graph.from_edgelist(edges), allowed)
    assert seconds <= allowed
    csr = G.offsets.nbytes + G.targets.nbytes
    del G
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        csm.Graph.from_edgelist(edges)
        assert tracemalloc.get_traced_memory()[1] - before <= 4 * csr
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("one_thread")
def test_two_threads_share_the_work_evenly(data_path, monkeypatch):
    """In CPU time of the busier thread: with two free cores, that would be the wall time."""
    data_path("facebook_combined.parquet")
    case = next(case for case in CASES if case.name == "5-clique")
    G = graph_of(case)
    P = next(patterns_of(case))
    csm.count_matches(G, P)
    alone, _ = least_cpu_seconds(lambda: csm.count_matches(G, P), enough=0)
    busiest, run = [], threading.Thread.run

    def timed(thread):
        begin = time.thread_time()
        run(thread)
        team.append(time.thread_time() - begin)

    monkeypatch.setattr(threading.Thread, "run", timed)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    for _ in range(REPEATS):
        team, begin = [], time.thread_time()
        csm.count_matches(G, P)
        busiest.append(max([time.thread_time() - begin, *team]))
    assert alone / min(busiest) >= 1.4
