"""Factors of a count by elimination on a device, here in NumPy's arrays: counts, what each does, and how it ends."""

from __future__ import annotations

import functools
import gc
import itertools
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets import lane_device
from test_conditioning import prepared_for
from test_elimination import EDGES, check_by_definition, random_graph
from tiers import examples, thorough

from cusubmatch import Pattern
from cusubmatch.engines.cpu.elimination import (
    awaited_device,
    costs,
    elimination_run,
    eliminations,
    placed_factors,
    quotient_sum,
    shared_steps,
    step_costs,
)
from cusubmatch.engines.cpu.elimination.awaited_device import AwaitedDevice
from cusubmatch.engines.cpu.elimination.shared_steps import SharedSteps
from cusubmatch.engines.cpu.elimination.summed_product import SummedProduct
from cusubmatch.engines.factors import fields as fields_module
from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS
from cusubmatch.engines.factors.device_factors import MorePairs
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.elimination import array_joins
from cusubmatch.engines.gpu.elimination.array_factors import ArrayFactors
from cusubmatch.engines.gpu.elimination.array_joins import ArrayJoins
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.elimination.device_factors import do_all_once, factors_on_device
from cusubmatch.engines.runs import RunOptions
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.elimination_turns import EliminationTurns
from cusubmatch.system.deadlines import ended_by
from cusubmatch.system.device_claim import claim_of_thread, claiming

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

on_numpy = functools.partial(factors_on_device, np, lane_device(), 0)


def give_all_to_device(patch, small=0):
    """Let everything be done there, but what makes a factor with few entries, while others are chosen."""
    patch.setattr(quotient_sum, "DEVICE_TERMS_AT_ONCE", 2)
    patch.setattr(elimination_run, "COPIED_S", 0.0)
    patch.setattr(placed_factors, "LARGE", 1)
    patch.setattr(placed_factors, "SMALL", small)
    for module in (costs, shared_steps):
        patch.setattr(module, "DEVICE_STEP_NS", 1.0)
    patch.setattr(shared_steps, "HOST_SHARE", 0.0)


@pytest.mark.parametrize("small", [0, 30])
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(60)
@given(data=st.data())
def test_counts_agree_with_the_definition(semantics, small, data):
    def set_parts(patch):
        give_all_to_device(patch, small)
        patch.setattr(fields_module, "WORD_BITS", 8)
        patch.setattr(array_joins, "MAX_PAIRS", 8)

    check_by_definition(data, semantics, set_parts, on_numpy)


