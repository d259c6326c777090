"""Several real GPUs in one process: what one of them gives, each with its own memory and streams."""

import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from working_threads import working_threads

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.gpu.runtime import cuda
from cusubmatch.engines.registry import engine_on
from cusubmatch.execution.devices import several_devices
from cusubmatch.execution.devices.device_group import Cutting
from cusubmatch.generators import rmat
from cusubmatch.system.gpu_presence import gpus

pytestmark = [pytest.mark.mg, pytest.mark.skipif(len(gpus()) < 2, reason="there are fewer than two GPUs")]

PATTERNS = {
    "triangle": Pattern.clique(3),
    "4-clique": Pattern.clique(4),
    "4-cycle": Pattern.cycle(4),
    "house": Pattern.parse("(a)--(b)--(c)--(d)--(a)--(e)--(b)"),
    "masked": Pattern.parse("(a)--(b)--(c) WHERE id(a) < 200"),
}
SQUARE = PATTERNS["4-cycle"]
FINE = Cutting(worth_ns=0.0, min_range_s=0.0)  # everything is shared, in small ranges


@pytest.fixture(scope="module", autouse=True)
def pool():
    """CuPy's own pool, which tells what is in use, whatever cuDF puts in its place when it is imported."""
    import cudf  # noqa: F401
    import cupy

    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    yield
    cupy.cuda.set_allocator(before)


@pytest.fixture(autouse=True)
def everything_is_shared(monkeypatch):
    monkeypatch.setattr(several_devices, "Cutting", lambda: FINE)


@pytest.fixture(scope="module")
def edges():
    return rmat(10, 8, seed=2)


def on_gpu(edges):
    return pytest.importorskip("cudf").from_pandas(edges)


@pytest.fixture(params=["host", "cudf"])
def graph(request, edges):
    return Graph.from_edgelist(edges if request.param == "host" else on_gpu(edges))


def sorted_rows(frame):
    rows = (frame.to_pandas() if hasattr(frame, "to_pandas") else frame).to_numpy()
    return rows[np.lexsort(rows.T[::-1])]


@pytest.fixture(scope="module")
def expected(edges):
    """The count of each pattern, and all its embeddings, by the CPU engine."""
    counts = {name: csm.count_matches(edges, pattern, engine="cpu") for name, pattern in PATTERNS.items()}
    listed = [name for name in PATTERNS if name != "house"]
    rows = {name: sorted_rows(csm.subgraph_match(edges, PATTERNS[name], unique=False, engine="cpu")) for name in listed}
    return counts, rows


def device_of(frame):
    import cupy

    return {cupy.asarray(frame[name]).device.id for name in frame.columns}


@pytest.mark.parametrize("devices", ["all", 2, [1], [1, 0]])
@pytest.mark.parametrize("name", PATTERNS)
def test_counts_and_rows_are_those_of_the_cpu(graph, expected, name, devices):
    pattern, (counts, rows) = PATTERNS[name], expected
    for _ in range(3):  # launches are recorded from the second count on
        assert csm.count_matches(graph, pattern, devices=devices) == counts[name]
    if name in rows:
        found = sorted_rows(csm.subgraph_match(graph, pattern, unique=False, devices=devices))
        assert np.array_equal(found, rows[name])


def test_batches_samples_and_many_counts(graph, edges):
    batches = list(csm.iter_matches(graph, SQUARE, batch_rows=10_000, devices="all"))
    assert sum(map(len, batches)) == csm.count_matches(edges, SQUARE, engine="cpu")
    one, count = csm.sample_matches(graph, SQUARE, 100, seed=3, engine="gpu")
    two, again = csm.sample_matches(graph, SQUARE, 100, seed=3, devices="all")
    assert count == again
    assert np.array_equal(sorted_rows(one), sorted_rows(two))
    many = csm.count_many(graph, PATTERNS, devices="all")
    alone = csm.count_many(edges, PATTERNS, engine="cpu")
    many = many.to_pandas() if hasattr(many, "to_pandas") else many
    assert many["count"].tolist() == alone["count"].tolist()


@pytest.mark.parametrize("devices", ["all", [1], [1, 0]])
def test_frames_lie_where_the_graph_lies(edges, devices):
    import cupy

    graph = Graph.from_edgelist(on_gpu(edges))
    assert device_of(csm.subgraph_match(graph, SQUARE, unique=False, devices=devices)) == {0}
    assert device_of(csm.sample_matches(graph, SQUARE, 10, devices=devices)[0]) == {0}
    assert {device for batch in csm.iter_matches(graph, SQUARE, devices=devices) for device in device_of(batch)} == {0}
    assert cupy.cuda.Device().id == 0


