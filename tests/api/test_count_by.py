"""Counting matches by some vertices: columns of every family, sizes, and arguments that make no sense."""

from __future__ import annotations

import pandas as pd
import pytest
from frame_cases import HOST_NAMES, frame, rows
from refusal import each, refuses

import cusubmatch as csm
from cusubmatch import EngineUnavailable, Graph, PatternError, ResultTooLarge
from cusubmatch.execution.grouping import grouped_rows

PAYMENTS = {"src": ["x", "x", "x", "m", "n", "y"], "dst": ["m", "n", "o", "y", "y", "x"]}
COMPLETE = pd.DataFrame([(a, b) for a in range(60) for b in range(a)], columns=["src", "dst"])
GATHER = "(a)-->(m)-->(b)"


@pytest.mark.parametrize("family", HOST_NAMES)
def test_the_dataframe_is_of_the_family_that_came_in(family):
    edges = frame(family, **PAYMENTS)
    counts = csm.count_by(edges, GATHER, ["a", "b"], min_count=2)
    assert type(counts) is type(edges)
    assert rows(counts) == [("x", "y", 2)]


def test_each_pair_that_symmetry_exchanges_is_given_once():
    edges = pd.DataFrame({"src": [1, 1, 2, 2, 5], "dst": [3, 4, 3, 4, 3]})
    once = csm.count_by(edges, "(a)--(m)--(b)", ["a", "b"])
    pairs = {frozenset(pair): count for *pair, count in once.to_numpy().tolist()}
    assert pairs == {frozenset({1, 2}): 2, frozenset({3, 4}): 2, frozenset({1, 5}): 1, frozenset({2, 5}): 1}
    assert len(csm.count_by(edges, "(a)--(m)--(b)", ["a", "b"], unique=False)) == 2 * len(once)


def test_by_each_vertex_it_says_what_vertex_counts_says():
    edges = pd.DataFrame({"src": [0, 0, 1, 2, 4, 3], "dst": [1, 2, 2, 3, 3, 0]})
    text = "(a)--(b)--(c)--(a), (c)--(t)"
    whole = csm.vertex_counts(edges, text).set_index("vertex")
    for name, column in {"a": "a|b", "c": "c", "t": "t"}.items():
        counts = csm.count_by(edges, text, name).set_index(name)["count"]
        assert counts.to_dict() == whole[column][whole[column] > 0].to_dict()


def test_no_match_is_an_empty_dataframe_with_its_columns():
    counts = csm.count_by(pd.DataFrame(PAYMENTS), "(a)-->(b)-->(a)", ["a"])
    assert (len(counts), list(counts.columns), str(counts["count"].dtype)) == (0, ["a", "count"], "int64")


def test_counts_beyond_an_int64_are_refused():
    leaves = 40
    edges = pd.DataFrame({"src": [0] * leaves, "dst": range(1, leaves + 1)})
    star = csm.Pattern.star(20)
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        csm.count_by(edges, star, "v0", unique=False, time_limit=60)


@pytest.mark.parametrize("text", ["(a)--(m)--(b)", "(a)--(m)--(n)--(b)"])
def test_bindings_beyond_the_memory_limit_are_refused(text, monkeypatch):
    monkeypatch.setattr(grouped_rows, "MIN_ROWS_COUNTED", 1)
    with pytest.raises(ResultTooLarge, match="bindings"):
        csm.count_by(COMPLETE, text, ["a", "b"], memory_limit=1000)


BAD = {
    "by nothing": [({"by": []}, ValueError, "by name count_matches")],
    "by an unknown name": [({"by": ["a", "z"]}, PatternError, "by 'z' ['a', 'm', 'b']")],
    "by an edge": [({"by": "p"}, PatternError, "by 'p' edge")],
    "by a name twice": [({"by": ["a", "a"]}, ValueError, "by different")],
    "by no names": [({"by": 5}, TypeError, "by names int"), ({"by": None}, TypeError, "by names NoneType")],
    "min_count": [
        ({"min_count": 0}, ValueError, "min_count 1 0"),
        ({"min_count": True}, TypeError, "min_count int bool"),
        ({"min_count": 1.5}, TypeError, "min_count int float"),
    ],
    "semantics": [({"semantics": "iso"}, ValueError, "semantics induced")],
    "a vertex called count": [({"P": "(count)-->(b)", "by": "count"}, PatternError, "by 'count' rename")],
    "each without a name": [({"P": GATHER, "edges": "each"}, PatternError, "edges 'each' -[p]->")],
}


@pytest.mark.parametrize(("options", "kind", "words"), each(BAD))
def test_an_argument_that_makes_no_sense(options, kind, words):
    options = {"P": "(a)-[p]->(m)-->(b)", "by": ["a", "b"]} | options
    graph = Graph.from_edgelist(pd.DataFrame(PAYMENTS), directed=True)
    with refuses(kind, words):
        csm.count_by(graph, options.pop("P"), options.pop("by"), **options)


def test_the_gpu_is_refused():
    with pytest.raises(EngineUnavailable, match="engine"):
        csm.count_by(pd.DataFrame(PAYMENTS), GATHER, ["a"], engine="gpu")
