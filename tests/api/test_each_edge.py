"""Named edges bound to rows, and conditions that compare vertices or edges, in the public functions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cusubmatch as csm
from cusubmatch import PatternError

RING = "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $window"
FAN = "(a)-[p]->(b), (a)-[q]->(c) WHERE p.time = q.time"


@pytest.fixture(scope="module")
def payments():
    rows = [
        (1, 2, 1, "u"),
        (2, 3, 5, "v"),
        (3, 1, 9, "w"),
        (1, 2, 2, "x"),
        (2, 1, 7, "y"),
        (1, 4, 2, "z"),
        (4, 4, 3, "s"),
    ]
    return pd.DataFrame(rows, columns=["src", "dst", "time", "name"])


@pytest.fixture(scope="module")
def graph(payments):
    return csm.Graph.from_edgelist(payments, directed=True, time="time")


def test_each_combination_of_rows_is_a_match(graph):
    found = csm.subgraph_match(graph, RING, edges="each", params={"window": 8})
    assert sorted(map(tuple, found.to_numpy().tolist())) == [(1, 2, 3, 0, 1, 2), (1, 2, 3, 3, 1, 2)]
    assert list(found.columns) == ["a", "b", "c", "p", "q", "r"]
    assert csm.count_matches(graph, RING, edges="each", params={"window": 7}) == 1


def test_with_any_a_match_is_its_vertices(graph):
    found = csm.subgraph_match(graph, RING, params={"window": 8})
    assert found.to_numpy().tolist() == [[1, 2, 3]]
    assert csm.has_match(graph, RING, params={"window": 7})
    assert not csm.has_match(graph, RING, params={"window": 6})


@pytest.mark.parametrize(("most", "multiplier"), [(0, 3), (2, 3), (1 << 20, 3), (1 << 20, 0)])  # 0: all hashes are 0
def test_a_match_that_many_rows_make_is_found_once_whichever_way_it_is_found(graph, monkeypatch, most, multiplier):
    monkeypatch.setattr("cusubmatch.execution.row_walks.distinct_matches.MULTIPLIER", np.uint64(multiplier))
    monkeypatch.setattr("cusubmatch.execution.row_walks.distinct_matches.MOST_KEPT", most)
    monkeypatch.setattr("cusubmatch.execution.row_walks.distinct_matches.LEAST_WAITING", 1)
    pairs = "(a)-[p]->(b), (c)-[q]->(b) WHERE p.time <> q.time"
    assert csm.count_matches(graph, pairs) == len(csm.subgraph_match(graph, pairs)) == 1
    paths = csm.subgraph_match(graph, "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time")
    assert sorted(map(tuple, paths.to_numpy().tolist())) == [(1, 2, 3), (2, 3, 1)]
    assert len(csm.subgraph_match(graph, "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time", limit=1)) == 1
    seen = []
    csm.count_matches(graph, RING, params={"window": 8}, progress=lambda done, matches: seen.append((done, matches)))
    assert seen[-1] == (1.0, 1)


def test_edges_are_named_by_a_column(graph):
    found = csm.subgraph_match(graph, RING, edges="each", edge_id="name", params={"window": 7})
    assert found.to_numpy().tolist() == [[1, 2, 3, "x", "v", "w"]]


def test_two_edges_that_nothing_tells_apart_are_one_match_of_their_orbit(graph):
    pair = "(a)-[p]->(b), (a)-[q]->(b)"
    found = csm.subgraph_match(graph, pair, edges="each")
    assert sorted(map(tuple, found.to_numpy().tolist())) == [(1, 2, 0, 3)]
    assert csm.count_matches(graph, pair, edges="each", unique=False) == 2
    assert csm.count_matches(graph, FAN) == 1
    assert csm.count_matches(graph, FAN, unique=False) == 2


def test_candidates_and_touching_hold_for_rows(graph):
    options = {"edges": "each", "params": {"window": 8}}
    assert csm.count_matches(graph, RING, candidates={"a": [1]}, **options) == 2
    assert csm.count_matches(graph, RING, candidates={"a": [2, 3]}, **options) == 0
    for ids, expected in (([3], 2), ([4], 0), ([1, 2], 2), ([1, 2, 3, 4], 2)):
        assert csm.count_matches(graph, RING, touching=ids, **options) == expected
        assert len(csm.subgraph_match(graph, RING, touching=ids, **options)) == expected
    fan = {"edges": "each", "candidates": {"b": [2]}}
    assert csm.count_matches(graph, FAN, **fan) == 1


def test_rows_come_in_batches_and_files(graph, tmp_path):
    batches = list(csm.iter_matches(graph, "(a)-[p]->(b)-[q]->(c)", edges="each", batch_rows=2))
    whole = csm.subgraph_match(graph, "(a)-[p]->(b)-[q]->(c)", edges="each")
    assert [len(batch) for batch in batches] == [2] * (len(whole) // 2) + [1] * (len(whole) % 2)
    order = list(whole.columns)
    assert pd.concat(batches).sort_values(order).to_numpy().tolist() == whole.sort_values(order).to_numpy().tolist()
    path = tmp_path / "rings.parquet"
    assert csm.write_matches(graph, RING, path, edges="each", edge_id="name", params={"window": 8}) == 2
    assert list(pd.read_parquet(path).columns) == ["a", "b", "c", "p", "q", "r"]
    assert len(csm.subgraph_match(graph, RING, edges="each", params={"window": 8}, limit=1)) == 1


def test_sorted_rows_come_in_order_whatever_fits_in_memory(graph, tmp_path):
    text, options = "(a)-[p]->(b)-[q]->(c)", {"edges": "each", "sort": True}
    expected = sorted(map(tuple, csm.subgraph_match(graph, text, edges="each").to_numpy().tolist()))
    assert list(map(tuple, csm.subgraph_match(graph, text, **options).to_numpy().tolist())) == expected
    batches = csm.iter_matches(graph, text, batch_rows=2, memory_limit=1 << 8, **options)
    assert [row for batch in batches for row in batch.itertuples(index=False, name=None)] == expected
    assert csm.write_matches(graph, text, tmp_path / "paths.csv", **options) == len(expected)
    assert list(pd.read_csv(tmp_path / "paths.csv").itertuples(index=False, name=None)) == expected
    pair = "(a)-[p]->(b), (a)-[q]->(b)"  # p and q are exchanged: the least match of each orbit has p first
    assert csm.subgraph_match(graph, pair, **options).to_numpy().tolist() == [[1, 2, 0, 3]]


def test_the_family_that_comes_in_goes_out(payments):
    graph = csm.Graph.from_edgelist(pa.Table.from_pandas(payments), directed=True, time="time")
    found = csm.subgraph_match(graph, RING, edges="each", edge_id="name", params={"window": 7})
    assert isinstance(found, pa.Table)
    assert found.to_pylist() == [{"a": 1, "b": 2, "c": 3, "p": "x", "q": "v", "r": "w"}]


def test_a_graph_that_was_saved_answers_the_same(graph, tmp_path):
    graph.save(tmp_path / "graph")
    loaded = csm.Graph.load(tmp_path / "graph")
    assert csm.count_matches(loaded, RING, edges="each", params={"window": 8}) == 2


def test_explain_says_which_edge_is_bound_when(graph):
    text = str(csm.explain(graph, RING, edges="each", params={"window": 8}))
    assert "a match has a row for each named edge" in text
    assert "window" in text
    assert all(f" {name}" in text for name in "pqr")


def test_explain_says_where_each_condition_is_applied_and_what_it_keeps(graph):
    text = RING + " AND r.time > p.time + q.time * 0 AND q.name <> 'x' AND NOT (c)-->(b)"
    plan = str(csm.explain(graph, text, params={"window": 8}, candidates={"b": [2, 3]}, engine="cpu"))
    assert "candidates of b: 2 of 4 vertices" in plan
    assert "q.name <> 'x': 6 of 7 rows" in plan
    assert plan.count("cuts the window") == 3
    assert "WHERE r.time > p.time + q.time * 0: tested here" in plan
    assert "WHERE NOT (c)-->(b): tested here" in plan
    assert "without its conditions" in plan
    for counting, ids, calls in ((True, [1], 3), (True, [1, 2], 2), (False, [1, 2], 3)):
        plan = csm.explain(graph, RING, params={"window": 8}, touching=ids, counting=counting)
        assert len(plan.calls) == calls
        assert f"touching {len(ids)} of 4 vertices" in str(plan)
        assert str(plan) in plan._repr_html_().replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"edges": "all"}, ValueError, "edges: expected 'any' or 'each', got 'all'"),
        (
            {"edges": "each", "engine": "gpu"},
            csm.EngineUnavailable,
            "engine",
        ),
        ({"edge_id": "nothing", "edges": "each"}, csm.GraphError, "edge_id: .*'nothing'"),
        ({"edge_id": "name"}, ValueError, "edge_id: .*edges='each'"),
    ],
)
def test_what_makes_no_sense_is_said(graph, arguments, error, message):
    with pytest.raises(error, match=message):
        csm.subgraph_match(graph, RING, params={"window": 8}, **arguments)


def test_edges_without_names_cannot_be_bound(graph):
    with pytest.raises(PatternError, match="no edge has a name"):
        csm.count_matches(graph, "(a)-->(b)", edges="each")
    with pytest.raises(PatternError, match=r"names a vertex and an edge|ambiguous"):
        csm.subgraph_match(graph, "(a)-[a]->(b)", edges="each")


@pytest.mark.parametrize(
    ("text", "directed", "error", "message"),
    [
        ("(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time", False, PatternError, "directed edges .* graph is undirected"),
        ("(a)-[p]-(b)-[q]-(c) WHERE p.time < q.time AND NOT (a)-->(c)", False, PatternError, "graph is undirected"),
        ("(a:X)-[p]->(b)-[q]->(c) WHERE p.time < q.time", True, csm.GraphError, "vertex labels but the graph"),
        ("(a)-[p:X]->(b)-[q]->(c) WHERE p.time < q.time", True, csm.GraphError, "edge labels but the graph"),
        ("(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time AND NOT (a)-[:X]->(c)", True, csm.GraphError, "edge labels but"),
        ("(a:X)-[p]->(b) WHERE id(a) > 1", True, csm.GraphError, "vertex labels but the graph"),
    ],
)
def test_a_pattern_that_does_not_suit_the_graph_is_refused(payments, text, directed, error, message):
    graph = csm.Graph.from_edgelist(payments, directed=directed, time="time")
    for edges in ("any", "each"):
        with pytest.raises(error, match=message):
            csm.count_matches(graph, text, edges=edges)


CALLS = [
    (RING, {"edges": "each", "params": {"window": 8}}),
    (FAN, {}),
    ("(a)-[p]->(b), (c)-[q]->(b)", {"edges": "each"}),
    ("(a)-->(b)", {"touching": [3]}),
    ("(a)-[p]->(b) WHERE p.time > 1", {"candidates": {"a": [1, 2]}}),
    ("(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time", {"touching": [1]}),
]


@pytest.mark.parametrize(("text", "options"), CALLS)
def test_vertices_are_counted_where_the_rows_have_them(graph, text, options):
    rows, counts = csm.subgraph_match(graph, text, **options), csm.vertex_counts(graph, text, **options)
    assert len(counts) == graph.n_vertices
    for name in counts.columns[1:]:
        found = counts.set_index("vertex")[name]
        expected = pd.concat([rows[place] for place in name.split("|")]).value_counts()
        assert found[found > 0].to_dict() == expected.to_dict()
    assert sorted("|".join(counts.columns[1:]).split("|")) == [name for name in rows.columns if name in "abc"]


@pytest.mark.parametrize(("text", "options"), CALLS)
def test_a_sample_is_some_of_the_rows_and_their_number(graph, text, options):
    rows = set(csm.subgraph_match(graph, text, **options).itertuples(index=False, name=None))
    for n in (0, 1, len(rows), 100):
        sample, count = csm.sample_matches(graph, text, n, seed=n, **options)
        drawn = list(sample.itertuples(index=False, name=None))
        assert count == len(rows)
        assert len(set(drawn)) == len(drawn) == min(n, count)
        assert set(drawn) <= rows


@pytest.mark.thorough
def test_every_row_is_as_likely_to_be_drawn_as_the_others(graph, monkeypatch):
    monkeypatch.setattr("cusubmatch.execution.row_walks.random_choice.MIN_WAITING", 1)
    drawn = pd.Series(
        [tuple(csm.sample_matches(graph, "(a)-[p]->(b)", 2, seed=seed, edges="each")[0]["p"]) for seed in range(900)]
    )
    assert len(drawn.value_counts()) == 30  # ordered pairs of six rows
    assert drawn.value_counts().between(12, 52).all()  # 30 each, 4 standard deviations
    again = csm.sample_matches(graph, "(a)-[p]->(b)", 2, seed=5, edges="each", edge_id="name")[0]
    assert again["p"].tolist() == [["u", "v", "w", "x", "y", "z"][row] for row in drawn[5]]


def test_many_patterns_share_candidates_and_the_meaning_of_edges(graph):
    patterns = {"ring": RING, "edge": "(a)-[p]->(b)", "none": "(x)-->(y)"}
    options = {"params": {"window": 8}, "candidates": {"a": [1]}, "touching": [2], "edges": "each"}
    found = csm.count_many(graph, patterns, **options)
    assert found["count"].tolist()[:2] == [2, 2]
    assert found["reason"][2].startswith("edges: 'each' binds every named edge to a row")
    with pytest.raises(PatternError, match="candidates: 'z' is in none of the patterns"):
        csm.count_many(graph, patterns, candidates={"z": [1]})


def test_a_time_limit_ends_a_walk_over_rows(graph):
    with pytest.raises(csm.TimeLimitExceeded):
        csm.count_matches(graph, RING, edges="each", params={"window": 8}, time_limit=0)
