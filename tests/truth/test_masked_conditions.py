"""Conditions on single vertices and edges, negated edges, `candidates=` and `touching=`, against the oracle."""

from __future__ import annotations

import naive
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import cusubmatch as csm
from cusubmatch import Graph, Pattern

ROW = st.tuples(
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from("XY"),
    st.one_of(st.none(), st.integers(0, 3)),
    st.integers(0, 2),
)
VERTEX_CONDITIONS = (
    "a.age > 1", "b.age > 1", "b.age <= $least", "c.age IS NULL", "a.kind = 'x' OR a.age = 2", "id(a) <> 3",
    "NOT c.kind IN ['x', 'y']", "b.kind STARTS WITH 'x'", "$least >= 2", "1 < a.age", "c.kind = 'x'", "a.kind = 'x'",
)  # fmt: skip
EDGE_CONDITIONS = ("p.amount > 1", "q.amount > 1", "p.amount IS NULL", "q.at = 1 AND q.amount < 3", "p.at <> q_at")[:4]
ABSENT = ("NOT (a)-->(b)", "NOT (b)-[:X]->(a)", "NOT (a)--(c)", "NOT (c)-[:Y]-(a)")
SHAPES = (
    "(a)-[p]->(b)-[q]->(c)", "(a)-[p]-(b)-[q]-(c)", "(a)-[p:X]->(b)<-[q:X]-(c)", "(a)-[p]->(b)-[q]->(c)-->(a)",
    "(a)-[p]-(b)-[q:Y]-(c)--(a)", "(a:L|N)-[p]-(b)-[q:X|Y]-(c:L)", "(a:L)-[p]-(b)-[q]-(c:L)",
    "(b)-[p]-(a)-[q]-(c)--(d)", "(a)-[p]->(b), (a)-[q]->(c)",
)  # fmt: skip
CONDITIONS = st.lists(st.sampled_from(VERTEX_CONDITIONS + EDGE_CONDITIONS + ABSENT), max_size=3, unique=True)


@st.composite
def graphs(draw, directed=True):
    rows = draw(st.lists(ROW, min_size=1, max_size=14))
    people = {v: (draw(st.sampled_from(["L", "M", None])), draw(st.sampled_from(["x", "xy", "z", None])),
                  draw(st.one_of(st.none(), st.integers(0, 3)))) for v in range(6)}  # fmt: skip
    return graph_of(rows, people, directed)


def graph_of(rows, people, directed):
    """A multigraph with columns: as the oracle has it, and as the package makes it."""
    oracle = naive.NaiveGraph(
        [row[:3] for row in rows], directed, {v: label for v, (label, _, _) in people.items()}, tuple(range(6)),
        [{"amount": row[3], "at": row[4]} for row in rows],
        {v: {"kind": kind, "age": age} for v, (_, kind, age) in people.items()},
    )  # fmt: skip
    edges = pd.DataFrame(rows, columns=["src", "dst", "type", "amount", "at"]).astype({"amount": "Int64"})
    table = pd.DataFrame([(v, *of_vertex) for v, of_vertex in people.items()], columns=["id", "label", "kind", "age"])
    graph = Graph.from_edgelist(
        edges,
        directed=directed,
        edge_label="type",
        vertices=table.astype({"age": "Int64"}),
        vertex="id",
        vertex_label="label",
    )
    return oracle, graph


def where(conditions):
    """The text of WHERE, or none."""
    conjuncts = [f"({one})" if " OR " in one else one for one in conditions]
    return f" WHERE {' AND '.join(conjuncts)}" if conjuncts else ""


def found_rows(graph, pattern, **options):
    frame = csm.subgraph_match(graph, pattern, engine="cpu", **options)
    return list(frame.itertuples(index=False, name=None))


