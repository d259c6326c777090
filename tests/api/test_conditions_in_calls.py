"""Conditions in the public functions: real payments against joins, both engines, every function, and bad input."""

from __future__ import annotations

import functools

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusal import refuses
from targets import one_lane
from tiers import thorough

import cusubmatch as csm
from cusubmatch import AbsentIdWarning, Graph, GraphError, PatternError, datasets
from cusubmatch.api.count_calls import count_of_plan
from cusubmatch.api.options import checked_call
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.filters import find_candidates
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.execution import planned_call
from cusubmatch.execution.query_options import QueryOptions

GPU = GpuEngine(Device(one_lane(), 1, 228 << 10, tunables=Tunables(grid=(1, 1))))


@functools.cache
def payments():
    """AMLSim's payments and accounts, as tables and as a graph."""
    edges, accounts = datasets.amlsim()
    graph = Graph.from_edgelist(edges, directed=True, vertices=accounts, vertex="account", time="time")
    return edges, accounts, graph


@functools.cache
def arcs(least):
    """The distinct pairs of accounts with a payment of at least so many cents."""
    edges, _, _ = payments()
    large = edges[(edges["cents"] >= least) & (edges["src"] != edges["dst"])]
    return large[["src", "dst"]].drop_duplicates()


def rings(first, second, third):
    """Embeddings of rings of three: one table of arcs an edge, joined."""
    found = first.set_axis(["a", "b"], axis=1).merge(second.set_axis(["b", "c"], axis=1))
    found = found.merge(third.set_axis(["c", "a"], axis=1))
    return found[(found["a"] != found["b"]) & (found["b"] != found["c"]) & (found["a"] != found["c"])]


LARGE = "(a)-[p]->(b)-[q]->(c)-->(a) WHERE p.cents >= $least AND q.cents >= $least"


@pytest.mark.parametrize("least", [0, 5_000, 20_000])
def test_conditions_on_edges_are_those_of_a_join(least):
    _, _, graph = payments()
    wanted = rings(arcs(least), arcs(least), arcs(0))
    found = csm.subgraph_match(graph, LARGE, params={"least": least}, engine="cpu")
    assert csm.count_matches(graph, LARGE, params={"least": least}, engine="cpu") == len(wanted)
    assert sorted(found.itertuples(index=False)) == sorted(wanted[["a", "b", "c"]].itertuples(index=False))


def test_conditions_on_vertices_and_negated_edges_are_those_of_a_join():
    _, accounts, graph = payments()
    fraud = set(accounts["account"][accounts["fraud"]])
    pairs = arcs(0)
    paths = pairs.set_axis(["a", "b"], axis=1).merge(pairs.set_axis(["b", "c"], axis=1))
    paths = paths[(paths["a"] != paths["c"]) & paths["a"].isin(fraud) & ~paths["b"].isin(fraud)]
    closed = paths.merge(pairs.set_axis(["a", "c"], axis=1))
    text = "(a)-->(b)-->(c) WHERE a.fraud AND NOT b.fraud AND NOT (a)-->(c)"
    assert csm.count_matches(graph, text, engine="cpu") == len(paths) - len(closed)


def test_candidates_and_touching_are_filters_of_all_rings():
    _, accounts, graph = payments()
    every = rings(arcs(0), arcs(0), arcs(0))
    some = accounts["account"][accounts["fraud"]].head(100)
    ring = "(a)-->(b)-->(c)-->(a)"
    touched = every[every[["a", "b", "c"]].isin(set(some)).any(axis=1)]
    assert csm.count_matches(graph, ring, touching=some, engine="cpu") == len(touched) / 3
    assert len(csm.subgraph_match(graph, ring, touching=some, engine="cpu")) == len(touched) / 3
    most = accounts["account"].head(15_000)
    touched = every[every[["a", "b", "c"]].isin(set(most)).any(axis=1)]
    assert csm.count_matches(graph, ring, touching=most, engine="cpu") == len(touched) / 3
    wanted = int(every["a"].isin(set(some)).sum())
    for ids in (some, some.tolist(), some.to_numpy(), pl.Series(some.to_numpy()), pa.array(some), set(some.tolist())):
        assert csm.count_matches(graph, ring, candidates={"a": ids}, engine="cpu") == wanted


