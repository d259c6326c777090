"""Sampled descents: partial matches that they estimate, orders that they choose, and the plans made of these."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.base import RunOptions, StepsSpent
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.search.descents import SampledDescents
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.walk_planning import replan

CLIQUES, CLIQUE, NOISE = 30, 9, 600


def cliques_and_noise():
    """A sparse random graph of one label with a few cliques, in which all matches of dense patterns lie."""
    n, random = CLIQUES * CLIQUE + NOISE, np.random.default_rng(11)
    pairs = [(b + i, b + j) for b in range(0, CLIQUES * CLIQUE, CLIQUE) for i, j in combinations(range(CLIQUE), 2)]
    pairs += [(int(i), int(j)) for i, j in random.integers(0, n, (6 * NOISE, 2)) if i != j]
    vertices = pd.DataFrame({"vertex": range(n), "label": 0})
    return Graph.from_edgelist(pd.DataFrame(pairs, columns=["src", "dst"]), vertices=vertices, vertex_label="label")


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
    random = np.random.default_rng(2)
    pairs = pd.DataFrame([(i, j) for i in range(40) for j in range(i) if random.random() < 0.2], columns=["src", "dst"])
    vertices = pd.DataFrame({"vertex": range(40), "label": 0})
    graph = Graph.from_edgelist(pairs, vertices=vertices, vertex_label="label")
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
    assert plan.levels[-1].matches * plan.factor < count / 20
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


def test_a_walk_ends_after_its_work(planned):
    _, engine, _, plan, prepared = planned
    with pytest.raises(StepsSpent):
        engine.run(plan, prepared, RunOptions(max_work=1000)).count()
    assert engine.run(plan, prepared, RunOptions(max_work=1 << 40)).count() > 0
