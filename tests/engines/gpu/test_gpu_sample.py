"""The GPU engine's samples, in the lane emulator and as native code of one lane: every rank is a match, once.

The engine's part is held against all rows that the CPU engine writes by the same plan, with so few tasks a launch that
every level is cut and descended; the whole against the oracle and the chi-square law.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms, canonical, matches
from plans import plan_for
from strategies import cases, connected_order
from targets import emulator, one_lane
from test_gpu_walk import SHAPES, SHARED, WAYS, WEIGHED, WORDWISE, Settings, skewed, stressful
from test_sample import CHANCES, DRAWS, HOUSE, SMALL, counts_of_samples, excess, rows_of
from test_walkers import COUNTED_LEAVES, DIRECTED, UNDIRECTED, labelled_graph, rows_with
from test_walkers import Settings as Rows
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Pattern, count_matches
from cusubmatch.api.sample_matches import sample_matches
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.search.frontier import TaskSums
from cusubmatch.engines.gpu.search.sampler import Sampler
from cusubmatch.engines.registry import engine_named
from cusubmatch.graph.cache import Cache

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

TASKS = {"many tasks": (1 << 20, 1 << 22), "few tasks": (8, 64), "two tasks": (1, 2)}


@pytest.fixture(scope="module")
def lane():
    return one_lane()


def device(target, tasks="many tasks", settings=None, **tuned):
    """A device on which the sampler cuts its frontiers so, and the walker works as the settings say."""
    settings = settings or Settings(grid=(1, 1))
    first, later = TASKS[tasks]
    gpu = Device(target, 1, SHARED, tunables=settings.tunables)
    return gpu.tuned(first_frontier_tasks=first, frontier_tasks=later, **tuned)


def sampler_of(graph, pattern, gpu, settings=None, semantics="monomorphism", unique=True):
    settings = settings or Settings()
    only = {"methods": ("warps",), "ascending": settings.ascending, "order": connected_order(pattern, settings.order)}
    plan, prepared = plan_for(graph, pattern, semantics, unique, True, **only)
    graph.cache = Cache()
    return plan, Sampler(prepared, plan, gpu=gpu)


def all_rows(sampler):
    """The matches at all ranks, in order."""
    [count] = sampler.counts()
    rows = sampler.rows({0: list(range(count))})
    assert rows.shape == (sampler.size, count)
    return [tuple(row) for row in rows.T.tolist()]


# Every rank is a row -------------------------------------------------------------------------------------------------

ORDERED = [
    *((name, order, semantics, distinct) for _, _, name, order, semantics, distinct in COUNTED_LEAVES),
    *((text, order, "monomorphism", []) for text, order in WEIGHED.values()),
    (WEIGHED["house"][0], "becda", "homomorphism", ["ac"]),
    (WEIGHED["house"][0], "becda", "induced", []),
    ("(a)--(b)", "ab", "monomorphism", []),
]


# Each way of the last level is a kernel of its own, which takes ten seconds to compile for one lane. In the first tier
# the lane emulator runs all of them.
@pytest.mark.thorough
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize(("name", "order", "semantics", "distinct"), ORDERED)
def test_ranks_are_the_rows_of_the_plan_however_the_tasks_are_cut(lane, name, order, semantics, distinct, ascending):
    pattern = Pattern.parse((UNDIRECTED | DIRECTED).get(name, name), distinct=map(tuple, distinct))
    graph, unique = labelled_graph(name in DIRECTED), semantics != "homomorphism"
    ranks = tuple(order.index(vertex) for vertex in pattern.names)
    expected = rows_with(Rows(method="lists", ascending=ascending, order=ranks), graph, pattern, semantics, unique)
    settings = Settings(grid=(1, 1), order=ranks, ascending=ascending)
    rows = all_rows(sampler_of(graph, pattern, device(lane), settings, semantics, unique)[1])
    assert Counter(rows) == expected
    for tasks, n in (("few tasks", 100), ("two tasks", 3)):
        some = np.random.default_rng(1).permutation(len(rows))[:n].tolist()
        _, sampler = sampler_of(graph, pattern, device(lane, tasks), settings, semantics, unique)
        assert sampler.counts() == [len(rows)]
        assert [tuple(row) for row in sampler.rows({0: some}).T.tolist()] == [rows[rank] for rank in some]


@pytest.mark.thorough
@pytest.mark.parametrize("name", WORDWISE)
def test_ranks_in_sets_that_are_counted_by_words(lane, name):
    text, order = WORDWISE[name]
    pattern, chance = Pattern.parse(text), np.random.default_rng(4)
    adjacent = np.triu(chance.random((90, 90)) < 0.5, 1)
    graph = csm.Graph.from_edgelist(np.nonzero(adjacent))
    settings = Settings(order=tuple(order.index(vertex) for vertex in pattern.names), grid=(1, 1))
    gpu = device(lane, min_hub_degree=1)
    plan, sampler = sampler_of(graph, pattern, gpu, settings)
    [count] = sampler.counts()
    assert count * plan.factor == count_matches(graph, pattern, engine="cpu")
    ranks = sorted(set(chance.integers(0, count, 300).tolist()))
    rows = np.asarray(graph.to_ids(sampler.rows({0: ranks}).ravel())).reshape(len(pattern), -1)
    assert len(set(map(tuple, rows.T.tolist()))) == len(ranks)
    assert all((adjacent | adjacent.T)[rows[edge[0]], rows[edge[1]]].all() for edge in pattern.edges)


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(6)
@given(case=cases(anonymous=False), settings=stressful, tasks=st.sampled_from(list(TASKS)))
def test_under_any_schedule_the_ranks_are_the_oracles_matches(semantics, unique, case, settings, tasks):
    raw, pattern = case
    graph, expected = raw.graph(), matches(raw.naive(), pattern, semantics, unique)
    gpu = device(emulator(settings.seed, max_steps=2_000_000), tasks, settings)
    plan, sampler = sampler_of(graph, pattern, gpu, settings, semantics, unique)
    [count] = sampler.counts()
    assert count * plan.factor == len(expected)
    ranks = list(range(0, count, count // 12 + 1))
    rows = sampler.rows({0: ranks})
    ids = np.asarray(graph.to_ids(rows.ravel()), object).reshape(rows.shape).T.tolist()
    symmetries = automorphisms(pattern) if semantics != "homomorphism" else [tuple(range(len(pattern)))]
    found = {canonical(row, symmetries) for row in ids}
    assert len(found) == len(ranks)
    assert found <= {canonical(image, symmetries) for image in expected}


@pytest.mark.parametrize("name", ["path", *thorough("square", "house", "claw")])
def test_work_given_away_is_counted_for_its_own_task(name):
    graph, pattern = skewed(), Pattern.parse(SHAPES[name])
    counts = []
    for seed, grid in ((0, (1, 1)), (1, (2, 2)), (2, (2, 3))):
        settings = Settings(seed=seed, steps=1, windows=1, long=0, ring=32, slice_ticks=2000, grid=grid)
        gpu = device(emulator(seed, max_steps=2_000_000), settings=settings)
        _, sampler = sampler_of(graph, pattern, gpu, settings)
        sampler.counts()
        counts.append(sampler._counted[0].sums.tolist())
    assert counts[0] == counts[1] == counts[2]
    assert counts[0][-1] == count_matches(graph, pattern, engine="cpu")


# Sums ----------------------------------------------------------------------------------------------------------------


def test_ranks_past_64_bits_are_found():
    counts = [3, 0, 2**64, 5 * 2**70 + 1, 0, 2**33]
    words = [[count & 0xFFFFFFFF, count >> 32] for count in counts]
    words[2] = [3 << 32, (1 << 32) - 3]  # not carried yet
    sums = TaskSums(np.array(words, np.uint64))
    assert sums.total == sum(counts)
    ranks = [(task, rank) for task, count in enumerate(counts) if count for rank in (0, count // 2, count - 1)]
    first, wanted = np.zeros(len(ranks), np.int64), [sum(counts[:task]) + rank for task, rank in ranks]
    tasks, rest = sums.find(first, np.array(wanted, object))
    assert list(zip(tasks.tolist(), rest.tolist(), strict=True)) == ranks


@pytest.mark.thorough
def test_sums_in_host_memory_find_the_same(lane):
    graph, found = skewed(), []
    for max_device_sum in (1 << 63, 1):
        gpu = device(lane, max_device_sum=max_device_sum)
        found.append(all_rows(sampler_of(graph, Pattern.parse(HOUSE), gpu)[1]))
    assert found[0] == found[1]


# The whole -----------------------------------------------------------------------------------------------------------


@contextmanager
def sampled_by(gpu):
    """Let every sample be drawn by the GPU engine's sampler on that device."""

    class Engine(CpuEngine):
        name, methods = "gpu", ("warps",)

        def prepare(self, *arguments):  # this sampler knows no candidate graph
            return super().prepare(*arguments)._replace(candidate_graph=None)

        def sampler(self, plan, prepared, deadline):
            return Sampler(prepared, plan, deadline=deadline, gpu=gpu)

    with patch("cusubmatch.execution.planned_call.engine_for", lambda *_: (Engine(), "for a test")):
        yield


