"""Counting by conditioning as the GPU does it: by the definition, shared among warps, beyond 64 bits, and stopped."""

from __future__ import annotations

import functools
import math
import time
import weakref
from itertools import pairwise
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings
from strategies import cases
from targets import emulator, one_lane
from test_conditioning import beside_a_hub, copied_for, count_of, graph_of, multipartite, path, prepared_for
from tiers import examples, thorough

from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu.elimination import costs, elimination_run, placed_factors, shared_steps
from cusubmatch.engines.factors.arithmetic import WORDS
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.conditioning import conditioner
from cusubmatch.engines.gpu.conditioning import conditioning_run as runs
from cusubmatch.engines.gpu.conditioning import program as programs
from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.component_cache import BUCKET_SLOTS
from cusubmatch.engines.gpu.elimination.array_factors import ArrayFactors
from cusubmatch.engines.gpu.elimination.device_factors import factors_on_device, load
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

SMALL = {"conditioning_block_warps": 2, "conditioning_slots": 64, "ring_slots": 16}  # the cache forgets, the ring fills
SECONDS = 600.0  # that a count may take: more than it does
CLIQUE = [(u, w) for w in range(4) for u in range(w)]


def device(target, **changes):
    """So that much of it, with a small cache and ring."""
    return Device(target, 2, 228 << 10, tunables=Tunables(**({"grid": (2, 2)} | SMALL | changes)))


def run_of(graph, pattern, gpu, xp=np, semantics="monomorphism", seconds=SECONDS):
    """A count on a copy of the CPU engine's candidate graph; None where there is no such graph, or no count."""
    local, order = copied_for(graph, pattern, semantics)
    return None if local is None else runs.conditioning_run(local, order, gpu, xp, seconds)


# Counts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(25)
@given(data=st.data())
def test_a_count_is_that_of_the_definition(semantics, data):
    raw, pattern = data.draw(cases())
    run = run_of(raw.graph(), pattern, device(one_lane()), semantics=semantics)
    if run is not None:
        assert run.poll() == sum(1 for _ in embeddings(raw.naive(), pattern, semantics))


@pytest.mark.thorough
@examples(10)
@given(data=st.data())
def test_warps_count_what_the_definition_says(data):
    raw, pattern = data.draw(cases())
    run = run_of(raw.graph(), pattern, device(emulator(data.draw(st.integers(0, 5)))))
    if run is not None:
        assert run.poll() == sum(1 for _ in embeddings(raw.naive(), pattern, "monomorphism"))


@pytest.mark.parametrize("vertices", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, *thorough(*range(1, 8))])
def test_vertices_beside_a_hub_are_kept_apart_where_that_is_asked(seed, vertices):
    for graph, pattern, wanted in beside_a_hub(seed, vertices, 12):
        run = run_of(graph, pattern, device(one_lane()), semantics="homomorphism")
        assert run is None or run.poll() == wanted, pattern


PATTERNS = {
    "path": path([0, 1, 0, 2, 1, 2]),
    "clique with a tail": Pattern([*CLIQUE, (3, 4), (4, 5)], labels=dict(enumerate([0, 1, 2, 3, 0, 1]))),
    "two triangles at a vertex": Pattern(
        [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)], labels=dict(enumerate([0, 1, 2, 0, 1]))
    ),
}


@pytest.mark.parametrize(
    ("name", "seed"), thorough(("path", 0), *((name, seed) for name in PATTERNS for seed in (1, 2)))
)
def test_warps_share_a_count(name, seed, monkeypatch):
    """What one donates another counts; the sums of all are the whole."""
    monkeypatch.setattr(conditioner, "STEPS_BETWEEN_POLLS", 2)
    pattern = PATTERNS[name]
    graph = multipartite(4, 3)
    run = run_of(graph, pattern, device(emulator(seed), grid=(2 if seed else 1, 2)))
    assert run.poll() == count_of(graph, pattern)
    assert run.donated > 0


@pytest.mark.parametrize("name", PATTERNS)
def test_a_count_on_one_lane(name):
    pattern = PATTERNS[name]
    graph = multipartite(4, 9)
    assert run_of(graph, pattern, device(one_lane())).poll() == count_of(graph, pattern)


@pytest.mark.parametrize(("length", "fits"), [(14, True), (22, True), (32, False)])
def test_counts_beyond_64_bits(length, fits):
    """A path through so many labels, each of 24 vertices, which all are adjacent to the next."""
    size = 24
    labels = np.repeat(np.arange(length), size)
    graph = graph_of(np.argwhere(labels[None, :] == labels[:, None] + 1), labels)
    pattern = Pattern(list(pairwise(range(length))), labels=dict(enumerate(range(length))))
    found = run_of(graph, pattern, device(one_lane(), conditioning_slots=1 << 10)).poll()
    assert found == (size**length if fits else None)


