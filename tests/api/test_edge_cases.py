"""Small things that must simply work: graphs of vertices only, wide ids, calls with nothing to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm

PAIR = pd.DataFrame({"src": [1, 2], "dst": [2, 3]})


@pytest.mark.parametrize("edges", [{"src": [], "dst": []}, {"src": np.array([], object), "dst": np.array([], object)}])
@pytest.mark.parametrize("ids", [np.array([4, 7], np.int32), ["x", "y"], pd.Categorical(["x", "y"])])
def test_vertices_keep_their_dtype_where_there_are_no_edges(edges, ids):
    vertices = pd.DataFrame({"vertex": ids})
    graph = csm.Graph.from_edgelist(pd.DataFrame(edges), vertices=vertices)
    found = csm.subgraph_match(graph, "(a)")
    assert found["a"].dtype == vertices["vertex"].dtype
    assert sorted(found["a"]) == sorted(ids)
    assert csm.count_matches(graph, "(a)--(b)") == 0
    assert csm.subgraph_match(graph, "(a)--(b)")["b"].dtype == vertices["vertex"].dtype


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_ids_beyond_int64_come_back_as_they_are(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    ids = np.array([2**63 + 5, 1, 2**64 - 1], np.uint64)
    found = csm.subgraph_match(make({"src": ids, "dst": np.roll(ids, 1)}), "(a)--(b)--(c)--(a)")
    assert sorted(int(found[name][0] if library != "pyarrow" else found[name][0].as_py()) for name in "abc") == sorted(
        ids.tolist()
    )


@pytest.mark.parametrize("text", ["(a)", "(a)--(b)", "(a)--(b)--(c)", "(a)--(b)--(c)--(a)"])
def test_progress_ends_at_one_with_the_count(text):
    seen = []
    count = csm.count_matches(PAIR, text, progress=lambda *now: seen.append(now))
    assert seen[-1] == (1.0, count)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"semantics": "isomorphism"}, ValueError),
        ({"engine": "tpu"}, ValueError),
        ({"time_limit": -1}, ValueError),
        ({"unique": "yes"}, TypeError),
        ({"semantics": "homomorphism", "unique": True}, ValueError),
    ],
)
def test_counting_no_patterns_still_reads_the_options(options, kind):
    assert len(csm.count_many(PAIR, {})) == 0
    with pytest.raises(kind, match=next(name for name in ("unique", *options) if name in options)):
        csm.count_many(PAIR, {}, **options)
