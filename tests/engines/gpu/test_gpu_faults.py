"""The GPU engine when something goes wrong: memory that runs out anywhere, consumers of any kind, interrupts.

Of each kind of fault a line says how often it was made and what was lost: wrong rows, bytes of the device's pool that
stay in use, calls that do not work afterwards.
"""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.api.sample_matches import sample_matches
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import current_device
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.generators import rmat

pytestmark = pytest.mark.gpu

SQUARE, HOUSE = csm.Pattern.cycle(4), "(a)--(b)--(c)--(d)--(a)--(e)--(b)"
LONG = csm.Pattern.cycle(7)  # more than can be walked in a test
COMPILER = "cusubmatch compiler"  # a thread that may go on compiling what other calls will launch
SECONDS = 1.5  # for one call with memory running out at one place after the other


@pytest.fixture(scope="module")
def table(request):
    """Lines that are shown at the end: what was broken, how often, what was lost."""
    lines: list[tuple[str, int, str]] = []
    yield lambda what, times, lost="nothing": lines.append((what, times, lost))
    show = request.config.pluginmanager.getplugin("terminalreporter")
    show.write_line("")
    for what, times, lost in lines:
        show.write_line(f"fault: {what:60} {times:5} times, lost: {lost}")


@pytest.fixture(scope="module", autouse=True)
def pool():
    """CuPy's own pool, whatever cuDF has put in its place, which it does when it is imported."""
    import cudf  # noqa: F401
    import cupy

    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    yield
    cupy.cuda.set_allocator(before)


@pytest.fixture(scope="module")
def edges():
    return rmat(8, 6, seed=3)


@pytest.fixture(scope="module")
def graphs(edges, pool):
    """The same graph for callers in host memory and on the device."""
    import cudf

    return {"pandas": csm.Graph.from_edgelist(edges), "cudf": csm.Graph.from_edgelist(cudf.from_pandas(edges))}


@pytest.fixture(scope="module")
def large(pool):
    return csm.Graph.from_edgelist(rmat(13, 16))


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    names = [thread.name for thread in threading.enumerate()]
    assert [name for name in names if name.startswith("cusubmatch")] == names.count(COMPILER) * [COMPILER]


def batches(graph, pattern, **options):
    return sum(map(len, csm.iter_matches(graph, pattern, engine="gpu", batch_rows=999, **options)))


CALLS = {
    "count_matches": lambda graph: csm.count_matches(graph, HOUSE, engine="gpu"),
    "count_matches (closed)": lambda graph: csm.count_matches(graph, SQUARE, engine="gpu"),
    "subgraph_match": lambda graph: len(csm.subgraph_match(graph, SQUARE, engine="gpu")),
    "subgraph_match (every embedding)": lambda graph: len(
        csm.subgraph_match(graph, SQUARE, engine="gpu", unique=False)
    ),
    "subgraph_match (sorted)": lambda graph: len(csm.subgraph_match(graph, SQUARE, engine="gpu", sort=True)),
    "iter_matches": lambda graph: batches(graph, SQUARE),
    "iter_matches (sorted)": lambda graph: batches(graph, SQUARE, sort=True),
    "sample_matches": lambda graph: [len(part) for part in sample_matches(graph, SQUARE, 50, seed=1, engine="gpu")[:1]],
}


class Failing:
    """CuPy's allocator, but for the n-th allocation on the device, which finds no memory."""

    def __init__(self, n):
        self.n, self.seen = n, 0

    def allocate(self, size):
        import cupy

        self.seen += 1
        if self.seen == self.n:
            raise cupy.cuda.memory.OutOfMemoryError(size, 0)
        return cupy.get_default_memory_pool().malloc(size)

    def __enter__(self):
        import cupy

        cupy.cuda.set_allocator(self.allocate)
        return self

    def __exit__(self, *_):
        import cupy

        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


def in_use():
    import cupy

    gc.collect()
    cupy.cuda.Device().synchronize()
    return cupy.get_default_memory_pool().used_bytes()


def fails(call, graph, n):
    """Whether the call reached its n-th allocation, as an error; else what it gave."""
    with Failing(n) as allocator:
        try:
            result = call(graph)
        except MemoryError as error:
            assert str(error), "an error that says nothing"
            return True, None
    return allocator.seen >= n, result