@pytest.mark.thorough
def test_a_sum_of_many_large_terms_is_left_to_the_host():
    """A star: the product at each image of its centre has fewer than 2^120 embeddings, their sum more than 2^128."""
    centres, leaves, size = 512, 26, 24
    labels = np.repeat(np.arange(1 + leaves), [centres, *[size] * leaves])
    graph = graph_of(np.argwhere((labels[:, None] == 0) & (labels[None, :] > 0)), labels)
    pattern = Pattern([(0, leaf) for leaf in range(1, 1 + leaves)], labels=dict(enumerate(range(1 + leaves))))
    _, prepared = prepared_for(graph, pattern, "monomorphism")
    order = list(range(1 + leaves))  # the centre first
    assert runs.conditioning_run(prepared.candidate_graph, order, device(one_lane()), np, SECONDS).poll() is None


def test_a_long_count_leaves_a_part_of_the_device_and_keeps_more():
    graph, pattern = multipartite(4, 9), PATTERNS["path"]
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    how = prepared.candidate_graph, engine.conditioning_order(prepared), device(one_lane(), long_conditioning_slots=256)
    runs_ = [runs.conditioning_run(*how, np, SECONDS, is_long) for is_long in (False, True)]
    assert [run.program.blocks for run in runs_] == [2, 1]
    assert [run.program.words[f.BUCKET_MASK] + 1 for run in runs_] == [64 // BUCKET_SLOTS, 256 // BUCKET_SLOTS]
    assert {run.poll() for run in runs_} == {count_of(graph, pattern)}


def test_what_is_known_is_not_counted_again():
    graph, pattern = multipartite(3, 6), path([0, 1, 2, 0, 1, 2])
    steps = [run_of(graph, pattern, device(one_lane(), conditioning_slots=slots)).steps for slots in (8, 1 << 12)]
    found = run_of(graph, pattern, device(one_lane(), conditioning_slots=1 << 12))
    assert found.poll() == count_of(graph, pattern)
    assert found.steps < math.prod([6] * 5)
    assert steps[1] <= steps[0]


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_count_that_is_stopped_has_no_total():
    aside = runs._aside(True, 0)
    engine, prepared = prepared_for(multipartite(3, 8), path([0, 1, 2, 0, 1]), "monomorphism")
    first = next(aside.numbers)
    aside.stopped.on_host[(first + 1) % runs.PLACES] = first + 1  # before it has begun
    local, order = prepared.candidate_graph, engine.conditioning_order(prepared)
    assert runs.conditioning_run(local, order, device(one_lane()), np, SECONDS).poll() is None
    assert runs.conditioning_run(local, order, device(one_lane()), np, SECONDS).poll() is not None


@pytest.mark.parametrize("make_target", [one_lane, pytest.param(emulator, marks=pytest.mark.thorough)])
def test_a_count_stops_by_itself_when_its_time_is_over(make_target, monkeypatch):
    """Its warps look at the clock themselves: whoever has begun it may wait for it."""
    monkeypatch.setattr(conditioner, "STEPS_BETWEEN_POLLS", 2)
    gpu = device(make_target(), grid=(1, 1), conditioning_block_warps=1)
    run = run_of(multipartite(3, 4), path([0, 1, 2, 0, 1]), gpu, seconds=0.0)
    assert run.poll() is None
    assert run.ended
    assert run.steps <= 2


def test_a_candidate_graph_that_is_too_large_is_left_to_the_host(monkeypatch):
    graph, pattern = multipartite(3, 8), path([0, 1, 2])
    assert run_of(graph, pattern, device(one_lane(), conditioning_store_bytes=64)) is None
    monkeypatch.setattr(programs, "LANE_WORDS", ())
    assert run_of(graph, pattern, device(emulator())) is None


def test_nothing_is_loaded_or_freed_after_the_launch(monkeypatch):
    """Either may wait for the launch, and nobody can stop that before the run is made."""
    aside = runs._aside(True, 0)
    monkeypatch.setattr(runs, "_aside", lambda *_: aside)
    make, numpy, kept = runs.make_condition, SimpleNamespace(**vars(np)), []

    def arrays_of(arguments):
        for one in arguments:
            yield from arrays_of(one) if isinstance(one, tuple) else [one] * isinstance(one, np.ndarray)

    class Last:
        """The kernel, after the launch of which NumPy has no functions."""

        def __init__(self, *how):
            self.kernel = make(*how)

        def __getitem__(self, shape):
            def launch(*arguments):
                self.kernel[shape](*arguments)
                kept.extend(map(weakref.ref, arrays_of(arguments)))
                vars(numpy).clear()

            return launch

    monkeypatch.setattr(runs, "make_condition", Last)
    graph, pattern = multipartite(3, 8), path([0, 1, 2, 0, 1])
    run = run_of(graph, pattern, device(one_lane()), numpy)
    assert run.poll() == count_of(graph, pattern)
    assert not vars(numpy)
    assert len(kept) > 8
    assert all(array() is not None for array in kept)


def test_kernels_that_are_not_compiled_are_ordered():
    ordered = []
    target = one_lane()._replace(is_compiled=lambda *_: False, ahead=ordered.extend)
    assert run_of(multipartite(3, 8), path([0, 1, 2]), device(target)) is None
    assert [kernel.name for kernel in ordered] == ["condition 1", "fill sets"]


# On a GPU ------------------------------------------------------------------------------------------------------------


def begun_on_gpu(graph, pattern, seconds=SECONDS):
    """A count on the current GPU, once its kernels are compiled."""
    import cupy

    end = time.monotonic() + 120.0
    while (run := run_of(graph, pattern, current_device(), cupy, seconds=seconds)) is None and time.monotonic() < end:
        time.sleep(0.1)
    return run


def waited_for(run):
    end = time.monotonic() + 60.0
    while run.poll() is None and not run.ended and time.monotonic() < end:
        time.sleep(1e-3)
    return run.poll()


def random_graph(size, labels, degree):
    random = np.random.default_rng(7)
    edges = pd.DataFrame(random.integers(0, size, (degree * size // 2, 2)), columns=["src", "dst"])
    vertices = pd.DataFrame({"vertex": range(size), "label": random.integers(0, labels, size)})
    return Graph.from_edgelist(edges[edges.src != edges.dst], vertices=vertices, vertex_label="label")


@pytest.mark.gpu
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("size", [40, 500, 1500])
def test_a_gpu_counts_as_the_host_does(name, size):
    graph, pattern = random_graph(4 * size, 4, 30), PATTERNS[name]
    expected = count_of(graph, pattern)
    for _ in range(5):
        run = begun_on_gpu(graph, pattern)
        assert waited_for(run) == expected
        assert run.steps > 0


def long_count():
    """A graph, and a pattern of which it takes long to count the matches."""
    clique = Pattern([(u, w) for w in range(9) for u in range(w)], labels=dict(enumerate([0, 1] * 4 + [0])))
    return random_graph(1200, 2, 500), clique


def begin_and_stop():
    run = begun_on_gpu(*long_count())
    assert run.poll() is None
    begin = time.monotonic()
    run.stop()
    assert waited_for(run) is None
    assert run.ended
    assert time.monotonic() - begin < 1.0


@pytest.mark.gpu
def test_a_gpu_stops_by_itself():
    """Nobody stops it; a call of the driver that waits for it ends, too."""
    import cupy

    run = begun_on_gpu(*long_count(), seconds=0.2)
    begin = time.monotonic()
    cupy.cuda.runtime.deviceSynchronize()
    assert 0.1 < time.monotonic() - begin < 1.0
    assert run.ended
    assert run.poll() is None


@pytest.mark.gpu
@pytest.mark.parametrize("pooled", [True, False])
def test_a_gpu_stops_soon(pooled):
    """Also where memory is freed at once, as RMM's is without a pool: that waits for all that runs."""
    import cupy

    with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc if pooled else None):
        begin_and_stop()
    assert waited_for(begun_on_gpu(random_graph(160, 4, 30), PATTERNS["path"])) is not None


@pytest.mark.gpu
def test_the_first_count_of_a_process_stops_soon():
    """CuPy has loaded no kernel there, and to load one waits for what runs."""
    process = get_context("spawn").Process(target=begin_and_stop)
    process.start()
    process.join(180.0)
    process.kill()
    assert process.exitcode == 0


@pytest.mark.gpu
def test_a_gpu_makes_the_factors_of_a_count_by_elimination(monkeypatch):
    """From the first one on; some have 10^6 entries."""
    import cupy

    monkeypatch.setattr(elimination_run, "COPIED_S", 0.0)
    monkeypatch.setattr(placed_factors, "LARGE", 1 << 10)
    monkeypatch.setattr(placed_factors, "SMALL", 1 << 8)
    for module in (costs, shared_steps):
        monkeypatch.setattr(module, "DEVICE_STEP_NS", 1e4)
    load(cupy, current_device(), 0)
    graph = random_graph(4000, 4, 30)
    pattern = Pattern([*pairwise(range(9)), (8, 0), (0, 4), (2, 6)], labels={v: v % 4 for v in range(9)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=4)
    wanted = engine.eliminate(prepared, RunOptions()).total()
    made, make = [], functools.partial(factors_on_device, cupy, current_device(), 0)
    run = engine.eliminate(prepared, RunOptions())
    run.device = lambda *a: made.append(make(*a)) or made[-1]
    summed_product = ArrayFactors.summed_product
    monkeypatch.setattr(ArrayFactors, "summed_product", lambda *a: made.append("sum") or summed_product(*a))
    end = time.monotonic() + 60.0
    while make(Fields(2), np.array([WORDS]), lambda: None) is None and time.monotonic() < end:
        time.sleep(0.1)
    assert run.total() == wanted > 0
    assert made.count("sum") > 3
