"""Trees with an apex: homomorphisms of cycles and of other patterns of treewidth two, by products of matrices."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest
from test_decomposition import table_run, walked

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu.tables.table_kernels import TableKernels
from cusubmatch.engines.registry import engine_named
from cusubmatch.execution.strategies.apex_trees import apex_tree_sums
from cusubmatch.generators import rmat
from cusubmatch.graph.support_graph import support_graph_of
from cusubmatch.plan.decomposition.expression import ApexTree, Branch, Link

SECONDS = 3.0  # many times what a count takes

PATTERNS = {
    "6-cycle": Pattern.cycle(6),
    "7-cycle": Pattern.cycle(7),
    "theta": Pattern.parse("(a)--(b)--(c)--(d)--(e)--(f)--(a)--(g)--(h)--(d)"),
    "two cycles in one vertex": Pattern.parse("(a)--(b)--(c)--(d)--(e)--(f)--(a)--(g)--(h)--(i)--(j)--(k)--(a)"),
    "cycle with a tail": Pattern.parse("(a)--(b)--(c)--(d)--(e)--(f)--(a)--(g)--(h)"),
    "fan": Pattern.parse("(a)--(b)--(c)--(d)--(e), (x)--(a), (x)--(c), (x)--(e)"),
}


def complete(n):
    source, destination = np.triu_indices(n, 1)
    return Graph.from_edgelist(pd.DataFrame({"src": source, "dst": destination}))


def trace(*matrices):
    """The trace of the product of matrices, in Python's integers."""
    product = matrices[0].astype(object)
    for matrix in matrices[1:]:
        product = product @ matrix.astype(object)
    return int(np.trace(product))


def by_apex_trees(run):
    return any(isinstance(run.tables.nodes[node], ApexTree) for node in run.tables.used())


@pytest.mark.parametrize("length", [6, 7, 8, 12, 20])
def test_cycles_in_a_complete_graph_are_a_trace(length):
    begin = time.monotonic()
    count = csm.count_matches(complete(20), Pattern.cycle(length), semantics="homomorphism")
    assert count == 19**length + 19 * (-1) ** length
    assert time.monotonic() - begin < SECONDS


def test_each_edge_of_a_cycle_asks_for_its_own_relation():
    random = np.random.default_rng(5)
    source, destination = random.integers(0, 40, (2, 600))
    kinds = random.choice(["x", "y"], 600)
    edges = pd.DataFrame({"src": source, "dst": destination, "kind": kinds})
    edges = edges[source != destination].drop_duplicates(["src", "dst"])
    graph = Graph.from_edgelist(edges, directed=True, edge_label="kind")
    matrices = {kind: np.zeros((40, 40), np.int64) for kind in "xy"}
    for a, b, kind in edges.itertuples(index=False):
        matrices[kind][a, b] = 1
    x, y = matrices["x"], matrices["y"]
    either = np.minimum(x + y + (x + y).T, 1)
    pattern = "(a)-[:x]->(b)<-[:y]-(c)-->(d)--(e)-[:y]->(f)-[:x]->(g)-[:x]->(a)"
    run = table_run(graph, pattern, "homomorphism")
    assert by_apex_trees(run)
    assert run.count() == trace(x, y.T, x + y, either, y, x, x)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_counted_as_walking_counts_them(name):
    graph = Graph.from_edgelist(rmat(4, 3, seed=3))
    run = table_run(graph, PATTERNS[name], "homomorphism")
    assert by_apex_trees(run)
    assert run.count() == walked(graph, PATTERNS[name], "homomorphism") > 0


@pytest.mark.parametrize("name", ["6-cycle", "7-cycle"])
def test_copies_are_counted_as_walking_counts_them(name):
    graph = Graph.from_edgelist(rmat(5, 3, seed=3))
    run = table_run(graph, PATTERNS[name])
    assert by_apex_trees(run)
    assert run.count() == walked(graph, PATTERNS[name]) > 0


def test_labels_of_vertices_and_pairs_that_must_differ_are_kept():
    random = np.random.default_rng(2)
    edges = pd.DataFrame(random.integers(0, 14, (50, 2)), columns=["src", "dst"])
    labels = dict(enumerate(random.choice(["A", "B"], 14).tolist()))
    people = pd.DataFrame({"vertex": list(labels), "label": list(labels.values())})
    graph = Graph.from_edgelist(edges, vertices=people, vertex="vertex", vertex_label="label")
    names = ["a", "b", "c", "d", "e", "f"]
    pairs = list(zip(names, names[1:] + names[:1], strict=True))
    pattern = Pattern(pairs, labels={"a": "A", "d": "B"}, distinct=[("a", "c"), ("b", "e")])
    run = table_run(graph, pattern, "homomorphism")
    assert by_apex_trees(run)
    assert run.count() == walked(graph, pattern, "homomorphism") > 0


def test_blocks_of_images_and_primes_change_nothing(monkeypatch):
    graph, pattern = Graph.from_edgelist(rmat(6, 4, seed=3)), PATTERNS["theta"]
    expected = table_run(graph, pattern, "homomorphism").count()
    monkeypatch.setattr(TableKernels, "cells", 1)
    assert table_run(graph, pattern, "homomorphism").count() == expected
    monkeypatch.setattr(
        "cusubmatch.execution.strategies.table_count.moduli", lambda bound: [2147483647, 2147483629, 2147483587]
    )
    assert table_run(graph, pattern, "homomorphism").count() == expected


def test_a_long_cycle_on_a_middling_graph_takes_products_and_no_walk():
    graph = Graph.from_edgelist(rmat(9, 8, seed=3))
    assert csm.explain(graph, Pattern.cycle(7), semantics="homomorphism").tables.first
    begin = time.monotonic()
    matrix = np.zeros((graph.n_vertices,) * 2, np.int64)
    sources = np.repeat(np.arange(graph.n_vertices), np.diff(graph.offsets))
    matrix[sources, graph.targets] = 1
    power = matrix @ matrix @ matrix
    expected = sum(map(math.prod, zip(*(m.T.reshape(-1).tolist() for m in (power @ matrix, power.T)), strict=True)))
    assert csm.count_matches(graph, Pattern.cycle(7), semantics="homomorphism") == expected
    assert time.monotonic() - begin < SECONDS


def test_the_plan_says_what_is_summed():
    plan = str(csm.explain(complete(20), Pattern.cycle(8), semantics="homomorphism"))
    ways = "y1--y2, y2--y3, y3--y4, x--y4, y1--y5, y5--y6, y6--y7, x--y7"
    assert f"sum over y1, y2, y3, y4, y5, y6, y7 of [{ways}]" in plan


def test_a_leaf_of_the_tree_need_not_be_adjacent_to_the_apex():
    engine, graph = engine_named("cpu"), Graph.from_edgelist(rmat(4, 3, seed=3))
    support = support_graph_of(graph.host, engine.reverse_arcs)
    tree = Branch(Link(), ((),), (Branch(Link()),))
    kernels = engine.table_kernels(support, lambda _done: None)
    sums = apex_tree_sums(tree, support, kernels, lambda _factors: None, lambda _weights: None, 0)
    degrees = np.diff(support.offsets)
    of_neighbours = np.add.reduceat(np.append(degrees[support.targets], 0), support.offsets[:-1])
    assert sums.tolist() == np.where(degrees > 0, of_neighbours, 0).tolist()
