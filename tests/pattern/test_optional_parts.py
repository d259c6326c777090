"""OPTIONAL parts: their text, what they share, symmetry, and the oracle's rows."""

from __future__ import annotations

import pandas as pd
import pytest
from naive import NaiveGraph, automorphisms, matches
from refusal import refuses

from cusubmatch import Pattern, PatternError, attach_edges

TEXT = "(a:A)-->(b) WHERE a.x > $least OPTIONAL (a)-[p]->(z:Z) WHERE p.amount > $p OPTIONAL (b)-->(y)--()"


def test_optional_parts_are_patterns_that_share_vertices():
    pattern = Pattern.parse(TEXT)
    assert pattern.optional == (
        Pattern.parse("(a)-[p]->(z:Z) WHERE p.amount > $p"),
        Pattern.parse("(b)-->(y)--()"),
    )
    assert pattern.columns == ["a", "b", "z", "y"]
    assert pattern.parameters == ("least", "p")
    assert pattern != Pattern.parse("(a:A)-->(b) WHERE a.x > $least")
    assert pattern.where("b.y IS NULL").optional == pattern.optional
    for text in ("(a)-->(b) OPTIONAL (b)-->(z {k: 1})", "(a)--(b) where a.x = 1 optional (a)--(z), (b)--(z)"):
        assert Pattern.parse(str(Pattern.parse(text))) == Pattern.parse(text)
    assert "OPTIONAL (a)-[p]->(z:Z)" in repr(pattern)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("(a)--(b) OPTIONAL (a)--(z)", 1),
        ("(a)--(b) OPTIONAL (a)--(z) OPTIONAL (b)--(y)", 2),
        ("(a)--(b) OPTIONAL (a)-->(z) OPTIONAL (b)<--(y)", 1),
        ("(a)--(b) OPTIONAL (a)--(z)--(b)", 2),
        ("(a)--(b) OPTIONAL (a)-->(z)-->(b)", 1),
        ("(a)--(b) OPTIONAL (a)--(z)--(b) WHERE z.x > 3", 2),
        ("(a)--(b) OPTIONAL (a)--(z)--(b) WHERE z.x > a.x", 1),
        ("(a)--(b) OPTIONAL (a:A)--(z)--(b)", 1),
    ],
)
def test_automorphisms_keep_optional_parts(text, count):
    assert Pattern.parse(text).automorphism_count() == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(a)--(b) OPTIONAL (y)--(z)", "OPTIONAL (y)--(z) connected 'a', 'b'"),
        ("(a)--(b) OPTIONAL ()--()", "OPTIONAL connected"),
        ("(a)--(b) OPTIONAL (a)--(z), (y)--(x)", "disconnected"),
        ("(a)-[p]-(b) OPTIONAL (a)-[p]-(z)", "'p' another meaning"),
        ("(a)-[p]-(b) OPTIONAL (a)--(p)", "'p' another meaning"),
        ("(a)--(b) OPTIONAL (a)--(z) OPTIONAL (b)--(z)", "'z' another meaning"),
        ("(a)--(b) OPTIONAL (a)--(z) WHERE b.x > 3", "'b' no vertex"),
        ("(a)" + "--()" * 20 + " OPTIONAL (a)" + "--()" * 20, "42 32"),
        ("(a)--(b) OPTIONAL", "too early"),
    ],
)
def test_optional_parts_that_are_none(text, words):
    with refuses(PatternError, words):
        Pattern.parse(text)


