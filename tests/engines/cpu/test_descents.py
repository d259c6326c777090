"""Sampled descents: partial matches that they estimate, orders that they choose, and the plans made of these."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.search import threaded_run
from cusubmatch.engines.cpu.search.descents import SampledDescents
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions, StepsSpent
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.walk_planning import replan
from cusubmatch.plan import sampled_orders

CLIQUES, CLIQUE, NOISE = 30, 9, 600


def cliques_and_noise():
    """A sparse random graph of one label with a few cliques, in which all matches of dense patterns lie."""
    n, random = CLIQUES * CLIQUE + NOISE, np.random.default_rng(11)
    pairs = [(b + i, b + j) for b in range(0, CLIQUES * CLIQUE, CLIQUE) for i, j in combinations(range(CLIQUE), 2)]
    pairs += [(int(i), int(j)) for i, j in random.integers(0, n, (6 * NOISE, 2)) if i != j]
    vertices = pd.DataFrame({"vertex": range(n), "label": 0})
    return Graph.from_edgelist(pd.DataFrame(pairs, columns=["src", "dst"]), vertices=vertices, vertex_label="label")


def random_graph(n):
    """A random graph of one label, in which a fifth of all pairs are edges."""
    random = np.random.default_rng(2)
    pairs = pd.DataFrame([(i, j) for i in range(n) for j in range(i) if random.random() < 0.2], columns=["src", "dst"])
    vertices = pd.DataFrame({"vertex": range(n), "label": 0})
    return Graph.from_edgelist(pairs, vertices=vertices, vertex_label="label")


def wheel_with_tails():
    """A dense part of six vertices with one missing edge, and two pendant paths."""
    dense = [pair for pair in combinations(range(6), 2) if pair != (0, 5)]
    return Pattern([*dense, (0, 6), (6, 7), (5, 8)], labels=dict.fromkeys(range(9), 0))


@pytest.fixture(scope="module")
def planned():
    graph, engine, pattern = cliques_and_noise(), CpuEngine(Tunables(threads=1)), wheel_with_tails()
    plan, prepared = plan_of(graph.host, engine, pattern, "monomorphism", unique=False)
    return graph, engine, pattern, plan, prepared


def test_a_population_that_holds_all_partial_matches_counts_them():
    graph = random_graph(40)
    pattern = Pattern([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)], labels=dict.fromkeys(range(5), 0))
    _, prepared = plan_of(graph.host, CpuEngine(), pattern, "monomorphism", unique=False)
    descents = SampledDescents(prepared.candidate_graph, 1 << 16)
    count = csm.count_matches(graph, pattern, unique=False, engine="cpu")
    assert descents.follow([0, 1, 2, 3, 4]).matches[-1] == count
    chosen = descents.order(2, range(5))
    assert sorted(chosen.vertices) == [0, 1, 2, 3, 4]
    assert chosen.vertices[0] == 2
    assert chosen.matches[-1] == count


def test_they_find_the_dense_parts_that_estimates_miss(planned):
    graph, _, pattern, plan, prepared = planned
    count = csm.count_matches(graph, pattern, unique=False, engine="cpu")
    order = [level.vertex for level in plan.levels]
    descents = SampledDescents(prepared.candidate_graph, 64)
    sampled = descents.follow(order).matches[-1]
    assert count / 4 < sampled < 4 * count
    assert plan.order.matches[-1] * plan.factor < count / 20
    assert descents.follow(order) == SampledDescents(prepared.candidate_graph, 64).follow(order)


def test_a_population_that_dies_out_is_no_proof_of_no_matches(planned):
    *_, prepared = planned
    sampled = SampledDescents(prepared.candidate_graph, 1).follow(range(6))
    assert min(sampled.matches) > 0


def test_a_plan_by_descents_counts_the_same_and_says_better_what_it_takes(planned):
    graph, engine, pattern, plan, prepared = planned
    again = replan(plan, prepared, engine.descents(prepared))
    run = engine.run(again, prepared)
    assert run.count() == csm.count_matches(graph, pattern, unique=False, engine="cpu")
    assert again.cost > 10 * plan.cost
    assert replan(plan, prepared, engine.descents(prepared)) is again


def test_fewer_descents_are_made_where_a_better_order_saves_little(planned, monkeypatch):
    graph, *_, plan, prepared = planned
    graph.host.cache.forget("sampled plans")
    vertices, made = len(plan.levels), []
    for most in (sampled_orders.MIN_DESCENTS, sampled_orders.MAX_DESCENTS):
        saved_ns = most * vertices * sampled_orders.DESCENT_NS / sampled_orders.DESCENT_SHARE * (1 + 1e-9)
        assert sampled_orders.descents_worth(vertices, saved_ns) == most
        descents = SampledDescents(prepared.candidate_graph, 64)
        order, found = descents.order, []
        monkeypatch.setattr(descents, "order", lambda *of, order=order, found=found: found.append(of) or order(*of))
        replan(plan, prepared, descents, saved_ns)
        made.append(len(found))
    assert 0 < made[0] < sampled_orders.MIN_DESCENTS < made[1]


def test_a_walk_ends_after_its_work(planned):
    _, engine, _, plan, prepared = planned
    with pytest.raises(StepsSpent):
        engine.run(plan, prepared, RunOptions(max_work=1000)).count()
    assert engine.run(plan, prepared, RunOptions(max_work=1 << 40)).count() > 0


def test_levels_with_one_candidate_do_not_hide_how_far_a_walk_is():
    engine = CpuEngine(Tunables(threads=1, work_units=64))
    n, random = 60, np.random.default_rng(2)
    pairs = [(0, 1), (1, 2), (2, 3), *((3, i) for i in range(4, n))]
    pairs += [(i, j) for i in range(4, n) for j in range(4, i) if random.random() < 0.2]
    vertices = pd.DataFrame({"vertex": range(n), "label": [0, 1, 2, 3, *[4] * (n - 4)]})
    graph = Graph.from_edgelist(pd.DataFrame(pairs, columns=["src", "dst"]), vertices=vertices, vertex_label="label")
    pattern = Pattern([(i, i + 1) for i in range(7)], labels={i: min(i, 4) for i in range(8)})
    plan, prepared = plan_of(graph.host, engine, pattern, "monomorphism", unique=False, suffix=0)
    assert plan.order.matches[:4] == (1.0,) * 4
    whole = engine.run(plan, prepared, RunOptions(max_work=1 << 40))
    count = whole.count()
    assert engine.run(plan, prepared, RunOptions(max_work=int(1.1 * whole._work))).count() == count
    with pytest.raises(StepsSpent) as caught:
        engine.run(plan, prepared, RunOptions(max_work=int(0.4 * whole._work))).count()
    assert caught.value.times < 8


@pytest.mark.parametrize("part", [0.4, 0.8, 0.02])
def test_a_walk_ends_sooner_where_its_work_is_far_too_little_and_later_where_half_is_done(part):
    engine = CpuEngine(Tunables(threads=1, work_units=64))
    graph, pattern = random_graph(60), Pattern([(i, i + 1) for i in range(5)], labels=dict.fromkeys(range(6), 0))
    plan, prepared = plan_of(graph.host, engine, pattern, "monomorphism", unique=False, suffix=0)
    whole = engine.run(plan, prepared, RunOptions(max_work=1 << 40))
    count, work = whole.count(), whole._work
    most = int(part * work)
    run = engine.run(plan, prepared, RunOptions(max_work=most))
    if part > 0.5:
        assert run.count() == count
        return
    with pytest.raises(StepsSpent) as caught:
        run.count()
    if part < 0.1:
        assert run._work < most
        assert caught.value.times > threaded_run.FAR_TIMES
    else:
        assert most <= run._work < work
        assert 1 / 2 < part * caught.value.times < 2