def check(oracle, graph, pattern, semantics, params, **options):
    """Counts and rows are those of the oracle, whose rows `keep` may thin out."""
    keep = options.pop("keep", lambda image: True)
    every = [image for image in naive.matches(oracle, pattern, semantics, False, params=params) if keep(image)]
    calls = {"semantics": semantics, "params": params or None, **options}
    symmetries = naive.automorphisms(options.pop("symmetric", pattern)) if semantics != "homomorphism" else []
    for unique in (False, True) if semantics != "homomorphism" else (False,):
        wanted = sorted({naive.canonical(image, symmetries) for image in every} if unique else every)
        assert csm.count_matches(graph, pattern, unique=unique, engine="cpu", **calls) == len(wanted)
        rows = found_rows(graph, pattern, unique=unique, **calls)
        assert found_rows(graph, pattern, unique=unique, sort=True, **calls) == sorted(
            {min(tuple(row[i] for i in s) for s in symmetries) for row in rows} if unique else rows
        )
        assert sorted(naive.canonical(row, symmetries) for row in rows) == wanted if unique else sorted(rows) == wanted


@examples(120)
@given(graphs(), st.sampled_from(SHAPES), CONDITIONS, st.sampled_from(naive.SEMANTICS))
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
def test_conditions_on_single_elements_and_negated_edges_agree_with_the_oracle(both, shape, conditions, semantics):
    pattern = Pattern.parse(shape + where(conditions))
    check(*both, pattern, semantics, dict.fromkeys(pattern.parameters, 2))


@examples(120)
@given(graphs(), st.sampled_from(SHAPES), st.sets(st.integers(0, 5)), st.sampled_from(naive.SEMANTICS), st.booleans())
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentIdWarning")
def test_matches_that_touch_some_vertices_are_those_with_one_of_them(both, shape, touched, semantics, conditioned):
    pattern = Pattern.parse(shape + (" WHERE a.age > 0 AND b.age > 0" if conditioned else ""))
    keep = lambda image: not touched.isdisjoint(image)  # noqa: E731
    check(*both, pattern, semantics, {}, touching=sorted(touched), keep=keep)


@examples(120)
@given(graphs(), st.sampled_from(SHAPES), st.lists(st.integers(0, 5)), st.sampled_from(naive.SEMANTICS))
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentIdWarning")
def test_candidates_are_a_condition_on_the_id_of_a_vertex(both, shape, ids, semantics):
    oracle, graph = both
    plain, conditioned = Pattern.parse(shape), Pattern.parse(shape + " WHERE id(b) IN $ids")
    for unique in (False, True) if semantics != "homomorphism" else (False,):
        options = {"semantics": semantics, "unique": unique, "engine": "cpu"}
        wanted = len(naive.matches(oracle, conditioned, semantics, unique, params={"ids": ids}))
        assert csm.count_matches(graph, plain, candidates={"b": ids}, **options) == wanted
        assert csm.count_matches(graph, conditioned, params={"ids": ids}, **options) == wanted
        assert (
            len(csm.subgraph_match(graph, plain, candidates={"b": pd.Series(ids, dtype="int64")}, **options)) == wanted
        )


TEXTS = (
    "(a)-[p]->(b)-[q]->(a)-[r]->(b) WHERE p.amount > 0 AND r.amount < 3",
    "(a)-[p]->(b)<-[q]-(a) WHERE p.at = 1 AND q.at = 1",
    "(a)-->({kind: 'x'})", "(a)-[{at: 1}]->()-[{at: 1}]->(b)", "(a)-[:X {at: 1}]->(b)-[:Y {at: 0}]-(c)",
    "(a)-[p:X|Y]->(b)-[q]->(c)-[r:X]->(d)-->(a) WHERE p.at = q.at OR p.at = 2",
    "(a:L|M)-[p]-(b:L) WHERE a.age IN [0, 1, null] AND p.amount IN [1, 2.0]", "(:L {age: 2})--(:L {age: 2})",
    "(a)--(b)--(c)--(a) WHERE a.age = b.age", "(a)-[p]-(b)--(c) WHERE NOT (a)--(c) AND p.at < 2 AND b.age = b.age",
)  # fmt: skip


@examples(120)
@given(graphs(), st.sampled_from(TEXTS), st.sampled_from(naive.SEMANTICS))
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
def test_patterns_of_many_kinds_are_counted_as_the_oracle_does(both, text, semantics):
    oracle, graph = both
    pattern = Pattern.parse(text)
    for unique in (False, True) if semantics != "homomorphism" else (False,):
        found = csm.count_matches(graph, pattern, semantics=semantics, unique=unique, engine="cpu")
        assert found == len(naive.matches(oracle, pattern, semantics, unique))


