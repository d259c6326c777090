"""Ids and labels of every kind: text with any characters, tuples, decimals, UUIDs, bytes."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import cusubmatch as csm

pl = pytest.importorskip("polars")

NUL = ["a\0b", "a\0c", "a\0d"]
TRIANGLE = "(x)--(y)--(z)--(x)"
KINDS = {
    "tuples": [(1, 2), (3, 4), (5, 6)],
    "decimals": [Decimal("1.5"), Decimal(2), Decimal(3)],
    "UUIDs": [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)],
    "bytes": [b"a\0b", b"a\0c", b"d"],
    "mixed": [(1, 2), "b", 3],
    "wide integers": [2**70, 2**80, -(2**90)],
}


def ring(ids, dtype=object):
    """A directed triangle as an edge table."""
    return pd.DataFrame({"src": pd.Series(ids, dtype=dtype), "dst": pd.Series([*ids[1:], ids[0]], dtype=dtype)})


@pytest.mark.parametrize("dtype", [object, "str", "string[python]"])
def test_text_that_differs_after_a_nul_is_different_as_id_and_as_label(dtype):
    edges, column = ring(NUL, dtype), pd.Series(NUL, dtype=dtype)
    edges["kind"], vertices = column, pd.DataFrame({"vertex": column, "role": column})
    graph = csm.Graph.from_edgelist(edges, directed=True, edge_label="kind", vertices=vertices, vertex_label="role")
    assert (graph.n_vertices, graph.n_edges) == (3, 3)
    for label, other in zip(NUL, [*NUL[1:], NUL[0]], strict=True):
        found = csm.subgraph_match(graph, csm.Pattern([("a", "b")], labels={"a": label}, directed=True))
        assert found.to_numpy().tolist() == [[label, other]]
        found = csm.subgraph_match(graph, csm.Pattern([("a", "b")], directed=True, edge_labels=[label]))
        assert found.to_numpy().tolist() == [[label, other]]


@pytest.mark.parametrize("dtype", [object, "str", "string[python]"])
def test_edges_between_ids_that_differ_after_a_nul_are_attached_to_their_own_matches(dtype):
    edges = ring(NUL, dtype).assign(kind=pd.Series(NUL, dtype=dtype), amount=[1, 2, 3])
    pattern = csm.Pattern([("a", "b")], directed=True, edge_labels=[NUL[1]])
    matches = csm.subgraph_match(edges, "(a)-->(b)", sort=True)
    assert csm.attach_edges(matches, "(a)-[e]->(b)", edges, ["amount"])["e_amount"].to_list() == [1, 2, 3]
    attached = csm.attach_edges(matches, pattern, edges, ["amount"], edge_label="kind")
    assert attached.to_numpy().tolist() == [[NUL[1], NUL[2], 2]]


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_text_with_a_nul_keeps_apart_in_other_libraries_too(library):
    convert = {"polars": pl.from_pandas, "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False)}
    edges = convert[library](ring(NUL, "str"))
    assert csm.count_matches(edges, TRIANGLE) == 1
    assert csm.Graph.from_edgelist(edges).n_vertices == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_filtered_frame_of_ids_of_any_kind_is_taken(kind):
    edges = ring(KINDS[kind])
    assert csm.count_matches(pd.concat([edges[:1], edges]).iloc[1:], TRIANGLE) == 1  # the index begins at 0
    assert csm.count_matches(edges[edges.index > 0], "(a)--(b)--(c)") == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mixed"])
def test_edges_of_a_filtered_frame_are_attached_whatever_their_ids(kind):
    path = ring(KINDS[kind]).iloc[1:].assign(amount=[1, 2])
    matches = csm.subgraph_match(path, "(a)-->(b)-->(c)")
    attached = csm.attach_edges(matches.set_index(pd.Index([7])), "(a)-[e]->(b)-[f]->(c)", path)
    assert attached[["e_amount", "f_amount"]].to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize("first", [[1], (2, [3])], ids=["a list", "a list in a tuple"])
def test_values_that_cannot_be_ids_are_refused_whatever_the_index(first):
    edges = pd.DataFrame({"src": [(0,), first, (5,)], "dst": [(1,), (2,), (3,)]})
    for rows in (edges, edges.iloc[1:], edges.iloc[::-1]):
        with pytest.raises(csm.GraphError, match="source"):
            csm.count_matches(rows, "(a)--(b)")
