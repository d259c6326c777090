"""Counting by decomposition: equal to walking and to the oracle, exact beyond 64 bits, and known counts."""

from __future__ import annotations

import math
import threading
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from naive import embeddings
from naive import matches as naive_matches
from strategies import cases
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, TimeLimitExceeded
from cusubmatch.api.options import checked_query
from cusubmatch.engines.cpu.tables.reverse_arcs import reverse_arcs
from cusubmatch.engines.cpu.tables.table_kernels import TableKernels
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies import race
from cusubmatch.execution.strategies import table_count as counting
from cusubmatch.execution.strategies import table_evaluation as tables
from cusubmatch.execution.strategies.table_count import Tables
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.execution.table_sizes import table_sizes
from cusubmatch.execution.walk_planning import walk_plan
from cusubmatch.generators import kronecker, rmat
from cusubmatch.graph.support_graph import support_graph_of
from cusubmatch.plan import constraints_of
from cusubmatch.plan.decomposition.decompose import Decomposition
from cusubmatch.plan.decomposition.expression import Link, Product, RowSums
from cusubmatch.plan.decomposition.table_plan import plan_tables

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

SHAPES = {
    "3-path": "(a)--(b)--(c)",
    "4-path": "(a)--(b)--(c)--(d)",
    "5-path": "(a)--(b)--(c)--(d)--(e)",
    "claw": "(a)--(b), (a)--(c), (a)--(d)",
    "triangle": "(a)--(b)--(c)--(a)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "bull": "(a)--(b)--(c)--(a)--(d), (b)--(e)",
    "banner": "(a)--(b)--(c)--(d)--(a)--(e)",
    "K2,3": "(a)--(x)--(b)--(y)--(a)--(z)--(b)",
    "gem": "(a)--(b)--(c)--(d), (e)--(a), (e)--(b), (e)--(c), (e)--(d)",
    "4-clique": "(a)--(b)--(c)--(a)--(d)--(b), (c)--(d)",
    "4-clique with a tail": "(a)--(b)--(c)--(a)--(d)--(b), (c)--(d)--(e)",
    "5-clique less a path": "(a)--(b)--(c)--(a)--(d)--(b), (c)--(d), (a)--(e)--(b)",
    "5-cycle with a tail": "(a)--(b)--(c)--(d)--(e)--(a)--(f)",
    "house with a roof": "(a)--(b)--(c)--(d)--(a)--(e)--(b)--(f)--(a)",
    "4-wheel less a spoke": "(a)--(x)--(b)--(y)--(a), (x)--(z)--(b), (y)--(z)",
    "two bridges": "(a)--(x)--(b)--(w)--(a), (x)--(w), (a)--(y)--(b)--(z)--(a), (y)--(z)",
    "two paths and a bridge": "(a)--(x)--(b)--(w)--(a)--(y)--(b)--(z)--(a), (y)--(z)",
}


def table_run(graph, pattern, semantics="monomorphism", unique=None, roots=(-1,), engine="auto", **options):
    """A run by tables, whatever it costs; None where there is no decomposition."""
    pattern = Pattern.parse(pattern) if isinstance(pattern, str) else pattern
    query = checked_query(graph, pattern, QueryOptions(semantics=semantics, unique=unique, engine=engine))
    constraints = constraints_of(pattern, query.placed, semantics)
    sizes = table_sizes(query.placed, query.engine)
    candidates = query.prepared.candidates
    cardinalities, filters = candidates.cardinalities, candidates.filters

    def walk_cost(term):
        return walk_plan(query.placed, query.engine, pattern, term)[0].cost

    plan = plan_tables(constraints, filters, cardinalities, sizes, math.inf, walk_cost, query.engine.table_costs, roots)
    if plan is None:
        return None
    return Tables(query.engine, query.plan, query.prepared, plan).run(
        **({"deadline": None, "progress": None} | options)
    )


def walked(graph, pattern, semantics="monomorphism", unique=None):
    return checked_query(graph, pattern, QueryOptions(semantics=semantics, unique=unique)).run().count()


QUICK_SHAPES = ("claw", "triangle", "paw", "4-cycle", "diamond", "house", "5-cycle", "gem", "4-clique", "two bridges")


@pytest.mark.parametrize(
    "name", [name if name in QUICK_SHAPES else pytest.param(name, marks=pytest.mark.thorough) for name in SHAPES]
)
def test_shapes_are_counted_as_walking_counts_them(skewed, name):
    pattern = Pattern.parse(SHAPES[name])
    assert table_run(skewed, pattern).count() == walked(skewed, pattern)
    assert table_run(skewed, pattern, unique=False).count() == walked(skewed, pattern, unique=False)
    assert table_run(skewed, pattern, "homomorphism").count() == walked(skewed, pattern, "homomorphism")


