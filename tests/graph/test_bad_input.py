"""Bad input: one clear error that names the argument, what came and what would do, and nothing half-done.

Here are the tables and arrays of which a graph cannot be made; `test_bad_arguments.py`, `test_bad_patterns.py` and
`test_cli_errors.py` have the rest. Every case says what is given, and the class and the words of the error.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import HOST_NAMES, column, frame, module
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph, GraphError
from cusubmatch.frames import family_named, numbering

TRIANGLE = "(a)--(b)--(c)--(a)"
LOOP = "(a)-->(b)-->(c)-->(a)"
EDGES = pd.DataFrame({"src": [0, 0, 1, 2, 4, 3], "dst": [1, 2, 2, 3, 3, 0]})
NAMES = pd.DataFrame({"src": ["a", "b"], "dst": ["b", "c"]})


# Tables of edges and vertices: columns, arguments, kinds of error, words of its message.
GOOD = {"src": [1, 2], "dst": [2, 3]}
DAY = dt.date(2024, 5, 1)
UNUSABLE = (GraphError, TypeError)
TABLES = {
    "no columns": ({}, {}, GraphError, "edges source, destination src, dst [] source="),
    "other columns": ({"a": [1], "b": [2]}, {}, GraphError, "edges source, destination ['a', 'b'] source="),
    "a missing column": (GOOD, {"source": "src", "destination": "to"}, GraphError, "destination 'to' ['src', 'dst']"),
    "a name of another type": (GOOD, {"source": 0, "destination": 1}, GraphError, "source 0 ['src', 'dst']"),
    "a list as a name": (GOOD, {"source": ["src"], "destination": "dst"}, GraphError, "source ['src']"),
    "one of two names": (GOOD, {"source": "src"}, GraphError, "source, destination both"),
    "one column for both": (GOOD, {"source": "src", "destination": "src"}, GraphError, "source destination src"),
    "null among strings": ({"src": ["a", None], "dst": ["b", "c"]}, {}, GraphError, "source 1 null drop"),
    "null among dates": (
        {"src": [dt.date(2024, 1, 2)] * 2, "dst": [dt.date(2024, 1, 1), None]},
        {},
        GraphError,
        "null",
    ),
    "nothing but nulls": ({"src": [1, 2], "dst": [None, None]}, {}, GraphError, "destination 2 null"),
    "NaN": ({"src": [1.0, math.nan], "dst": [2.0, 3.0]}, {}, GraphError, "source float integers"),
    "floats": ({"src": [1, 2], "dst": [2.0, 3.5]}, {}, GraphError, "destination float cast"),
    "integers to strings": ({"src": [1], "dst": ["b"]}, {}, GraphError, "source integer destination string"),
    "booleans to integers": ({"src": [True], "dst": [1]}, {}, GraphError, "source boolean destination integer"),
    "strings to bytes": ({"src": ["x"], "dst": [b"y"]}, {}, GraphError, "source string destination"),
    "lists as ids": ({"src": [[1], [2]], "dst": [[2], [3]]}, {}, UNUSABLE, "source list"),
    "bytes to decimals": ({"src": [b"x"], "dst": [Decimal(1)]}, {}, UNUSABLE, "source destination"),
    "dates to times": ({"src": [DAY], "dst": [dt.time(3)]}, {}, UNUSABLE, "source destination"),
    "a missing edge label": (GOOD, {"edge_label": "kind"}, GraphError, "edge_label 'kind' ['src', 'dst']"),
    "lists as edge labels": (GOOD | {"k": [["x"], ["y"]]}, {"edge_label": "k"}, UNUSABLE, "edge_label 'k' list"),
    "an absurd direction": (GOOD, {"directed": "no"}, TypeError, "directed bool 'no'"),
    "vertex labels without vertices": (GOOD, {"vertex_label": "role"}, GraphError, "vertex_label 'role' vertices"),
    "vertices in a list": (GOOD, {"vertices": [1, 2, 3]}, TypeError, "vertices list"),
}
VERTICES = {
    "no id": ({"id": [1]}, {}, GraphError, "vertex 'vertex' ['id']"),
    "no such id": ({"vertex": [1]}, {"vertex": "id"}, GraphError, "vertex 'id' ['vertex']"),
    "no such label": ({"vertex": [1]}, {"vertex_label": "role"}, GraphError, "vertex_label 'role' ['vertex']"),
    "ids of another kind": ({"vertex": ["a"]}, {}, GraphError, "vertex string source integer"),
    "floats": ({"vertex": [1.5]}, {}, GraphError, "vertex float"),
    "two labels for one": ({"vertex": [1, 1], "l": ["A", "B"]}, {"vertex_label": "l"}, GraphError, "vertices label"),
    "a label and none": ({"vertex": [1, 1], "l": [None, "A"]}, {"vertex_label": "l"}, GraphError, "vertices label"),
    "lists of lists as labels": (
        {"vertex": [1, 2], "l": [[["A"]], [["B"]]]},
        {"vertex_label": "l"},
        UNUSABLE,
        "vertex_label 'l'",
    ),
}


# Of objects pandas numbers any, and so takes these.
TAKEN = {("pandas", "bytes to decimals"), ("pandas", "dates to times")}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in HOST_NAMES for case in TABLES if (name, case) not in TAKEN]
)
def test_a_table_of_edges_that_cannot_be_used(name, case):
    columns, options, kinds, words = TABLES[case]
    edges = frame(name, **columns)
    with refuses(kinds, words):
        Graph.from_edgelist(edges, **options)
    if list(columns) == ["src", "dst"] and not options:
        with refuses(kinds, words):
            csm.count_matches(edges, LOOP)


@pytest.mark.parametrize("case", VERTICES)
@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_table_of_vertices_that_cannot_be_used(name, case):
    columns, options, kinds, words = VERTICES[case]
    with refuses(kinds, words):
        Graph.from_edgelist(frame(name, **GOOD), vertices=frame(name, **columns), **options)


@pytest.mark.parametrize("name", HOST_NAMES)
def test_null_integers_are_said_to_be_null(name):
    ids = {"pandas": pd.Series([1, None], dtype="Int64"), "arrow": pa.chunked_array([[1, None]])}
    ids = ids[name] if name in ids else column(name, [1, None])
    edges = family_named(name).frame({"src": ids, "dst": column(name, [2, 3])})
    with refuses(GraphError, "source 1 null drop"):
        Graph.from_edgelist(edges)
    with refuses(GraphError, "vertex 1 null"):
        Graph.from_edgelist(frame(name, **GOOD), vertices=edges, vertex="src")


def test_integers_that_pandas_made_floats_of_for_their_nulls_are_said_to_be_null():
    with refuses(GraphError, "source float 1 null"):
        Graph.from_edgelist(pd.DataFrame({"src": [1, None], "dst": [2, 3]}))


@pytest.mark.parametrize("name", HOST_NAMES)
def test_vertices_of_another_library_than_the_edges(name):
    other = pa.table({"vertex": [1]}) if name != "arrow" else pd.DataFrame({"vertex": [1]})
    with refuses(TypeError, ["vertices", name, type(other).__name__]):
        Graph.from_edgelist(frame(name, **GOOD), vertices=other)


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, lambda rows, columns: pa.table([list(row) for row in zip(*rows, strict=True)], names=columns)],
)
def test_a_column_name_that_is_there_twice(make):
    for names, options, words in [
        (["src", "src", "dst", "k"], {}, "source 2 'src'"),
        (["src", "dst", "dst", "k"], {}, "destination 2 'dst'"),
        (["src", "dst", "k", "k"], {"edge_label": "k"}, "edge_label 2 'k'"),
    ]:
        with refuses(GraphError, words):
            Graph.from_edgelist(make([[1, 2, 3, 4], [2, 3, 4, 5]], columns=names), **options)
    assert Graph.from_edgelist(make([[1, 2, 3, 4]], columns=["src", "dst", "k", "k"])).n_edges == 1


@pytest.mark.parametrize("name", HOST_NAMES)
def test_integers_that_no_dtype_holds_together(name):
    edges = frame(name, src=np.array([-1]), dst=np.array([2**64 - 1], np.uint64))
    with refuses(GraphError, "-1 18446744073709551615 strings"):
        Graph.from_edgelist(edges)
    with pytest.raises(GraphError) as caught:
        Graph.from_edgelist(edges)
    assert "too many vertices" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "destination"),
    [(pd.Categorical([1]), pd.Categorical(["a"])), (pd.Categorical([1]), ["a"]), (pd.Categorical([1.5]), [2])],
)
def test_categories_of_another_kind_or_of_floats(source, destination):
    with refuses(UNUSABLE, "source"):
        Graph.from_edgelist(pd.DataFrame({"src": source, "dst": destination}))


def test_ids_that_polars_has_and_nobody_can_number():
    polars = module("polars")
    for dtype, words in [(polars.Int128, "source Int128")]:
        ids = polars.Series([1, 2], dtype=dtype)
        with refuses(UNUSABLE, words):
            Graph.from_edgelist(polars.DataFrame({"src": ids, "dst": ids}))


ARRAYS = {
    "nothing": (None, TypeError, "edges NoneType"),
    "a path": ("edges.csv", TypeError, "edges str"),
    "a list of pairs": ([(0, 1), (1, 2)], TypeError, "edges list array"),
    "lists": (([0, 1], [1, 2]), TypeError, "edges tuple array"),
    "a series": (pd.Series([1]), TypeError, "edges Series"),
    "three columns": (np.zeros((3, 3), int), TypeError, "edges (3, 3) (m, 2) (2, m)"),
    "one dimension": (np.zeros(4, int), TypeError, "edges (4,)"),
    "lengths that differ": ((np.arange(2), np.arange(3)), GraphError, "edges length 2 3"),
    "floats": (np.zeros((2, 2)), GraphError, "source float"),
    "kinds that differ": ((np.array([1]), np.array(["a"])), GraphError, "source integer destination string"),
    "a null object": (np.array([[1, None]], object), GraphError, "destination null"),
    "a graph": (Graph.from_edgelist(EDGES), TypeError, "edges Graph"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_are_no_edges(case):
    edges, kinds, words = ARRAYS[case]
    with refuses(kinds, words):
        Graph.from_edgelist(edges)


def test_columns_of_arrays_cannot_be_named():
    for options, words in [({"source": "a", "destination": "b"}, "source"), ({"edge_label": "k"}, "edge_label")]:
        with refuses(UNUSABLE, words):
            Graph.from_edgelist(np.array([[1, 2]]), **options)


LISTED = nx.Graph([(1, 2, {"kind": ["X"]})])
LISTED.nodes[1]["role"] = ["A"]


@pytest.mark.parametrize(
    ("call", "kinds", "words"),
    [
        (lambda: Graph.from_networkx(None), TypeError, "graph networkx NoneType"),
        (lambda: Graph.from_networkx(EDGES), TypeError, "graph networkx DataFrame"),
        (lambda: Graph.from_cugraph(LISTED), TypeError, "graph cugraph Graph"),
        (lambda: Graph.from_networkx(LISTED, edge_label="kind"), UNUSABLE, "edge_label 'kind' ['X']"),
        (lambda: Graph.from_networkx(LISTED, vertex_label="role"), UNUSABLE, "vertex_label 'role' ['A']"),
        (lambda: Graph.from_networkx(nx.path_graph(3), vertex_label="role"), GraphError, "vertex_label 'role'"),
        (lambda: Graph.from_networkx(nx.path_graph(3), edge_label="kind"), GraphError, "edge_label 'kind'"),
    ],
)
def test_a_networkx_graph_that_cannot_be_used(call, kinds, words):
    with refuses(kinds, words):
        call()


@pytest.mark.parametrize("name", HOST_NAMES)
def test_as_many_vertices_as_codes_cannot_number(name, monkeypatch):
    tables = [frame(name, src=[1, 5], dst=[3, 2**40]), frame(name, src=["a", "b"], dst=["c", "d"])]
    monkeypatch.setattr(numbering, "MAX_DISTINCT", 3)
    for edges in tables:
        with refuses(GraphError, "edges 4 2**31"):
            Graph.from_edgelist(edges)


def test_as_many_vertices_as_a_graph_cannot_hold(monkeypatch):
    monkeypatch.setattr("cusubmatch.graph.build.MAX_VERTICES", 3)
    for make in (lambda: Graph.from_edgelist(EDGES), lambda: Graph.from_networkx(nx.path_graph(5))):
        with refuses(GraphError, "5 vertices 2**31"):
            make()
