"""Induced counts from those of supergraphs: equal to walking, to the oracle and to the census."""

from __future__ import annotations

import dataclasses
import math
import time
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from naive import matches as naive_matches
from strategies import cases
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, TimeLimitExceeded
from cusubmatch.api.options import checked_query
from cusubmatch.execution.planning import plan_of as plan_of_copies
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies import race
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.execution.strategies.supergraph_count import Supergraphs
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.generators import rmat
from cusubmatch.plan.supergraphs import plan_supergraphs, supergraphs

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

SHAPES = {
    "3-path": "(a)--(b)--(c)",
    "4-path": "(a)--(b)--(c)--(d)",
    "claw": "(a)--(b), (a)--(c), (a)--(d)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "5-path": "(a)--(b)--(c)--(d)--(e)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "K2,3": "(a)--(x)--(b)--(y)--(a)--(z)--(b)",
    "bull": "(a)--(b)--(c)--(a)--(d), (b)--(e)",
    "prism": "(a)--(b)--(c)--(a)--(x)--(y)--(z)--(x), (b)--(y), (c)--(z)",
}


def induced_run(graph, pattern, unique=True, **options):
    """A run that counts supergraphs, whatever it costs; None where there are too many."""
    pattern = Pattern.parse(pattern) if isinstance(pattern, str) else pattern
    query = checked_query(graph, pattern, QueryOptions(semantics="induced", unique=unique))

    def plan_of(supergraph):
        return checked_query(graph, supergraph, QueryOptions(unique=True)).plan

    plan = dataclasses.replace(query.plan, supergraphs=plan_supergraphs(pattern, math.inf, 0.1, plan_of))
    if plan.supergraphs is None:
        return None

    def strategy(supergraph):
        return strategy_of(query.engine, *plan_of_copies(query.placed, query.engine, supergraph, "monomorphism", True))

    options = {"deadline": None, "progress": None} | options
    return Supergraphs(plan, plan.supergraphs, strategy).run(**options)


def walked(graph, pattern, unique=True):
    return checked_query(graph, pattern, QueryOptions(semantics="induced", unique=unique)).run().count()


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_counted_as_walking_counts_them(skewed, name):
    pattern = Pattern.parse(SHAPES[name])
    expected = walked(skewed, pattern)
    assert induced_run(skewed, pattern).count() == expected
    assert induced_run(skewed, pattern, unique=False).count() == expected * pattern.automorphism_count()


@pytest.mark.parametrize(
    "text",
    [
        "(a:A)--(b:B)--(c)--(d:A|B)",
        "(a:A)--(b:A)--(c:B)--(d:B)--(a)",
        "(a:A)-->(b)-->(c:B)",
        "(a)-->(b)--(c)-->(d)",
        "(a)-[:X]->(b)-[:Y]->(c)-[:X]->(a)",
        "(a)-[:X]-(b)-[:X]-(c), (b)-->(d:B)",
        "(a)-->(b)-->(c)-->(a)--(d)",
    ],
)
def test_labels_and_directions_are_kept(labelled, text):
    expected = walked(labelled, Pattern.parse(text))
    assert expected > 0
    assert induced_run(labelled, text).count() == expected


@examples(150)
@given(cases(max_vertices=9))
def test_counts_are_those_of_the_oracle(case):
    raw, pattern = case
    graph, naive = raw.graph(), raw.naive()
    for unique in (True, False):
        run = induced_run(graph, pattern, unique)
        if run is not None:
            assert run.count() == len(naive_matches(naive, pattern, "induced", unique))


@pytest.mark.parametrize(
    ("name", "size"), [("facebook_combined", 4), ("karate", 5), *thorough(("ca-HepPh", 4), ("facebook_combined", 5))]
)
def test_counts_of_data_graphs_are_those_of_the_census(data_graph, name, size):
    graph = data_graph(name)
    census = csm.motif_census(graph, size, semantics="induced", engine="auto")
    chosen = {4: ["4-path", "claw", "4-cycle", "diamond"], 5: ["5-clique less an edge", "4-wheel"]}[size]
    for row in census[census["pattern"].isin(chosen)].itertuples():
        pattern = Pattern([tuple(edge.split("-")) for edge in row.edges.split(",")])
        assert csm.count_matches(graph, pattern, semantics="induced", engine="auto") == row.count, row.pattern


