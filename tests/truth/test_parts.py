"""OPTIONAL, EXISTS and paths of several lengths against the oracle: counts and rows, by each way to count them."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import automorphisms, matches, named_edges
from naive_groups import grouped_rows
from test_rows import graph_of, questions
from tiers import examples

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.execution.compound import compound_count, compound_groups

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", False), ("homomorphism", False)]
EXISTS = [
    "(a)-->(b) WHERE NOT EXISTS { (b)-->(z) }",
    "(a)--(b) WHERE EXISTS { (a)--(z:B) WHERE z.risk > 0 }",
    "(a)--(b) WHERE EXISTS { (a)--(x)--(y) } AND EXISTS { (b)--(u)--(v) }",
    "(a)--(b) WHERE NOT EXISTS { (a)--(x:A) } AND EXISTS { (b)--(x) }",
    "(a)-->(b)-->(c) WHERE NOT EXISTS { (a)-[p]->(c) WHERE p.amount > 0 }",
    "(a)-->(b)<--(c) WHERE EXISTS { (a)-->(z)<--(c) }",
    "(a)--(b)--(c) WHERE NOT EXISTS { (a)--(z)--(c) } AND NOT EXISTS { (b)--(z:A) }",
    "(a)-->(b) WHERE EXISTS { (a)-->{1,2}(z:A) }",
    "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time AND NOT EXISTS { (c)-[r]->(z)-[s]->(y) WHERE r.time <= s.time }",
    "(a) WHERE NOT EXISTS { (a)--(z) }",
    "(a)--(b) WHERE EXISTS { (a)--(z)--(b) WHERE NOT EXISTS { (z)--(y:A) } }",
]
OPTIONAL = [
    "(a)-->(b) OPTIONAL (b)-->(z)",
    "(a)-->(b) OPTIONAL (a)-->(z)",
    "(a)-[p]->(b) OPTIONAL (b)-[q]->(z)-[r]->(y) WHERE q.time < r.time",
    "(a:A)-->(b:A) OPTIONAL (b)-->(z:B) OPTIONAL (a)<--(y:B)",
    "(a)-[p]->(b) OPTIONAL (a)-[q]->(z:B)-->() WHERE z.risk > 0 OPTIONAL (b)-->(a)",
    "(a)-->(b)-->(c) OPTIONAL (c)-->(z)-->(a)",
    "(a) OPTIONAL (a)-[p]->(z)",
    "(a)-->(b) WHERE NOT EXISTS { (b)-->(y) } OPTIONAL (a)<--(z)",
    "(a)-->(b) OPTIONAL (b)-->{1,2}(z)",
    "(a)-->(b) OPTIONAL (b)-->(z) WHERE NOT EXISTS { (z)-->(y) }",
    "(a)-->(b)-->(c) WHERE NOT EXISTS { (a)-->(c) } OPTIONAL (c)-->(z)",
    "(a)--(b) OPTIONAL (a)--(x) OPTIONAL (b)--(y)",
]
PATHS = [
    "(a)-->{1,2}(b)",
    "(a)--{1,3}(b)",
    "(a:A)-[:X*1..2]->(b)-[p]->(c)",
    "(a)--{1,2}(b)--{1,2}(c)",
    "(a)-->{1,2}(b), (a)-->(b)",
    "(a)-->{2}(b) WHERE NOT (a)-->(b) AND NOT EXISTS { (b)-->(z) }",
    "(a)-->{1,2}(b) OPTIONAL (b)-->(z)",
    "(a)--{1,2}(b)--(c)",
    "(a:A)--{1,2}(b:B)--{1,2}(c:A)",
    "(a)--{1,2}(b) OPTIONAL (a)--(x) OPTIONAL (b)--(y)",
]


def asked_of(question, text):
    """The oracle's graph, and the pattern in the directions that it has."""
    naive = question[0]
    return naive, Pattern.parse(text if naive.directed else text.replace("->", "-").replace("<-", "-"))


def rows_of(frame):
    """The rows as tuples, with None for nulls."""
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return sorted((tuple(row) for row in rows), key=repr)


