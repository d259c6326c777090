"""A Graph as a Python object: made by its constructors only, sized, listed, copied and sent to other processes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from frame_cases import HOST_NAMES, NAMES, dtype_of, frame, host, plain
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph

PATHS = "(a:Shop)-[:pays]->(b)--(c)"


def labelled(name, ids=(11, 12, 13, 14)):
    """A directed graph of a library's columns, with labels of both kinds, a self loop and a repeat."""
    a, b, c, d = ids
    edges = frame(name, src=[a, b, c, c, d, d], dst=[b, c, a, d, d, d], kind=["pays", "owes", "pays", "pays", "x", "x"])
    people = frame(name, id=list(ids), role=["Shop", "Shop", "Bank", "Bank"])
    return Graph.from_edgelist(
        edges, directed=True, edge_label="kind", vertices=people, vertex="id", vertex_label="role"
    )


def assert_same(graph, other):
    """Another object with the same content, of the same library, where the same arrays lie."""
    assert other is not graph
    assert repr(other) == repr(graph)
    assert (other.family, other.xp) == (graph.family, graph.xp)
    for name in ("directed", "n_vertices", "n_edges", "dropped_self_loops", "dropped_repeats"):
        assert getattr(other, name) == getattr(graph, name)
    for name in ("offsets", "targets", "vertex_labels", "_edge_labels"):
        ours, theirs = getattr(graph, name), getattr(other, name)
        assert type(theirs) is type(ours)
        assert np.array_equal(host(theirs), host(ours))
    assert (other.vertex_label_values, other.edge_label_values) == (graph.vertex_label_values, graph.edge_label_values)
    places = graph.xp.arange(graph.n_vertices)
    assert dtype_of(other.to_ids(places)) == dtype_of(graph.to_ids(places))
    assert plain(other.to_ids(places)) == plain(graph.to_ids(places))
    assert csm.count_matches(other, PATHS) == csm.count_matches(graph, PATHS)
    assert type(csm.subgraph_match(other, PATHS)) is type(csm.subgraph_match(graph, PATHS))


def test_the_class_refuses_to_be_called_and_names_its_constructors():
    for arguments in [(), (pd.DataFrame({"src": [1], "dst": [2]}),)]:
        with refuses(TypeError, "Graph.from_edgelist from_cugraph from_networkx"):
            Graph(*arguments)


def test_the_size_is_asked_for_as_networkx_and_cugraph_have_it():
    graph = labelled("pandas")
    assert graph.number_of_vertices() == graph.n_vertices == 4
    assert graph.number_of_edges() == graph.n_edges == 4


def test_completion_lists_the_documented_names_only():
    graph = labelled("pandas")
    csm.count_matches(graph, PATHS)
    names = set(dir(graph))
    assert {"n_vertices", "n_edges", "directed", "dropped_self_loops", "from_edgelist", "number_of_edges"} <= names
    assert not {"cache", "xp", "offsets", "adjacency", "host", "keep"} & names
    for name in names:
        assert name in Graph.__doc__ or getattr(Graph, name).__doc__


WAYS = {
    "pickled": lambda graph: pickle.loads(pickle.dumps(graph)),
    "pickled as long ago": lambda graph: pickle.loads(pickle.dumps(graph, protocol=2)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


@pytest.mark.parametrize("ids", [(11, 12, 13, 14), ("u", "v", "w", "x")], ids=["integers", "strings"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_pickled_and_copied(name, way, ids):
    graph = labelled(name, ids)
    csm.count_matches(graph, PATHS)
    assert_same(graph, WAYS[way](graph))


@pytest.mark.parametrize("name", HOST_NAMES)
def test_what_was_prepared_is_not_sent_along(name):
    graph = labelled(name)
    fresh = len(pickle.dumps(graph))
    csm.count_matches(graph, PATHS)
    csm.subgraph_match(graph, PATHS)
    assert len(pickle.dumps(graph)) == fresh


def test_a_deep_copy_shares_no_array_and_a_shallow_one_all():
    graph = labelled("pandas")
    assert copy.copy(graph).targets is graph.targets
    assert not np.shares_memory(copy.deepcopy(graph).targets, graph.targets)


def test_a_graph_of_objects_is_pickled():
    nx = pytest.importorskip("networkx")
    graph = Graph.from_networkx(nx.Graph([("a", (1, 2)), ((1, 2), 3)]))
    ids = plain(pickle.loads(pickle.dumps(graph)).to_ids(np.arange(3)))
    assert set(ids) == {"a", (1, 2), 3}