def fresh(graph):
    """The graph without plans of another engine."""
    graph.cache = Cache()
    return graph


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "unique", "n"), CHANCES)
def test_every_match_is_as_likely_as_every_other(lane, text, unique, n):
    graph = fresh(SMALL)
    cells = count_matches(graph, text, unique=unique, engine="cpu")
    with sampled_by(device(lane, "few tasks")):
        counted = counts_of_samples(fresh(graph), text, n, unique=unique)
    assert abs(excess(counted, n, cells, DRAWS)) < 4
    fresh(graph)


@pytest.mark.thorough
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(8)
@given(data=st.data(), tasks=st.sampled_from(list(TASKS)))
def test_samples_are_matches_of_the_oracle_each_once(lane, semantics, unique, data, tasks):
    raw, pattern = data.draw(cases(anonymous=False))
    asked = {"semantics": semantics, "unique": unique if semantics != "homomorphism" else None}
    symmetries = automorphisms(pattern) if unique else [tuple(range(len(pattern)))]
    truth = {canonical(image, symmetries) for image in matches(raw.naive(), pattern, semantics, unique)}
    n = data.draw(st.one_of(st.integers(0, 4), st.just(len(truth) + 3)))
    with sampled_by(device(lane, tasks)):
        sample, count = sample_matches(raw.graph(), pattern, n, seed=n, **asked)
    assert count == len(truth)
    rows = [canonical(row, symmetries) for row in rows_of(sample)]
    assert len(rows) == len(set(rows)) == min(n, count)
    assert set(rows) <= truth


