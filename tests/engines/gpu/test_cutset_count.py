"""Counts on cutsets as the GPU makes them: by the definition, in small and large tasks, in many launches, stopped."""

from __future__ import annotations

import itertools
import math
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings
from strategies import cases
from targets import emulator, one_lane
from test_conditioning import beside_a_hub, copied_for, count_of, graph_of, multipartite, path
from tiers import examples, is_thorough, thorough

from cusubmatch import Pattern
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.cutset import cutset_kernel as c
from cusubmatch.engines.gpu.cutset import cutset_run as runs
from cusubmatch.engines.gpu.cutset import world_kernels as k
from cusubmatch.engines.gpu.cutset import worlds as worlds_
from cusubmatch.engines.gpu.cutset.launch_shapes import block_shape
from cusubmatch.engines.gpu.cutset.worlds import FEWEST, Worlds
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.runs import CopiedWay

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

SECONDS = 600.0  # that nothing here takes
SMALL = {"cutset_places": 1 << 14, "cutset_tasks": 1 << 10, "cutset_row_words": 1 << 16}
SMALL |= {"cutset_set_words": 1 << 14, "cutset_turns": 1}
LIMITS = [1.0, 10.0, 100.0, 1e9]  # combinations of an elimination: all vertices are matched, or none


def device(target, **changes):
    return Device(target, 2, 228 << 10, tunables=Tunables(**({"grid": (2, 2)} | SMALL | changes)))


def run_of(graph, pattern, gpu, xp=np, semantics="monomorphism", seconds=SECONDS):
    """A count of the CPU engine's candidate graph; None where there is none."""
    local, order = copied_for(graph, pattern, semantics)
    return None if local is None else runs.CutsetRun(local, order, gpu, xp, seconds)


def dense_case(seed, size=12, labels=2, vertices=5):
    """A random graph, and what a random walk finds in it as a pattern."""
    random = np.random.default_rng(seed)
    label_of = random.integers(0, labels, size)
    edges = np.argwhere(np.triu(random.random((size, size)) < 0.5, 1))
    near = [np.concatenate([edges[edges[:, 0] == v, 1], edges[edges[:, 1] == v, 0]]) for v in range(size)]
    v = int(random.integers(size))
    walk = {v: 0}
    for _ in range(100):
        if len(walk) < vertices and len(near[v]):
            v = int(random.choice(near[v]))
            walk.setdefault(v, len(walk))
    inside = [(walk[a], walk[b]) for a, b in edges.tolist() if a in walk and b in walk]
    return graph_of(edges, label_of), Pattern(inside, labels={place: int(label_of[v]) for v, place in walk.items()})


# Counts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(25)
@given(data=st.data())
def test_a_count_is_that_of_the_definition(semantics, data):
    raw, pattern = data.draw(cases())
    limit = data.draw(st.sampled_from(LIMITS))
    run = run_of(raw.graph(), pattern, device(one_lane(), cutset_combinations=limit), semantics=semantics)
    if run is not None:
        assert run.total() == sum(1 for _ in embeddings(raw.naive(), pattern, semantics))


@pytest.mark.thorough
@examples(5)
@given(data=st.data())
def test_warps_count_what_the_definition_says(data):
    raw, pattern = data.draw(cases())
    gpu = device(emulator(data.draw(st.integers(0, 5))), cutset_combinations=data.draw(st.sampled_from(LIMITS)))
    run = run_of(raw.graph(), pattern, gpu)
    if run is not None:
        assert run.total() == sum(1 for _ in embeddings(raw.naive(), pattern, "monomorphism"))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("seed", [0, 1, 2, *thorough(*range(3, 12))])
def test_patterns_of_a_dense_graph(seed, limit):
    """In small parts of memory: worlds in batches, and tasks that are tried again."""
    large = {"size": 40, "vertices": 8} if is_thorough() else {}
    graph, pattern = dense_case(seed, **large)
    few = {"cutset_tasks": 160, "cutset_row_words": 1 << 12} if seed % 2 else {}
    assert run_of(graph, pattern, device(one_lane(), cutset_combinations=limit, **few)).total() == count_of(
        graph, pattern
    )


@pytest.mark.parametrize(("seed", "limit"), thorough((0, 1e9), *((seed, limit) for seed in (1, 2) for limit in LIMITS)))
def test_warps_of_a_block_share_tables(seed, limit):
    graph, pattern = dense_case(seed)
    gpu = device(emulator(seed), grid=(1, 2), cutset_combinations=limit)
    assert run_of(graph, pattern, gpu).total() == count_of(graph, pattern)


@pytest.mark.parametrize("vertices", [2, 3, 4])
def test_homomorphisms_beside_a_hub(vertices):
    for graph, pattern, wanted in beside_a_hub(0, vertices, 12):
        run = run_of(graph, pattern, device(one_lane(), cutset_combinations=50.0), semantics="homomorphism")
        assert run is None or run.total() == wanted


