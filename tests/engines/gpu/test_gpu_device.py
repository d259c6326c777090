"""The GPU engine on a GPU: under forced settings, on other streams, with a hub of millions of neighbours."""

import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from math import comb
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import cusubmatch as csm
from cusubmatch.engines.gpu.runtime.device import current_device
from cusubmatch.engines.registry import engine_named
from cusubmatch.engines.runs import RunOptions
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.generators import rmat
from cusubmatch.system.deadlines import checking

pytestmark = pytest.mark.gpu

ENGINES = ("gpu", "cpu")
STATE_BYTES = 64 << 20
TEXTS = {
    "edge": "(a)--(b)",
    "path": "(a)--(b)--(c)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "5-clique less an edge": "(a)--(b)--(c)--(d)--(a)--(c), (e)--(a), (e)--(c), (e)--(b), (e)--(d)",
    "6-clique": csm.Pattern.clique(6),
    "path of 5": csm.Pattern.path(5),
}
FORCED = {
    "a ring of two": {"ring_slots": 2},
    "launches of a microsecond": {"slice_s": 1e-6},
    "tickets of one": {"batch_candidates": 1},
    "no hubs": {"max_hubs": 0},
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("forced", FORCED)
def test_forced_settings_change_no_count(name, forced):
    graph = csm.Graph.from_edgelist(rmat(8, 4, seed=2))
    expected = csm.count_matches(graph, TEXTS[name], engine="cpu", time_limit=60)
    gpu = current_device().tuned(**FORCED[forced])
    with patch.object(engine_named("gpu"), "gpu", gpu):
        assert csm.count_matches(graph, TEXTS[name], engine="gpu") == expected


def test_a_launch_that_is_watched_ends_soon_after_the_check_raises():
    graph = csm.Graph.from_edgelist(rmat(12, 16, seed=2))
    options = QueryOptions(engine="gpu", counting=True, suffix=0)
    query = make_query(graph, csm.Pattern.cycle(7), options, None)
    call, raised = (query.plan, query.prepared), []

    def check(*_):
        if time.monotonic() > begin + 0.2:
            raised.append(time.monotonic())
            raise InterruptedError

    with query.engine.current():
        begin = 0.0
        with pytest.raises(InterruptedError):  # compiled, and launched once
            query.engine.run(*call, RunOptions(progress=check)).total()
        run = query.engine.run(*call, RunOptions(watches=True))
        run.slice_s, begin = 30.0, time.monotonic()
        with checking(check), pytest.raises(InterruptedError):
            run.total()
    assert 0.2 < raised[1] - begin < 0.25
    assert time.monotonic() - raised[1] < 0.05


@pytest.fixture(scope="module")
def wheel():
    """A hub of four million neighbours, which form a path."""
    n = 4_000_000
    rim = np.arange(1, n + 1, dtype=np.int32)
    source = np.concatenate([np.zeros(n, np.int32), rim[:-1]])
    return n, csm.Graph.from_edgelist((source, np.concatenate([rim, rim[1:]])))


def test_a_hub_of_four_million_neighbours_is_counted_right_and_soon(wheel):
    n, graph = wheel
    # The rim's vertices have degree 3, but for its two ends; each edge of the rim closes a triangle with the hub.
    expected = {
        "(a)--(b)--(c)": comb(n, 2) + 3 * (n - 2) + 2,
        "(a)--(b)--(c)--(a)": n - 1,
        "(a)--(b)--(c)--(d)--(a)": n - 2,
        "(a)--(b)--(c)--(a)--(t)": (n - 1) * (n - 2) + 2 * (n - 1) - 2,
    }
    for text, count in expected.items():
        seconds = []
        for _ in range(3):  # the first calls wait for compilers
            begin = time.perf_counter()
            assert csm.count_matches(graph, text, engine="gpu") == count
            seconds.append(time.perf_counter() - begin)
        assert min(seconds) < 2
    for prepared in graph.device.cache.values("device plans"):
        workspace = prepared.pool.take(prepared.layout.stack)
        assert workspace.bytes <= STATE_BYTES
        prepared.pool.give_back(workspace)


def test_rows_of_a_hub_stop_at_the_limit(wheel):
    _, graph = wheel
    assert len(csm.subgraph_match(graph, "(a)--(b)--(c)", engine="gpu", limit=1_000_000)) == 1_000_000
    assert csm.has_match(graph, "(a)--(b)--(c)--(a)", engine="gpu")
    assert not csm.has_match(graph, csm.Pattern.clique(4), engine="gpu")


def test_a_time_limit_is_kept_and_gives_the_count_so_far():
    graph, counted, end = csm.Graph.from_edgelist(rmat(16, 16)), 0, time.perf_counter() + 120
    while not counted and time.perf_counter() < end:  # while kernels are compiled nothing is counted
        begin = time.perf_counter()
        with pytest.raises(csm.TimeLimitExceeded) as late:
            csm.count_matches(graph, csm.Pattern.clique(8), engine="gpu", time_limit=1.0)
        took, counted = time.perf_counter() - begin, late.value.partial
    assert counted > 0
    assert took < 2


def test_work_runs_on_the_callers_stream():
    import cupy

    graph = csm.Graph.from_edgelist(rmat(10, 8))
    expected = csm.count_matches(graph, TEXTS["house"], engine="cpu")
    cliques = csm.count_matches(graph, csm.Pattern.clique(4), engine="cpu")
    assert csm.count_matches(graph, csm.Pattern.clique(4), engine="gpu") == cliques  # prepared on another stream
    with cupy.cuda.Stream(non_blocking=True):
        assert csm.count_matches(graph, csm.Pattern.clique(4), engine="gpu") == cliques
        assert csm.count_matches(graph, TEXTS["house"], engine="gpu") == expected
        assert len(csm.subgraph_match(graph, TEXTS["diamond"], engine="gpu")) == csm.count_matches(
            graph, TEXTS["diamond"], engine="cpu"
        )


def test_closed_counts_that_are_repeated_are_one_launch_and_stay_right():
    import cupy

    graph = csm.Graph.from_edgelist(rmat(12, 16))
    for k in (3, 4, 5):
        clique = csm.Pattern.clique(k)
        expected = csm.count_matches(graph, clique, engine="cpu")

        def count(_, clique=clique):
            return csm.count_matches(graph, clique, engine="gpu")

        def aside(_, count=count):
            with cupy.cuda.Stream(non_blocking=True):
                return count(None)

        assert list(map(count, range(5))) == 5 * [expected]
        counter = graph.device.cache.values("closed")[-1]
        assert counter._launches._free[-1].replay is not None
        assert list(map(aside, range(3))) == 3 * [expected]
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(aside, range(40))) == 40 * [expected]