def of_columns(pattern, row, edges):
    """A row of the oracle with the columns of a result: vertices, those of parts, rows, those of parts."""
    n, bound = len(pattern), len(named_edges(pattern)) if edges == "each" else 0
    vertices = [row[i] for i in range(n) if pattern.names[i] is not None]
    rows, at = list(row[n : n + bound]), n + bound
    for part in pattern.optional:
        new = sum(name is not None and name not in pattern.names for name in part.names)
        more = len(named_edges(part)) if edges == "each" else 0
        vertices += row[at : at + new]
        rows += row[at + new : at + new + more]
        at += new + more
    return (*vertices, *rows)


def ordered(frame):
    """The rows of a dataframe in its order, with infinity for nulls."""
    return [tuple(float("inf") if pd.isna(cell) else cell for cell in row) for row in frame.to_numpy().tolist()]


def ordered_truth(naive, pattern, semantics, unique, edges):
    """The rows of the oracle in order: those of the least match of each orbit."""
    n = len(pattern)
    bound = n + (len(named_edges(pattern)) if edges == "each" else 0)
    symmetries = automorphisms(pattern, edges) if unique else [tuple(range(bound))]
    named = [i for i in range(bound) if i >= n or pattern.names[i] is not None]
    chosen = {}  # of each match, the rows of its parts
    for row in matches(naive, pattern, semantics, False, edges):
        images = [tuple(row[i] for i in s) for s in symmetries]
        if tuple(row[i] for i in named) == min(tuple(image[i] for i in named) for image in images):
            chosen.setdefault(min(images), {}).setdefault(row[:bound], []).append(row)
    rows = [of_columns(pattern, row, edges) for found in chosen.values() for row in next(iter(found.values()))]
    return sorted(tuple(float("inf") if cell is None else cell for cell in row) for row in rows)


def check(naive, pattern, semantics, unique, edges):
    graph = graph_of(naive)
    call = {"semantics": semantics, "unique": unique, "edges": edges, "engine": "cpu"}
    count, frame = csm.count_matches(graph, pattern, **call), csm.subgraph_match(graph, pattern, sort=True, **call)
    assert len(frame) == count
    assert csm.has_match(graph, pattern, semantics=semantics, edges=edges) == (count > 0)
    truth = matches(naive, pattern, semantics, False, edges)
    in_order = ordered(frame)
    assert in_order == sorted(in_order)
    if not pattern.quantifiers:
        assert in_order == ordered_truth(naive, pattern, semantics, unique, edges)
    every = sorted((of_columns(pattern, row, edges) for row in truth), key=repr)
    if not unique:
        assert rows_of(frame) == every
    elif pattern.optional:
        assert count * len(automorphisms(pattern, edges)) == len(every)
    else:
        assert count == len(matches(naive, pattern, semantics, True, edges))
        assert set(rows_of(frame)) <= set(every)


def texts(some, edges):
    """Those whose edges have names, where rows of named edges are asked for."""
    return st.sampled_from([text for text in some if edges == "any" or has_names(Pattern.parse(text))])


def has_names(pattern):
    return any(edge.name is not None for one in (pattern, *pattern.optional) for edge in one.edges)


@pytest.mark.one_each
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(100)
@given(question=questions(), data=st.data())
def test_what_exists_is_the_oracles(question, data, semantics, unique, edges):
    naive, pattern = asked_of(question, data.draw(texts(EXISTS, edges)))
    check(naive, pattern, semantics, unique, edges)


@pytest.mark.one_each
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("way", ["products", "rows"])
@examples(100)
@given(question=questions(), data=st.data())
def test_what_is_optional_is_the_oracles(question, data, way, semantics, unique, edges):
    naive, pattern = asked_of(question, data.draw(texts(OPTIONAL, edges)))
    with pytest.MonkeyPatch.context() as patch:
        if way == "rows":
            patch.setattr(compound_count.JoinedCount, "_independent", lambda *_: False)
        check(naive, pattern, semantics, unique, edges)


@pytest.mark.one_each
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(100)
@given(question=questions(), text=st.sampled_from(PATHS))
def test_paths_of_several_lengths_are_the_oracles(question, text, semantics):
    naive, pattern = asked_of(question, text)
    check(naive, pattern, semantics, False, "any")
    if semantics == "monomorphism" and not pattern.optional:
        once = sum(len(matches(naive, one, semantics, True)) for one in pattern.expansions(unique=True))
        assert csm.count_matches(graph_of(naive), pattern) == once
        assert len(csm.subgraph_match(graph_of(naive), pattern)) == once


