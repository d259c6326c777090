"""A few rows of a labelled pattern are written as ids by the walk itself: they are those of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plans import tuned

import cusubmatch as csm
from cusubmatch.execution.collection import row_collector as module
from cusubmatch.execution.collection.row_buffer import IdBuffer
from cusubmatch.generators import rmat

PATTERNS = {
    "all vertices named": "(a:X)--(b:Y)--(c:X)--(d:Y)--(e:X), (b)--(d)",
    "one anonymous": "(a:X)--(b:Y)--(:X)--(d:Y)--(e:X)--(b)",
    "leaves of one label": "(a:X)--(b:X), (b)--(c:X), (b)--(d:X), (c)--(e:Y)",
}


def labelled_graph(name_of=lambda vertex: 7 * vertex - 100):
    edges = rmat(6, 4, seed=5).map(name_of)
    vertices = pd.unique(edges.to_numpy().ravel())
    labels = np.random.default_rng(3).choice(["X", "Y"], len(vertices))
    table = pd.DataFrame({"vertex": vertices, "label": labels})
    return csm.Graph.from_edgelist(edges, vertices=table, vertex_label="label")


def rows_of(frame):
    return set(frame.itertuples(index=False, name=None))


@pytest.fixture
def buffers(monkeypatch):
    """The buffers of ids that are made."""
    made = []

    class Seen(IdBuffer):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(module, "IdBuffer", Seen)
    return made


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism", "induced"])
def test_so_many_rows_are_rows_of_all_matches(text, semantics, buffers):
    graph = labelled_graph()
    whole = csm.subgraph_match(graph, text, semantics=semantics, unique=False, engine="cpu")
    assert not buffers
    for limit in (1, 7, len(whole) - 1, len(whole), len(whole) + 10):
        some = csm.subgraph_match(graph, text, semantics=semantics, unique=False, engine="cpu", limit=limit)
        assert list(some.columns) == list(whole.columns)
        assert list(some.dtypes) == list(whole.dtypes)
        assert len(some) == min(limit, len(whole))
        assert rows_of(some) <= rows_of(whole)
        assert len(rows_of(some)) == len(some) or text == PATTERNS["one anonymous"]
    assert len(buffers) == 5


def test_blocks_of_several_threads_are_one_dataframe(buffers):
    graph, text = labelled_graph(), PATTERNS["leaves of one label"]
    whole = csm.subgraph_match(graph, text, unique=False, engine="cpu")
    with tuned(threads=3, alone_s=-1.0, work_units=20):
        many = csm.subgraph_match(graph, text, unique=False, engine="cpu", limit=2 * len(whole))
    assert len(buffers) == 1
    assert len(many) == len(whole)
    assert rows_of(many) == rows_of(whole)


@pytest.mark.parametrize("name_of", [str, np.int32], ids=["text", "int32"])
def test_other_ids_are_looked_up(name_of, buffers):
    graph, text = labelled_graph(name_of), PATTERNS["all vertices named"]
    whole = csm.subgraph_match(graph, text, unique=False, engine="cpu")
    some = csm.subgraph_match(graph, text, unique=False, engine="cpu", limit=5)
    assert len(some) == 5
    assert rows_of(some) <= rows_of(whole)


@pytest.mark.parametrize("options", [{"sort": True}, {"unique": True}, {"memory_limit": 1 << 20}], ids=str)
def test_rows_that_are_sorted_or_expanded_or_bounded_are_looked_up(options, buffers):
    graph, text = labelled_graph(), PATTERNS["leaves of one label"]
    options = {"unique": False} | options
    whole = csm.subgraph_match(graph, text, engine="cpu", **options)
    assert rows_of(csm.subgraph_match(graph, text, engine="cpu", limit=5, **options)) <= rows_of(whole)
    assert not buffers or options["unique"]


def test_a_dataframe_of_few_rows_holds_no_room_for_more():
    graph, text = labelled_graph(), PATTERNS["all vertices named"]
    for limit in (5, 100_000):
        values = csm.subgraph_match(graph, text, unique=False, engine="cpu", limit=limit).to_numpy()
        held = values
        while held.base is not None:
            held = held.base
        assert held.nbytes <= 2 * values.nbytes
