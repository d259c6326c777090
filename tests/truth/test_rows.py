"""Walks over rows against the oracle: random multigraphs with columns, random conditions, both meanings of edges."""

from __future__ import annotations

import contextlib
import functools
from unittest import mock

import pandas as pd
import pytest
from condition_strategies import column_graphs, conditions
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import automorphisms, matches, named_edges
from targets import emulator, one_lane
from tiers import examples

import cusubmatch as csm
from cusubmatch import Graph, Pattern, PatternError
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.execution.row_walks import row_query
from cusubmatch.pattern.expressions import Absolute, And, Arithmetic, Comparison, Literal, Property

PATTERNS = {
    "edge": "(a)-[p]->(b)",
    "two rows": "(a)-[p]->(b), (a)-[q]->(b)",
    "there and back": "(a)-[p]->(b)-[q]->(a)",
    "pingpong": "(a)-[p]->(b)-[q]->(a)-[r]->(b)",
    "path": "(a)-[p]->(b)-[q]->(c)",
    "fan": "(a)-[p]->(b), (a)-[q]->(c), (a)-[r]->(d)",
    "ring": "(a)-[p]->(b)-[q]->(c)-[r]->(a)",
    "ring of 4": "(a)-[p]->(b)-[q]->(c)-[r]->(d)-[s]->(a)",
    "scatter-gather": "(a)-[p]->(x)-[q]->(b)<-[s]-(y)<-[r]-(a)",
    "some named": "(a)-[p]->(b)-->(c)-[q]->(a)",
    "no direction": "(a)-[p]-(b)-[q]-(c)",
    "one direction": "(a)-[p]-(b)-[q]->(c)-[r]-(a)",
    "labels": "(a:A)-[p:X]->(b)-[q:X|Y]->(c:A|B)",
    "anonymous": "(a)-[p]->()-[q]->(c)",
}
UNDIRECTED = {name: text.replace("->", "-").replace("<-", "-") for name, text in PATTERNS.items()}
WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]


WALKED_BY = [
    "cpu",
    "lanes",
    pytest.param("one lane", marks=pytest.mark.thorough),
    pytest.param("gpu", marks=pytest.mark.gpu),
]


@contextlib.contextmanager
def walked(by):
    """Have rows walked by an engine; the `engine=` of calls."""
    if by in ("cpu", "gpu"):
        yield by
        return
    target, grid = (one_lane(), (1, 1)) if by == "one lane" else (emulator(1), (1, 1))
    engine = GpuEngine(Device(target, 1, 228 << 10, tunables=Tunables(grid=grid)))
    with (
        mock.patch.object(row_query, "engine_for", lambda *_: (engine, "a test")),
        mock.patch.object(Graph, "device", property(lambda graph: graph)),
    ):
        yield "auto"


def graph_of(naive):
    """The graph of an oracle's graph, with all its columns."""
    rows = {
        "src": [a for a, *_ in naive.rows],
        "dst": [b for _, b, *_ in naive.rows],
        "label": pd.Series([label for *_, label in naive.rows], dtype=object),
    }
    for name in ("time", "amount", "kind", "flag"):
        rows[name] = column(name, [columns[name] for columns in naive.columns])
    vertices = {
        "vertex": naive.vertices,
        "label": pd.Series([naive.labels.get(v) for v in naive.vertices], dtype=object),
    }
    for name in ("risk", "country", "opened"):
        vertices[name] = column(name, [naive.properties.get(v, {}).get(name) for v in naive.vertices])
    options = {"vertices": pd.DataFrame(vertices), "vertex_label": "label", "edge_label": "label", "time": "time"}
    return Graph.from_edgelist(
        pd.DataFrame(rows).astype({"src": "int64", "dst": "int64"}), directed=naive.directed, **options
    )


def column(name, values):
    types = {"kind": "str", "country": "str", "flag": "boolean", "opened": "datetime64[ns]"}
    return pd.Series(values, dtype=types.get(name, "Int64" if name != "time" else "int64"))


def orders_of_time(pattern):
    """Windows between the times of the edges of a pattern."""
    return _orders_of_time(tuple(edge.name for edge in pattern.edges if edge.name is not None))


@functools.cache
def _orders_of_time(names):
    times = [Property(name, "time") for name in names]
    if len(times) < 2:
        return st.just([])
    pairs = st.permutations(times).map(lambda chosen: chosen[:2])
    order = pairs.flatmap(lambda two: st.builds(Comparison, st.sampled_from(("<", "<=", ">")), *map(st.just, two)))
    return st.lists(order, max_size=3)


def comparisons_of_amounts(pattern):
    """Comparisons of the amounts of two edges, which are windows on the column."""
    return _comparisons_of_amounts(tuple(edge.name for edge in pattern.edges if edge.name is not None))


