"""Conditions as values: what their text says, and that the canonical text says the same again."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from condition_strategies import expressions
from hypothesis import given
from hypothesis import strategies as st
from refusal import each, refuses
from tiers import examples

from cusubmatch import Pattern, PatternError, count_matches
from cusubmatch.pattern.checks import check_parallel_edges
from cusubmatch.pattern.elements import Element
from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    IsNull,
    Literal,
    Membership,
    Negative,
    Not,
    Or,
    Parameter,
    Property,
    StartsWith,
    VertexId,
)

MOTIF = "(a:Account)-[p]->(b)-[q]->(c)"
P_TIME, Q_TIME, A_RISK = Property("p", "time"), Property("q", "time"), Property("a", "risk")
A_X, B_X, C_X = (Property(name, "x") for name in "abc")


def less(left, right):
    return Comparison("<", left, right)


TREES = [
    ("p.time < q.time", less(P_TIME, Q_TIME)),
    ("`p`.`time` < q.time", less(P_TIME, Q_TIME)),
    ("a.`risk of``all` IS NULL", IsNull(Property("a", "risk of`all"))),
    ("a.risk is not null", Not(IsNull(A_RISK))),
    ("a.risk > 3", Comparison(">", A_RISK, Literal(3))),
    ("a.risk > -3", Comparison(">", A_RISK, Literal(-3))),
    ("a.risk > .5e1", Comparison(">", A_RISK, Literal(5.0))),
    ("-a.risk > - -3", Comparison(">", Negative(A_RISK), Literal(3))),
    ("a.risk--3 = 0", Comparison("=", Arithmetic("-", A_RISK, Literal(-3)), Literal(0))),
    (r"a.name = 'it''s \'\u00e9\''", Comparison("=", Property("a", "name"), Literal("it's 'é'"))),
    ('a.name = "it\'s"', Comparison("=", Property("a", "name"), Literal("it's"))),
    ("a.ok = TRUE", Comparison("=", Property("a", "ok"), Literal(True))),
    ("a.ok <> null", Comparison("<>", Property("a", "ok"), Literal(None))),
    ("a.ok", Property("a", "ok")),
    ("a.ok = ((b.ok))", Comparison("=", Property("a", "ok"), Property("b", "ok"))),
    ("a.day = date('2024-02-29')", Comparison("=", Property("a", "day"), Literal(np.datetime64("2024-02-29", "ns")))),
    (
        "a.day = DateTime('2024-02-29T10:00:00.5+02:00')",
        Comparison("=", Property("a", "day"), Literal(np.datetime64("2024-02-29T08:00:00.5", "ns"))),
    ),
    (
        "q.time - p.time <= duration('P1W2DT3H4M5.5S')",
        Comparison(
            "<=",
            Arithmetic("-", Q_TIME, P_TIME),
            Literal(np.timedelta64(((9 * 24 + 3) * 60 + 4) * 60_000 + 5_500, "ms").astype("m8[ns]")),
        ),
    ),
    ("p.time + $window", None),
    ("abs(p.time - q.time) <= $w", Comparison("<=", Absolute(Arithmetic("-", P_TIME, Q_TIME)), Parameter("w"))),
    ("id(a) = $`my id`", Comparison("=", VertexId("a"), Parameter("my id"))),
    ("a = c", Comparison("=", VertexId("a"), VertexId("c"))),
    ("a.risk IN [1, 'x', $y, a.x]", None),
    ("a.risk IN []", Membership(A_RISK, ())),
    ("a.risk IN $list", Membership(A_RISK, Parameter("list"))),
    ("a.risk NOT IN $list", Not(Membership(A_RISK, Parameter("list")))),
    ("a.name STARTS WITH 'D'", StartsWith(Property("a", "name"), Literal("D"))),
    ("NOT (a)-[:X|Y]->(c)", Absent("a", "c", True, frozenset("XY"))),
    ("not (a)<--(c)", Absent("c", "a", True, None)),
    ("NOT (a)--(c)", Absent("a", "c", False, None)),
    ("NOT (a)-->(c)-->(b)", Or((Absent("a", "c", True, None), Absent("c", "b", True, None)))),
    ("NOT NOT a.ok", Not(Not(Property("a", "ok")))),
    ("a.x + b.x * 2 % 3 - 1 = 0", None),
    (
        "a.x - (b.x - c.x) > 0",
        Comparison(
            ">",
            Arithmetic("-", Property("a", "x"), Arithmetic("-", Property("b", "x"), Property("c", "x"))),
            Literal(0),
        ),
    ),
    (
        "NOT a.x < b.x <= c.x",
        Not(
            And(
                (less(Property("a", "x"), Property("b", "x")), Comparison("<=", Property("b", "x"), Property("c", "x")))
            )
        ),
    ),
    (
        "a.ok OR b.ok AND NOT c.ok",
        Or((Property("a", "ok"), And((Property("b", "ok"), Not(Property("c", "ok")))))),
    ),
]


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_a_condition_is_read_as_a_tree_and_its_text_as_the_same_tree(text, tree):
    pattern = Pattern.parse(f"{MOTIF} WHERE {text}")
    if tree is not None:
        assert pattern.conditions == (tree,)
    assert Pattern.parse(str(pattern)) == pattern
    assert Pattern.parse(MOTIF).where(text) == pattern
    assert Pattern.parse(MOTIF).where(pattern.conditions[0]) == pattern


def test_conjuncts_chains_and_braces_become_conditions_in_one_order():
    pattern = Pattern.parse(f"{MOTIF} WHERE p.time < q.time <= $t AND (a.risk > 3 AND a.ok)")
    other = Pattern.parse("(a:Account {ok: a.ok})-[p]->(b)-[q]->(c) where a.risk > 3 and q.time<=$t")
    assert pattern.conditions == (
        Property("a", "ok"),
        Comparison(">", A_RISK, Literal(3)),
        less(P_TIME, Q_TIME),
        Comparison("<=", Q_TIME, Parameter("t")),
    )
    assert other.conditions == (
        Comparison("=", Property("a", "ok"), Property("a", "ok")),
        *pattern.conditions[1:2],
        pattern.conditions[3],
    )
    assert pattern.parameters == ("t",)
    assert pattern.where("a.risk > 3") == pattern
    assert Pattern.parse(MOTIF).parameters == ()
    assert Pattern.parse(MOTIF).conditions == ()


def test_a_pattern_of_arguments_takes_conditions_too():
    pattern = Pattern(
        [("a", "b"), ("b", "c")],
        labels={"a": "Account"},
        directed=True,
        edge_names=["p", "q"],
        where="p.time < q.time",
    )
    assert pattern == Pattern.parse(f"{MOTIF} WHERE p.time < q.time")
    assert pattern == Pattern.parse(MOTIF).where(less(P_TIME, Q_TIME))
    assert hash(pattern) == hash(pickle.loads(pickle.dumps(pattern)))
    assert "_hash" not in vars(pickle.loads(pickle.dumps(pattern)))  # which differs from process to process
    assert pickle.loads(pickle.dumps(pattern)) == pattern
    assert pattern != Pattern.parse(MOTIF)


def test_one_and_true_are_different_literals():
    one, true, fraction = (Pattern.parse(f"(a) WHERE a.x = {value}") for value in ("1", "true", "1.0"))
    assert len({one, true, fraction}) == 3
    assert [literal.conditions[0].right.value for literal in (one, true, fraction)] == [1, True, 1.0]


def test_ids_that_must_differ_are_distinct_vertices():
    pattern = Pattern.parse("(a)--(b)--(c) WHERE id(a) <> id(c)")
    assert (
        pattern == Pattern.parse("(a)--(b)--(c) WHERE c <> a") == Pattern.parse("(a)--(b)--(c)", distinct=[("a", "c")])
    )
    assert str(pattern) == "(a)--(b), (b)--(c) WHERE id(a) <> id(c)"
    assert Pattern.parse(str(pattern)) == pattern


def test_anonymous_elements_keep_properties_and_get_no_column():
    pattern = Pattern.parse("(:Account {country: 'DE'})-[{kind: $k}]->(b), (b)-->()-[{kind: 'x'}]->(b)")
    assert pattern.columns == ["b"]
    assert [edge.name for edge in pattern.edges] == [None] * 3
    assert pattern.conditions == (
        Comparison("=", Property("(0)", "country"), Literal("DE")),
        Comparison("=", Property("[0]", "kind"), Parameter("k")),
        Comparison("=", Property("[2]", "kind"), Literal("x")),
    )
    assert pattern.elements["(0)"] == [Element("vertex", 0)]
    assert pattern.elements["[2]"] == [Element("edge", 2)]
    assert repr(pattern) == ("Pattern((:Account {country: 'DE'})-[{kind: $k}]->(b), (b)-->()-[{kind: 'x'}]->(b))")


def test_edges_with_properties_are_not_merged():
    pattern = Pattern.parse("(a)-->(b), (a)-[{k: 1}]->(b), (a)-[{k: 2}]->(b), (a)-->(b), (b)-[{k: 3}]->(a)")
    assert len(pattern.edges) == 3
    assert {condition.left.element for condition in pattern.conditions} == {"[0]", "[1]", "[2]"}
    assert Pattern.parse(str(pattern)) == pattern


def test_edges_with_properties_stay_when_something_is_added():
    pattern = Pattern.parse("(a)-[{k: 1}]->(b), (a)-[{k: 2}]->(b), ({x: 1})-->(b)")
    more = pattern.where("a.risk > 3")
    assert more.edges == pattern.edges
    assert set(more.conditions) == {*pattern.conditions, Comparison(">", A_RISK, Literal(3))}
    assert len(more.with_edge(pattern.edges[2]._replace(source=0, target=2)).edges) == 4
    with refuses(PatternError, "'[0]' anonymous"):
        pattern.where("`[0]`.k = 3")


def test_parallel_names_are_told_apart_by_conditions():
    text = "(a)-[p]->(b)-[q]->(a)-[r]->(b)"
    check_parallel_edges(Pattern.parse(f"{text} WHERE p.time < q.time AND q.time < r.time"))
    check_parallel_edges(Pattern.parse(f"{text} WHERE p.time < q.time"))
    check_parallel_edges(Pattern.parse(text), edges="each")
    for plain in (text, f"{text} WHERE q.time > 3"):
        with refuses(PatternError, "'p' 'r' parallel"):
            check_parallel_edges(Pattern.parse(plain))


def test_a_call_refuses_two_names_for_one_edge():
    edges = pd.DataFrame({"src": [0, 1], "dst": [1, 2]})
    with refuses(PatternError, "'p' 'q' attach_edges"):
        count_matches(edges, "(a)-[p]->(b), (a)-[q]->(b)")
    assert count_matches(edges, "(a)-[p]->(b), (a)-->(b)") == 2


def test_a_pattern_with_an_edge_more_keeps_its_conditions():
    pattern = Pattern.parse(f"{MOTIF} WHERE p.time < q.time AND a <> c")
    larger = pattern.with_edge(pattern.edges[0]._replace(source=0, target=2, name=None))
    assert larger.conditions == pattern.conditions
    assert larger.distinct == pattern.distinct


LONG_S = "\N{LATIN SMALL LETTER LONG S}"  # IS with it is read as a keyword too
NAMES = st.text(min_size=1, max_size=4) | st.sampled_from(
    ("not", "IN", "5", "1e5", "where", "a b", "`", "", f"i{LONG_S}")
)


@examples(200)
@given(st.data())
def test_the_text_of_a_pattern_is_read_as_an_equal_pattern(data):
    names = data.draw(st.lists(NAMES, min_size=5, max_size=5, unique=True))
    vertices, edges = names[:3], names[3:]
    pairs = [(vertices[a], vertices[b]) for a, b in data.draw(st.sampled_from([[(0, 1), (1, 2)], [(2, 1), (0, 1)]]))]
    condition = data.draw(expressions(vertices, edges))
    labels = st.none() | st.frozensets(NAMES, min_size=1, max_size=2)
    pattern = Pattern(
        pairs,
        vertices=data.draw(st.permutations(vertices)),
        labels={name: label for name in vertices if (label := data.draw(labels)) is not None},
        directed=data.draw(st.booleans()),
        edge_labels=[data.draw(labels) for _ in pairs],
        edge_names=edges,
        distinct=[vertices[:2]] if data.draw(st.booleans()) else [],
    )
    try:
        pattern = pattern.where(condition)
    except PatternError as error:
        assert "cannot differ from itself" in str(error)
        return
    again = Pattern.parse(str(pattern))
    assert again == pattern
    assert str(again) == str(pattern)


TEXTS = [
    ("a.risk == 3", 8, "=="),
    ("a.risk != 3", 8, "<>"),
    ("a.risk => 3", 8, ">="),
    ("a.risk = 3 && b.risk = 3", 12, "AND"),
    ("a.risk = 3 || b.risk = 3", 12, "OR"),
    ("!a.ok", 1, "NOT"),
    ("a.name = 'DE", 10, "closed"),
    ("a.`name = 3", 3, "closed"),
    ("a.name =~ 'D.*'", 8, "STARTS"),
    ("a.name CONTAINS 'D'", 8, "STARTS"),
    ("a.risk BETWEEN 1 AND 2", 8, "<="),
    ("a.name = \N{LEFT SINGLE QUOTATION MARK}DE", 10, "straight"),
    ("a.risk >", 9, "too early"),
    ("a.risk > ", 9, "too early"),
    ("a.risk IN 3", 11, "'3'"),
    ("a.risk > 3 RETURN a", 12, "RETURN"),
    ("a.risk ^ 2 > 3", 8, "powers"),
    ("a.x = 1 OR EXISTS {(a)-->(z)}", 12, "EXISTS NOT AND"),
    ("count(a) > 3", 1, "count() aggregate"),
    ("count(*) > 3", 1, "aggregate"),
    ("a.risk > SUM(p.amount)", 10, "SUM() aggregate"),
    ("length(a.name) > 3", 1, "length() abs, id"),
    ("abs(a.x, a.y) > 3", 1, "one argument"),
    ("abs() > 3", 1, "one argument"),
    ("id(a.x) = 3", 4, "id(a)"),
    ("id(p) = 3", 4, "'p' edge vertex"),
    ("abs(a) = 3", 5, "'a' a.amount"),
    ("a > 3", 1, "'a' vertex id()"),
    ("p = q", 1, "'p' edge column"),
    ("risk > 3", 1, "'risk' 'a', 'b', 'c', 'p', 'q' a.amount"),
    ("bb.risk > 3", 1, "'bb' mean 'b'"),
    ("a.risk = 1e999", 10, "too large"),
    ("a.day = date('2024-02-30')", 14, "calendar"),
    ("a.day = date('yesterday')", 14, "ISO 8601"),
    ("a.day = date('3000-01-01')", 14, "range"),
    ("a.day = date('2024-01-01T10:00')", 14, "ISO 8601"),
    ("a.day = date($day)", 14, "quotes"),
    ("p.time < duration('P1M')", 19, "months days"),
    ("p.time < duration('30 days')", 19, "ISO 8601"),
    ("p.time < duration('PT0.0000000001S')", 19, "nanoseconds"),
    (r"a.name = 'a\q'", 10, "escape"),
    ("(a)-->(b)", 1, "negated before WHERE"),
    ("NOT (a)-->(z)", 12, "'z'"),
    ("NOT (a)-->(p)", 12, "'p' edge"),
    ("NOT (a)-->(:X)", 11, "pattern NOT"),
    ("NOT (a)-[e]->(b)", 10, "neither name"),
    ("NOT (a)-[*2]->(b)", 10, "lengths"),
    ("NOT (a)-->{2}(b)", 12, "lengths"),
    ("a.x" + "+1" * 101 + "=1", 1, "100 levels"),
    ("NOT " * 101 + "a.x", 401, "100 levels"),
]


@pytest.mark.parametrize(("text", "character", "words"), TEXTS, ids=[text[:30] for text, *_ in TEXTS])
def test_a_text_that_is_no_condition_is_marked_where_it_goes_wrong(text, character, words):
    whole = f"{MOTIF} WHERE {text}"
    for ask, asked, before, argument in (
        (Pattern.parse(MOTIF).where, text, 0, "where: "),
        (Pattern.parse, whole, len(whole) - len(text), "pattern: "),
    ):
        with refuses(PatternError, words):
            ask(asked)
        with pytest.raises(PatternError) as caught:
            ask(asked)
        message, line, mark = str(caught.value).split("\n")
        assert message.startswith(argument)
        assert f"character {character + before})" in message
        at = mark.index("^")
        assert line[at : at + 1].strip() == asked[character + before - 1 : character + before].strip()


def test_a_name_of_a_vertex_and_an_edge_is_ambiguous_in_conditions_only():
    assert len(Pattern.parse("(a)-[a]->(b)")) == 2
    with refuses(PatternError, "'a' ambiguous"):
        Pattern.parse("(a)-[a]->(b) WHERE a.x > 3")


BY_HAND = {
    "where": [
        (3, TypeError, "where int"),
        (None, TypeError, "where None"),
        ("", PatternError, "where empty"),
        (And(()), PatternError, "And operands"),
        (Not("a.x"), TypeError, "where Not 'a.x'"),
        (Comparison("==", A_RISK, A_RISK), PatternError, "Comparison <> '=='"),
        (Arithmetic("**", A_RISK, A_RISK), PatternError, "Arithmetic '**'"),
        (Property("z", "x"), PatternError, "where 'z' 'a'"),
        (VertexId("p"), PatternError, "where 'p' edge"),
        (Literal([1]), TypeError, "literal list parameter"),
        (Literal(float("nan")), PatternError, "finite nan"),
        (Literal(np.datetime64("NaT")), PatternError, "NaT"),
        (Literal(np.datetime64("2024-01-01", "D")), PatternError, "'ns'"),
    ]
}


@pytest.mark.parametrize(("condition", "kinds", "words"), each(BY_HAND))
def test_a_condition_made_by_hand_that_no_text_could_say(condition, kinds, words):
    with refuses(kinds, words):
        Pattern.parse(MOTIF).where(condition)


def test_names_of_edges_are_one_an_edge_and_unique():
    for names, kinds, words in (
        (["p"], PatternError, "edge_names 2 1"),
        (["p", "p"], PatternError, "edge_names 'p' two"),
        (["p", 3], TypeError, "edge_names 3"),
        (5, TypeError, "edge_names 5"),
    ):
        with refuses(kinds, words):
            Pattern([("a", "b"), ("b", "c")], edge_names=names)


@pytest.mark.parametrize(
    "text",
    [
        "(a)-->()-->(b)",
        "(a)<--()",
        "(a)<--()-->(b)",
        "()--()--(a)--()--()",
        "(a)-->(:X {k: 1})-->(b)-->(c)<--(a)",
        "(a)<-[p]-()<-[:Y|Z]-(:B)-[{w: 3}]->(c)",
        "()-->{1,2}()<--(a) WHERE a.x = 1 OPTIONAL (a)--()--(z)",
    ],
)
def test_anonymous_vertices_with_two_edges_are_parsed_back(text):
    pattern = Pattern.parse(text)
    assert Pattern.parse(str(pattern)) == pattern
