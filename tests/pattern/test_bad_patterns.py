"""Patterns that are none: whatever makes one refuses what it cannot use, and texts are marked where they go wrong."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from refusal import each, refuses

from cusubmatch import Pattern, PatternError

EDGES = pd.DataFrame({"src": [0, 0, 1], "dst": [1, 2, 2]})

PAIRS = [("a", "b"), ("b", "c")]
PATTERNS = {
    "edges": [
        *((value, {}, TypeError, "edges pairs") for value in (None, 5, "ab")),
        *(([pair], {}, PatternError, "edges pairs") for pair in (("a",), ("a", "b", "c"), "ab", {"a", "b"}, 5, None)),
        (EDGES, {}, (PatternError, TypeError), "edges pairs"),
        ([(["a"], "b")], {}, TypeError, "edges hashable ['a']"),
        ([(None, "b")], {}, PatternError, "None ()"),
        ([], {}, PatternError, "pattern vertices"),
        ([("a", "a")], {}, PatternError, "pattern 'a' itself"),
        ([("a", "b"), ("c", "d")], {}, PatternError, "pattern disconnected 'a' 'c', 'd'"),
        ([(i, i + 1) for i in range(32)], {}, PatternError, "pattern 33 32"),
        ([(i, i + 1) for i in range(5_000)], {}, PatternError, "pattern 5001 32"),
    ],
    "vertices": [
        (PAIRS, {"vertices": 5}, TypeError, "vertices 5"),
        ([], {"vertices": "ab"}, TypeError, "vertices 'ab'"),
        (PAIRS, {"vertices": [["a"]]}, TypeError, "vertices hashable"),
        (PAIRS, {"vertices": ["a", "b", "c", "d"]}, PatternError, "disconnected 'd'"),
    ],
    "labels": [
        *((PAIRS, {"labels": value}, TypeError, "labels mapping") for value in ("A", ["A", "B", "C"], 5)),
        (PAIRS, {"labels": {"z": "A"}}, PatternError, "labels 'z' ['a', 'b', 'c']"),
        (PAIRS, {"labels": {"a": []}}, PatternError, "labels []"),
        (PAIRS, {"labels": {"a": {"A", None}}}, PatternError, "labels None"),
        *(
            (PAIRS, {"labels": {"a": value}}, TypeError, "labels hashable")
            for value in ({"A": 1}, [["A"]], bytearray())
        ),
    ],
    "directed": [
        *((PAIRS, {"directed": value}, TypeError, "directed bool") for value in (1, None, "yes", ["yes", "no"])),
        (PAIRS, {"directed": [True]}, PatternError, "directed 2 1"),
    ],
    "edge_labels": [
        *((PAIRS, {"edge_labels": value}, (TypeError, PatternError), "edge_labels") for value in (5, "XY", {"X", "Y"})),
        (PAIRS, {"edge_labels": ["X"]}, PatternError, "edge_labels 2 1"),
        (PAIRS, {"edge_labels": {("a", "c"): "X"}}, PatternError, "edge_labels ('a', 'c')"),
        (PAIRS, {"edge_labels": [{"X": 1}, None]}, TypeError, "edge_labels hashable"),
        (PAIRS, {"edge_labels": [[], None]}, PatternError, "edge_labels []"),
    ],
    "distinct": [
        *((PAIRS, {"distinct": value}, TypeError, "distinct pairs") for value in (5, None)),
        *((PAIRS, {"distinct": value}, PatternError, "distinct pairs") for value in ("ab", ("a", "b"), [("a",)])),
        (PAIRS, {"distinct": [("a", "z")]}, PatternError, "distinct 'z' ['a', 'b', 'c']"),
        (PAIRS, {"distinct": [("a", "a")]}, PatternError, "distinct 'a' itself"),
        (PAIRS, {"distinct": [(["a"], "b")]}, (TypeError, PatternError), "distinct ['a']"),
    ],
}


@pytest.mark.parametrize(("edges", "options", "kinds", "words"), each(PATTERNS))
def test_a_pattern_that_is_none(edges, options, kinds, words):
    with refuses(kinds, words):
        Pattern(edges, **options)


GENERATED = {
    "clique": [
        *((size, {}, PatternError, f"size 1 32 {size}") for size in (0, -1, 33)),
        *((size, {}, TypeError, f"size int {type(size).__name__}") for size in (True, 3.0, "3", None)),
    ],
    "cycle": [
        (2, {}, PatternError, "size 3 32 2"),
        (1, {"directed": True}, PatternError, "size 2 32 1"),
        *((3, {"directed": way}, TypeError, "directed bool") for way in ("yes", None, 1)),
    ],
    "path": [(0, {}, PatternError, "size 1 32 0"), (3, {"directed": "yes"}, TypeError, "directed bool")],
    "star": [
        (32, {}, PatternError, "leaves 0 31 32"),
        (-1, {}, PatternError, "leaves 0 31 -1"),
        *((leaves, {}, TypeError, f"leaves int {type(leaves).__name__}") for leaves in (True, 3.0, "3", None)),
    ],
    "parse": [
        *((text, {}, TypeError, f"text str {type(text).__name__}") for text in (None, b"(a)", ["(a)"])),
        ("(a)--(b)", {"distinct": [("a", "z")]}, PatternError, "distinct 'z' ['a', 'b']"),
        ("(a)--(b)", {"distinct": [("a", "a")]}, PatternError, "distinct 'a' itself"),
        ("(a)--(b)", {"distinct": ("a", "b")}, PatternError, "distinct pairs"),
        ("(a)--(b)", {"distinct": [(["a"], "b")]}, (TypeError, PatternError), "distinct ['a']"),
        ("(a)--(b)", {"distinct": 5}, TypeError, "distinct pairs"),
    ],
    "from_networkx": [
        *((graph, {}, TypeError, f"graph networkx {type(graph).__name__}") for graph in (None, EDGES, "(a)--(b)")),
        (nx.Graph(), {}, PatternError, "pattern no vertices"),
        (nx.empty_graph(2), {}, PatternError, "pattern disconnected"),
        (nx.Graph([(1, 1)]), {}, PatternError, "pattern 1 itself"),
        (nx.path_graph(40), {}, PatternError, "pattern 40 32"),
        (nx.Graph([(1, 2, {"label": {"x": 1}})]), {}, TypeError, "label hashable"),
    ],
    "from_cugraph": [
        (None, {}, TypeError, "graph cugraph NoneType"),
        (nx.Graph(), {}, TypeError, "graph cugraph Graph"),
    ],
}


@pytest.mark.parametrize(
    ("maker", "argument", "options", "kinds", "words"),
    each({maker: [(maker, *case) for case in cases] for maker, cases in GENERATED.items()}),
)
def test_a_generated_pattern_that_is_none(maker, argument, options, kinds, words):
    with refuses(kinds, words):
        getattr(Pattern, maker)(argument, **options)


def test_numbers_and_arrays_of_numpy_make_patterns():
    assert Pattern.clique(np.int64(3)) == Pattern.clique(3)
    assert Pattern.star(np.int32(3)) == Pattern.star(3)
    assert Pattern([(0, 1), (1, 2)], directed=np.True_) == Pattern([(0, 1), (1, 2)], directed=True)
    assert Pattern(np.array([[0, 1], [1, 2]])) == Pattern([(0, 1), (1, 2)])


def test_labels_that_are_equal_are_one_label():
    assert Pattern([("a", "b")], labels={"a": 1, "b": np.int64(1)}).automorphism_count() == 2
    assert Pattern([("a", "b"), ("b", "c")], edge_labels=[1, 1.0]).automorphism_count() == 2


TEXTS = [
    ("", 1, "empty"),
    ("  \n ", 1, "empty"),
    ("a", 1, "'a'"),
    ("(a", 3, "ends too early"),
    ("(a)--", 6, "ends too early"),
    ("(a)-[e:X", 9, "ends too early"),
    ("(a)--(b),,(c)", 10, "','"),
    ("(a)->(b)", 4, "'-'"),
    ("(a)<-->(b)", 7, "'>'"),
    ("(a:)--(b)", 4, "')'"),
    ("(a:A&B)", 5, "'&'"),
    ("(a {x 1})", 7, "'1'"),
    ("MATCH (a)--(b)", 1, "leave MATCH out"),
    ("(a)--(b) AND a.x = 1", 10, "AND WHERE"),
    ("(a)\N{RIGHTWARDS ARROW}(b)", 4, "\N{RIGHTWARDS ARROW}"),
    ("(`a", 2, "'`'"),
    ("(a)\0(b)", 4, "\\x00"),
    ("(a)--(b),\n(b)--(c),\n  (c)-(d)", 26, "'-'"),
    ("!(a)--(b)", 1, "negated"),
    ("(a)-->(b), !(b)-->(a)", 12, "negated"),
    ("(a:!X)", 4, "negated"),
    ("(a)-[*]->(b)", 6, "upper bound {1,8}"),
    ("(a)-[:X*2..]->(b)", 8, "upper bound {1,8}"),
    ("(a)-->{1,}(b)", 7, "upper bound {1,8}"),
    ("(a)*(b)", 4, "lengths edge"),
    ("(a)-->{,3}(b)", 7, "1 to 8 0 to 3"),
    ("(a)-->{3,1}(b)", 7, "3 to 1"),
    ("(a)-[*1..9]->(b)", 6, "1 to 8 1 to 9"),
    ("(a)-->{1.5}(b)", 7, "whole numbers"),
    ("(a)-[p*2]->(b)", 7, "neither name"),
    ("(a)-[*2 {k: 1}]->(b)", 6, "neither properties"),
    ("(a)-[*2]->{1,2}(b)", 11, "twice"),
    ("(a)--(a)", 4, "self loops"),
    ("(a:X)--(b), (a:Y)--(c)", 13, "two labels"),
    ("(a)-[e]-(b)-[e]-(c)", 12, "'e' twice"),
    ("(a)" + "--(b)--(a)" * 2_000 + "--?", 20_006, "'?'"),
    ("(" + "x" * 10_000 + ")-(b)", 10_003, "'-'"),
]


@pytest.mark.parametrize(("text", "character", "words"), TEXTS, ids=[text[:20] for text, *_ in TEXTS])
def test_a_text_that_is_no_pattern_is_marked_where_it_goes_wrong(text, character, words):
    with refuses(PatternError, words):
        Pattern.parse(text)
    with pytest.raises(PatternError) as caught:
        Pattern.parse(text)
    message, line, mark = str(caught.value).split("\n")
    assert f"character {character})" in message
    at = mark.index("^")
    assert line[at : at + 1] == text[character - 1 : character].strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(a), (b)", "disconnected 'b'"),
        ("(a)" + "-[*8]->()" * 5, "41 32"),
        ("(a)" + "-->{1,4}()" * 6, "4096 1000"),
        ("(a)--(b), ()--()", "disconnected"),
        ("--".join(["()"] * 33), "33 32"),
        ("(a)" + "--(b)--(a)" * 10 + ", (c)", "disconnected 'c'"),
    ],
    ids=["apart", "long paths", "many lengths", "apart and anonymous", "too large", "repeated and apart"],
)
def test_a_text_of_a_pattern_that_cannot_be_matched(text, words):
    with refuses(PatternError, words):
        Pattern.parse(text)
