"""The census of connected patterns: complete, equal to counting each one, and consistent between the semantics."""

from itertools import combinations
from math import comb

import networkx as nx
import pandas as pd
import pytest
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph, Pattern, TimeLimitExceeded
from cusubmatch.api.motif_census import motifs
from cusubmatch.generators import rmat


@pytest.fixture(scope="module")
def graph():
    return Graph.from_edgelist(rmat(6, 4, seed=3))


def as_networkx(edges):
    return nx.Graph([tuple(edge.split("-")) for edge in edges.split(",")])


@pytest.mark.parametrize(("size", "number"), [(3, 2), (4, 6), (5, 21)])
def test_the_motifs_are_all_connected_graphs_of_their_size_each_once(size, number):
    found = [as_networkx(motif.edges) for motif in motifs(size)]
    atlas = [g for g in nx.graph_atlas_g() if len(g) == size and nx.is_connected(g)]
    assert len(found) == len(atlas) == number
    assert all(sum(nx.is_isomorphic(g, one) for one in found) == 1 for g in atlas)
    assert len({motif.name for motif in motifs(size)}) == number


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("semantics", ["monomorphism", "induced"])
def test_each_count_is_that_of_its_pattern(graph, size, semantics):
    table = csm.motif_census(graph, size, semantics=semantics)
    for row in table.itertuples():
        pattern = Pattern([tuple(edge.split("-")) for edge in row.edges.split(",")])
        assert row.count == csm.count_matches(graph, pattern, semantics=semantics), row.pattern


@pytest.mark.thorough
def test_induced_counts_add_up_to_the_connected_sets_of_vertices(graph):
    edges = rmat(6, 4, seed=3)
    whole = nx.Graph(list(edges.itertuples(index=False, name=None)))
    for size in (3, 4):
        sets = sum(nx.is_connected(whole.subgraph(some)) for some in combinations(whole, size))
        assert csm.motif_census(graph, size, semantics="induced")["count"].sum() == sets


def test_the_census_of_a_clique_is_known():
    clique = pd.DataFrame(list(combinations(range(12), 2)), columns=["src", "dst"])
    table = csm.motif_census(clique, 5, semantics="induced").set_index("pattern")["count"]
    assert table["5-clique"] == comb(12, 5)
    assert table.sum() == comb(12, 5)


def test_directions_are_not_looked_at_and_the_family_is_kept():
    edges = {"src": [0, 1, 1, 2], "dst": [1, 0, 2, 0]}
    pl = pytest.importorskip("polars")
    table = csm.motif_census(Graph.from_edgelist(pl.DataFrame(edges), directed=True), 3)
    assert isinstance(table, pl.DataFrame)
    assert dict(zip(table["pattern"], table["count"], strict=True)) == {"3-path": 3, "triangle": 1}


def test_arguments_and_the_time_limit(graph):
    for size in (2, 6, "3", None, True, csm.Pattern.cycle(3)):
        with refuses(ValueError, "size 3, 4, 5"):
            csm.motif_census(graph, size)
    with refuses(ValueError, "semantics monomorphism induced"):
        csm.motif_census(graph, 3, semantics="homomorphism")
    with pytest.raises(TimeLimitExceeded) as late:
        csm.motif_census(Graph.from_edgelist(rmat(14, 16)), 5, time_limit=0.2)
    assert late.value.partial.columns.to_list() == ["pattern", "edges", "count"]