@pytest.mark.parametrize(("length", "fits"), [(12, True), (19, True), (28, True), (30, False)])
def test_counts_beyond_64_bits(length, fits):
    """A path through so many labels, each of 12 vertices, which all are adjacent to the next."""
    size = 12
    labels = np.repeat(np.arange(length), size)
    graph = graph_of(np.argwhere(labels[None, :] == labels[:, None] + 1), labels)
    pattern = Pattern(list(pairwise(range(length))), labels=dict(enumerate(range(length))))
    assert run_of(graph, pattern, device(one_lane())).total() == (size**length if fits else None)


@pytest.mark.parametrize(("leaves", "size"), [(4, 20), (5, 20), (4, 300), (6, 3000)])
def test_sums_of_products_of_many_numbers(leaves, size):
    """The vertex with many leaves, each with a label of its own, is summed over beside another one with a leaf."""
    sizes = [4, 6, *[size] * leaves, 30]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    pairs = [(0, 1), *((0, 2 + leaf) for leaf in range(leaves)), (1, 2 + leaves)]
    edges = [np.argwhere((labels[:, None] == a) & (labels[None, :] == b)) for a, b in pairs]
    graph = graph_of(np.concatenate(edges), labels)
    run = run_of(graph, Pattern(pairs, labels=dict(enumerate(range(len(sizes))))), device(one_lane()))
    assert run.total() == math.prod(sizes)


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_launch_is_over_after_its_time_and_the_next_goes_on(monkeypatch):
    """A tick of the emulator's clock is one look at it; each block looks once before it begins."""
    monkeypatch.setattr(runs, "SLICE_SHARE", 0.0)
    graph, pattern = multipartite(3, 4), path([0, 1, 2, 0])
    run = run_of(graph, pattern, device(emulator(), grid=(1, 1), cutset_combinations=1.0, cutset_slice_s=1.6e-7))
    assert run.total() == count_of(graph, pattern)
    assert run.launches > 3


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_blocks_leave_their_places_to_others(seed, monkeypatch):
    """The first launch takes many blocks one after the other, each for a few looks at the clock."""
    rings, make = [], c.spare_parts
    monkeypatch.setattr(c, "spare_parts", lambda blocks: rings.append(make(blocks)) or rings[-1])
    monkeypatch.setattr(runs, "SLICE_SHARE", 0.0)
    graph, pattern = multipartite(3, 2), path([0, 1, 2])
    times = {"cutset_slice_s": 1e-6, "cutset_turns": 4}
    run = run_of(graph, pattern, device(emulator(seed), grid=(2, 1), cutset_combinations=1.0, **times))
    assert run.total() == count_of(graph, pattern)
    for *parts, taken, left in map(np.ndarray.tolist, rings):
        assert sorted(parts) == [0, 1]
        assert taken == left
        assert taken > 2


@pytest.mark.parametrize("words", [0, 24, 40, 1 << 12])
@pytest.mark.parametrize("target", ["one lane", *thorough("emulator")])
def test_tasks_share_what_is_left_as_far_as_there_is_room(target, words):
    """With no room at all, for a few tasks, for many in several launches, and for all."""
    graph, pattern = multipartite(3, 3), path([0, 1, 2, 0])
    target = one_lane() if target == "one lane" else emulator(words)
    gpu = device(target, grid=(1, 1), cutset_combinations=1.0, cutset_set_words=words, cutset_tasks=24)
    run = run_of(graph, pattern, gpu)
    assert run.total() == count_of(graph, pattern)


def test_later_launches_take_longer_but_not_beyond_the_end(monkeypatch):
    run = run_of(multipartite(3, 4), path([0, 1, 2, 0]), device(one_lane(), cutset_slice_s=0.1))
    monkeypatch.setattr(runs.time, "monotonic", lambda: 100.0)
    begun_and_end = {(99.9, 200.0): 0.1, (98.0, 200.0): 0.5, (0.0, 200.0): 1.0, (0.0, 100.5): 0.5, (0.0, 99.0): 0.0}
    for (run._counting_s, run._end_s), seconds in begun_and_end.items():
        assert run._slice_ns() == pytest.approx(seconds * 1e9)


def test_a_count_that_is_stopped_or_late_has_no_total():
    graph, pattern = multipartite(3, 8), path([0, 1, 2, 0, 1])
    stopped, late = (run_of(graph, pattern, device(one_lane()), seconds=seconds) for seconds in (SECONDS, 0.0))
    stopped.stop()
    for run in (stopped, late):
        run.count_on((runs.nullcontext(), runs.nullcontext()))
        assert run.ended
        assert run.poll() is None