CALLS = {
    "an edge": ("(a)-[p]->(b)-[q]->(c)-->(a) WHERE p.cents > 100 AND q.cents > 100", {}),
    "a vertex": ("(a)--(b)--(c)--(a) WHERE a.fraud", {}),
    "a negated edge": ("(a)-->(b)-->(c) WHERE NOT (a)--(c) AND a.fraud", {}),
    "candidates": ("(a)-->(b)-->(c)", {"candidates": {"b": range(50)}}),
    "touching": ("(a)-->(b)-->(c)", {"touching": range(50)}),
}


@pytest.mark.parametrize("case", [*list(CALLS)[:1], *thorough(*list(CALLS)[1:])])
def test_the_gpu_engine_counts_and_lists_the_same(case, monkeypatch):
    edges, accounts, _ = payments()
    graph = Graph.from_edgelist(edges.head(300), directed=True, vertices=accounts.head(600), vertex="account")
    text, options = CALLS[case]
    counted = csm.count_matches(graph, text, engine="cpu", **options)
    rows = sorted(csm.subgraph_match(graph, text, engine="cpu", unique=False, **options).itertuples(index=False))
    monkeypatch.setitem(find_candidates.__kwdefaults__, "sample", 64)  # a lane in Python looks at each
    monkeypatch.setattr(planned_call, "engine_for", lambda *_: (GPU, "a test"))
    monkeypatch.setattr(Graph, "device", property(lambda self: self))
    graph.cache.forget("refined", "plans")
    assert csm.count_matches(graph, text, **options) == counted
    assert sorted(csm.subgraph_match(graph, text, unique=False, **options).itertuples(index=False)) == rows


SMALL = pd.DataFrame({"src": [1, 2, 3, 1], "dst": [2, 3, 1, 2], "amount": [5, 6, 7, 8]})
PEOPLE = pd.DataFrame({"id": [1, 2, 3], "country": ["DE", "AT", None]})


def small():
    return Graph.from_edgelist(SMALL, directed=True, vertices=PEOPLE, vertex="id")


def test_every_function_that_lists_or_counts_takes_them(tmp_path):
    text, options = "(a)-[p]->(b) WHERE p.amount > $x", {"params": {"x": 5}, "candidates": {"a": [1, 2]}}
    graph = small()
    assert csm.count_matches(graph, text, **options) == 2
    assert len(csm.subgraph_match(graph, text, **options)) == 2
    assert csm.has_match(graph, text, **options)
    assert not csm.has_match(graph, text, params={"x": 8})
    assert sum(map(len, csm.iter_matches(graph, text, **options))) == 2
    assert len(csm.sample_matches(graph, text, 5, **options)) == 2
    assert csm.write_matches(graph, text, tmp_path / "rows.parquet", touching=[3], **options) == 1
    assert csm.has_match(graph, text, touching=[3], **options)
    assert "p.amount > $x: 3 of 4 rows" in str(csm.explain(graph, text, **options))
    assert "candidates of a: 2 of 3 vertices" in str(csm.explain(graph, text, **options))


def test_many_patterns_take_the_parameters_that_they_ask_for():
    texts = {"large": "(a)-[p]->(b) WHERE p.amount > $x", "all": "(a)-->(b)", "small": "(a)-[{amount: $y}]->(b)"}
    found = csm.count_many(small(), texts, params={"x": 5, "y": 5})
    assert found["count"].tolist() == [3, 3, 1]
    assert csm.count_many(small(), texts, params={"x": 5, "y": 5}, engine="cpu")["status"].tolist() == ["done"] * 3
    assert csm.count_many(small(), {"odd": texts["large"]})["reason"][0].startswith("params: the pattern asks for $x")
    with refuses(PatternError, "params 'z' none"):
        csm.count_many(small(), texts, params={"x": 5, "y": 5, "z": 5})


