"""Triangles of large graphs, counted in full rows: lane by lane on tiny graphs, one lane on larger ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from logical_devices import machine_of
from targets import emulator, native_lane, one_lane
from tiers import is_thorough, thorough

import cusubmatch as csm
from cusubmatch.engines.gpu.cliques.full_row_triangles import FullRowTriangles
from cusubmatch.engines.gpu.cliques.interleaved import PARTS
from cusubmatch.engines.runs import TaskRange
from cusubmatch.generators import kronecker, kronecker_counts

TINY = {"processors": 1, "threads": 64}


def hub_graph(seed):
    """A dense core among vertices of few edges, one that touches nearly all, and one without an edge."""
    random, core, n = np.random.default_rng(seed), *((44, 66) if is_thorough() else (26, 40))
    edges = [(a, b) for b in range(n) for a in range(b) if random.random() < (0.9 if b < core else 0.05)]
    return csm.Graph.from_edgelist(np.array(edges + [(a, n) for a in range(n // 3, n - 4)]).T)


def triangles_by_sets(graph):
    rows = [set(row.tolist()) for row in np.split(graph.targets, graph.offsets[1:-1])]
    return sum(len(rows[u] & rows[v]) for u in range(len(rows)) for v in rows[u] if u < v) // 3


@pytest.mark.one_each
@pytest.mark.parametrize("seed", [0, *thorough(1, 2)])
@pytest.mark.parametrize(("window", "long"), [(32, 3), *thorough((64, 64), (128, 3), (64, 20))])
def test_triangles_lane_by_lane(seed, window, long):
    graph = hub_graph(seed)
    counter = FullRowTriangles(
        emulator(seed), np, graph.offsets, graph.targets, **TINY, window=window, long=long, part=9
    )
    assert (len(counter._items[0]) == 0) == (long == 64)
    assert counter.count() == triangles_by_sets(graph) > 0


@pytest.mark.parametrize("leaves", [(3, 4, 5), pytest.param((4, 5, 9, 16), marks=pytest.mark.thorough)])
def test_kronecker_graphs_have_their_known_counts(leaves):
    graph = csm.Graph.from_edgelist(kronecker(leaves))
    counter = FullRowTriangles(one_lane(), np, graph.offsets, graph.targets, window=32, long=2, part=7)
    assert counter.count() == kronecker_counts(leaves).triangles


@pytest.mark.parametrize(("n", "edges"), [(0, []), (9, []), (9, [(3, 8), (5, 8)])])
def test_graphs_without_triangles_have_none(n, edges):
    arcs = sorted([*edges, *((b, a) for a, b in edges)])
    offsets = np.searchsorted([a for a, _ in arcs], np.arange(n + 1)).astype(np.int64)
    targets = np.array([b for _, b in arcs], np.int32)
    assert FullRowTriangles(one_lane(), np, offsets, targets, long=0).count() == 0


def test_pieces_and_parts_add_up():
    graph, seen = hub_graph(5), []
    counter = FullRowTriangles(one_lane(), np, graph.offsets, graph.targets, long=6, part=64)
    expected = triangles_by_sets(graph)
    assert counter.count(lambda *told: seen.append(told), piece_s=1e-12) == expected
    assert len(seen) > 20
    assert all(one <= other for one, other in pairwise(seen))
    assert sum(counter.count(parts=TaskRange(*part)) for part in pairwise([0, 1, 20, 40, PARTS])) == expected


def test_large_graphs_are_counted_in_full_rows():
    graph = hub_graph(6)
    with machine_of(1, full_rows_arcs=len(graph.targets)):
        assert csm.count_matches(graph, csm.Pattern.clique(3), devices=[0]) == triangles_by_sets(graph)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["facebook_combined", "soc-Epinions1"])
def test_data_graphs_have_their_known_counts(data_graph, name):
    graph = data_graph(name)
    expected = csm.count_matches(graph, csm.Pattern.clique(3), engine="cpu")
    for options in ({}, {"window": 1024}, {"long": 2, "part": 64}):
        assert FullRowTriangles(native_lane(), np, graph.offsets, graph.targets, **options).count() == expected
