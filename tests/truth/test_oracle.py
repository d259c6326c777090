"""The engines against the oracle: random graphs and patterns with labels, direction and edge labels, in all semantics.

The oracle itself is first held against counts made by hand and against its own definition applied to every mapping.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import SEMANTICS, NaiveGraph, automorphisms, canonical, embeddings, is_embedding, matches
from strategies import cases, raw_graphs
from tiers import examples

from cusubmatch import Graph, Pattern, PatternError, count_matches, has_match, iter_matches, subgraph_match

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

ENGINES = ["cpu"]
WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]


def rows_of(frame):
    return list(frame.itertuples(index=False, name=None))


def named_part(pattern, image):
    return tuple(vertex for vertex, name in zip(image, pattern.names, strict=True) if name is not None)


# The oracle ----------------------------------------------------------------------------------------------------------

#   a --- b        The "kite": a 4-clique without b-d is the diamond a, b, c, d (a-c in the middle), e hangs on a.
#   | \   |
#   |   \ |        By hand: 6 edges; triangles abc and acd; degrees a 4, b 2, c 3, d 2, e 1.
#   d --- c
KITE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("a", "e")]


@pytest.mark.parametrize(
    ("pattern", "monomorphisms", "induced", "homomorphisms"),
    [
        (Pattern.path(1), 5, 5, 5),
        (Pattern.path(2), 6, 6, 12),
        # C(4, 2) + C(2, 2) + C(3, 2) + C(2, 2) pairs of neighbours; six of them are closed; sum of squared degrees.
        (Pattern.path(3), 11, 5, 34),
        (Pattern.clique(3), 2, 2, 12),
        # abcd is the only 4-cycle and has the chord ac; closed walks of length 4: 2m + 4 * (paths of 3) + 8.
        (Pattern.cycle(4), 1, 0, 12 + 4 * 11 + 8),
        (Pattern.parse("(a)--(b)--(c)--(a), (c)--(d)--(a)"), 1, 1, None),
        (Pattern.star(3), 4 + 1, 1, 4**3 + 2**3 + 3**3 + 2**3 + 1),
    ],
    ids=["vertex", "edge", "path of 3", "triangle", "4-cycle", "diamond", "star of 3"],
)
def test_the_oracle_counts_a_small_graph_as_one_does_by_hand(pattern, monomorphisms, induced, homomorphisms):
    graph = NaiveGraph(KITE, directed=False)
    assert len(matches(graph, pattern, "monomorphism")) == monomorphisms
    assert len(matches(graph, pattern, "induced")) == induced
    if homomorphisms is not None:
        assert len(matches(graph, pattern, "homomorphism")) == homomorphisms


@pytest.mark.parametrize(
    ("text", "monomorphisms", "induced"),
    [
        # 1 and 2 point at each other, 2 points to 3 by X and by Y, 4 points to 3 by X; 5 points to itself.
        ("(a)-->(b)", 4, 2),
        ("(a)--(b)", 3, 3),
        ("(a)-->(b), (b)-->(a)", 1, 1),
        ("(a)-->(b), (a)--(b)", 4, 4),
        ("(a)-[:X]->(b)", 3, 2),
        ("(a)-[:Z]->(b)", 1, 0),
        ("(a)-[:X]-(b)", 3, 3),
        ("(a)-[:X]->(b), (a)-[:Y]->(b)", 1, 1),
        ("(a)-[:X|Y]->(b)", 3, 2),
        ("(a)-->(b)<--(c)", 1, 1),
        ("(a)-->(b)-->(c)", 1, 0),
        ("(a)--(b)-->(c)", 2, 1),
        ("(a)--(b)--(c)", 2, 2),
    ],
)
def test_the_oracle_reads_direction_and_edge_labels_as_one_does_by_hand(text, monomorphisms, induced):
    rows = [(1, 2, "X"), (2, 1, "Z"), (2, 3, "X"), (2, 3, "Y"), (4, 3, "X"), (4, 3, "X"), (5, 5, "X")]
    graph, pattern = NaiveGraph(rows, directed=True), Pattern.parse(text)
    assert len(matches(graph, pattern, "monomorphism")) == monomorphisms
    assert len(matches(graph, pattern, "induced")) == induced


def test_the_oracle_gives_a_vertex_without_a_label_to_unlabelled_pattern_vertices_only():
    graph = NaiveGraph([(1, 2), (2, 3)], directed=False, labels={1: "A", 2: None, 4: "B"})
    assert matches(graph, Pattern.parse("(a:A|B)"), "induced") == [(1,), (4,)]
    assert len(matches(graph, Pattern.parse("(a)"), "induced")) == 4
    assert matches(graph, Pattern.parse("(a:A)--(b)"), "induced") == [(1, 2)]


def test_the_oracle_keeps_distinct_pairs_apart_in_homomorphisms():
    graph, text = NaiveGraph([(1, 2), (3, 2)], directed=False), "(a)--(b)--(c)"
    assert len(matches(graph, Pattern.parse(text), "homomorphism")) == 1 + 4 + 1
    assert len(matches(graph, Pattern.parse(text, distinct=[("a", "c")]), "homomorphism")) == 2


@examples(60)
@given(cases(max_vertices=5))
def test_the_oracle_finds_exactly_the_mappings_that_fit_its_definition(case):
    raw, pattern = case
    graph = raw.naive()
    if len(graph.vertices) ** len(pattern) > 3200:
        return
    for semantics in SEMANTICS:
        every = product(graph.vertices, repeat=len(pattern))
        assert list(embeddings(graph, pattern, semantics)) == [
            i for i in every if is_embedding(graph, pattern, i, semantics)
        ]


@examples(60)
@given(cases(max_vertices=6))
def test_the_orbits_of_the_oracle_are_as_large_as_the_automorphism_group(case):
    raw, pattern = case
    symmetries = automorphisms(pattern)
    assert pattern.automorphism_count() == len(symmetries)
    for semantics in ("monomorphism", "induced"):
        orbits = Counter(canonical(image, symmetries) for image in embeddings(raw.naive(), pattern, semantics))
        assert set(orbits.values()) <= {len(symmetries)}


# The engines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("semantics", "unique"), [*WAYS, *((s, None) for s in SEMANTICS)])
@examples(60)
@given(case=cases())
def test_counts_are_the_oracles(engine, semantics, unique, case):
    raw, pattern = case
    truth = len(matches(raw.naive(), pattern, semantics, unique))
    graph = raw.graph()
    assert count_matches(graph, pattern, semantics=semantics, unique=unique, engine=engine) == truth
    assert has_match(graph, pattern, semantics=semantics, engine=engine) is (truth > 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(40)
@given(case=cases(anonymous=False), limit=st.integers(0, 12))
def test_rows_are_the_oracles_matches_and_a_limit_takes_distinct_ones_of_them(engine, semantics, unique, case, limit):
    assert_rows_are_true(engine, semantics, unique, case, limit)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(15)
@given(case=cases(anonymous=False, hubs=True), limit=st.integers(0, 12))
def test_rows_around_hubs_are_the_oracles_matches(engine, semantics, unique, case, limit):
    assert_rows_are_true(engine, semantics, unique, case, limit)


def assert_rows_are_true(engine, semantics, unique, case, limit):
    raw, pattern = case
    graph, options = raw.graph(), {"semantics": semantics, "unique": unique, "engine": engine}
    symmetries = automorphisms(pattern) if unique else [tuple(range(len(pattern)))]
    truth = Counter(canonical(image, symmetries) for image in matches(raw.naive(), pattern, semantics, unique))

    assert count_matches(graph, pattern, **options) == truth.total()
    found = subgraph_match(graph, pattern, **options)
    assert list(found.columns) == pattern.columns == list(pattern.names)
    assert all(is_embedding(raw.naive(), pattern, row, semantics) for row in rows_of(found))
    assert Counter(canonical(row, symmetries) for row in rows_of(found)) == truth

    some = subgraph_match(graph, pattern, limit=limit, **options)
    taken = Counter(canonical(row, symmetries) for row in rows_of(some))
    assert list(some.columns) == pattern.columns
    assert taken.total() == min(limit, truth.total())
    assert taken <= truth


@pytest.mark.one_each
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@examples(10)
@given(case=cases(max_vertices=8), limit=st.one_of(st.none(), st.integers(0, 12)))
def test_batches_of_bounded_size_hold_the_same_rows(engine, semantics, unique, batch_rows, case, limit):
    raw, pattern = case
    assume(pattern.columns)
    graph, options = raw.graph(), {"semantics": semantics, "unique": unique, "engine": engine}
    batches = list(iter_matches(graph, pattern, batch_rows=batch_rows, limit=limit, **options))
    assert all(list(batch.columns) == pattern.columns for batch in batches)
    assert all(0 < len(batch) <= batch_rows for batch in batches)
    whole = subgraph_match(graph, pattern, **options)
    assert sum(map(len, batches)) == (len(whole) if limit is None else min(limit, len(whole)))
    if None not in pattern.names:
        symmetries = automorphisms(pattern) if unique else [tuple(range(len(pattern)))]
        together = Counter(canonical(row, symmetries) for batch in batches for row in rows_of(batch))
        all_of_them = Counter(canonical(row, symmetries) for row in rows_of(whole))
        assert together <= all_of_them if limit is not None else together == all_of_them


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(25)
@given(case=cases(anonymous=True), limit=st.integers(0, 12))
def test_anonymous_vertices_are_matched_but_have_no_column(engine, semantics, unique, case, limit):
    raw, pattern = case
    assert None in pattern.names
    graph, options = raw.graph(), {"semantics": semantics, "unique": unique, "engine": engine}
    found = subgraph_match(graph, pattern, **options)
    some = subgraph_match(graph, pattern, limit=limit, **options)
    assert list(found.columns) == list(some.columns) == pattern.columns

    every = list(embeddings(raw.naive(), pattern, semantics))
    count = len(every) // len(automorphisms(pattern)) if unique else len(every)
    assert len(found) == count
    assert len(some) == min(limit, count)
    # Which member of an orbit comes out is open, so unique rows are only known to be among the parts of all embeddings.
    named = Counter(named_part(pattern, image) for image in every)
    if unique:
        assert Counter(rows_of(found)) <= named
    else:
        assert Counter(rows_of(found)) == named
    assert Counter(rows_of(some)) <= named


@pytest.mark.parametrize("text", ["()", "()--()", "()--()--()"])
def test_a_pattern_without_any_name_can_be_counted_but_has_no_rows(text):
    graph = Graph.from_edgelist(pd.DataFrame(KITE, columns=["src", "dst"]))
    assert count_matches(graph, text) == len(
        matches(NaiveGraph(KITE, directed=False), Pattern.parse(text), "monomorphism")
    )
    assert has_match(graph, text)
    with pytest.raises(PatternError, match="anonymous"):
        subgraph_match(graph, text)
    with pytest.raises(PatternError, match="anonymous"):
        iter_matches(graph, text)


# What is not legal ---------------------------------------------------------------------------------------------------


@examples(10)
@given(raw_graphs(directed=False))
def test_a_directed_pattern_edge_on_an_undirected_graph_is_an_error(raw):
    with pytest.raises(ValueError, match="directed"):
        count_matches(raw.graph(), "(a)-->(b), (b)--(c)")


@examples(10)
@given(raw_graphs(labelled=False), st.sampled_from(["(a:A)", "(a)--(b:A|B)"]))
def test_a_vertex_label_on_a_graph_that_was_given_none_is_an_error(raw, text):
    with pytest.raises(ValueError, match="label"):
        count_matches(raw.graph(), text)


@examples(10)
@given(raw_graphs(edge_labelled=False))
def test_an_edge_label_on_a_graph_that_was_given_none_is_an_error(raw):
    with pytest.raises(ValueError, match="label"):
        subgraph_match(raw.graph(), "(a)-[:X]-(b)")


@examples(10)
@given(raw_graphs())
def test_a_homomorphism_has_no_unique_form(raw):
    with pytest.raises(ValueError, match="unique"):
        count_matches(raw.graph(), "(a)--(b)", semantics="homomorphism", unique=True)