@pytest.mark.parametrize("family", ["pandas", "cudf"])
@pytest.mark.parametrize("name", CALLS)
def test_memory_that_runs_out_anywhere_is_an_error_and_nothing_else(graphs, table, name, family):
    graph, call = graphs[family], CALLS[name]
    expected = call(graph)
    assert call(graph) == expected
    before, n, made, begin = in_use(), 0, 0, time.perf_counter()
    reached = True
    while reached and time.perf_counter() - begin < SECONDS:
        n += 1 + n // 20
        reached, result = fails(call, graph, n)
        assert result in (None, expected)
        made += reached
        assert in_use() <= before, f"allocation {n} failed, and {in_use() - before} bytes stay in use"
        assert call(graph) == expected, f"after allocation {n} failed"
        assert in_use() == before
    assert made or name.startswith("count")  # a count that is repeated allocates nothing
    table(f"{name}, {family}: no device memory{'' if not reached else ' (not all places)'}", made)


@pytest.mark.parametrize("name", ["count_matches", "subgraph_match", "sample_matches"])
def test_memory_that_runs_out_while_a_graph_is_prepared_leaves_nothing(edges, graphs, table, name):
    call = CALLS[name]
    expected = call(csm.Graph.from_edgelist(edges))
    before, n, made, begin = in_use(), 0, 0, time.perf_counter()
    reached = True
    while reached and time.perf_counter() - begin < SECONDS:
        n += 1 + n // 4
        graph = csm.Graph.from_edgelist(edges)
        reached, result = fails(call, graph, n)
        assert result in (None, expected)
        made += reached
        assert call(graph) == expected, f"after allocation {n} failed"
        del graph
        assert in_use() == before
    table(f"{name}, a new graph: no device memory", made)


def test_pinned_memory_that_is_not_to_be_had_costs_time_alone(graphs, table):
    from cusubmatch.engines.gpu.runtime import transfer as bus

    expected, refused = CALLS["subgraph_match"](graphs["pandas"]), []

    def refuse(size):
        refused.append(size)
        raise RuntimeError("cudaErrorMemoryAllocation")

    pinned = bus.copy_device().pinned
    pinned.clear()
    with (
        patch.object(pinned, "_allocate", refuse),
        patch("cusubmatch.execution.collection.device_to_host.SMALL_BYTES", 0),
    ):
        assert CALLS["subgraph_match"](graphs["pandas"]) == CALLS["iter_matches"](graphs["pandas"]) == expected
    assert refused
    table("subgraph_match, iter_matches: no pinned memory", len(refused))


@pytest.mark.parametrize("family", ["pandas", "cudf"])
def test_a_slow_consumer_gets_every_row_and_nothing_piles_up(large, table, family):
    import cudf
    import cupy

    graph = large if family == "pandas" else csm.Graph.from_edgelist(cudf.from_pandas(rmat(13, 16)))
    rows, most, limit = 0, 0, 256 << 20
    csm.subgraph_match(graph, SQUARE, engine="gpu", unique=False, limit=1)
    before = in_use()
    options = {"batch_rows": 1 << 18, "limit": 20 << 18, "memory_limit": limit}
    for batch in csm.iter_matches(graph, SQUARE, engine="gpu", unique=False, **options):
        time.sleep(0.02)
        rows += len(batch)
        most = max(most, cupy.get_default_memory_pool().used_bytes() - before)
        del batch
    assert rows == 20 << 18
    assert most <= limit
    assert in_use() <= before
    table(f"iter_matches, {family}: a slow consumer (most {most >> 20} MiB on the device)", 20)


