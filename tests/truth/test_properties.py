"""What must hold of every correct count, whatever the graph: laws that tie one question to another.

Small random graphs come from hypothesis; graphs of 200 vertices, far beyond the oracle, are counted in two ways that
share little (walks by matrix powers, quotients of a homomorphism, orientations of an edge, rows against counts).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, reduce
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import NaiveGraph, automorphisms, matches
from strategies import VERTEX_LABELS, cases, skewed_rows
from tiers import examples, thorough

from cusubmatch import Graph, Pattern, count_matches, subgraph_match

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

INJECTIVE = ("monomorphism", "induced")
ALL = (*INJECTIVE, "homomorphism")
UNDIRECTED_TEXTS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "tailed triangle": "(a)--(b)--(c)--(a)--(d)",
    "4-clique": "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "bull": "(x)--(a)--(b)--(c)--(a), (b)--(y)",
    "bowtie": "(a)--(m)--(b)--(a), (c)--(m)--(d)--(c)",
}
DIRECTED_TEXTS = {
    "ring of 3": "(a)-->(b)-->(c)-->(a)",
    "ring of 4": "(a)-->(b)-->(c)-->(d)-->(a)",
    "feed-forward": "(a)-->(b)-->(c)<--(a)",
    "reply": "(a)-->(b)-->(a), (b)-->(c)",
    "fan in": "(a)-->(m)<--(b), (c)-->(m)",
    "bi-fan": "(a)-->(c)<--(b)-->(d)<--(a)",
    "mixed triangle": "(a)--(b)-->(c)<--(a)",
    "mixed square": "(a)--(b)-->(c)--(d)-->(a)",
    "half-known edge": "(a)-->(b), (a)--(b), (b)--(c)",
}


@cache
def skewed_graph(directed):
    return Graph.from_edgelist(tuple(skewed_rows()), directed=directed)


@cache
def skewed_matrix(directed):
    """The adjacency matrix of `skewed_graph`, with Python integers."""
    source, destination = skewed_rows()
    matrix = np.zeros((200, 200), object)
    matrix[source, destination] = 1
    if not directed:
        matrix[destination, source] = 1
    np.fill_diagonal(matrix, 0)
    return matrix


def graph_of(pairs, directed=False):
    return Graph.from_edgelist(pd.DataFrame(list(pairs), columns=["src", "dst"], dtype="int64"), directed=directed)


def pattern_of(pairs, directed=False):
    return Pattern(list(pairs), directed=directed)


def random_pairs(seed, n, chance, directed=False):
    pairs = permutations(range(n), 2) if directed else combinations(range(n), 2)
    random = np.random.default_rng(seed)
    return [pair for pair in pairs if random.random() < chance]


# Relabelling, symmetry, rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ALL)
@examples(60)
@given(case=cases(), data=st.data())
def test_other_vertex_ids_and_another_order_of_rows_change_no_count(semantics, case, data):
    raw, pattern = case
    vertices = raw.naive().vertices
    new_id = dict(zip(vertices, data.draw(st.permutations(range(-5, len(vertices) - 5))), strict=True))
    rows = [(new_id[row[0]], new_id[row[1]], *row[2:]) for row in data.draw(st.permutations(raw.rows))]
    if not raw.directed:
        rows = [(row[1], row[0], *row[2:]) if data.draw(st.booleans()) else row for row in rows]
    labels = None if raw.labels is None else {new_id[v]: label for v, label in raw.labels.items()}
    isolated = [new_id[v] for v in raw.isolated]
    other = replace(raw, rows=rows, id_kind="int", labels=labels, isolated=isolated)
    before, after = (count_matches(g.graph(), pattern, semantics=semantics) for g in (raw, other))
    assert before == after


@pytest.mark.parametrize("semantics", INJECTIVE)
@examples(60)
@given(case=cases())
def test_embeddings_are_unique_matches_times_automorphisms(semantics, case):
    raw, pattern = case
    graph = raw.graph()
    unique, every = (count_matches(graph, pattern, semantics=semantics, unique=u) for u in (True, False))
    assert every == unique * pattern.automorphism_count()


@pytest.mark.thorough
@pytest.mark.parametrize("semantics", INJECTIVE)
@pytest.mark.parametrize("name", [*UNDIRECTED_TEXTS, *DIRECTED_TEXTS])
def test_counts_rows_and_orbits_agree_on_a_skewed_graph(name, semantics):
    graph = skewed_graph(directed=name in DIRECTED_TEXTS)
    pattern = Pattern.parse((UNDIRECTED_TEXTS | DIRECTED_TEXTS)[name])
    unique = count_matches(graph, pattern, semantics=semantics)
    assert unique > 0
    rows = subgraph_match(graph, pattern, semantics=semantics).to_numpy()
    assert len(rows) == unique
    assert count_matches(graph, pattern, semantics=semantics, unique=False) == unique * pattern.automorphism_count()
    if unique * pattern.automorphism_count() > 300_000:
        return
    every = subgraph_match(graph, pattern, semantics=semantics, unique=False).to_numpy()
    symmetries = automorphisms(pattern)
    assert len(np.unique(every, axis=0)) == len(every) == unique * len(symmetries)
    # All automorphic images of the unique rows are all the rows.
    images = np.concatenate([rows[:, s] for s in symmetries])
    assert np.array_equal(np.unique(images, axis=0), np.unique(every, axis=0))


def rebuilt(pattern, ends, labels=()):
    """The pattern with other ends for its edges and some other vertex labels."""
    kept = {name: some for name, some in zip(pattern.names, pattern.labels, strict=True) if some is not None}
    return Pattern(
        [(pattern.names[a], pattern.names[b]) for a, b in ends],
        vertices=pattern.names,
        labels=kept | dict(labels),
        directed=[e.directed for e in pattern.edges],
        edge_labels=[e.labels for e in pattern.edges],
        distinct=[(pattern.names[a], pattern.names[b]) for a, b in pattern.distinct],
    )


def in_order(frame):
    return frame.sort_values([*frame.columns], ignore_index=True)


@examples(60)
@given(cases(anonymous=False, directed=True), st.sampled_from(ALL))
def test_turning_every_edge_round_in_pattern_and_graph_keeps_the_matches(case, semantics):
    raw, pattern = case
    back = rebuilt(pattern, [(e.target, e.source) for e in pattern.edges])
    turned = replace(raw, rows=[(row[1], row[0], *row[2:]) for row in raw.rows])
    there, here = (
        subgraph_match(graph, p, semantics=semantics, unique=False)
        for graph, p in ((raw.graph(), pattern), (turned.graph(), back))
    )
    pd.testing.assert_frame_equal(in_order(there), in_order(here))


# Sums over supergraphs, quotients and orientations -------------------------------------------------------------------


def connected_graphs(k):
    """One edge list for each connected undirected graph of k vertices, up to isomorphism."""
    atlas = (g for g in nx.graph_atlas_g() if len(g) == k and nx.is_connected(g))
    return [list(g.edges) for g in atlas]


@cache
def connected_digraphs(k):
    """One arc list for each weakly connected directed graph of k vertices, up to isomorphism."""
    found = {}
    for tree in connected_graphs(k):
        for kinds in np.ndindex(*[3] * len(tree)):
            arcs = []
            for (a, b), kind in zip(tree, kinds, strict=True):
                arcs += [[(a, b)], [(b, a)], [(a, b), (b, a)]][kind]
            least = min(tuple(sorted((s[a], s[b]) for a, b in arcs)) for s in permutations(range(k)))
            found[least] = arcs
    return list(found.values())


def spanning_copies(small, large, k, directed):
    """How many copies of `small` lie in `large`, both of k vertices."""
    if len(small) > len(large):
        return 0
    return len(matches(NaiveGraph(large, directed, isolated=range(k)), pattern_of(small, directed), "monomorphism"))


def assert_supergraph_law(graph, shapes, k, directed):
    induced = [count_matches(graph, pattern_of(q, directed), semantics="induced") for q in shapes]
    for p in shapes:
        law = sum(
            spanning_copies(p, q, k, directed) * count for q, count in zip(shapes, induced, strict=True) if count > 0
        )
        assert count_matches(graph, pattern_of(p, directed)) == law, p


@pytest.mark.one_each
@pytest.mark.parametrize(("k", "shapes"), [(3, 2), (4, 6), (5, 21)])
@pytest.mark.parametrize(("n", "chance"), [(14, 0.25), (20, 0.15), (9, 0.7)])
def test_non_induced_counts_are_sums_of_induced_counts_of_supergraphs(k, shapes, n, chance):
    assert len(connected_graphs(k)) == shapes
    pairs = random_pairs(k, n, chance)
    assert_supergraph_law(graph_of(pairs), connected_graphs(k), k, directed=False)


@pytest.mark.parametrize(
    ("k", "shapes", "n", "chance"), [(3, 13, 12, 0.25), (3, 13, 7, 0.7), *thorough((4, 199, 11, 0.25))]
)
def test_the_same_law_holds_for_directed_graphs(k, shapes, n, chance):
    assert len(connected_digraphs(k)) == shapes
    pairs = random_pairs(k, n, chance, directed=True)
    assert_supergraph_law(graph_of(pairs, directed=True), connected_digraphs(k), k, directed=True)


def test_the_same_law_holds_on_a_skewed_graph():
    for k in (3, 4):
        assert_supergraph_law(skewed_graph(False), connected_graphs(k), k, directed=False)
    assert_supergraph_law(skewed_graph(True), connected_digraphs(3), 3, directed=True)


def partitions(items):
    """All partitions of a list into blocks."""
    if not items:
        yield []
        return
    first, *rest = items
    for blocks in partitions(rest):
        yield [[first], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [first, *block], *blocks[i + 1 :]]


def merged(pattern, blocks):
    """The pattern with the vertices of each block made one, or None where an edge would become a loop."""
    place = {v: min(block) for block in blocks for v in block}
    ends = [(place[e.source], place[e.target], e.directed) for e in pattern.edges]
    if any(a == b for a, b, _ in ends):
        return None
    return Pattern([(a, b) for a, b, _ in ends], vertices=sorted(set(place.values())), directed=[d for *_, d in ends])


@pytest.mark.parametrize("name", [*UNDIRECTED_TEXTS, *DIRECTED_TEXTS])
def test_homomorphisms_are_the_embeddings_of_all_quotients(name):
    graph = skewed_graph(directed=name in DIRECTED_TEXTS)
    pattern = Pattern.parse((UNDIRECTED_TEXTS | DIRECTED_TEXTS)[name])
    quotients = [q for blocks in partitions(list(range(len(pattern)))) if (q := merged(pattern, blocks)) is not None]
    embeddings = sum(count_matches(graph, q, unique=False) for q in quotients)
    assert count_matches(graph, pattern, semantics="homomorphism") == embeddings


@pytest.mark.parametrize("name", [*UNDIRECTED_TEXTS, *DIRECTED_TEXTS])
def test_keeping_a_pair_apart_takes_away_the_homomorphisms_that_merge_it(name):
    graph = skewed_graph(directed=name in DIRECTED_TEXTS)
    text = (UNDIRECTED_TEXTS | DIRECTED_TEXTS)[name]
    pattern = Pattern.parse(text)
    every = count_matches(graph, pattern, semantics="homomorphism")
    for i, j in combinations(range(len(pattern)), 2):
        apart = Pattern.parse(text, distinct=[(pattern.names[i], pattern.names[j])])
        together = merged(pattern, [[i, j], *([v] for v in range(len(pattern)) if v not in (i, j))])
        merging = 0 if together is None else count_matches(graph, together, semantics="homomorphism")
        assert count_matches(graph, apart, semantics="homomorphism") == every - merging


def test_all_pairs_distinct_make_a_homomorphism_an_embedding():
    for name, text in (UNDIRECTED_TEXTS | DIRECTED_TEXTS).items():
        graph = skewed_graph(directed=name in DIRECTED_TEXTS)
        names = Pattern.parse(text).columns
        apart = Pattern.parse(text, distinct=list(combinations(names, 2)))
        assert count_matches(graph, apart, semantics="homomorphism") == count_matches(graph, apart, unique=False)


@pytest.mark.parametrize("semantics", ALL)
def test_an_edge_without_direction_is_one_way_or_the_other_less_both(semantics):
    graph = skewed_graph(directed=True)

    def count(text):
        return count_matches(graph, text, semantics=semantics, unique=False)

    for frame in ("(a){}(b)", "(a){}(b)-->(c)", "(a){}(b)-->(c)<--(a)", "(a){}(b)-->(c)-->(d)-->(a)"):
        either, forward, backward = (count(frame.format(arrow)) for arrow in ("--", "-->", "<--"))
        both = count(frame.format("-->") + ", (b)-->(a)")
        # Induced, a single arrow says that the other way has no edge: the three cases are apart.
        assert either == (forward + backward + both if semantics == "induced" else forward + backward - both)


# Walks and trees by linear algebra -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("directed", "longest"), [(True, 3), *thorough((True, 4), (True, 5), (False, 5))])
def test_homomorphisms_of_paths_and_cycles_are_powers_of_the_adjacency_matrix(directed, longest):
    graph, matrix = skewed_graph(directed), skewed_matrix(directed)
    for k in range(2, longest + 1):
        walks = reduce(np.dot, [matrix] * (k - 1)).sum()
        assert count_matches(graph, Pattern.path(k, directed=directed), semantics="homomorphism") == walks
    for k in range(2 if directed else 3, longest + 1):
        closed = np.trace(reduce(np.dot, [matrix] * k))
        assert count_matches(graph, Pattern.cycle(k, directed=directed), semantics="homomorphism") == closed


@pytest.mark.parametrize("directed", [False, True])
def test_homomorphisms_of_stars_are_sums_of_powers_of_degrees(directed):
    degrees = skewed_matrix(directed).sum(axis=1)
    for leaves in (1, 2, 3):
        pattern = Pattern.star(leaves, directed=directed)
        assert count_matches(skewed_graph(directed), pattern, semantics="homomorphism") == (degrees**leaves).sum()


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(("--", "-->", "<--"))), min_size=1, max_size=4))
def test_homomorphisms_of_trees_are_products_from_the_leaves_up(parents):
    matrix = skewed_matrix(True)
    step = {"-->": matrix, "<--": matrix.T, "--": np.minimum(matrix + matrix.T, 1)}
    tree = [(parent % child, arrow) for child, (parent, arrow) in enumerate(parents, start=1)]
    below = [np.ones(200, object) for _ in range(len(tree) + 1)]
    for child, (parent, arrow) in reversed(list(enumerate(tree, start=1))):
        below[parent] = below[parent] * step[arrow].dot(below[child])
    text = ", ".join(f"(v{parent}){arrow}(v{child})" for child, (parent, arrow) in enumerate(tree, start=1))
    if (total := below[0].sum()) < 20_000_000:
        assert count_matches(skewed_graph(True), text, semantics="homomorphism") == total


# Other graphs, same counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ALL)
@examples(40)
@given(case=cases(directed=False))
def test_an_undirected_graph_counts_as_the_directed_one_with_both_ways(semantics, case):
    raw, pattern = case
    both = [row for a, b, *label in raw.rows for row in ((a, b, *label), (b, a, *label))]
    one, two_way = (g.graph() for g in (raw, replace(raw, rows=both, directed=True)))
    assert count_matches(two_way, pattern, semantics=semantics) == count_matches(one, pattern, semantics=semantics)


@pytest.mark.parametrize("shape", ["path of 4", "5-cycle", "house", "bull"])
def test_induced_copies_are_induced_copies_of_the_complement_in_the_complement(shape):
    pattern = {
        "path of 4": nx.path_graph(4),
        "5-cycle": nx.cycle_graph(5),
        "house": nx.house_graph(),
        "bull": nx.bull_graph(),
    }[shape]
    for seed, chance in enumerate((0.2, 0.5, 0.8)):
        data = nx.Graph(random_pairs(seed, 15, chance))
        counts = [
            count_matches(graph_of(g.edges), pattern_of(p.edges), semantics="induced")
            for g, p in ((data, pattern), (nx.complement(data), nx.complement(pattern)))
        ]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("semantics", ALL)
@examples(40)
@given(case=cases(max_vertices=7))
def test_two_copies_of_a_graph_side_by_side_hold_twice_the_matches(semantics, case):
    raw, pattern = case
    shift = (lambda v: v + "'") if raw.id_kind == "str" else (lambda v: v + 2**50)
    rows = raw.rows + [(shift(row[0]), shift(row[1]), *row[2:]) for row in raw.rows]
    labels = None if raw.labels is None else raw.labels | {shift(v): label for v, label in raw.labels.items()}
    twice = replace(raw, rows=rows, labels=labels, isolated=raw.isolated + [shift(v) for v in raw.isolated])
    one, two = (count_matches(g.graph(), pattern, semantics=semantics) for g in (raw, twice))
    assert two == 2 * one


@pytest.mark.parametrize("semantics", ALL)
@examples(40)
@given(case=cases(labelled=True, anonymous=False))
def test_alternatives_of_a_vertex_label_add_up(semantics, case):
    raw, pattern = case
    one, other, _ = VERTEX_LABELS[raw.label_kind]
    graph, ends = raw.graph(), [(e.source, e.target) for e in pattern.edges]

    def count(first_vertex):
        labelled = rebuilt(pattern, ends, {pattern.names[0]: first_vertex})
        return count_matches(graph, labelled, semantics=semantics, unique=False)

    assert count({one, other}) == count(one) + count(other)
