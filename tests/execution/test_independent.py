"""Induced counts by independent sets of leaves: closed forms, equal to walking, and when not to."""

from __future__ import annotations

import dataclasses
import math
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch import Graph, Pattern, TimeLimitExceeded
from cusubmatch.api.options import checked_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies import independent_count as independent
from cusubmatch.execution.strategies.independence_polynomials import independent_sets
from cusubmatch.generators import rmat
from cusubmatch.plan import constraints_of
from cusubmatch.plan.independent_leaves import plan_independent

SECONDS = 5.0  # many times what a count takes

PATTERNS = {
    "claw": Pattern.star(3),
    "4-star": Pattern.star(4),
    "K2,3": Pattern.parse("(a)--(x)--(b)--(y)--(a)--(z)--(b)"),
    "book": Pattern.parse("(a)--(b), (a)--(x)--(b), (a)--(y)--(b), (a)--(z)--(b)"),
    "claw with a tail": Pattern.parse("(a)--(x), (a)--(y), (a)--(z), (a)--(b)--(c)"),
}


def star(leaves, among=()):
    """A hub and its leaves 1, 2, ..., with edges among these."""
    spokes = pd.DataFrame({"src": np.zeros(leaves, int), "dst": np.arange(1, leaves + 1)})
    return Graph.from_edgelist(pd.concat([spokes, pd.DataFrame(among, columns=["src", "dst"])]))


def run_of(graph, pattern, unique=None):
    """A run by independent sets, whatever it costs."""
    query = checked_query(graph, pattern, QueryOptions(semantics="induced", unique=unique, engine="cpu"))
    constraints = constraints_of(pattern, graph, "induced")
    plan = plan_independent(
        pattern, constraints, query.prepared.candidates.cardinalities, graph.statistics, math.inf, lambda _: 1.0
    )
    plan = dataclasses.replace(query.plan, tables=None, supergraphs=None, independent=plan)
    return query._replace(plan=plan).count_run(None)


def test_leaves_of_a_large_star_are_chosen_freely():
    graph, begin = star(200_000), time.monotonic()
    assert csm.count_matches(graph, Pattern.star(10), semantics="induced") == math.comb(200_000, 10)
    assert csm.count_matches(graph, Pattern.star(31), semantics="induced") == math.comb(200_000, 31)
    assert time.monotonic() - begin < SECONDS


def test_leaves_that_touch_are_not_chosen_together():
    n, k, begin = 100_000, 10, time.monotonic()
    rim = [(i, i % n + 1) for i in range(1, n + 1)]
    cycles = n * math.comb(n - k, k) // (n - k)
    assert csm.count_matches(star(n, rim), Pattern.star(k), semantics="induced") == cycles
    pairs = [(i, i + 1) for i in range(1, 2000, 2)]
    expected = sum(math.comb(1000, j) * 2**j * math.comb(n - 2000, k - j) for j in range(k + 1))
    assert csm.count_matches(star(n, pairs), Pattern.star(k), semantics="induced") == expected
    assert time.monotonic() - begin < SECONDS


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_counted_as_walking_counts_them(name):
    graph, pattern = Graph.from_edgelist(rmat(4, 2, seed=4)), PATTERNS[name]
    query = checked_query(graph, pattern, QueryOptions(semantics="induced", engine="cpu"))
    expected = query.run().count()
    assert run_of(graph, pattern).count() == expected
    assert run_of(graph, pattern, unique=False).count() == expected * pattern.automorphisms.order


def test_labels_and_directions_are_kept():
    random = np.random.default_rng(6)
    ends = pd.DataFrame(random.integers(0, 12, (40, 2)), columns=["src", "dst"])
    people = pd.DataFrame({"vertex": range(12), "label": random.choice(["A", "B"], 12)})
    options = {"vertices": people, "vertex": "vertex", "vertex_label": "label"}
    graph = Graph.from_edgelist(ends, directed=True, **options)
    for text in (
        "(a)-->(x:A), (a)-->(y:A), (a)-->(z:A)",
        "(a:B)<--(x), (a)<--(y), (a)<--(z)",
        "(a)-->(x), (a)-->(y), (a)-->(z), (b)-->(a)",
        "(a)--(x), (a)--(y), (a)--(z), (b:A)-->(a)",
    ):
        pattern = Pattern.parse(text)
        expected = checked_query(graph, pattern, QueryOptions(semantics="induced", engine="cpu")).run().count()
        assert run_of(graph, pattern).count() == expected


@pytest.mark.parametrize("seed", range(3))
def test_independent_sets_are_counted_as_by_trying_all(seed):
    graph = nx.gnm_random_graph(10, 14, seed=seed)
    neighbours = [sum(1 << w for w in graph[v]) for v in range(10)]
    expected = [0] * 11
    for chosen in range(1 << 10):
        inside = [v for v in range(10) if chosen >> v & 1]
        expected[len(inside)] += not any(neighbours[v] & chosen for v in inside)
    for degree in (1, 3, 10):
        found = independent_sets(neighbours, degree, lambda: None)
        assert found == expected[: len(found)]
        assert not any(expected[len(found) : degree + 1])


def test_leaves_that_hang_together_too_much_are_walked(monkeypatch):
    graph = Graph.from_edgelist(rmat(6, 6, seed=4))
    expected = checked_query(graph, Pattern.star(3), QueryOptions(semantics="induced", engine="cpu")).run().count()
    monkeypatch.setattr(independent, "MAX_BRANCHED_COMPONENT", 3)
    run = run_of(graph, Pattern.star(3))
    assert run.count() == run.matches == expected


def test_a_time_limit_ends_the_count():
    graph = Graph.from_networkx(nx.gnm_random_graph(1000, 60_000, seed=1))
    begin = time.monotonic()
    with pytest.raises(TimeLimitExceeded):
        csm.count_matches(graph, Pattern.star(14), semantics="induced", time_limit=0.5)
    assert time.monotonic() - begin < SECONDS


def test_the_plan_says_so():
    plan = csm.explain(star(5000), Pattern.star(10), semantics="induced")
    assert "count by independent sets" in str(plan)
    assert "at each match of v0, the independent sets of 10 vertices" in str(plan)