def check_groups(naive, pattern, by, semantics, unique, edges):
    """Counts by some vertices, and by each one, are the oracle's."""
    call = {"semantics": semantics, "edges": edges}
    found = csm.count_by(graph_of(naive), pattern, by, unique=unique, **call)
    truth = grouped_rows(naive, pattern, by, semantics, unique, edges)
    places = [pattern.names.index(name) for name in by]
    whole = automorphisms(pattern, edges) if unique else []
    exchanges = [[places.index(s[i]) for i in places] for s in whole if {s[i] for i in places} == set(places)]
    keys = [tuple(row) for row in found[by].to_numpy().tolist()]
    keys = [min(tuple(row[i] for i in order) for order in exchanges or [range(len(by))]) for row in keys]
    assert dict(zip(keys, found["count"].tolist(), strict=True)) == truth
    assert len(keys) == len(truth)
    if unique and None not in pattern.names:
        counts = csm.vertex_counts(graph_of(naive), pattern, **call).set_index("vertex")
        for column in counts.columns:
            once = grouped_rows(naive, pattern, [column.split("|")[0]], semantics, unique, edges)
            assert {(v,): n for v, n in counts[column].items() if n} == once


def check_sample(graph, pattern, **call):
    """A sample of as many rows as there are has all of them, and one of fewer some; a seed gives the same again."""
    rows = rows_of(csm.subgraph_match(graph, pattern, **call))
    sample, count = csm.sample_matches(graph, pattern, len(rows), seed=1, **call)
    assert (rows_of(sample), count) == (rows, len(rows))
    few, _ = csm.sample_matches(graph, pattern, 2, seed=5, **call)
    assert len(few) == min(2, count)
    assert not Counter(rows_of(few)) - Counter(rows)
    assert few.equals(csm.sample_matches(graph, pattern, 2, seed=5, **call)[0])


@pytest.mark.one_each
@pytest.mark.parametrize("edges", ["any", "each"])
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("way", ["products", "rows"])
@examples(60)
@given(question=questions(), data=st.data())
def test_rows_by_some_vertices_and_samples_are_those_of_the_oracle(question, data, way, semantics, unique, edges):
    some = [*EXISTS, *OPTIONAL, *(PATHS if edges == "any" and semantics != "induced" else [])]
    naive, pattern = asked_of(question, data.draw(texts(some, edges)))
    by = data.draw(st.permutations(pattern.names))[: data.draw(st.integers(1, 2))]
    with pytest.MonkeyPatch.context() as patch:
        if way == "rows":
            patch.setattr(compound_groups, "is_independent", lambda *_: False)
        check_groups(naive, pattern, by, semantics, unique, edges)
    check_sample(graph_of(naive), pattern, semantics=semantics, unique=unique, edges=edges)


@examples(60)
@given(question=questions(), ids=st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True), data=st.data())
def test_candidates_and_touching_choose_among_matches_with_parts(question, ids, data):
    naive, pattern = asked_of(question, data.draw(st.sampled_from([*EXISTS, *OPTIONAL])))
    graph, n, unique = graph_of(naive), len(pattern), data.draw(st.booleans())
    assume(not unique or not pattern.optional or len(automorphisms(pattern)) == 1)
    truth = matches(naive, pattern, "monomorphism", unique)
    with pytest.warns() if not set(ids) <= set(naive.vertices) else pytest.MonkeyPatch.context():
        touching = csm.count_matches(graph, pattern, touching=ids, unique=unique)
        rows = csm.subgraph_match(graph, pattern, touching=ids, unique=unique)
        among = csm.count_matches(graph, pattern, candidates={"a": ids}, unique=False)
    assert touching == len(rows) == sum(not set(ids).isdisjoint(row[:n]) for row in truth)
    assert among == sum(row[0] in ids for row in matches(naive, pattern, "monomorphism", False))
    assert isinstance(rows, pd.DataFrame)