@pytest.mark.one_each
@pytest.mark.parametrize("name", ["bipartite", *thorough(*(name for name in EDGES if name != "bipartite"))])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_device_and_threads_share_a_count(monkeypatch, name, threads, share):
    give_all_to_device(monkeypatch, small=16)
    monkeypatch.setattr(shared_steps, "HOST_SHARE", share)
    done, summed_product = [], ArrayFactors.summed_product
    monkeypatch.setattr(ArrayFactors, "summed_product", lambda *a: done.append(1) or summed_product(*a))
    graph = random_graph(16, 0.6, 2, seed=4)
    edges = EDGES[name]
    pattern = Pattern(edges, labels={v: v % 2 for v in range(max(map(max, edges)) + 1)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=threads)
    wanted = engine.condition(prepared, RunOptions(), None).total()
    run = engine.eliminate(prepared, RunOptions())
    run.device = on_numpy
    assert run.total() == wanted > 0
    assert done


@pytest.mark.parametrize("threads", [4, *thorough(1)])
def test_the_next_eliminations_are_chosen_while_a_device_works(monkeypatch, threads):
    give_all_to_device(monkeypatch)
    known, choose = [], quotient_sum._QuotientSum._choose
    monkeypatch.setattr(
        quotient_sum._QuotientSum, "_choose", lambda sums, *a: known.append(len(sums.chosen)) or choose(sums, *a)
    )
    graph = random_graph(14, 0.6, 2, seed=4)
    pattern = Pattern(EDGES["tree"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=threads)
    run = engine.eliminate(prepared, RunOptions())
    run.device = on_numpy
    assert run.total() == engine.condition(prepared, RunOptions(), None).total() > 0
    assert any(known)


def steps_of(*of_host, is_total=False):
    return SharedSteps(of_host, [costs.device_ns(cost, is_total) for cost in of_host])


def test_host_does_the_smallest_and_device_the_largest():
    steps = steps_of(1e5, 1e6, 1e8, 2e8, 4e9)
    assert steps.suit_device
    assert [steps.for_device(), steps.for_host(), steps.for_device(), steps.for_host()] == [4, 0, 3, 1]
    assert steps.for_host() is None  # the device is sooner done with it
    assert [steps.for_device(), steps.for_device(), steps.for_host()] == [2, None, None]


@pytest.mark.parametrize("is_total", [True, False])
def test_host_does_what_takes_it_no_longer_than_all_that_the_device_has_to_do(is_total):
    of_host = 2e9, 1e12  # a device adds up the second one in 10 s; to store what it makes would take minutes
    assert (steps_of(*of_host, is_total=is_total).for_host() is None) == is_total


def test_what_is_too_small_for_the_device_is_left_to_the_host():
    steps = steps_of(1e5, 1e6)
    assert not steps.suit_device
    assert [steps.for_device(), steps.for_host(), steps.for_host(), steps.for_host()] == [None, 0, 1, None]


def test_without_a_device_the_largest_is_first():
    steps = SharedSteps([1e5, 1e6, 1e9], [])
    assert [steps.for_device(), steps.for_host(), steps.for_host(), steps.for_host()] == [None, 2, 1, 0]


def test_large_steps_cost_what_the_device_takes():
    assert costs.device_ns(1e9) < 1e8
    assert costs.device_ns(1e4) > 1e4
    for there in (1e7, 1e9):
        assert costs.device_ns(costs.host_ns(there)) >= there


# Its turn ------------------------------------------------------------------------------------------------------------


def awaited(make, free_at_s, claim):
    return AwaitedDevice(make, np.array([WORDS]), lambda: None, free_at_s, claim)


def test_a_device_is_claimed_while_it_is_used():
    claim = threading.Event()
    device = awaited(on_numpy, time.monotonic(), claim)
    assert not claim.is_set()
    assert device(Fields(4)) is device(Fields(4)) is not None
    assert claim.is_set()
    device.end()
    assert not claim.is_set()


def test_a_device_is_claimed_by_turns_that_become_longer(monkeypatch):
    now, claim, claimed = [100.0], threading.Event(), []
    monkeypatch.setattr(awaited_device.time, "monotonic", lambda: now[0])
    device = awaited(on_numpy, 0.0, claim)
    for _ in range(75):
        assert device(Fields(4)) is not None
        claimed.append(claim.is_set())
        now[0] += 1.0
    turns = [(is_claimed, len(list(seconds))) for is_claimed, seconds in itertools.groupby(claimed)]
    assert turns == [(True, 10), (False, 5), (True, 20), (False, 10), (True, 30)]


@pytest.mark.parametrize("case", ["none", "not free yet"])
def test_nothing_is_claimed_where_no_device_is_to_be_had(case):
    claim, now = threading.Event(), time.monotonic()
    device = awaited(*{"none": (None, now), "not free yet": (on_numpy, now + 100)}[case], claim)
    assert device(Fields(4)) is None
    assert not claim.is_set()
    device.end()


def test_a_device_is_claimed_while_it_is_loaded_unless_that_takes_long(monkeypatch):
    """What is loaded waits for all that runs there; what is compiled does not."""
    now, claim, claimed = [100.0], threading.Event(), []
    monkeypatch.setattr(awaited_device.time, "monotonic", lambda: now[0])
    device = awaited(lambda *how: on_numpy(*how) if now[0] >= 108.0 else None, 0.0, claim)
    for _ in range(20):
        claimed.append((device(Fields(4)) is not None, claim.is_set()))
        now[0] += 1.0
    assert claimed == [(False, True)] * 5 + [(False, False)] * 3 + [(True, True)] * 10 + [(True, False)] * 2
    device.end()
    assert not claim.is_set()


def test_a_claim_is_of_the_thread_that_begins_a_count():
    claim = threading.Event()
    with claiming(claim):
        assert claim_of_thread() is claim
    assert claim_of_thread() is not claim


@pytest.mark.parametrize("error", [MemoryError, DeadlinePassed])
def test_where_the_device_has_no_memory_another_way_may_still_do(monkeypatch, error):
    give_all_to_device(monkeypatch)
    monkeypatch.setattr(step_costs, "FINISHED", 0)
    claim, flag = threading.Event(), np.zeros(1, np.int64)

    def fail(device, *arguments):
        if FLOATS in device.kinds:  # the bound, beside which others go on
            assert not claim.is_set()
            return summed_product(device, *arguments)
        assert claim.is_set()
        raise error

    summed_product = ArrayFactors.summed_product

    monkeypatch.setattr(ArrayFactors, "summed_product", fail)
    graph = random_graph(14, 0.6, 2, seed=4)
    engine, prepared = prepared_for(
        graph, Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)}), "monomorphism", threads=2
    )
    with claiming(claim), ended_by(flag):
        run = engine.eliminate(prepared, RunOptions())
    run.device = on_numpy
    turns = EliminationTurns(run, flag)
    try:
        assert turns.take(1e12) is None
    finally:
        turns.end()
    assert not claim.is_set()