def test_an_edited_device_function_is_compiled_anew(tmp_path):
    package = tmp_path / "cusubmatch"
    shutil.copytree(Path(csm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import cusubmatch as csm; from cusubmatch.generators import rmat; print(csm.__file__);"
        "print(csm.count_matches(rmat(6, 4), '(a)--(b)--(c)--(d)--(a)', engine='gpu'))"
    )

    def count():
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        where, found = done.stdout.split()
        assert Path(where).parent == package
        return int(found)

    right = count()
    leaf = package / "engines" / "gpu" / "walker" / "leaf.py"
    source = leaf.read_text()
    assert source.count("total = L(total + L(1))") == 1
    leaf.write_text(source.replace("total = L(total + L(1))", "total = L(total + L(3))"))
    assert (right, count()) == (right, 3 * right)
    assert right > 0


def test_rows_are_found_ahead_and_leaving_the_loop_leaves_the_gpu_usable():
    graph = csm.Graph.from_edgelist(rmat(13, 16))
    ring, expected = csm.Pattern.cycle(4), csm.count_matches(graph, csm.Pattern.cycle(4), engine="cpu")
    assert sum(map(len, csm.iter_matches(graph, ring, engine="gpu", batch_rows=1 << 18))) == expected
    long = csm.iter_matches(graph, csm.Pattern.cycle(6), engine="gpu", batch_rows=1000)
    assert [len(next(long)) for _ in range(3)] == [1000] * 3
    begin = time.perf_counter()
    long.close()
    assert time.perf_counter() - begin < 0.5
    assert csm.count_matches(graph, ring, engine="gpu") == expected


def test_rows_that_the_device_has_no_room_for_wait_in_host_memory():
    import cudf

    edges = rmat(10, 8)
    graph, ring = csm.Graph.from_edgelist(cudf.from_pandas(edges)), csm.Pattern.cycle(4)
    expected = csm.subgraph_match(edges, ring, engine="cpu", sort=True)
    for share in (0.0, 1e-6, 0.5):
        for sort in (True, False):
            with patch("cusubmatch.execution.collection.row_buffer.DEVICE_SHARE", share):
                found = csm.subgraph_match(graph, ring, engine="gpu", sort=sort)
            assert len(found) == len(expected)
            if sort:
                assert found.to_pandas().equals(expected)
            else:
                assert len(found.to_pandas().merge(expected)) <= len(expected)
                assert len(found.drop_duplicates()) == len(expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, "string", "category"])
def test_ids_of_host_graphs_come_back_as_they_were(dtype):
    edges = rmat(8, 4).astype(np.int64).add(1000).astype(dtype)
    ring = csm.Pattern.cycle(4)
    found, expected = (csm.subgraph_match(edges, ring, engine=engine, sort=dtype != "category") for engine in ENGINES)
    assert found.dtypes.equals(expected.dtypes)
    if dtype != "category":
        assert found.equals(expected)
    assert len(found) == len(expected) == len(found.drop_duplicates())
