"""Matches counted by the images of some pattern vertices against the oracle, by each of the ways to count them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import automorphisms, named_edges
from naive_groups import grouped
from strategies import cases
from test_rows import graph_of, questions
from tiers import examples

import cusubmatch as csm
from cusubmatch import Pattern, PatternError
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.execution.grouping import grouped_count

pytestmark = [
    pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning", "ignore::cusubmatch.AbsentIdWarning"),
]

WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]
JOINED = [
    "(a)-->(m)-->(b)",
    "(a)-->(m)-->(b), (a)-->(n)-->(b)",
    "(a)-->(m)-->(b)<--(a)",
    "(a)-->(m)<--(b)",
    "(a)--(m)--(b)",
    "(a)--(m)--(b)--(n)--(a)",
    "(a)--(m)--(b), (a)--(n)--(b), (a)--(o)--(b)",
    "(a)--(m)--(b)--(a)",
    "(a:A)--(m:A|B)--(b:B)",
    "(a)--(m:A)--(b), (a)--(n:B)--(b)",
    "(a)--(m)--(b) WHERE NOT (a)--(b)",
    "(a)--(m)--(b) WHERE m.risk > 0 AND a <> b",
    "(a)-[:X]-(m)-[:Y]-(b)",
]


def bindings(frame, names, exchanges):
    """The rows as the oracle has them: of those that symmetry exchanges the least."""
    assert list(frame.columns) == [*names, "count"]
    rows = frame[list(names)].to_numpy().tolist()
    keys = [min(tuple(row[i] for i in order) for order in exchanges) for row in rows]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, frame["count"].tolist(), strict=True))


def exchanges_of(naive, pattern, by, semantics, unique, edges="any"):
    places = [pattern.names.index(name) for name in by]
    if not unique:
        return [range(len(by))]
    images = [[s[i] for i in places] for s in automorphisms(pattern, edges)]
    return [[places.index(v) for v in image] for image in images if set(image) == set(places)]


def check(naive, graph, pattern, by, semantics, unique, edges="any", params=None):
    truth = grouped(naive, pattern, by, semantics, unique, edges, params)
    exchanges = exchanges_of(naive, pattern, by, semantics, unique, edges)
    call = {"semantics": semantics, "unique": unique, "edges": edges, "params": params}
    assert bindings(csm.count_by(graph, pattern, by, **call), by, exchanges) == truth
    least = max(truth.values(), default=1)
    most = bindings(csm.count_by(graph, pattern, by, min_count=least, **call), by, exchanges)
    assert most == {binding: count for binding, count in truth.items() if count >= least}


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("way", ["tables", "trees", "rows"])
@examples(100)
@given(data=st.data())
def test_counts_by_some_vertices_are_the_oracles(data, way, semantics, unique):
    raw, pattern = data.draw(cases())
    named = [name for name in pattern.names if name is not None]
    assume(named)
    by = data.draw(st.permutations(named))[: data.draw(st.integers(1, 3)) if way == "rows" else 1]
    assume("count" not in by)
    with pytest.MonkeyPatch.context() as patch:
        if way != "trees":
            patch.setattr(grouped_count, "is_tree", lambda _: False)
        if way == "tables":
            costs = CpuEngine.table_costs._replace(worth=0.0, start=0.0, prepared=0.0)
            patch.setattr(CpuEngine, "table_costs", costs)
            patch.setattr(grouped_count, "ROW_NS", 1e12)
        check(raw.naive(), raw.graph(), pattern, by, semantics, unique)


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("way", ["pairs", "rows"])
@examples(100)
@given(question=questions(), text=st.sampled_from(JOINED))
def test_pairs_and_what_joins_them_are_the_oracles(question, text, way, semantics, unique):
    naive, _, _ = question
    assume(naive.directed or ">" not in text.replace("<>", "").replace("risk >", ""))
    assume("<>" not in text or semantics == "homomorphism")
    with pytest.MonkeyPatch.context() as patch:
        if way == "pairs":
            patch.setattr(grouped_count, "PAIR_PATH_NS", 0.0)
        else:
            patch.setattr(grouped_count, "common_neighbour_form", lambda *_: None)
        check(naive, graph_of(naive), Pattern.parse(text), ["a", "b"], semantics, unique)


@pytest.mark.one_each
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize("unique", [True, False])
@examples(100)
@given(question=questions(), data=st.data())
def test_counts_with_conditions_are_the_oracles(question, data, unique, edges):
    naive, pattern, params = question
    assume(edges == "any" or named_edges(pattern))
    named = [name for name in pattern.names if name is not None]
    by = data.draw(st.permutations(named))[: data.draw(st.integers(1, 2))]
    try:
        check(naive, graph_of(naive), pattern, by, "monomorphism", unique, edges, params)
    except PatternError as error:
        refused = "can stand by itself", "have the same ends", "the prefix must be", "it has directed edges"
        assume(not any(text in str(error) for text in refused))
        raise


@pytest.mark.one_each
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("text", ["(a)--(m)--(b)", "(a)--(b)--(c)--(a)", "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time"])
@examples(40)
@given(question=questions(), ids=st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True))
def test_candidates_and_touching_choose_what_is_counted(question, ids, text, unique):
    naive, pattern = question[0], Pattern.parse(text)
    assume(naive.directed or not pattern.directed)
    graph, call = graph_of(naive), {"unique": unique}
    some = csm.count_by(graph, pattern, "b", candidates={"a": ids}, **call)
    among = grouped(naive, pattern.where("id(a) IN $ids"), ["b"], "monomorphism", unique, "any", {"ids": ids})
    assert bindings(some, ["b"], [[0]]) == among
    touching = csm.count_by(graph, pattern, list(pattern.names), touching=ids, **call)
    rows = csm.count_by(graph, pattern, list(pattern.names), **call)
    kept = rows[rows.drop(columns="count").isin(ids).any(axis=1)]
    assert sorted(touching["count"]) == sorted(kept["count"])
    assert touching["count"].sum() == csm.count_matches(graph, pattern, touching=ids, **call)