@pytest.mark.one_each
@pytest.mark.parametrize("name", SHAPES)
def test_primes_give_what_words_give(skewed, name, monkeypatch):
    expected = table_run(skewed, SHAPES[name]).count()
    monkeypatch.setattr(counting, "moduli", lambda bound: [2**31 - 1, 2**31 - 19, 2**31 - 61])
    assert table_run(skewed, SHAPES[name]).count() == expected


@pytest.mark.one_each
@pytest.mark.parametrize("labels", [{}, {"a": "A"}, {"a": "A", "b": "B", "c": ["A", "B"]}, {"b": "B", "d": "B"}])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    "name", ["4-cycle", "5-cycle", "house", "K2,3", "gem", "4-clique with a tail", "4-wheel less a spoke"]
)
def test_weighted_kernels_count_as_walking_does(labelled, name, directed, labels):
    plain = Pattern.parse(SHAPES[name])
    names = [[plain.names[end] for end in edge[:2]] for edge in plain.edges]
    labels = {vertex: some for vertex, some in labels.items() if vertex in plain.names}
    kinds = ["X", None, ["X", "Y"], "Y", None, "X", "Y"][: len(names)]
    pattern = Pattern(names, labels=labels, directed=directed, edge_labels=kinds if labels else None)
    run = table_run(labelled, pattern)
    if run is None:
        assert name == "K2,3"  # three kinds of paths between the two
    else:
        assert run.count() == walked(labelled, pattern)


@examples(120)
@given(cases(max_vertices=9))
def test_counts_are_those_of_the_oracle(case):
    raw, pattern = case
    graph, naive = raw.graph(), raw.naive()
    for semantics, unique in (("monomorphism", True), ("monomorphism", False), ("homomorphism", False)):
        run = table_run(graph, pattern, semantics, unique)
        if run is not None:
            assert run.count() == len(naive_matches(naive, pattern, semantics, unique))


@examples(60)
@given(cases(max_vertices=8, anonymous=False))
def test_counts_by_vertex_are_those_of_the_oracle(case):
    raw, pattern = case
    graph, found = raw.graph(), list(embeddings(raw.naive(), pattern, "monomorphism"))
    run = table_run(graph, pattern, roots=range(len(pattern)))
    if run is None:
        return
    ids = graph.to_ids(np.arange(graph.n_vertices, dtype=np.int32)).tolist()
    for vertex, counts in enumerate(run._evaluated(tables.Evaluation.vectors)):
        images = [image[vertex] for image in found]
        assert counts.tolist() == [images.count(name) for name in ids]


@pytest.mark.parametrize("leaves", [1, 6, 17])
def test_stars_on_hubs_are_exact_beyond_words(leaves):
    hub = 40_000
    edges = pd.DataFrame({"src": np.zeros(hub, int), "dst": np.arange(1, hub + 1)})
    found = csm.count_matches(edges, Pattern.star(leaves), engine="auto")
    assert found == (hub if leaves == 1 else math.comb(hub, leaves))
    run = table_run(Graph.from_edgelist(edges), Pattern.star(leaves), unique=False)
    assert run.count() == (2 * hub if leaves == 1 else math.perm(hub, leaves))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("4-cycle", 220_899_254_580),
        *thorough(("5-cycle", 2_493_946_224_000)),
        *thorough(("diamond", 8_126_762_580), ("paw", 899_659_801_441), ("house", 5_885_082_691_200)),
    ],
)
def test_counts_of_a_kronecker_graph_are_the_known_ones(name, count, kronecker_graph):
    assert csm.count_matches(kronecker_graph, SHAPES[name], engine="auto") == count


@pytest.fixture(scope="module")
def kronecker_graph():
    return Graph.from_edgelist(kronecker((25, 81, 256), "B1k"))


@pytest.mark.parametrize(
    ("graph", "name", "count"),
    [
        ("facebook_combined", "5-cycle", 15_676_700_606),
        ("facebook_combined", "house", 62_775_353_409),
        ("soc-Epinions1", "4-cycle", 166_635_817),
        ("soc-Epinions1", "house", 32_978_666_318),
        *thorough(
            ("soc-Epinions1", "5-cycle", 21_393_207_699),
            ("cnr-2000", "4-cycle", 81_330_781_033),
            ("soc-Epinions1", "4-wheel less a spoke", 4_729_789_840),
            ("cnr-2000", "5-cycle", 3_346_459_553_653),
            ("cnr-2000", "house", 10_044_489_064_349),
        ),
    ],
)
def test_counts_of_data_graphs_are_the_known_ones(data_graph, graph, name, count):
    assert csm.count_matches(data_graph(graph), SHAPES[name], engine="auto") == count


