"""OPTIONAL, EXISTS and paths in the public functions: columns of every family, batches, files, and what is refused."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import pytest
from frame_cases import HOST_NAMES, frame, rows
from refusal import refuses

import cusubmatch as csm
from cusubmatch import EngineUnavailable, Graph, PatternError, ResultTooLarge, TimeLimitExceeded

EDGES = {"src": ["x", "x", "y", "z"], "dst": ["y", "z", "w", "x"], "cents": [5, 6, 7, 8]}
KEYED = {"src": [1, 1, 2, 3], "dst": [2, 3, 4, 1], "cents": [5, 6, 7, 8]}
OPTIONAL = "(a)-[p]->(b) OPTIONAL (b)-[q]->(c)"


@pytest.fixture
def graph():
    return Graph.from_edgelist(pd.DataFrame(KEYED), directed=True)


@pytest.mark.parametrize("family", HOST_NAMES)
@pytest.mark.parametrize("columns", [EDGES, KEYED])
def test_what_an_optional_part_has_not_is_null_in_every_family(family, columns):
    names = dict(zip(["x", "y", "z", "w"], [1, 2, 3, 4], strict=True))
    edges = frame(family, **columns)
    found = csm.subgraph_match(edges, OPTIONAL, edges="each")
    assert type(found) is type(edges)
    expected = [("x", "y", "w", 0, 2), ("x", "z", None, 1, None), ("y", "w", None, 2, None), ("z", "x", "y", 3, 0)]
    if columns is KEYED:
        expected = [(*(names.get(cell) for cell in row[:3]), *row[3:]) for row in expected]
    cells = [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows(found)]
    assert sorted(cells, key=str) == sorted(expected, key=str)


def test_rows_name_their_edges_by_a_column_of_the_table(graph):
    found = csm.subgraph_match(graph, OPTIONAL, edges="each", edge_id="cents").sort_values("p")
    assert found["p"].tolist() == [5, 6, 7, 8]
    assert found["q"].astype(object).where(found["q"].notna(), None).tolist() == [7, None, None, 5]


def in_order(frame):
    return frame.sort_values(list(frame.columns), ignore_index=True)


def test_batches_and_files_hold_what_one_dataframe_holds(graph, tmp_path):
    whole = csm.subgraph_match(graph, OPTIONAL)
    batches = list(csm.iter_matches(graph, OPTIONAL, batch_rows=3))
    assert [len(batch) for batch in batches] == [3, 1]
    pd.testing.assert_frame_equal(in_order(pd.concat(batches)), in_order(whole))
    assert csm.write_matches(graph, OPTIONAL, tmp_path / "rows.parquet") == 4
    assert pd.read_parquet(tmp_path / "rows.parquet")["c"].isna().sum() == whole["c"].isna().sum() == 2
    assert len(csm.subgraph_match(graph, OPTIONAL, limit=3)) == 3
    batches = list(csm.iter_matches(graph, OPTIONAL, batch_rows=3, sort=True))
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), in_order(whole))


@pytest.mark.parametrize("unique", [True, False])
def test_candidates_tell_vertices_apart_that_are_alike_without_them(graph, unique):
    pattern = "(a)--(b) OPTIONAL (a)--(x) OPTIONAL (b)--(y)"  # a and b are exchanged, and with them x and y
    undirected = Graph.from_edgelist(pd.DataFrame({"src": [1, 1, 2, 3], "dst": [2, 3, 4, 5]}))
    for ids, expected in (([1], 2), ([3], 2), ([5], 1)):
        call = {"candidates": {"a": ids}, "unique": unique}
        assert csm.count_matches(undirected, pattern, **call) == expected
        assert csm.subgraph_match(undirected, pattern, **call)["a"].tolist() == ids * expected


def test_lengths_that_only_candidates_tell_apart_are_all_counted():
    path = Graph.from_edgelist(pd.DataFrame({"src": [1, 2, 3], "dst": [2, 3, 4]}))
    call = path, "(a)--{1,2}(b)--{1,2}(c)"
    assert csm.count_matches(*call) == 3  # of lengths 1 and 2, and 2 and 1, one is left
    assert csm.count_matches(*call, candidates={"a": [1]}) == 3
    found = csm.subgraph_match(*call, candidates={"a": [1]}, sort=True).to_numpy().tolist()
    assert found == [[1, 2, 3], [1, 2, 4], [1, 3, 4]]


def test_rows_of_several_lengths_that_touch_a_vertex_come_once(graph):
    for ids, expected in (([1], 5), ([3, 2], 6), ([4], 2)):
        assert csm.count_matches(graph, "(a)-->{1,2}(b)", touching=ids) == expected
        assert len(csm.subgraph_match(graph, "(a)-->{1,2}(b)", touching=ids)) == expected
        assert csm.sample_matches(graph, "(a)-->{1,2}(b)", 9, touching=ids)[1] == expected


def test_a_count_of_what_is_optional_at_paths_does_not_depend_on_the_numbers_of_vertices():
    edges = pd.DataFrame(nx.gnm_random_graph(7, 10, seed=2).edges, columns=["src", "dst"])
    text = "(a)--{2}(b)--(c)--(d) OPTIONAL (b)--(y)--(z)"  # but for the path and its inner vertex, a is like d
    once = csm.count_matches(edges, text)
    assert once == csm.count_matches(7 - edges, text) == csm.count_matches(edges, text, unique=False)
    assert once == len(csm.subgraph_match(edges, text)) == csm.sample_matches(edges, text, 1)[1]
    assert once == csm.count_by(edges, text, "b")["count"].sum()


def test_parameters_are_those_of_all_parts(graph):
    text = "(a)-[p]->(b) WHERE p.cents > $x AND EXISTS { (b)-[q]->(z) WHERE q.cents > $y } OPTIONAL (a)<-[r]-(w) "
    text += "WHERE r.cents >= $x"
    assert csm.count_matches(graph, text, params={"x": 4, "y": 6}) == 2
    with refuses(PatternError, "params $y"):
        csm.count_matches(graph, text, params={"x": 4})
    with refuses(PatternError, "params 'u'"):
        csm.subgraph_match(graph, text, params={"x": 4, "y": 6, "u": 3})


def test_count_many_takes_parts(graph):
    patterns = {"one": OPTIONAL, "two": "(a)-->{1,2}(b)", "three": "(a) WHERE NOT EXISTS { (a)-->() }"}
    assert csm.count_many(graph, patterns)["count"].tolist() == [4, 6, 1]


@pytest.mark.parametrize(
    ("call", "kinds", "words"),
    [
        ({"P": "(a)-->(b) OPTIONAL (b)-->(c)", "edges": "each"}, PatternError, "edges 'each' -[p]->"),
        ({"P": "(a)-->(b) WHERE EXISTS { (a)-->(c {no: 1}) }"}, PatternError, "vertices="),
        ({"P": "(a)-->(b) WHERE EXISTS { (a)-[p]->(c) WHERE p.no = 1 }"}, PatternError, "p.no"),
        ({"P": "(a)-->(b) OPTIONAL (b)-->(c) WHERE NOT EXISTS { (b)-->(z)-->(c) }"}, PatternError, "EXISTS one"),
        ({"P": "(a)-[p]->(b) OPTIONAL (b)-->(p)"}, PatternError, "'p' another"),
        ({"memory_limit": 1}, ResultTooLarge, "memory"),
        ({"time_limit": 0}, TimeLimitExceeded, "time_limit"),
    ],
)
def test_what_is_refused(graph, call, kinds, words):
    pattern = call.get("P", OPTIONAL)
    with refuses(kinds, words):
        csm.subgraph_match(graph, pattern, **{name: value for name, value in call.items() if name != "P"})


def test_explain_says_how_parts_are_found_and_joined(graph):
    text = "(a)-->(b) WHERE EXISTS { (a)-->(z) } AND NOT EXISTS { (a)-->(y)-->(b) } OPTIONAL (b)-[q]->(c)"
    plan = csm.explain(graph, text, counting=False)
    assert [call.title.split(",")[0] for call in plan.calls] == [
        "matches without the parts",
        "OPTIONAL (b)-[q]->(c)",
        "EXISTS (a)-->(y)",
    ]
    assert "candidates of a: 3 of 4 vertices" in str(plan)
    assert "OPTIONAL (b)-[q]->(c): joined to matches by the images of b" in str(plan)
    assert "multiplied by max(1, its matches)" in str(csm.explain(graph, OPTIONAL, semantics="homomorphism"))
    assert "count_by, vertex_counts: matches are walked, and each is counted with its number of rows" in str(plan)
    assert "count_by, vertex_counts: embeddings are counted by what" in str(csm.explain(graph, "(a) OPTIONAL (a)--(b)"))
    lengths = str(csm.explain(graph, "(a)-->{1,3}(b)", touching=[1]))
    assert "the 3 lengths of its paths are added up" in lengths
    assert "sample_matches: drawn from all lengths together" in lengths


OTHERS = {
    "sample": lambda *call, **how: csm.sample_matches(*call, 9, **how)[0],
    "count_by": lambda *call, **how: csm.count_by(*call, by=["a", "b"], **how)[["a", "b"]],
    "vertex_counts": csm.vertex_counts,
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_exists_at_one_vertex_is_taken_by_every_function(graph, name):
    text = "(a)-[p]->(b) WHERE EXISTS { (b)-->{1,2}(z) } AND NOT EXISTS { (a)-[q]->(y) WHERE q.cents > $x }"
    call, rows = OTHERS[name], csm.subgraph_match(graph, text, params={"x": 6}, sort=True)
    assert rows.to_numpy().tolist() == [[1, 2], [1, 3]]
    found = sorted(call(graph, text, params={"x": 6}).to_numpy().tolist())
    if name == "vertex_counts":
        assert found == [[1, 2, 0], [2, 0, 1], [3, 0, 1], [4, 0, 0]]
    else:
        assert found == [[1, 2], [1, 3]]


def test_rows_that_are_joined_are_counted_by_vertices_on_the_cpu(graph):
    found = csm.count_by(graph, "(a)-->(b) OPTIONAL (b)-->{1,2}(c)", "a", min_count=2)
    assert sorted(found.to_numpy().tolist()) == [[1, 2], [3, 2]]
    found = csm.vertex_counts(graph, OPTIONAL).sort_values("vertex")
    assert found.to_numpy().tolist() == [[1, 2, 1], [2, 1, 1], [3, 1, 1], [4, 0, 1]]
    with refuses(EngineUnavailable, "engine cpu"):
        csm.vertex_counts(graph, OPTIONAL, engine="gpu")
    with refuses(PatternError, "by 'c' OPTIONAL subgraph_match ['a', 'b']"):
        csm.count_by(graph, OPTIONAL, ["a", "c"])
    with refuses(TimeLimitExceeded, "time_limit"):
        csm.vertex_counts(graph, OPTIONAL, time_limit=0)


def test_rows_grouped_by_a_new_vertex_have_the_matches_without_the_part_under_null(graph):
    rows = csm.subgraph_match(graph, OPTIONAL)
    sizes = rows.groupby("c", dropna=False).size()
    assert sizes.sum() == csm.count_matches(graph, OPTIONAL)
    assert sizes[sizes.index.isna()].tolist() == [rows["c"].isna().sum()]
    assert rows["c"].isna().any()