@pytest.mark.parametrize("family", ["pandas", "cudf"])
def test_a_consumer_that_raises_or_stops_leaves_nothing(graphs, table, family):
    graph, expected = graphs[family], CALLS["iter_matches"](graphs[family])
    every = batches(graph, SQUARE, unique=False)
    before, times = in_use(), 0
    for small in (0, 1 << 18):
        for batch_rows in (1, 100, 3000):
            for stop in range(3):
                with patch("cusubmatch.execution.collection.device_to_host.SMALL_BYTES", small):
                    found = csm.iter_matches(graph, SQUARE, engine="gpu", unique=False, batch_rows=batch_rows)
                    for _, _batch in zip(range(stop), found, strict=False):
                        pass
                    found.close()
                    with pytest.raises(ZeroDivisionError):
                        for batch in csm.iter_matches(graph, SQUARE, engine="gpu", batch_rows=batch_rows):
                            len(batch) / 0
                _batch = batch = found = None
                assert in_use() <= before
                times += 2
    assert (CALLS["iter_matches"](graph), batches(graph, SQUARE, unique=False)) == (expected, every)
    assert in_use() == before
    table(f"iter_matches, {family}: a consumer that stops or raises", times)


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_an_output_of_a_few_rows_parks_and_resumes_until_all_are_there(table, block_rows):
    graph = csm.Graph.from_edgelist(rmat(6, 4, seed=2))
    expected = csm.subgraph_match(graph, SQUARE, engine="cpu")
    for slice_s in (0.05, 1e-6):
        query = checked_query(graph, SQUARE, QueryOptions(unique=True, engine="gpu", counting=False))
        query = query._replace(engine=GpuEngine(current_device().tuned(slice_s=slice_s)))
        blocks = [block.get() for block in query.run(block_rows=block_rows).blocks()]
        rows = np.concatenate(blocks, axis=1)
        assert rows.shape[1] == len(np.unique(rows, axis=1).T) == len(expected)
        table(f"an output of {block_rows} rows, slices of {slice_s} s: parks and resumes", len(blocks))
    with (
        patch("cusubmatch.engines.gpu.runtime.transfer.BLOCK_BYTES", 16 * block_rows),
        patch("cusubmatch.execution.collection.device_to_host.SMALL_BYTES", 0),
    ):
        found = csm.subgraph_match(graph, SQUARE, engine="gpu")
        streamed = pd.concat(csm.iter_matches(graph, SQUARE, engine="gpu", batch_rows=10))
    order = list(expected.columns)
    for part in (found, streamed):
        assert len(part) == len(part.drop_duplicates()) == len(expected)
    assert found.sort_values(order).to_numpy().tolist() == streamed.sort_values(order).to_numpy().tolist()


def test_two_threads_on_streams_of_their_own_get_their_rows(large, table):
    import cupy

    expected = csm.count_matches(large, SQUARE, engine="gpu")
    failed = []

    def work(whole):
        try:
            with cupy.cuda.Stream(non_blocking=True):
                for _ in range(2):
                    found = (
                        len(csm.subgraph_match(large, SQUARE, engine="gpu"))
                        if whole
                        else sum(map(len, csm.iter_matches(large, SQUARE, engine="gpu", batch_rows=1 << 20)))
                    )
                    if found != expected:
                        failed.append(found)
        except Exception as error:
            failed.append(error)

    csm.subgraph_match(large, SQUARE, engine="gpu", limit=1)
    team = [threading.Thread(target=work, args=(whole,)) for whole in (True, False, True)]
    for member in team:
        member.start()
    for member in team:
        member.join()
    assert not failed
    table("three threads at once", 6)


INTERRUPTED = """
import cusubmatch as csm
from cusubmatch.generators import rmat
graph, pattern = csm.Graph.from_edgelist(rmat(15, 16)), csm.Pattern.cycle(7)
calls = [
    lambda: csm.count_matches(graph, pattern, engine="gpu"),
    lambda: [None for _ in csm.iter_matches(graph, pattern, engine="gpu")],
    lambda: csm.subgraph_match(graph, pattern, engine="gpu"),
]
csm.subgraph_match(graph, pattern, engine="gpu", limit=1)
try:
    csm.count_matches(graph, pattern, engine="gpu", time_limit=1.5)  # long enough for a trial of plans
except csm.TimeLimitExceeded:
    pass
for call in calls:
    print("ready", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(csm.count_matches(graph, "(a)--(b)", engine="gpu") == graph.n_edges, flush=True)
"""


def test_an_interrupt_ends_any_call_within_half_a_second(table):
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    taken = []
    for _ in range(3):
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.15)  # rows for a dataframe would soon fill the memory
        begin = time.perf_counter()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        taken.append(time.perf_counter() - begin)
        assert child.stdout.readline() == "True\n"
    child.communicate()
    assert child.returncode == 0
    assert max(taken) < 0.5
    table(f"count, iter, match: Ctrl-C (within {max(taken):.2f} s)", len(taken))