def test_threads_share_the_rows(monkeypatch):
    graph = Graph.from_edgelist(rmat(11, 12, seed=2))
    patterns = [SHAPES[name] for name in ("4-cycle", "5-cycle", "house", "K2,3", "gem", "4-wheel less a spoke")]
    expected = [table_run(graph, pattern).count() for pattern in patterns]
    monkeypatch.setattr("cusubmatch.engines.cpu.tables.schedule.threads", lambda: 3)
    monkeypatch.setattr("cusubmatch.engines.cpu.tables.schedule.ARCS_OF_ONE_THREAD", 0)
    assert [table_run(graph, pattern).count() for pattern in patterns] == expected
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch")]


def test_walking_that_takes_too_long_is_given_up(skewed, monkeypatch):
    query = checked_query(skewed, SHAPES["house"], QueryOptions())
    run = table_run(skewed, SHAPES["house"])
    shares = []
    monkeypatch.setattr(race, "GRACE_S", -1e9)
    strategy = race.Race(Walk(*query[1:4]), run.strategy)
    count = strategy.run(None, lambda done, matches: shares.append(done))
    assert count.count() == walked(skewed, SHAPES["house"])
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.timed
def test_a_time_limit_ends_the_kernels_soon():
    graph = Graph.from_edgelist(rmat(17, 16, seed=1))
    run = table_run(graph, SHAPES["5-cycle"], deadline=0.0)
    with pytest.raises(DeadlinePassed):
        run.count()
    csm.count_matches(graph, "(a)--(b)--(c)--(a)--(d)", engine="auto")  # what is measured and compiled once
    begin = time.monotonic()
    with pytest.raises(TimeLimitExceeded) as late:
        csm.count_matches(graph, SHAPES["5-cycle"], engine="auto", time_limit=0.5)
    assert time.monotonic() - begin < 2  # on a busy machine
    assert late.value.partial is None


def test_progress_rises_to_the_end(skewed):
    shares = []
    run = table_run(skewed, SHAPES["house"], progress=lambda done, matches: shares.append((done, matches)))
    count = run.count()
    assert shares == sorted(shares)
    assert shares[-1] == (1.0, count)


@pytest.mark.parametrize("name", ["house", "4-cycle", "5-cycle", "K2,3", "5-path"])
def test_the_text_of_a_plan_names_every_table_and_term(name):
    graph = Graph.from_edgelist(rmat(12, 16, seed=1))
    plan = csm.explain(graph, SHAPES[name], engine="auto")
    text = str(plan)
    assert "count by decomposition" in text
    for number, _ in enumerate(plan.tables.used(), 1):
        assert f"T{number}(x" in text
    for many in plan.tables.decompositions[0].terms.values():
        assert f"{many:+,} x sum over" in text
    assert "by walking" in text


def test_the_bound_loses_nothing_behind_large_rows():
    middle, hub, at_middle, at_hub = 6000, 400, 4, 8
    edges = [(0, 1 + i) for i in range(middle)] + [(middle + 1, middle + 2 + i) for i in range(hub)]
    ids = range(middle + hub + 2)
    vertices = pd.DataFrame({"v": ids, "label": ["A" if 1 <= i <= middle + 1 else "B" for i in ids]})
    graph = Graph.from_edgelist(
        pd.DataFrame(edges, columns=["src", "dst"]), vertices=vertices, vertex="v", vertex_label="label"
    )
    leaves = [f"(x)--(p{i})" for i in range(at_hub)] + [f"(z)--(q{i})" for i in range(at_middle)]
    run = table_run(graph, ", ".join(["(x:A)--(z)", *leaves]), "homomorphism")
    assert run.count() == middle ** (1 + at_middle) + hub ** (1 + at_hub) > 1 << 64


