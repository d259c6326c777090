"""The engine against networkx on tiny graphs: induced and not, undirected, directed, mixed, vertex and edge labels.

networkx speaks of simple graphs whose edges carry attributes: parallel edges become one edge with the set of their
labels. It knows no `a--b` between directed edges, so such a pattern is asked for as `a-->b`, as `a<--b` and as both,
and the answers are united.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms, canonical
from networkx.algorithms.isomorphism import DiGraphMatcher, GraphMatcher
from tiers import examples

from cusubmatch import Graph, Pattern, count_matches, subgraph_match

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

UNDIRECTED = [
    "(a)--(b)",
    "(a)--(b)--(c)",
    "(a)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(d)",
    "(a)--(b), (a)--(c), (a)--(d)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(a)--(c)",
    "(a)--(b)--(c)--(a)--(d)",
    "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
]
DIRECTED = [
    "(a)-->(b)",
    "(a)-->(b)-->(a)",
    "(a)-->(b)-->(c)",
    "(a)-->(b)<--(c)",
    "(a)-->(b)-->(c)-->(a)",
    "(a)-->(b)-->(c)<--(a)",
    "(a)-->(b)-->(a)-->(c)",
    "(a)-->(b)-->(c)-->(d)-->(a)",
    "(a)-->(c)<--(b)-->(d)<--(a)",
    "(a)-->(b)-->(c)-->(a), (d)-->(a)",
]
MIXED = [
    "(a)--(b)",
    "(a)--(b)-->(c)",
    "(a)--(b)--(c)",
    "(a)--(b)-->(c)<--(a)",
    "(a)--(b)--(c)--(a)",
    "(a)-->(b)--(c)-->(d)--(a)",
    "(a)-->(b)-->(a)--(c)",
]
LABELLED = [
    "(a:A)--(b)",
    "(a:A)--(b:B)--(c:A)",
    "(a:A|B)--(b)--(c:C)",
    "(a:A)--(b:A)--(c)--(a)",
    "(a:A|B)--(b:A|B)--(c)--(d)--(a)",
    "(a)--(b:C), (a)--(c:C), (a)--(d)",
]
EDGE_LABELLED = [
    "(a)-[:X]->(b)",
    "(a)-[:X]->(b), (a)-[:Y]->(b)",
    "(a)-[:X]->(b)-[:X]->(c)",
    "(a)-[:X|Y]->(b)-->(c)",
    "(a)-[:X]->(b)-[:Y]->(a)",
    "(a)-[:X]->(b)-->(c)-[:X]->(a)",
    "(a:A)-[:X]->(b)<-[:X]-(c:A)",
    "(a)-[:X]->(b:B)-[:Z|Y]->(c)-->(d)",
]


def data_graphs(max_vertices=9):
    """(directed pairs, vertex labels, edge labels): the tests take from it what they need."""
    vertex = st.integers(0, max_vertices - 1)
    row = st.tuples(vertex, vertex, st.sampled_from("XYZ")).filter(lambda row: row[0] != row[1])
    rows = st.integers(0, 3 * max_vertices).flatmap(lambda m: st.lists(row, min_size=m, max_size=m))
    return st.tuples(
        rows, st.lists(st.sampled_from(("A", "B", "C", None)), min_size=max_vertices, max_size=max_vertices)
    )


def networkx_graph(rows, labels, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(labels))
    for a, b, label in rows:
        kinds = graph.edges[a, b]["kinds"] if graph.has_edge(a, b) else set()
        graph.add_edge(a, b, kinds=kinds | {label})
    return graph


def networkx_patterns(pattern, directed):
    """Simple graphs whose edges list alternatives that must all be met; one graph a way to direct the `--` edges."""
    open_edges = [e for e in pattern.edges if not e.directed]
    ways = product(*[((True, False), (False, True), (True, True))] * len(open_edges)) if directed else [None]
    for way in ways:
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from((i, {"labels": some}) for i, some in enumerate(pattern.labels))
        arcs = [(e.source, e.target, e.labels) for e in pattern.edges if e.directed or not directed]
        for e, (forward, backward) in zip(open_edges, way or [], strict=way is not None):
            arcs += [(e.source, e.target, None)] * forward + [(e.target, e.source, None)] * backward
        for a, b, some in arcs:
            wanted = graph.edges[a, b]["wanted"] if graph.has_edge(a, b) else []
            graph.add_edge(a, b, wanted=wanted if some is None else [*wanted, some])
        yield graph


def networkx_embeddings(data, pattern, semantics):
    """All embeddings by networkx, as tuples in the order of the pattern's vertices."""
    found = set()
    for small in networkx_patterns(pattern, data.is_directed()):
        matcher = (DiGraphMatcher if data.is_directed() else GraphMatcher)(
            data,
            small,
            node_match=lambda node, wanted: wanted["labels"] is None or node["label"] in wanted["labels"],
            edge_match=lambda edge, wanted: all(not edge["kinds"].isdisjoint(some) for some in wanted["wanted"]),
        )
        induced = semantics == "induced"
        mappings = matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
        for mapping in mappings:
            place = {i: v for v, i in mapping.items()}
            found.add(tuple(place[i] for i in range(len(pattern))))
    return found


