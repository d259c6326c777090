"""Counts of many patterns: what is wrong with one of them is told in its row, and the others are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from frame_cases import HOST_NAMES, NAMES, frame
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph, Pattern, ResultTooLarge, TimeLimitExceeded
from cusubmatch.api import count_many as api
from cusubmatch.frames import family_named
from cusubmatch.pattern.coloured_graph import canonical_key

TRIANGLE = "(a)--(b)--(c)--(a)"
EDGES = {"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}  # a triangle with a tail
COLUMNS = ["pattern", "count", "seconds", "status", "reason"]


@pytest.fixture
def graph():
    return Graph.from_edgelist(pd.DataFrame(EDGES))


def rows_of(table, family):
    """The rows of a table of a family, less the seconds."""
    columns = family_named(family).to_arrow(table).to_pydict()
    assert list(columns) == COLUMNS
    assert all(seconds >= 0 for seconds in columns.pop("seconds"))
    return list(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_that_cannot_be_counted_has_a_null_and_the_counts_stay_integers(name):
    patterns = {"ring": TRIANGLE, 2: "(a)--(b", "arrow": "(a)-->(b)", "label": "(a:X)--(b)", "edge": Pattern.path(2)}
    table = csm.count_many(Graph.from_edgelist(frame(name, **EDGES)), patterns)
    ring, unread, arrow, label, edge = rows_of(table, name)
    assert ring == ("ring", 1, "done", "")
    assert edge == ("edge", 4, "done", "")
    for row, words in [(unread, "character 8"), (arrow, "directed"), (label, "label")]:
        assert row[1:3] == (None, "error")
        assert words in row[3]
        assert "\n" not in row[3]
    assert str(table["count"].dtype if name != "arrow" else table["count"].type).lower() == "int64"
    assert [row[0] for row in rows_of(table, name)] == ["ring", "2", "arrow", "label", "edge"]


@pytest.mark.parametrize("name", HOST_NAMES)
def test_the_type_of_the_counts_does_not_depend_on_how_they_ended(name):
    def types(patterns):
        table = csm.count_many(frame(name, **EDGES), patterns)
        return [str(kind) for kind in (table.schema.types if name == "arrow" else table.dtypes)]

    good = types({"ring": TRIANGLE})
    assert types({"ring": TRIANGLE, "odd": "("}) == types({"odd": "("}) == good
    assert len(csm.count_many(frame(name, **EDGES), {})) == 0


def test_counts_in_pandas_are_nullable_integers(graph):
    table = csm.count_many(graph, {"ring": TRIANGLE, "odd": "("})
    assert table["count"].dtype == "Int64"
    assert table["count"][0] == 1
    assert table["count"][1] is pd.NA
    assert table["count"].sum() == 1


@pytest.mark.parametrize("name", NAMES)
def test_counts_that_pass_64_bits_are_text_beside_nulls(name, monkeypatch):
    monkeypatch.setattr(api, "count_of_query", lambda graph, pattern, options: 2 ** (16 * len(pattern)))
    table = csm.count_many(frame(name, **EDGES), {"a": Pattern.path(5), "odd": "(", "b": Pattern.path(2)})
    assert [row[1] for row in rows_of(table, name)] == [str(2**80), None, str(2**32)]


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TimeLimitExceeded("time_limit: not finished within 5 s; .partial holds", 7), "time limit", "within 5 s"),
        (MemoryError(), "out of memory", "memory"),
        (ResultTooLarge("the result has 9 rows"), "out of memory", "9 rows"),
        (csm.PatternError("pattern: odd\n  (a)\n   ^"), "error", "odd"),
    ],
    ids=["time", "memory", "size", "pattern"],
)
def test_the_others_are_counted_whatever_ends_one(graph, monkeypatch, error, status, reason):
    count_of_query = api.count_of_query

    def count(graph, pattern, options):
        if len(pattern) == 4:
            raise error
        return count_of_query(graph, pattern, options)

    monkeypatch.setattr(api, "count_of_query", count)
    before, ended, after = rows_of(csm.count_many(graph, {size: Pattern.path(size) for size in (3, 4, 2)}), "pandas")
    assert (before[1:3], after[1:3]) == ((5, "done"), (4, "done"))
    assert ended[1:3] == (None, status)
    assert ended[3].endswith(reason)


def test_each_pattern_has_the_time_limit_for_itself():
    random = np.random.default_rng(1)
    dense = Graph.from_edgelist(pd.DataFrame(random.integers(0, 400, (40_000, 2)), columns=["src", "dst"]))
    csm.count_matches(dense, TRIANGLE)
    table = csm.count_many(dense, {"long": Pattern.cycle(9), "short": TRIANGLE}, time_limit=0.3)
    assert table["status"].to_list() == ["time limit", "done"]
    assert table["count"].isna().to_list() == [True, False]
    assert 0.2 < table["seconds"][0] < 5
    assert table["reason"].to_list() == ["time_limit: not finished within 0.3 s", ""]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, csm.EngineUnavailable])
def test_what_is_no_fault_of_a_pattern_ends_the_call(graph, monkeypatch, error):
    def count(*arguments):
        raise error

    monkeypatch.setattr(api, "count_of_query", count)
    with pytest.raises(error):
        csm.count_many(graph, {"ring": TRIANGLE})


@pytest.mark.parametrize(
    ("patterns", "options", "kinds", "words"),
    [
        (None, {}, TypeError, "patterns mapping NoneType"),
        ([TRIANGLE], {}, TypeError, "patterns mapping list"),
        (TRIANGLE, {}, TypeError, "patterns mapping str"),
        ({"good": TRIANGLE, "bad": 5}, {}, TypeError, "patterns['bad'] int"),
        ({"bad": "("}, {"semantics": "iso"}, ValueError, "semantics induced"),
        ({"bad": "("}, {"engine": "tpu"}, ValueError, "engine cpu"),
        ({"bad": "("}, {"time_limit": -1}, ValueError, "time_limit seconds"),
        ({"bad": "("}, {"semantics": "homomorphism", "unique": True}, ValueError, "unique"),
    ],
)
def test_what_is_wrong_with_the_call_is_refused(graph, patterns, options, kinds, words):
    with refuses(kinds, words):
        csm.count_many(graph, patterns, **options)


def test_a_graph_that_cannot_be_made_is_refused():
    with refuses(csm.GraphError, "source floats"):
        csm.count_many(pd.DataFrame({"src": [1.5], "dst": [2.5]}), {"bad": "("})


SPIDER = "(a:X)--(b:Y), (a)--(c:Y), (a)--(d:Y), (b)--(e:X), (c)--(f:X), (d)--(g:X)"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("(a:X)--(b:Y)--(c:Z)", "(z:Z)--(y:Y)--(x:X)", True),
        ("(a:X)--(b:Y)", "(a:Y)--(b:Z)", False),  # labels count, not only which of them are equal
        ("(a)-->(b)-->(c)", "(c)-->(a)-->(b)", True),
        ("(a)-->(b)-->(c)", "(a)-->(b)<--(c)", False),
        ("(a)-[:K]->(b)-[:L]->(a)", "(a)-[:L]->(b)-[:K]->(a)", True),
        ("(a)-[:K]->(b)-[:L]->(c)", "(a)-[:K]->(b)-[:K]->(c)", False),
        (SPIDER, SPIDER.translate(str.maketrans("abcdefg", "ecgabfd")), True),
    ],
)
def test_patterns_share_a_key_exactly_if_they_are_one_with_other_names(first, second, same):
    keys = [canonical_key(Pattern.parse(text)) for text in (first, second)]
    assert (keys[0] == keys[1]) == same
    assert None not in keys


def test_a_pattern_that_is_another_one_with_other_names_is_not_counted_again(graph, monkeypatch):
    counted = []

    def counting(graph, pattern, options):
        counted.append(pattern)
        return count(graph, pattern, options)

    count = api.count_of_query
    monkeypatch.setattr(api, "count_of_query", counting)
    texts = [
        TRIANGLE,
        "(z)--(x), (y)--(z), (x)--(y)",
        "(a)--(b)--(c)",
        "(b)--(a), (c)--(b)",
        "(a)--(b) WHERE id(a) <> 9",
    ]
    table = csm.count_many(graph, dict(enumerate(texts)))
    assert table["count"].tolist() == [csm.count_matches(graph, text) for text in texts]
    assert len(counted) == 3


def test_a_pattern_that_was_counted_under_other_names_is_not_planned_again(graph):
    texts = ["(a)--(b)--(c), (c)--(d)", "(z)--(x), (y)--(z), (x)--(w)", "(a)--(b)--(c), (b)--(d)"]
    counts = [csm.count_matches(graph, text, engine="cpu") for text in texts]
    assert counts == [csm.count_matches(Graph.from_edgelist(pd.DataFrame(EDGES)), text, engine="cpu") for text in texts]
    assert len(graph.cache.values("plans")) == 2
    assert csm.count_matches(graph, texts[1], engine="cpu", semantics="induced") == 0
    assert csm.explain(graph, texts[1], engine="cpu").pattern.columns == ["z", "x", "y", "w"]
    named = csm.count_matches(graph, texts[1], candidates={"z": [0]}, unique=False, engine="cpu")
    assert named == sum(csm.subgraph_match(graph, texts[1], unique=False, engine="cpu")["z"] == 0)