@pytest.mark.parametrize("prime", [0, 2**31 - 1])
def test_rows_that_several_terms_ask_for_are_computed_once_and_let_go(skewed, prime, monkeypatch):
    support, computed = support_graph_of(skewed, reverse_arcs), []
    rows = TableKernels.row_sums
    monkeypatch.setattr(TableKernels, "row_sums", lambda *some: computed.append(1) or rows(*some))
    nodes = RowSums(Link()), RowSums(Link((), (0,))), RowSums(Link((), (1,)))
    degrees = np.diff(support.offsets).astype(object)
    two = np.array([degrees[support.targets[i:j]].sum() for i, j in pairwise(support.offsets.tolist())], object)
    three = two[support.targets].sum()
    wanted = {(2,): three, (0,): degrees.sum(), (0, 0): (degrees**2).sum(), (0, 1): (degrees * two).sum()}
    for asked in ([(2,)], [(0,), (2,)], [(0, 0)], [(0, 1), (2,)], [(0,), (0, 0), (0, 1), (2,)]):
        terms = {Product(term): many for many, term in enumerate(asked, 2)}
        for decompositions in ([terms], [terms, terms], [{Product((0,)): 1}, terms]):
            given = [Decomposition(nodes, (False,) * 3, some, {}) for some in decompositions]
            one = tables.Evaluation(given, support, {}, TableKernels(support, lambda _: None), None, prime)
            computed.clear()
            expected = [sum(many * wanted[term.weights] for term, many in one.items()) for one in decompositions]
            assert one.totals() == [number % (prime or 1 << 64) for number in expected]
            assert len(computed) <= 2  # the rows of the last table are summed at once
            assert not one._tables
            assert not any(one._uses.values())


def test_what_a_labelled_pattern_is_counted_on_is_kept_with_a_small_graph_alone(labelled, monkeypatch):
    pattern, counts = "(a:A)-->(b:B)-->(c)-->(d:A)-->(a)", []
    for kept in (1 << 26, 0):
        monkeypatch.setattr("cusubmatch.graph.graph_arrays.CACHED_ELEMENTS", kept)
        labelled.cache.forget("prepared")
        counts += [table_run(labelled, pattern, engine="cpu").count() for _ in range(2)]
        assert len(labelled.cache.values("prepared")) == (kept > 0)
    assert set(counts) == {walked(labelled, pattern)}


def test_vectors_take_memory_for_few_tables_at_a_time():
    support = support_graph_of(Graph.from_edgelist(rmat(14, 2, seed=1)), reverse_arcs)
    size = 30
    nodes = tuple(RowSums(Link((), (i - 1,) if i else ())) for i in range(size))
    terms = {Product((i,)): 1 for i in range(size)}
    given = [Decomposition(nodes, (False,) * size, some, {}) for some in (terms, {Product((0,)): 3})]
    one = tables.Evaluation(given, support, {}, TableKernels(support, lambda _: None), None)
    tracemalloc.start()
    try:
        whole, degrees = one.vectors()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.array_equal(degrees, 3 * np.diff(support.offsets))
    expected, walks = np.zeros(support.vertices, np.uint64), np.ones(support.vertices, np.uint64)
    for _ in range(size):
        walks = np.add.reduceat(np.append(walks[support.targets], np.uint64(0)), support.offsets[:-1])
        walks[np.diff(support.offsets) == 0] = 0
        expected += walks
    assert np.array_equal(whole, expected)
    assert peak < 10 * whole.nbytes


def test_paths_that_read_alike_from_both_ends_are_counted_from_one(skewed, monkeypatch):
    asked, halves = [], TableKernels._weighted_three_steps
    monkeypatch.setattr(TableKernels, "_weighted_three_steps", lambda *some: asked.append(some[2]) or halves(*some))
    for pattern, alike in {
        "(x)--(w)--(z)--(y)--(x), (w)--(s)--(z), (x)--(r)--(y)": {True},
        "(x)--(w)--(z)--(y)--(x), (w)--(s)--(x), (z)--(t)--(y)": {True},
        "(x)--(w)--(z)--(y)--(x), (w)--(s), (z)--(t), (x)--(r)": {True, False},
    }.items():
        asked.clear()
        assert table_run(skewed, pattern, engine="cpu").count() == walked(skewed, pattern)
        assert set(asked) == alike


def test_counts_by_vertex_that_a_column_cannot_hold_are_an_error():
    leaves = 4000
    graph = Graph.from_edgelist(pd.DataFrame({"src": np.zeros(leaves, int), "dst": np.arange(1, leaves + 1)}))
    pattern = Pattern.star(7)
    roots = [pattern.automorphisms.orbits().index(orbit) for orbit in sorted(set(pattern.automorphisms.orbits()))]
    with pytest.raises(OverflowError, match="int64"):
        table_run(graph, pattern, roots=roots).orbit_counts()


def test_cliques_and_induced_patterns_are_walked(skewed):
    assert table_run(skewed, Pattern.clique(5)) is None
    assert csm.explain(skewed, SHAPES["house"], semantics="induced", engine="auto").tables is None