def assert_same(rows, labels, text, semantics, directed, vertex_labelled=False, edge_labelled=False):
    pattern = Pattern.parse(text)
    expected = networkx_embeddings(networkx_graph(rows, labels, directed), pattern, semantics)
    vertices = pd.DataFrame({"vertex": range(len(labels)), "label": pd.Series(labels, dtype="str")})
    graph = Graph.from_edgelist(
        pd.DataFrame(rows, columns=["src", "dst", "kind"]).astype({"src": "int64", "dst": "int64"}),
        directed=directed,
        edge_label="kind" if edge_labelled else None,
        vertices=vertices,
        vertex_label="label" if vertex_labelled else None,
    )
    every = subgraph_match(graph, pattern, semantics=semantics, unique=False)
    assert Counter(every.itertuples(index=False, name=None)) == Counter(expected)
    symmetries = automorphisms(pattern)
    unique = subgraph_match(graph, pattern, semantics=semantics)
    assert Counter(canonical(row, symmetries) for row in unique.itertuples(index=False, name=None)) == Counter(
        {canonical(image, symmetries) for image in expected}
    )
    assert count_matches(graph, pattern, semantics=semantics) == len(expected) // len(symmetries)


both_semantics = pytest.mark.parametrize("semantics", ["monomorphism", "induced"])


@pytest.mark.one_each
@both_semantics
@pytest.mark.parametrize("text", UNDIRECTED)
@examples(8)
@given(data=data_graphs())
def test_undirected_patterns_match_as_in_networkx(text, semantics, data):
    assert_same(*data, text, semantics, directed=False)


@pytest.mark.one_each
@both_semantics
@pytest.mark.parametrize("text", DIRECTED)
@examples(8)
@given(data=data_graphs(7))
def test_directed_patterns_match_as_in_networkx(text, semantics, data):
    assert_same(*data, text, semantics, directed=True)


@pytest.mark.one_each
@both_semantics
@pytest.mark.parametrize("text", MIXED)
@examples(8)
@given(data=data_graphs(6))
def test_mixed_patterns_match_as_the_union_of_their_directions_in_networkx(text, semantics, data):
    assert_same(*data, text, semantics, directed=True)


@pytest.mark.one_each
@both_semantics
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("text", LABELLED)
@examples(6)
@given(data=data_graphs())
def test_vertex_labelled_patterns_match_as_in_networkx(text, directed, semantics, data):
    assert_same(*data, text, semantics, directed=directed, vertex_labelled=True)


@pytest.mark.one_each
@both_semantics
@pytest.mark.parametrize("text", EDGE_LABELLED)
@examples(12)
@given(data=data_graphs(7))
def test_edge_labelled_patterns_match_as_in_networkx(text, semantics, data):
    assert_same(*data, text, semantics, directed=True, vertex_labelled=True, edge_labelled=True)


@both_semantics
@pytest.mark.parametrize("directed", [False, True])
def test_graphs_and_patterns_of_networkx_are_taken_as_they_are(directed, semantics):
    data = nx.gnp_random_graph(12, 0.3, seed=3, directed=directed)
    small = nx.path_graph(["x", "y", "z"], create_using=nx.DiGraph if directed else nx.Graph)
    matcher = (DiGraphMatcher if directed else GraphMatcher)(data, small)
    induced = semantics == "induced"
    mappings = matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
    expected = {tuple(sorted((name, v) for v, name in mapping.items())) for mapping in mappings}
    found = subgraph_match(data, Pattern.from_networkx(small), semantics=semantics, unique=False)
    assert list(found.columns) == ["x", "y", "z"]
    assert {tuple(zip("xyz", row, strict=True)) for row in found.itertuples(index=False, name=None)} == expected
    assert len(found) == len(expected)