@pytest.mark.parametrize("options", [{"candidates": {"a": [1]}}, {"edges": "each"}])
def test_patterns_of_a_set_that_differ_in_names_are_counted_apart_where_names_matter(options):
    texts = {"a": "(a)-[e]->(b)-->(c)", "b": "(x)-->(a)-[e]->(y)", "c": "(y)-->(x)-->(a)"}
    texts |= {"d": "(a)-[e]->(b)-[f]->(c)"} if "edges" in options else {}
    counted = csm.count_many(small(), texts, engine="cpu", **options).set_index("pattern")["count"]
    if "edges" in options:
        del texts["c"]  # it names no edge
    expected = {name: csm.count_matches(small(), text, engine="cpu", **options) for name, text in texts.items()}
    assert counted[list(texts)].to_dict() == expected


def test_a_bare_table_of_edges_has_its_columns():
    assert csm.count_matches(SMALL, "(a)-[p]->(b) WHERE p.amount > 5") == 3
    assert csm.count_matches(pl.from_pandas(SMALL), "(a)-[{amount: 7}]->(b)") == 1
    assert csm.count_matches(pa.Table.from_pandas(SMALL), "(a)-[p]->(b) WHERE p.amount % 2 = 0") == 2


def test_a_saved_graph_has_its_columns(tmp_path):
    small().save(tmp_path / "graph")
    loaded = Graph.load(tmp_path / "graph")
    assert csm.count_matches(loaded, "(a {country: 'DE'})-[p]->(b) WHERE p.amount > 5") == 1


def test_other_parameters_give_other_counts_and_equal_ones_the_same_plan():
    graph, text = small(), "(a)-[p]->(b) WHERE p.amount IN $some"
    assert [csm.count_matches(graph, text, params={"some": some}) for some in ([5], [5, 6], [8, 5], [])] == [1, 2, 1, 0]
    again = [checked_call(graph, text, QueryOptions(params={"some": [5]})) for _ in range(2)]
    plans = [planned_call.make_query(*call) for call in again]
    assert plans[0].prepared is plans[1].prepared
    assert count_of_plan(plans[0], again[0].options) == 1


def test_ids_that_are_not_in_the_graph_are_warned_of_with_their_number():
    with pytest.warns(AbsentIdWarning, match=r"candidates\['a'\]: 2 of 3 ids") as caught:
        assert csm.count_matches(small(), "(a)-->(b)", candidates={"a": [1, 77, 78]}) == 1
    assert caught[0].filename == __file__
    with pytest.warns(AbsentIdWarning, match="touching: 1 of 1 ids"):
        assert csm.count_matches(small(), "(a)-->(b)", touching=[99]) == 0