UNDIRECTED = (
    "(a)-[p]-(b)-[q]-(c)", "(a)-[p:X]-(b)-[q:X|Z]-(c)", "(a)-[p:X]-(b)-[q:X]-(c)--(a)",
    "(a:L)-[p]-(b)-[q:Y|X]-(c:L)", "(b)-[p]-(a)-[q]-(c)--(d)",
)  # fmt: skip
ON_UNDIRECTED = st.lists(st.sampled_from(VERTEX_CONDITIONS + EDGE_CONDITIONS + ABSENT[2:]), max_size=3, unique=True)


@examples(120)
@given(graphs(directed=False), st.sampled_from(UNDIRECTED), ON_UNDIRECTED, st.sampled_from(naive.SEMANTICS))
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
def test_on_undirected_graphs_a_row_serves_in_both_directions(both, shape, conditions, semantics):
    pattern = Pattern.parse(shape + where(conditions))
    check(*both, pattern, semantics, dict.fromkeys(pattern.parameters, 2))


ASKED = (
    "(a)-[p]-(b)-[q:X|Y]-(c) WHERE p.amount > 1 AND q.amount > 1",
    "(a)-[p:X|Z]-(b)-[q:X]-(c) WHERE b.age > 1",
    "(a)-[p:X|Z]-(b)-[q:X]-(c) WHERE p.amount > 1 AND q.amount > 1",
    "(a:L|M)--(b)--(c) WHERE a.age > 1 AND c.age > 1",
    "(a:L|N)--(b)--(c:L) WHERE a.age > 1 AND c.age > 1",
    "(a:L|N)--(b)--(c:L) WHERE b.age > 1",
    "(a:L)--(b)--(c:L), (b)--(d) WHERE NOT (a)-[:X]-(d) AND NOT (c)-[:X|Z]-(d)",
)


@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("text", ASKED)
def test_vertices_of_which_different_things_are_asked_are_not_exchanged_where_the_same_fulfil_both(text, directed):
    rows = [(1, 0, "X", 2, 0), (2, 0, "X", 2, 0), (3, 0, "Y", 2, 1), (1, 2, "X", 3, 1)]
    labels, ages = "MLLMLM", (2, 2, 3, 2, 0, 0)
    oracle, graph = graph_of(rows, {v: (labels[v], "x", ages[v]) for v in range(6)}, directed)
    assert Pattern.parse(text).automorphisms.order == 1
    for semantics in naive.SEMANTICS:
        check(oracle, graph, Pattern.parse(text), semantics, {})


def test_vertices_with_several_labels_are_not_exchanged_where_all_have_both_that_are_asked():
    edges = pd.DataFrame({"src": [0, 0, 0], "dst": [1, 2, 3]})
    vertices = pd.DataFrame({"id": range(4), "labels": [["K"], ["L", "M"], ["L", "M"], ["K"]], "age": [2, 2, 2, 2]})
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex="id", vertex_label="labels")
    for conditions in ("", " WHERE b.age > 1", " WHERE a.age > 1 AND c.age > 1"):
        assert csm.count_matches(graph, "(a:L)--(b)--(c:M)" + conditions, engine="cpu") == 2
        assert csm.count_matches(graph, "(a:L)--(b)--(c:L)" + conditions, engine="cpu") == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a.name STARTS WITH b.name", 3),
        ("b.name STARTS WITH p.prefix", 2),
        ("'DEU' STARTS WITH p.prefix", 3),
        ("NOT b.name STARTS WITH p.prefix", 1),
        ("p.prefix STARTS WITH p.prefix", 4),
    ],
)
def test_a_prefix_may_be_a_column(text, count):
    people = pd.DataFrame({"id": [1, 2, 3, 4, 5], "name": ["DE", "D", "DEU", None, ""]})
    edges = pd.DataFrame(
        {"src": [1, 3, 2, 3, 4], "dst": [2, 1, 4, 5, 3], "prefix": ["D", "D", "DEU", "F", None]}
    )  # DE to D, DEU to DE, D to null, DEU to the empty text, null to DEU
    graph = Graph.from_edgelist(edges, directed=True, vertices=people, vertex="id")
    assert csm.count_matches(graph, f"(a)-[p]->(b) WHERE {text}") == count