def test_rows_with_optional_parts_worked_out_by_hand():
    # 0 -> 1, 0 -> 2 (twice), 1 -> 3.
    rows = [(0, 1), (0, 2), (0, 2), (1, 3)]
    graph = NaiveGraph(rows, directed=True, columns=[{"amount": amount} for amount in (5, 6, None, 8)])

    def found(text, **options):
        return sorted(matches(graph, Pattern.parse(text), "monomorphism", **options), key=repr)

    assert found("(a)-->(b) OPTIONAL (b)-->(z)") == [(0, 1, 3), (0, 2, None), (1, 3, None)]
    assert found("(a)-->(b) OPTIONAL (a)-->(z)") == [(0, 1, 2), (0, 2, 1), (1, 3, None)]
    assert found("(a)-->(b) WHERE id(b) = 2 OPTIONAL (b)-->(z)") == [(0, 2, None)]
    assert found("(a)-->(b) WHERE id(b) = 1 OPTIONAL (a)-[p]->(z) WHERE p.amount > 5", edges="each") == [(0, 1, 2, 1)]
    assert found("(a)-->(b) WHERE id(b) = 1 OPTIONAL (a)-[p]->(z)", edges="each") == [(0, 1, 2, 1), (0, 1, 2, 2)]
    assert found("(b)-->(c) WHERE id(b) = 1 OPTIONAL (c)-[p]->(z)", edges="each") == [(1, 3, None, None)]
    assert found("(a)-->(b) WHERE id(b) = 2 OPTIONAL (a)-->(z) OPTIONAL (b)-->(y)") == [(0, 2, 1, None)]
    assert len(automorphisms(Pattern.parse("(a)-->(b) OPTIONAL (b)-->(z)"))) == 1
    with_itself = matches(graph, Pattern.parse("(a)-->(b) OPTIONAL (a)-->(z)"), "homomorphism")
    assert sorted(with_itself) == [(0, 1, 1), (0, 1, 2), (0, 2, 1), (0, 2, 2), (1, 3, 3)]


def test_functions_that_do_not_take_parts_say_so():
    edges = pd.DataFrame({"src": [0], "dst": [1]})
    for text, word in (
        ("(a)--(b) OPTIONAL (b)--(z)", "OPTIONAL"),
        ("(a)--(b) WHERE EXISTS { (a)--(z)--(b) }", "EXISTS"),
        ("(a)--{1,2}(b)", "lengths"),
    ):
        with refuses(PatternError, f"pattern {word} count_matches"):
            attach_edges(pd.DataFrame({"a": [0], "b": [1]}), text, edges)


def test_exists_is_a_part_that_is_parsed_back():
    text = "(a:A)-->(b) WHERE a.x > $least AND NOT EXISTS { (a)-->(z:Z) WHERE z.risk > $r } AND EXISTS { (b)--(q) }"
    pattern = Pattern.parse(text)
    assert str(pattern) == text
    assert (Pattern.parse(str(pattern)), pattern.parameters) == (pattern, ("least", "r"))
    assert Pattern.parse("(a:A)-->(b)").where(text.partition("WHERE")[2]) == pattern
    assert pattern.exists == (
        (False, Pattern.parse("(a)-->(z:Z) WHERE z.risk > $r")),
        (True, Pattern.parse("(b)--(q)")),
    )
    assert pattern.columns == ["a", "b"]
    both = "(a)--(b) WHERE EXISTS { (a)--(z) } AND EXISTS { (b)--(y) }"
    assert [Pattern.parse(one).automorphism_count() for one in (both, both.replace("(y)", "(y:B)"))] == [2, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(a)--(b) WHERE EXISTS { (y)--(z) }", "EXISTS 'a', 'b'"),
        ("(a)-[p]-(b) WHERE EXISTS { (a)--(p) }", "'p' another meaning"),
        ("(a)--(b) WHERE a.x = 1 OR EXISTS { (a)--(z) }", "EXISTS AND character 27"),
        ("(a)--(b) WHERE EXISTS { (a)--(z) WHERE b.x = 1 }", "'b' no vertex"),
        ("(a)--(b) WHERE EXISTS { (a)--(z)", "character"),
        ("(a)--(b) WHERE EXISTS (a)--(z)", "EXISTS braces"),
    ],
)
def test_exists_that_is_none(text, words):
    with refuses(PatternError, words):
        Pattern.parse(text)