@functools.cache
def _comparisons_of_amounts(names):
    amounts = [Property(name, "amount") for name in names]
    if len(amounts) < 2:
        return st.just([])
    number = st.sampled_from((0.5, 0.9, 1, 2)).map(Literal)

    def two(chosen):
        left, right = map(st.just, chosen[:2])
        side = right | st.builds(Arithmetic, st.just("*"), number, right)
        side |= st.builds(Arithmetic, st.sampled_from("+-/"), right, number)
        compared = st.builds(Comparison, st.sampled_from(("<", "<=", ">", ">=", "=")), left, side)
        difference = st.builds(Arithmetic, st.just("-"), left, right)
        difference |= difference.map(Absolute)
        return compared | st.builds(Comparison, st.sampled_from(("<", "<=", ">", ">=", "=")), difference, number)

    return st.lists(st.permutations(amounts).flatmap(two), max_size=3)


@st.composite
def questions(draw, named=PATTERNS):
    """A graph, a pattern with conditions, and parameters."""
    naive = draw(column_graphs())
    text = draw(st.sampled_from(list((PATTERNS if naive.directed else UNDIRECTED).values())))
    pattern = Pattern.parse(text)
    asked = [*draw(st.lists(conditions(pattern, params=("n",)), max_size=2)), *draw(orders_of_time(pattern))]
    asked += draw(comparisons_of_amounts(pattern))
    for condition in asked:
        pattern = pattern.where(condition)
    params = {"n": draw(st.integers(-2, 4))} if "n" in pattern.parameters else {}
    return naive, pattern, params


def of_columns(pattern, match):
    """The named vertices and the rows of a match of the oracle."""
    n = len(pattern)
    return tuple(match[i] for i in range(n) if pattern.names[i] is not None) + tuple(match[n:])


def sorted_matches(naive, pattern, semantics, edges, params):
    """Of each orbit the least row of the oracle, in order."""
    every, symmetries = matches(naive, pattern, semantics, False, edges, params), automorphisms(pattern, edges)
    orbits = {frozenset(tuple(match[i] for i in s) for s in symmetries) for match in every}
    return sorted(min(of_columns(pattern, match) for match in orbit) for orbit in orbits)


@pytest.mark.one_each
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("by", WALKED_BY)
@examples(200)
@given(question=questions())
def test_counts_and_rows_are_the_oracles(question, semantics, unique, edges, by):
    naive, pattern, params = question
    assume(edges == "any" or named_edges(pattern))
    graph = graph_of(naive)
    call = {"semantics": semantics, "unique": unique, "edges": edges, "params": params}
    try:
        with walked(by) as engine:
            count = csm.count_matches(graph, pattern, engine=engine, **call)
            found = csm.subgraph_match(graph, pattern, sort=True, engine=engine, **call)
    except PatternError as error:
        refused = "can stand by itself", "have the same ends", "the prefix must be", "it has directed edges"
        assume(not any(text in str(error) for text in refused))
        raise
    truth = matches(naive, pattern, semantics, unique, edges, params)
    assert count == len(truth)
    rows = list(map(tuple, found.to_numpy().tolist()))
    if unique:
        assert rows == sorted_matches(naive, pattern, semantics, edges, params)
    else:
        assert rows == sorted(of_columns(pattern, match) for match in truth)


@pytest.mark.one_each
@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning", "ignore::cusubmatch.AbsentIdWarning")
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("by", WALKED_BY)
@examples(100)
@given(question=questions(), ids=st.lists(st.integers(0, 5), max_size=3, unique=True))
def test_candidates_and_touching_are_the_oracles(question, ids, unique, edges, by):
    naive, pattern, params = question
    assume(edges == "any" or named_edges(pattern))
    graph, call = graph_of(naive), {"unique": unique, "edges": edges, "params": params}
    try:
        with walked(by) as engine:
            among = csm.count_matches(graph, pattern, candidates={"a": ids}, engine=engine, **call)
            touching = csm.count_matches(graph, pattern, touching=ids, engine=engine, **call)
            found = csm.subgraph_match(graph, pattern, touching=ids, engine=engine, **call)
    except PatternError:
        assume(False)
    asked = pattern.where("id(a) IN $among")
    assert among == len(matches(naive, asked, "monomorphism", unique, edges, params | {"among": ids}))
    truth = matches(naive, pattern, "monomorphism", unique, edges, params)
    assert touching == sum(not set(ids).isdisjoint(match[: len(pattern)]) for match in truth)
    assert len(found) == touching


def test_a_conjunction_is_its_conjuncts():
    pattern = Pattern.parse("(a)-[p]->(b) WHERE p.time > 1 AND p.amount > 2")
    assert len(pattern.conditions) == 2
    assert not any(isinstance(condition, And) for condition in pattern.conditions)