@pytest.mark.thorough
def test_the_same_seed_draws_the_same_sample_whatever_the_schedule(lane):
    with sampled_by(device(lane)):
        expected, count = sample_matches(skewed(), HOUSE, 10, seed=5, unique=False)
    with sampled_by(device(emulator(1), settings=Settings(grid=(1, 2)))):
        sample, again = sample_matches(skewed(), HOUSE, 10, seed=5, unique=False)
    assert again == count
    assert sample.equals(expected)


def test_a_time_limit_leaves_nothing():
    with sampled_by(device(emulator(0))), pytest.raises(csm.TimeLimitExceeded) as caught:
        sample_matches(skewed(), HOUSE, 5, time_limit=0)
    assert caught.value.partial is None


# On a GPU ------------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("text", [HOUSE, *SHAPES.values()])
def test_a_gpu_draws_matches_each_once_and_the_same_ones_again(text, tasks):
    edges = csm.generators.rmat(10, 8)
    graph, pattern = csm.Graph.from_edgelist(edges), Pattern.parse(text)
    n = 500 if tasks != "two tasks" else 3
    first, later = TASKS[tasks]
    gpu = current_device().tuned(first_frontier_tasks=first, frontier_tasks=later)
    with patch.object(engine_named("gpu"), "gpu", gpu):
        samples = [sample_matches(graph, pattern, n, seed=seed, engine="gpu") for seed in (1, 1, 2)]
    assert {count for _, count in samples} == {count_matches(graph, pattern, engine="cpu")}
    assert samples[0][0].equals(samples[1][0])
    assert not samples[0][0].equals(samples[2][0])
    rows = rows_of(samples[0][0])
    pairs = set(map(frozenset, np.asarray(edges)[:, :2].tolist()))
    assert all(frozenset((row[edge[0]], row[edge[1]])) in pairs for row in rows for edge in pattern.edges)
    images = {canonical(row, automorphisms(pattern)) for row in rows}
    assert len(images) == len(rows) == n


@pytest.mark.gpu
@pytest.mark.parametrize(("text", "unique", "n"), CHANCES)
def test_on_a_gpu_every_match_is_as_likely_as_every_other(text, unique, n):
    counted = counts_of_samples(SMALL, text, n, unique=unique, engine="gpu")
    assert abs(excess(counted, n, count_matches(SMALL, text, unique=unique, engine="cpu"), DRAWS)) < 4