@pytest.mark.parametrize("error", [MemoryError(), ValueError("no such kernel")])
def test_what_goes_wrong_is_an_end_and_is_raised_unless_memory_is_lacking(error, monkeypatch):
    def fails(*_):
        raise error

    run = run_of(multipartite(3, 8), path([0, 1, 2, 0, 1]), device(one_lane()))
    monkeypatch.setattr(runs, "Worlds", fails)
    run.count_on((runs.nullcontext(), runs.nullcontext()))
    assert run.ended
    if isinstance(error, MemoryError):
        assert run.poll() is None
    else:
        with pytest.raises(ValueError, match="no such kernel"):
            run.poll()


def test_a_block_that_no_warp_has_room_in():
    with pytest.raises(MemoryError):
        block_shape(device(emulator()), 0, 1 << 20)


@pytest.mark.parametrize("way", CopiedWay)
def test_an_engine_counts_a_copy_in_each_way(way):
    graph, pattern = multipartite(3, 8), path([0, 1, 2, 0, 1])
    gpu = device(one_lane(), conditioning_slots=64, long_conditioning_slots=64, ring_slots=16)
    count = GpuEngine(gpu).condition_copy(graph, *copied_for(graph, pattern), SECONDS, way)
    while not count.ended:
        time.sleep(1e-3)
    assert count.poll() == count_of(graph, pattern)
    assert math.isinf(count.remaining_s) == (way is not CopiedWay.CUTSETS)


# The time that is left ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16 * FEWEST - 16, 16 * FEWEST, 100])
def test_the_worlds_of_a_sample_come_first_and_are_of_all_sizes(size):
    """A vertex a world; each has more neighbours than the one before."""
    edges = np.argwhere(np.tri(size, dtype=bool)) + np.array([0, size])
    graph = graph_of(edges, np.repeat([0, 1], size))
    local, _ = copied_for(graph, Pattern([(0, 1), (0, 2)], labels={0: 0, 1: 1, 2: 1}), "homomorphism")
    worlds = Worlds(local, [0, 1, 2], device(one_lane()), np)
    sizes = worlds._known[:, k.COUNTS + 1]
    batches = list(worlds.batches(1 << 29))
    assert sum(batch.number for batch in batches) == worlds.number == size
    assert sum(batch.share for batch in batches) == pytest.approx(1.0)
    assert sorted(sizes) == list(range(1, size + 1))
    assert len(batches) == (2 if size >= 16 * FEWEST else 1)
    if len(batches) == 2:
        sample = sizes[: batches[0].number].tolist()
        assert sample == list(range(size, 0, -16))
        assert batches[0].share == pytest.approx(sum(sample) / sizes.sum())


def test_when_a_count_will_be_known_is_known_once_some_worlds_are_counted(monkeypatch):
    seen, count = [], runs.CutsetRun._count
    clock = itertools.count()
    monkeypatch.setattr(runs.time, "monotonic", lambda: float(next(clock)))

    def spied(self, worlds, batch):
        seen.append((self.remaining_s, batch.share))
        return count(self, worlds, batch)

    monkeypatch.setattr(runs.CutsetRun, "_count", spied)
    graph, pattern = multipartite(3, 8), path([0, 1, 2, 0, 1])
    monkeypatch.setattr(worlds_, "SAMPLED", 2)
    run = run_of(graph, pattern, device(one_lane()), seconds=1e9)
    assert run.total() == count_of(graph, pattern)
    (before, share), (left, _) = seen
    assert before == math.inf
    assert 0 < left < 1 / share * 100
    assert run.remaining_s < 0.0


def test_a_count_that_is_late_is_judged_by_the_number_of_its_worlds(monkeypatch):
    run = run_of(multipartite(3, 4), path([0, 1, 2, 0]), device(one_lane()))
    assert run.remaining_s == math.inf
    run._counting_s, run._known_s, run._known_late_s = 10.0, 20.0, 90.0
    for now, left in {15.0: 5.0, 24.0: -4.0, 26.0: 64.0, 95.0: -5.0}.items():
        monkeypatch.setattr(runs.time, "monotonic", lambda now=now: now)
        assert run.remaining_s == left


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(6))
def test_a_count_on_the_gpu(seed):
    import cupy

    graph, pattern = dense_case(seed, size=60, vertices=9)
    for limit in (*LIMITS[1:], 1e6):
        gpu = current_device().tuned(cutset_combinations=limit, cutset_places=1 << 16)
        assert run_of(graph, pattern, gpu, cupy).total() == count_of(graph, pattern)


@pytest.mark.gpu
def test_the_time_of_a_count_on_the_gpu_is_kept():
    import cupy

    graph, pattern = multipartite(4, 60), path([0, 1, 2, 3] * 4)
    run = run_of(graph, pattern, current_device().tuned(cutset_combinations=1.0), cupy, seconds=0.5)
    assert run.total() is None
    assert math.log10(run.tasks) > 3
