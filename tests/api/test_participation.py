"""Counts per vertex and orbit: those of the rows, and what other libraries say."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from naive import automorphisms
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph, Pattern, PatternError, TimeLimitExceeded
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.errors import DeadlinePassed
from cusubmatch.generators import rmat

TEXTS = [
    "(a)--(b)",
    "(a)--(b)--(c)",
    "(a)--(b)--(c)--(a), (a)--(t)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
]


@pytest.fixture(scope="module")
def graph():
    return Graph.from_edgelist(rmat(6, 4, seed=3))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("semantics", ["monomorphism", "induced"])
def test_counts_are_those_of_the_rows(graph, text, semantics):
    pattern = Pattern.parse(text)
    rows = csm.subgraph_match(graph, pattern, semantics=semantics)
    table = csm.vertex_counts(graph, pattern, semantics=semantics).set_index("vertex")
    orbits = {frozenset(image[v] for image in automorphisms(pattern)) for v in range(len(pattern))}
    assert len(table) == graph.n_vertices
    assert set(table.columns) == {"|".join(pattern.names[v] for v in sorted(orbit)) for orbit in orbits}
    for name in table.columns:
        places = name.split("|")
        expected = Counter(rows[places].to_numpy().ravel().tolist())
        assert table[name][table[name] > 0].to_dict() == expected
        assert table[name].sum() == len(rows) * len(places)


def test_lengths_are_added_up_from_tables_and_from_rows(graph, monkeypatch):
    text = "(a)--{1,3}(b)--(c)"
    by_rows = csm.vertex_counts(graph, text)
    monkeypatch.setattr(CpuEngine, "table_costs", CpuEngine.table_costs._replace(worth=0.0, start=0.0, prepared=0.0))
    monkeypatch.setattr("cusubmatch.api.vertex_counts.ROW_VERTEX_NS", 1e12)
    assert csm.vertex_counts(graph, text).equals(by_rows)
    for name in "abc":
        found = csm.count_by(graph, text, name).set_index(name)["count"]
        assert by_rows.set_index("vertex")[name].loc[found.index].equals(found.rename(name).rename_axis("vertex"))
        assert by_rows[name].sum() == found.sum()


def test_triangles_of_each_vertex_are_those_of_networkx():
    edges = rmat(9, 6, seed=1)
    found = csm.vertex_counts(edges, Pattern.clique(3)).set_index("vertex").iloc[:, 0]
    assert found.to_dict() == nx.triangles(nx.Graph(list(edges.itertuples(index=False, name=None))))


def test_directions_labels_and_the_family_are_kept():
    edges = pa.table({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]})
    vertices = pa.table({"vertex": ["x", "y", "z"], "kind": ["A", "B", "B"]})
    graph = Graph.from_edgelist(edges, directed=True, vertices=vertices, vertex_label="kind")
    found = csm.vertex_counts(graph, "(a:A)-->(b:B)-->(c)")
    assert isinstance(found, pa.Table)
    assert sorted(map(tuple, found.to_pandas().to_numpy().tolist())) == [("x", 1, 0, 0), ("y", 0, 1, 0), ("z", 0, 0, 1)]


def test_a_time_limit_that_passes_while_it_is_planned_leaves_zeros(monkeypatch, graph):
    def late(*_):
        raise DeadlinePassed

    zeros = csm.vertex_counts(graph, TEXTS[-1]).assign(**{"a|b": 0, "c|d": 0, "e": 0})
    monkeypatch.setattr("cusubmatch.execution.planned_call.plan_of", late)
    with pytest.raises(TimeLimitExceeded) as raised:
        csm.vertex_counts(graph, TEXTS[-1], time_limit=1)
    assert raised.value.partial.equals(zeros)


def test_many_rows_are_counted_in_parts(monkeypatch, graph):
    whole = csm.vertex_counts(graph, TEXTS[-1])
    monkeypatch.setattr("cusubmatch.api.vertex_counts.MIN_ROWS_COUNTED", 1)
    assert csm.vertex_counts(graph, TEXTS[-1]).equals(whole)


def test_arguments_and_the_time_limit(graph):
    with refuses(PatternError, "pattern anonymous"):
        csm.vertex_counts(graph, "(a)--()--(c)")
    with refuses(PatternError, "pattern vertex"):
        csm.vertex_counts(graph, "(a)--(vertex)")
    with refuses(ValueError, "semantics monomorphism"):
        csm.vertex_counts(graph, "(a)--(b)", semantics="homomorphism")
    large = Graph.from_edgelist(rmat(13, 16))
    with pytest.raises(TimeLimitExceeded) as late:
        csm.vertex_counts(large, Pattern.clique(6), time_limit=0.3)
    assert np.issubdtype(late.value.partial.iloc[:, 1].dtype, np.int64)
    assert csm.vertex_counts(pd.DataFrame({"src": [], "dst": []}, dtype=int), "(a)--(b)").empty
