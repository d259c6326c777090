"""Edges with lengths stand for paths: their text, the patterns that they stand for, and the oracle's counts."""

from __future__ import annotations

from collections import Counter

import pytest
from condition_strategies import column_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import NaiveGraph, matches

from cusubmatch import Pattern

TEXTS = [
    ("(a)-[:T]->{1,3}(b)", "(a)-[:T*1..3]->(b)", "(a)-[:T]->{1,3}(b)"),
    ("(a)-->{2}(b)", "(a)-[*2]->(b)", "(a)-->{2,2}(b)"),
    ("(a)<--{1,2}(b)", "(a)<-[*..2]-(b)", "(a), (b), (b)-->{1,2}(a)"),
    ("(a)-[:T]-{2,8}(b) WHERE a.x > 3", "(a)-[:T * 2 .. 8]-(b) WHERE a.x > 3", "(a)-[:T]-{2,8}(b) WHERE a.x > 3"),
]


@pytest.mark.parametrize(("quantified", "starred", "canonical"), TEXTS)
def test_both_ways_to_write_lengths_are_one_pattern(quantified, starred, canonical):
    pattern = Pattern.parse(quantified)
    assert pattern == Pattern.parse(starred)
    assert str(pattern) == canonical
    assert Pattern.parse(canonical) == pattern
    assert pattern.columns == ["a", "b"]
    assert pattern.where("b.y > 3").quantifiers == pattern.quantifiers
    assert pattern != Pattern.parse("(a)--(b)")


def test_an_edge_with_lengths_stands_for_paths_of_anonymous_vertices():
    pattern = Pattern.parse("(a:A)-[:T]->{1,3}(b)--(a)")
    assert pattern.expansions() == tuple(
        Pattern.parse(f"(a:A)--(b), (a){''.join('-[:T]->()' for _ in range(inner))}-[:T]->(b)") for inner in range(3)
    )
    assert Pattern.parse("(a)--(b)").expansions() == (Pattern.parse("(a)--(b)"),)


def test_conditions_of_other_edges_go_along():
    pattern = Pattern.parse("(a)-[*1..2]->(b)-[{k: 1}]->(c)-[p]->(a) WHERE p.x > 3")
    for longer in pattern.expansions():
        assert [longer.edges[longer.elements[name][0].index] for name in ("[0]", "p")] == list(pattern.edges[1:])


@pytest.mark.parametrize(
    ("text", "symmetries", "expansions", "unique"),
    [
        ("(a)--{1,2}(b)", 2, 2, 2),
        ("(a)--{1,2}(b)--{1,2}(c)", 2, 4, 3),
        ("(a)--{1,2}(b)--{1,3}(c)", 1, 6, 6),
        ("(a)-->{1,2}(b)-->{1,2}(c)", 1, 4, 4),
        ("(a)-->{1,2}(b)-->{1,2}(c)-->{1,2}(a)", 3, 8, 4),
        ("(a)--{1,2}(b)--{1,2}(c) WHERE a.x < c.x", 1, 4, 4),
        ("(a)--{1,2}(b)--{1,2}(c) WHERE a.x = c.x", 2, 4, 3),
        ("(a)--{1,2}(b), (a)--{1,2}(b)", 2, 4, 3),
        ("(a)--{1,2}(b)--(c)", 1, 2, 2),
    ],
)
def test_lengths_that_automorphisms_exchange_are_taken_once(text, symmetries, expansions, unique):
    pattern = Pattern.parse(text)
    assert pattern.automorphism_count() == symmetries
    assert len(pattern.expansions()) == expansions
    assert len(pattern.expansions(unique=True)) == unique


def test_paths_counted_by_hand():
    # 0 -> 1 -> 2 -> 3 and a short cut 0 -> 2.
    graph = NaiveGraph([(0, 1), (1, 2), (2, 3), (0, 2)], directed=True)
    one_to_three = matches(graph, Pattern.parse("(a)-->{1,3}(b)"), "monomorphism", unique=False)
    assert Counter(one_to_three) == {(0, 1): 1, (1, 2): 1, (2, 3): 1, (0, 2): 2, (1, 3): 1, (0, 3): 2}
    assert matches(graph, Pattern.parse("(a)-->{3}(b)"), "monomorphism", unique=False) == [(0, 3)]
    back = NaiveGraph([(0, 1), (1, 0)], directed=True)
    assert Counter(matches(back, Pattern.parse("(a)-->{1,3}(b)"), "homomorphism")) == {
        (0, 1): 2,
        (1, 0): 2,
        (0, 0): 1,
        (1, 1): 1,
    }


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_count_is_the_sum_over_the_expansions(data):
    graph = data.draw(column_graphs(max_vertices=4, max_rows=8, directed=True))
    text = data.draw(st.sampled_from(("(a)-->{1,3}(b)", "(a)-[:X]-{1,2}(b)-[p]->(a)", "(a)--{1,2}(b)--{1,2}(c)")))
    pattern = Pattern.parse(text)
    semantics = data.draw(st.sampled_from(("monomorphism", "induced", "homomorphism")))
    assert len(matches(graph, pattern, semantics, unique=False)) == sum(
        len(matches(graph, longer, semantics, unique=False)) for longer in pattern.expansions()
    )