REFUSALS = {
    "an unknown column": ("(a)-[p]->(b) WHERE p.amuont > 5", {}, PatternError, "p.amuont 'amount'"),
    "text and numbers": ("(a)-->(b) WHERE a.country > 5", {}, PatternError, "a.country text an integer"),
    "sums of text": ("(a)-[p]->(b)-[q]->(c) WHERE p.amount + b.country < 5", {}, PatternError, "a text calculated"),
    "a number for a condition": ("(a)-[p]->(b) WHERE p.amount", {}, PatternError, "pattern: p.amount is condition"),
    "an aggregate": ("(a)-[p]->(b) WHERE sum(p.amount) > 5", {}, PatternError, "aggregate count_by"),
    "MATCH": ("MATCH (a)-[p]->(b)", {}, PatternError, "leave MATCH out"),
    "lengths that are no numbers": ("(a)-->{x}(b)", {}, PatternError, "lengths (a)-->{1,3}(b) character 8"),
    "lengths after GQL": ("(a)-->+(b)", {}, PatternError, "lengths (a)-->{1,3}(b) character 7"),
    "too long paths": ("(a)-->{1,8}(b)" + "-->{1,8}()" * 4, {}, PatternError, "32 shorten"),
    "a dataframe of ids": ("(a)-->(b)", {"touching": SMALL}, TypeError, "touching DataFrame columns"),
    "candidates of a part": ("(a) OPTIONAL (a)--(c)", {"candidates": {"c": [1]}}, PatternError, "'c' id(x) IN $ids"),
    "OPTIONAL MATCH": ("(a)-->(b) OPTIONAL MATCH (b)-->(c)", {}, PatternError, "leave MATCH out"),
    "an OPTIONAL that is not connected": ("(a)-->(b) OPTIONAL (c)-->(d)", {}, PatternError, "(c)-->(d) 'a', 'b'"),
    "a path without end": ("(a)-->{1,}(b)", {}, PatternError, "upper bound {1,8}"),
    "too many vertices": ("(a)-->{8}(b)-->{8}(c)-->{8}(d)-->{8}(e)", {}, PatternError, "33 32"),
    "each edge of none": ("(a)-->(b)", {"edges": "each"}, PatternError, "edges 'each' -[p]->"),
    "a misspelt parameter": (
        "(a)-[p]->(b) WHERE p.amount > $least", {"params": {"laest": 1}}, PatternError, "$least ['laest'] ['least']",
    ),
    "a missing parameter": ("(a)-[p]->(b) WHERE p.amount > $x", {}, PatternError, "params $x"),
    "an unused parameter": ("(a)-[p]->(b)", {"params": {"x": 1}}, PatternError, "params 'x' asks for none"),
    "a parameter of a wrong type": (
        "(a)-[p]->(b) WHERE p.amount > $x", {"params": {"x": [1]}}, TypeError, "params x list",
    ),
    "candidates of nothing": ("(a)-->(b)", {"candidates": {"x": [1]}}, PatternError, "candidates 'x' ['a', 'b']"),
    "candidates without a name": ("(a)-->(b)", {"candidates": [1]}, TypeError, "candidates mapping list"),
    "one id": ("(a)-->(b)", {"touching": 5}, TypeError, "touching int list"),
    "ids of another kind": ("(a)-->(b)", {"touching": ["x"]}, GraphError, "touching string integer"),
    "null ids": ("(a)-->(b)", {"candidates": {"a": pd.Series([1, None], dtype="Int64")}}, GraphError, "'a' 1 null"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_makes_no_sense_is_refused_with_the_argument_and_what_would_do(case):
    text, options, kind, words = REFUSALS[case]
    with refuses(kind, words):
        csm.count_matches(small(), text, **options)


def test_a_graph_without_vertices_and_an_edited_table_are_refused():
    edges = SMALL.copy()
    graph = Graph.from_edgelist(edges, directed=True)
    with refuses(PatternError, "a.country vertices="):
        csm.count_matches(graph, "(a)-->(b) WHERE a.country = 'DE'")
    edges.loc[4] = [1, 3, 9]
    twice = pd.concat([SMALL, SMALL[["amount"]]], axis=1)
    with refuses(PatternError, "p.amount ambiguous 2 columns rename"):
        csm.count_matches(Graph.from_edgelist(twice, directed=True), "(a)-[p]->(b) WHERE p.amount > 5")
    with refuses(GraphError, "time 2 null 'day'"):
        Graph.from_edgelist(SMALL.assign(day=[1, None, 3, None]), directed=True, time="day")
    with refuses(GraphError, "edge table 4 rows 5 now"):
        csm.count_matches(graph, "(a)-[p]->(b) WHERE p.amount > 5")