def arrays_in(value, seen=None):
    """All device arrays in a value."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type(None), np.ndarray, type, Graph)):
        return
    seen.add(id(value))
    if type(value).__module__.startswith("cupy"):
        if hasattr(value, "data") and hasattr(value, "device"):
            yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from arrays_in(each, seen)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from arrays_in(each, seen)
    elif type(value).__module__.startswith("cusubmatch") and hasattr(value, "__dict__"):
        yield from arrays_in(vars(value), seen)


def test_what_a_device_keeps_lies_on_it(graph):
    for pattern in PATTERNS.values():
        csm.count_matches(graph, pattern, devices="all")
    csm.subgraph_match(graph, SQUARE, devices="all")
    copies = [engine_on(number).place(graph) for number in (0, 1)]
    for number, copy in enumerate(copies):
        found = [array.device.id for array in arrays_in(copy.cache._shelves)]
        assert len(found) > 3
        assert set(found) == {number}
        assert copy.targets.device.id == number


def test_a_thread_works_on_one_gpu_with_memory_and_streams_of_it_alone(graph, monkeypatch):
    import cupy

    launches, launched, launch = [], set(), cuda.Kernel._launch

    def noticed(kernel, shape, *arguments):
        here = cupy.cuda.runtime.getDevice()
        arrays = {array.device.id for array in arguments if isinstance(array, cupy.ndarray)}
        launches.append((threading.get_ident(), here, cupy.cuda.get_current_stream().ptr, frozenset(arrays)))
        launched.add(kernel)
        return launch(kernel, shape, *arguments)

    monkeypatch.setattr(cuda.Kernel, "_launch", noticed)
    csm.subgraph_match(graph, SQUARE, unique=False, devices="all")
    assert {here for _, here, _, _ in launches} == set(range(len(gpus())))
    assert all(arrays <= {here} for _, here, _, arrays in launches)
    threads = {(thread, here) for thread, here, _, _ in launches}
    assert len(threads) == len({thread for thread, _ in threads})
    configured = [key for kernel in launched for key in kernel._launches]
    assert {number for _, _, number in configured} >= {0, 1}


def test_each_gpu_has_pinned_memory_of_its_own():
    import cupy

    from cusubmatch.engines.gpu.runtime.transfer import copy_device

    with cupy.cuda.Device(0):
        first = copy_device()
        assert copy_device() is first
    with cupy.cuda.Device(1):
        assert copy_device().pinned is not first.pinned


def test_the_copy_of_a_graph_is_made_once_and_goes_with_it(graph):
    import gc

    import cupy

    def used():
        with cupy.cuda.Device(1):
            return cupy.get_default_memory_pool().used_bytes()

    gc.collect()
    before = used()
    csm.count_matches(graph, SQUARE, devices="all")
    copy, kept = engine_on(1).place(graph), used()
    for _ in range(3):
        csm.count_matches(graph, SQUARE, devices="all")
    assert engine_on(1).place(graph) is copy
    assert used() <= kept + (1 << 20)
    assert kept > before
    assert (copy.targets.get() == (graph.targets if graph.xp is np else graph.targets.get())).all()


def test_arrays_are_copied_from_gpu_to_gpu():
    import cupy

    with cupy.cuda.Device(0):
        array = cupy.arange(10_000_000, dtype=np.int64).reshape(10, -1)[:, ::2]
    copy = engine_on(1).at.copied(array)
    assert copy.device.id == 1
    assert (copy.get() == array.get()).all()


def test_a_stream_of_the_caller_is_kept(edges, expected):
    import cupy

    graph = Graph.from_edgelist(edges)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        rows = sorted_rows(csm.subgraph_match(graph, SQUARE, unique=False, devices="all"))
        assert cupy.cuda.get_current_stream() == stream
    assert np.array_equal(rows, expected[1]["4-cycle"])


def test_a_time_limit_ends_both_and_the_next_call_is_right():
    graph = Graph.from_edgelist(rmat(17, 16, seed=1))
    begin = time.monotonic()
    with pytest.raises(csm.TimeLimitExceeded):
        for batch in csm.iter_matches(graph, Pattern.cycle(6), time_limit=1.0, batch_rows=1 << 22, devices="all"):
            assert len(batch) == 1 << 22
    assert time.monotonic() - begin < 60  # what is compiled at first included
    small = rmat(9, 8)
    assert csm.count_matches(small, SQUARE, devices="all") == csm.count_matches(small, SQUARE, engine="cpu")


def test_an_error_on_the_second_gpu_is_the_callers(graph, monkeypatch):
    engine = engine_on(1)

    def lost(*_):
        raise RuntimeError("GPU 1 is lost")

    monkeypatch.setattr(engine, "run", lost)
    threads = working_threads()
    with pytest.raises(RuntimeError, match="GPU 1 is lost"):
        csm.subgraph_match(graph, SQUARE, devices="all")
    assert working_threads() == threads


def test_a_process_that_used_all_gpus_ends_in_order():
    code = (
        "import cusubmatch as csm; csm.count_matches(csm.generators.rmat(12, 8), '(a)--(b)--(c)--(a)', devices='all')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_gpu_that_is_not_there():
    with pytest.raises(ValueError, match="there is no GPU 7"):
        csm.count_matches(pd.DataFrame({"src": [0], "dst": [1]}), SQUARE, devices=[7])