@pytest.mark.parametrize("size", [2, 1 << 12])
def test_all_operations_are_loaded_beforehand(monkeypatch, size):
    called, operations = set(), set()
    for kind in (ArrayFactors, ArrayJoins, ArrayOperations):
        for name, operation in [*vars(kind).items()]:
            if not callable(operation) or name.startswith("__"):
                continue
            watched = functools.wraps(operation)(
                lambda self, *a, _name=name, _do=operation, **kw: called.add(_name) or _do(self, *a, **kw)
            )
            operations.add(name)
            monkeypatch.setattr(kind, name, watched)
    kinds = np.array([WORDS, 7], np.uint64)
    do_all_once(ArrayFactors(np, lane_device(), Fields(size), kinds, lambda: None))
    assert operations - called <= {"empty"}


def test_nothing_that_a_count_has_made_is_kept(monkeypatch):
    """Without a collection of what refers to itself."""
    give_all_to_device(monkeypatch)
    factors = []
    to_device, summed_product = ArrayFactors.to_device, ArrayFactors.summed_product

    def kept(made):
        factors.append(weakref.ref(made))
        return made

    monkeypatch.setattr(ArrayFactors, "to_device", lambda *a: kept(to_device(*a)))
    monkeypatch.setattr(ArrayFactors, "summed_product", lambda *a: kept(summed_product(*a)))
    graph = random_graph(14, 0.6, 2, seed=4)
    pattern = Pattern(EDGES["wheel"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=2)
    gc.disable()
    try:
        run = engine.eliminate(prepared, RunOptions())
        run.device = on_numpy
        assert run.total() > 0
        assert len(factors) > 10
        assert not [one for one in factors if one() is not None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("place", "operation"), [(ArrayFactors, "summed_product"), *thorough((SummedProduct, "advance"))]
)
def test_an_elimination_that_takes_more_than_expected_is_given_up_and_counted_in_another_way(
    monkeypatch, place, operation
):
    """On the device, and on the host beside it, which begins with most."""
    give_all_to_device(monkeypatch)
    monkeypatch.setattr(shared_steps, "HOST_SHARE", 0.0 if place is ArrayFactors else 1e9)
    for most in ("MANY_PAIRS", "HOST_MANY_PAIRS"):
        monkeypatch.setattr(eliminations, most, 0)
    for module in (eliminations, step_costs):
        monkeypatch.setattr(module, "PRODUCT_NS", 1e3)  # so that fewer are expected
    given_up, do = [], getattr(place, operation)

    def watched(*arguments):
        try:
            return do(*arguments)
        except MorePairs as found:
            given_up.append(found.pairs)
            raise

    monkeypatch.setattr(place, operation, watched)
    graph = random_graph(15, 0.6, 2, seed=4)
    pattern = Pattern(EDGES["wheel"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=2)
    run = engine.eliminate(prepared, RunOptions())
    run.device = on_numpy
    assert run.total() == engine.condition(prepared, RunOptions(), None).total() > 0
    assert given_up


def test_what_a_device_lacks_memory_for_now_and_then_is_chosen_again(monkeypatch):
    give_all_to_device(monkeypatch)
    monkeypatch.setattr(step_costs, "FINISHED", 0)
    calls, summed_product = itertools.count(), ArrayFactors.summed_product

    def failing(*arguments):
        if next(calls) % 10 == 3:
            raise MemoryError
        return summed_product(*arguments)

    monkeypatch.setattr(ArrayFactors, "summed_product", failing)
    graph = random_graph(14, 0.6, 2, seed=4)
    engine, prepared = prepared_for(
        graph, Pattern(EDGES["wheel"], labels={v: v % 2 for v in range(8)}), "monomorphism", threads=2
    )
    run = engine.eliminate(prepared, RunOptions())
    run.device = on_numpy
    assert run.total() == engine.condition(prepared, RunOptions(), None).total() > 0
    assert next(calls) > 10
