"""Terms that have a kernel of their own: cycles of four, and pairs of vertices with paths and bridges between them."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import matches as naive_matches
from strategies import EDGE_LABELS, VERTEX_LABELS, raw_graphs
from test_decomposition import SHAPES, table_run, walked
from tiers import examples

from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tables import four_cycles
from cusubmatch.engines.cpu.tables import pair_sums as pairs
from cusubmatch.engines.cpu.tables.parameters import rows_of
from cusubmatch.engines.cpu.tables.reverse_arcs import reverse_arcs
from cusubmatch.execution import table_sizes as sizes
from cusubmatch.execution.strategies import table_count as counting
from cusubmatch.execution.table_sizes import table_sizes
from cusubmatch.generators import rmat
from cusubmatch.graph.support_graph import support_graph_of
from cusubmatch.plan.decomposition.expression import CycleTerm, EnumerateTerm, Pairs
from cusubmatch.plan.explain.describe_tables import lines_of_tables

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

BRIDGED = "4-wheel less a spoke"
PRIMES = [2**31 - 1, 2**31 - 19, 2**31 - 61]


def terms(run):
    return run.tables.terms()


def bridged(run):
    return any(isinstance(term, Pairs) and term.has_diamonds for term in terms(run))


@st.composite
def bridged_cases(draw):
    """A graph, and two vertices with a bridge between them and another bridge or paths, which look alike.

    Perhaps something hangs at one of them. Triangles are planted: random graphs have few bridges.
    """
    raw = draw(raw_graphs(max_vertices=9))
    vertices = raw.naive().vertices
    if len(vertices) > 4:
        for triple in draw(st.lists(st.permutations(vertices).map(lambda some: some[:3]), max_size=4)):
            ends = [*pairwise(triple), (triple[2], triple[0])]
            labels = [[draw(st.sampled_from(EDGE_LABELS[raw.label_kind]))] if raw.edge_labelled else [] for _ in ends]
            raw.rows.extend((*pair, *label) for pair, label in zip(ends, labels, strict=True))

    def vertex_label():
        some = st.sampled_from(VERTEX_LABELS[raw.label_kind])
        return draw(st.one_of(st.none(), st.none(), some)) if raw.labels is not None else None

    def edge():
        """Whether it is directed, whether it is turned round, and its label."""
        some = st.sampled_from(EDGE_LABELS[raw.label_kind])
        label = draw(st.one_of(st.none(), st.none(), some)) if raw.edge_labelled else None
        return raw.directed and draw(st.booleans()), draw(st.booleans()), label

    middles = draw(st.sampled_from(["w~z v", "w~z v u", "w~z t~s"])).split()
    labels, edges = {"x": vertex_label(), "y": vertex_label()}, []
    asked = {"~": ([vertex_label(), vertex_label()], [edge() for _ in range(5)])}
    asked[""] = [vertex_label()], [edge(), edge()]
    for middle in middles:
        names = middle.split("~")
        of_vertices, of_edges = asked["~" if len(names) == 2 else ""]
        labels.update(zip(names, of_vertices, strict=True))
        pairs = [("x", names[0]), (names[-1], "y")]
        if len(names) == 2:
            pairs += [("x", names[1]), tuple(names), (names[0], "y")]
        edges += [(pair, *what) for pair, what in zip(pairs, of_edges, strict=True)]
    if len(labels) < 6 and draw(st.booleans()):
        labels["tail"] = vertex_label()
        edges.append(((draw(st.sampled_from("xywv")), "tail"), *edge()))
    pattern = Pattern(
        [pair[::-1] if turned else pair for pair, _, turned, _ in edges],
        labels={name: label for name, label in labels.items() if label is not None},
        directed=[directed for _, directed, _, _ in edges],
        edge_labels=[label for *_, label in edges],
    )
    return raw, pattern


@pytest.mark.parametrize("primes", [None, PRIMES])
@examples(80)
@given(bridged_cases())
def test_bridges_count_as_the_oracle_does(primes, case):
    raw, pattern = case
    graph, naive = raw.graph(), raw.naive()
    for semantics in ("monomorphism", "homomorphism"):
        run = table_run(graph, pattern, semantics, unique=False)
        assert bridged(run)
        with pytest.MonkeyPatch.context() as patch:
            if primes:
                patch.setattr(counting, "moduli", lambda _: primes)
            assert run.count() == len(naive_matches(naive, pattern, semantics, False))


@pytest.mark.parametrize("labels", [{}, {"a": "A"}, {"a": ["A", "B"], "x": "A", "z": ["A", "B"]}])
def test_lists_that_would_take_too_much_memory_are_made_in_rounds(labelled, labels, monkeypatch):
    plain = Pattern.parse(SHAPES[BRIDGED])
    pattern = Pattern([[plain.names[end] for end in edge[:2]] for edge in plain.edges], labels=labels)
    rounds = []
    run_lists = pairs._run
    monkeypatch.setattr(pairs, "_run", lambda *some: rounds.append(some[2].stop) or run_lists(*some))
    expected = table_run(labelled, pattern).count()
    assert len(set(rounds)) == 1
    monkeypatch.setattr(pairs, "LISTS_BYTES", 500)
    run = table_run(labelled, pattern)
    assert bridged(run)
    assert run.count() == expected == walked(labelled, pattern)
    assert len(set(rounds)) > 2


def test_quotients_are_walked_where_bridges_are_too_dear(skewed, monkeypatch):
    name = "two paths and a bridge"
    run = table_run(skewed, SHAPES[name])
    assert not any(isinstance(term, EnumerateTerm) for term in terms(run))
    expected = run.count()
    monkeypatch.setattr(CpuEngine, "table_costs", CpuEngine.table_costs._replace(bridge=1e9))
    run = table_run(skewed, SHAPES[name])
    assert any(isinstance(term, EnumerateTerm) for term in terms(run))
    assert run.count() == expected == walked(skewed, SHAPES[name])


def planned(*arguments):
    run = table_run(*arguments)
    return dataclasses.replace(run.plan, tables=run.tables)


def test_the_text_says_what_lies_between_two_vertices(skewed, labelled):
    edges = "number of edges w--z of common neighbours, both ways"
    text = "\n".join(lines_of_tables(planned(skewed, SHAPES[BRIDGED])))
    assert f"+1 x sum over different x, y of (number of common neighbours z) ({edges})" in text
    text = "\n".join(lines_of_tables(planned(skewed, SHAPES["two bridges"])))
    assert f"+1 x sum over different x, y of ({edges})^2" in text
    directed = "(a)--(x)--(b)-->(y)--(a), (x)--(z)--(b), (y)--(z)"
    text = "\n".join(lines_of_tables(planned(labelled, directed, "homomorphism")))
    assert re.search(r"over x, y of .*\(sum over edges w--z .* of T\d\(\w, \w\)", text)


def test_the_number_of_bridges_is_estimated():
    for graph in (Graph.from_edgelist(rmat(11, 16, seed=1)), Graph.from_edgelist(rmat(10, 4, seed=2))):
        adjacent = np.zeros((graph.n_vertices, graph.n_vertices))
        support = support_graph_of(graph, reverse_arcs)
        adjacent[np.repeat(np.arange(graph.n_vertices), np.diff(support.offsets)), support.targets] = 1
        common = (adjacent @ adjacent) * adjacent
        assert table_sizes(graph, CpuEngine()).bridges() == pytest.approx((common**2).sum() / 2, rel=0.2)


def test_what_a_sample_lists_at_a_time_changes_no_estimate(monkeypatch):
    graph = Graph.from_edgelist(rmat(11, 8, seed=1))
    found = table_sizes(graph, CpuEngine()).loops()
    monkeypatch.setattr(sizes, "MAX_LISTED_NEIGHBOURS", 50)
    assert table_sizes(Graph.from_edgelist(rmat(11, 8, seed=1)), CpuEngine()).loops() == found > 0


def test_a_cycle_of_four_alone_is_a_loop(skewed, labelled):
    (term,) = terms(table_run(skewed, SHAPES["4-cycle"]))
    assert isinstance(term, CycleTerm)
    assert len(term.links) == 4
    for pattern in ("(a:A)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(a)--(e)"):
        run = table_run(labelled, pattern)
        assert not any(isinstance(term, CycleTerm) for term in terms(run))
        assert run.count() == walked(labelled, pattern)
    run = table_run(skewed, "(a)--(b)--(c)--(d)--(e)")  # the ends may be one
    assert any(isinstance(term, CycleTerm) for term in terms(run))
    assert run.count() == walked(skewed, "(a)--(b)--(c)--(d)--(e)")


@pytest.mark.parametrize("base", [0, 1000, four_cycles.LARGEST - 40, four_cycles.LARGEST])
def test_a_row_of_32_bits_starts_again_when_it_is_full(skewed, base):
    support = support_graph_of(skewed, reverse_arcs)
    row, out = np.full(support.vertices, base, np.uint32), np.zeros(1, np.uint64)
    rows = rows_of(support)
    end, begin = support.vertices, 0
    base = np.full(1, base, np.uint32)
    while begin < end:
        begin = four_cycles.four_cycles(rows, begin, end, 5, np.uint64(0), row, base, out)
    assert out[0] == walked(skewed, SHAPES["4-cycle"])
