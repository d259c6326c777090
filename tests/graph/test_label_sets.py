"""Several labels a vertex, from several columns or from a column of lists."""

from __future__ import annotations

import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusal import refuses

import cusubmatch as csm
from cusubmatch import AbsentLabelWarning, Graph, GraphError

EDGES = {"src": [1, 2, 3, 4, 1], "dst": [2, 3, 4, 1, 3]}
IDS, TYPES, COUNTRIES = [1, 2, 3, 4], ["Bank", "Shop", "Bank", None], ["DE", "DE", "AT", None]
LISTS = [["Bank", "DE"], ["DE", "Shop"], ["Bank", "AT"], None]
PEOPLE = {"vertex": IDS, "type": TYPES, "country": COUNTRIES}
MAKERS = {
    "pandas columns": lambda: (pd.DataFrame(EDGES), pd.DataFrame(PEOPLE), ["type", "country"]),
    "Polars columns": lambda: (pl.DataFrame(EDGES), pl.DataFrame(PEOPLE), ["type", "country"]),
    "Arrow columns": lambda: (pa.table(EDGES), pa.table(PEOPLE), ["type", "country"]),
    "pandas lists": lambda: (pd.DataFrame(EDGES), pd.DataFrame({"vertex": IDS, "labels": LISTS}), "labels"),
    "Polars lists": lambda: (pl.DataFrame(EDGES), pl.DataFrame({"vertex": IDS, "labels": LISTS}), "labels"),
    "Arrow lists": lambda: (pa.table(EDGES), pa.table({"vertex": IDS, "labels": LISTS}), "labels"),
}
COUNTS = {
    "(a:Bank)--(b:DE)": 3,
    "(a:Bank)--(b:Bank)": 1,
    "(a:Shop|AT)--(b)": 5,
    "(a:Bank)--(b)--(c:DE)--(a)": 4,
    "(a)--(b)": 5,
    "(a:DE)--(b)--(c:AT) WHERE id(a) < 3": 3,
}


@pytest.mark.parametrize("way", ["made", "pickled", "saved"])
@pytest.mark.parametrize("case", MAKERS)
def test_a_vertex_matches_each_label_that_it_has(case, way, tmp_path):
    edges, vertices, names = MAKERS[case]()
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex_label=names)
    if way == "pickled":
        graph = pickle.loads(pickle.dumps(graph))
    if way == "saved":
        graph.save(tmp_path / "graph")
        graph = Graph.load(tmp_path / "graph")
    for text, count in COUNTS.items():
        assert csm.count_matches(graph, text, engine="cpu") == count == len(csm.subgraph_match(graph, text)), text


def test_an_absent_label_is_warned_of_and_the_nearest_one_named():
    edges, vertices, names = MAKERS["pandas columns"]()
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex_label=names)
    with pytest.warns(AbsentLabelWarning, match="nearest: 'Shop'"):
        assert csm.count_matches(graph, "(a:Shopp)--(b)") == 0


def test_what_are_no_labels_is_refused():
    edges, vertices, _ = MAKERS["pandas columns"]()
    for names, words in (([], "empty"), (["type", "kind"], "'kind'")):
        with refuses(GraphError, f"vertex_label {words}"):
            Graph.from_edgelist(edges, vertices=vertices, vertex_label=names)
    with refuses(GraphError, "vertex_label labels"):
        Graph.from_edgelist(edges, vertices=vertices.assign(odd=[{}, {}, {}, {}]), vertex_label="odd")