@pytest.mark.parametrize("name", ["4-path", "claw", "4-cycle", "house", "bull", "K2,3"])
def test_supergraphs_are_all_of_them_each_once(name):
    pattern = Pattern.parse(SHAPES[name])
    own = nx.Graph([edge[:2] for edge in pattern.edges])
    missing = list(nx.complement(own).edges)
    found: list = []
    for k in range(len(missing) + 1):
        for added in combinations(missing, k):
            larger = nx.Graph([*own.edges, *added])
            if not any(nx.is_isomorphic(larger, other) for other in found):
                found.append(larger)
    listed = supergraphs(pattern)
    assert len(listed) == len(found)
    for larger, factor in listed:
        whole = {frozenset(edge[:2]) for edge in larger.edges}
        images = {frozenset(frozenset((p[a], p[b])) for a, b in own.edges) for p in permutations(range(len(own)))}
        copies = sum(image <= whole for image in images)
        assert factor == (-1) ** (len(whole) - own.number_of_edges()) * copies


def test_the_form_tells_graphs_apart_exactly_up_to_names():
    seen: dict = {}
    for number, graph in enumerate(g for g in nx.graph_atlas_g() if 2 <= len(g) <= 6 and nx.is_connected(g)):
        random = np.random.default_rng(number)
        for _ in range(3):
            names = random.permutation(len(graph))
            edges = [(int(names[a]), int(names[b])) for a, b in graph.edges]
            assert seen.setdefault(Pattern(edges).automorphisms.form(), number) == number
    assert len(seen) == 1 + 2 + 6 + 21 + 112


def test_patterns_with_too_many_supergraphs_are_walked(skewed):
    assert induced_run(skewed, Pattern.path(7)) is None
    assert induced_run(skewed, Pattern.clique(4)) is None  # there is none


def test_walking_that_takes_too_long_is_given_up(skewed, monkeypatch):
    query = checked_query(skewed, SHAPES["house"], QueryOptions(semantics="induced"))
    shares = []
    monkeypatch.setattr(race, "GRACE_S", -1e9)
    run = induced_run(skewed, SHAPES["house"])
    strategy = race.Race(Walk(*query[1:4]), run.strategy)
    assert strategy.run(None, lambda done, matches: shares.append(done)).count() == walked(skewed, SHAPES["house"])
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_progress_rises_to_the_end(skewed):
    shares = []
    run = induced_run(skewed, SHAPES["house"], progress=lambda done, matches: shares.append((done, matches)))
    count = run.count()
    assert shares == sorted(shares)
    assert shares[-1] == (1.0, count)


@pytest.mark.timed
def test_a_time_limit_ends_the_sum_soon():
    graph = Graph.from_edgelist(rmat(14, 16, seed=1))
    assert csm.explain(graph, SHAPES["4-path"], semantics="induced", engine="auto").supergraphs.first
    begin = time.monotonic()
    with pytest.raises(TimeLimitExceeded) as late:
        csm.count_matches(graph, SHAPES["K2,3"], semantics="induced", engine="auto", time_limit=0.2)
    assert time.monotonic() - begin < 3  # on a busy machine
    assert late.value.partial is None


@pytest.mark.parametrize("unique", [True, False])
def test_the_text_of_a_plan_names_every_supergraph(unique):
    graph = Graph.from_edgelist(rmat(12, 16, seed=1))
    plan = csm.explain(graph, SHAPES["4-path"], semantics="induced", unique=unique, engine="auto")
    text = str(plan)
    assert "count from counts of supergraphs" in text
    for term in ("+1 x copies of the pattern itself", "-2 x copies with (", "-12 x copies with (a)--(c), (a)--(d), "):
        assert term in text
    assert "by walking induced matches" in text
    assert ("automorphisms, 2" in text) == (not unique)
